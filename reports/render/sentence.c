/* SPDX-License-Identifier: Apache-2.0
 *
 * The last line of the text: what the exit code says, in words.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/model.h"
#include "reports/render/render.h"
#include "reports/render/words.h"
#include "suite/base/json.h"

struct numbers {
    size_t repeats, varies, wrong, error, untested, skipped;
    size_t broken, varies_broken, wrong_under;
};

static size_t count_of(const json_t *counts, const char *word)
{
    return (size_t)dp_json_int(counts, word, 0);
}

static struct numbers numbers_of(const json_t *body)
{
    const json_t *summary = json_object_get(body, "summary");
    const json_t *counts = json_object_get(summary, "counts");
    struct numbers n = {.repeats = count_of(counts, "repeats"),
                        .varies = count_of(counts, "varies"),
                        .wrong = count_of(counts, "wrong"),
                        .error = count_of(counts, "error"),
                        .untested = count_of(counts, "untested"),
                        .skipped = count_of(counts, "skipped"),
                        .broken = json_array_size(json_object_get(summary, "broken")),
                        .wrong_under = json_array_size(json_object_get(summary, "wrong_under"))};
    const json_t *results = json_object_get(body, "results");
    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *result = json_array_get(results, i);
        const char *status = dp_json_string(json_object_get(result, "guarantee"), "status", "");
        n.varies_broken +=
            strcmp(dp_json_string(result, "observed", ""), "varies") == 0 && strcmp(status, "broken") == 0;
    }
    return n;
}

static void add_count(struct dp_text *out, size_t count, const char *one, const char *many)
{
    if (count > 0) {
        char *words = dp_words_count(count, one, many);
        dp_words_join(out, "; ", words);
        free(words);
    }
}

static bool add_control(struct dp_text *out, const json_t *body, bool (*is)(const json_t *),
                        const char *before, const char *after)
{
    const json_t *controls = json_object_get(body, "controls");
    for (size_t i = 0; i < json_array_size(controls); i++) {
        const json_t *control = json_array_get(controls, i);
        if (is(control)) {
            dp_words_join(out, "; ", before);
            dp_words_put(out, dp_json_string(control, "name", ""));
            dp_text_put(out, after);
            return true;
        }
    }
    return false;
}

static bool add_other_stack(struct dp_text *out, const json_t *body)
{
    const json_t *results = json_object_get(body, "results");
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *result = json_array_get(results, i);
        count += strcmp(dp_json_string(result, "observed", ""), "error") == 0 &&
                 strcmp(dp_json_string(result, "reason", ""), "stack") == 0;
    }
    if (count > 0) {
        dp_words_join(out, "; ", "no valid verdict, a program did not use the stack");
    }
    return count > 0;
}

static void add_varying(struct dp_text *out, const struct numbers *n)
{
    if (n->varies == 0) {
        dp_words_join(out, "; ", "no operation varies");
        return;
    }
    add_count(out, n->varies, "operation varies", "operations vary");
    if (n->varies_broken > 0) {
        dp_text_printf(out, ", %zu of them promised otherwise", n->varies_broken);
    } else {
        dp_text_put(out, n->varies == 1 ? ", and was not promised otherwise"
                                        : ", none of them promised otherwise");
    }
}

static void add_verdict(struct dp_text *out, const struct numbers *n)
{
    if (n->broken == 0) {
        dp_words_join(out, "; ", "no guarantee broken");
    }
    add_count(out, n->broken, "guarantee broken", "guarantees broken");
    add_count(out, n->wrong, "operation gives wrong results", "operations give wrong results");
    add_count(out, n->wrong_under, "operation gives wrong results under a capped instruction set",
              "operations give wrong results under a capped instruction set");
    add_varying(out, n);
}

char *dp_report_sentence(const json_t *report)
{
    const json_t *body = json_object_get(report, "body");
    const struct numbers n = numbers_of(body);
    struct dp_text out = DP_TEXT(4096);
    if (json_is_true(json_object_get(json_object_get(report, "measurements"), "interrupted"))) {
        dp_text_put(&out, "interrupted");
    }
    const bool other_stack = add_other_stack(&out, body);
    const bool invalid =
        add_control(&out, body, dp_control_misbehaved, "no valid verdict, control '", "' misbehaved") ||
        other_stack;
    if (n.repeats + n.varies + n.wrong > 0) {
        add_verdict(&out, &n);
    } else if (!invalid) {
        dp_words_join(&out, "; ", n.error + n.untested > 0 ? "no verdict" : "nothing ran");
    }
    add_control(&out, body, dp_control_insensitive, "control '", "' could not vary here");
    add_count(&out, n.error, "operation ended in an error", "operations ended in an error");
    add_count(&out, n.untested, "operation untested", "operations untested");
    if (n.repeats + n.varies + n.wrong == 0) {
        add_count(&out, n.skipped, "operation skipped", "operations skipped");
    }
    char *sentence = dp_strdup(out.data);
    dp_text_free(&out);
    return sentence;
}
