/* SPDX-License-Identifier: Apache-2.0
 *
 * The words that the formats of a comparison share.
 */
#include "reports/diff/render.h"

#include <stdlib.h>
#include <string.h>

#include "reports/diff/parts.h"
#include "reports/render/words.h"
#include "suite/base/json.h"

char *dp_diff_counts(const json_t *kinds)
{
    struct dp_text words = DP_TEXT(4096);
    for (int kind = 0; kind < DP_CHANGE_MAX; kind++) {
        const size_t count = (size_t)dp_json_int(kinds, dp_change_name((enum dp_change)kind), 0);
        if (count == 0) {
            continue;
        }
        dp_text_printf(&words, "%s%zu %s%s", words.length ? ", " : "", count,
                       words.length ? ""
                       : count == 1 ? "case "
                                    : "cases ",
                       dp_change_words((enum dp_change)kind, count != 1));
    }
    char *owned = dp_strdup(words.data ? words.data : "no case changed");
    dp_text_free(&words);
    return owned;
}

char *dp_diff_sentence(const json_t *diff)
{
    const json_t *summary = json_object_get(diff, "summary");
    const size_t unlike = json_array_size(json_object_get(diff, "not_compared"));
    const size_t idle = (size_t)dp_json_int(summary, "idle", 0);
    const size_t agree = (size_t)dp_json_int(summary, "compared", 0) - unlike - idle;
    const bool agrees = dp_diff_agrees(diff);
    struct dp_text words = DP_TEXT(10000);
    if (agrees) {
        dp_text_printf(&words, "the results agree in %zu %s", agree, agree == 1 ? "case" : "cases");
    } else {
        char *counts = dp_diff_counts(json_object_get(summary, "kinds"));
        dp_text_printf(&words, "the results differ: %s", counts);
        free(counts);
    }
    if (unlike) {
        dp_text_printf(&words, "%s%zu could not be compared", agrees ? ", " : "; ", unlike);
    }
    if (idle) {
        dp_text_printf(&words, "%s%zu ran on neither side", agrees ? ", " : "; ", idle);
    }
    if (agrees && json_array_size(json_object_get(diff, "environment"))) {
        dp_text_put(&words, ", the environments differ");
    }
    return dp_text_take(&words);
}

char *dp_diff_verdict(const json_t *verdict)
{
    const char *observed = dp_json_string(verdict, "observed", "");
    const char *status = dp_json_string(verdict, "status", NULL);
    const char *reason = dp_json_string(verdict, "reason", NULL);
    if (status) {
        return dp_printf("%s \xc2\xb7 %s", observed, strcmp(status, "none") == 0 ? "unstated" : status);
    }
    return reason ? dp_printf("%s (%s)", observed, reason) : dp_strdup(observed);
}

static void add_pair(struct dp_text *words, const char *what, const json_t *pair)
{
    if (json_array_size(pair) != 2) {
        return;
    }
    dp_text_put(words, words->length ? "; " : "");
    const json_t *before = json_array_get(pair, 0), *after = json_array_get(pair, 1);
    if (json_is_string(before) && json_is_string(after)) {
        dp_text_printf(words, "%s '%s' before, '%s' now", what, json_string_value(before),
                       json_string_value(after));
    } else if (json_is_integer(before) && json_is_integer(after)) {
        dp_text_printf(words, "%s %lld %s before, %lld now", what, (long long)json_integer_value(before),
                       json_integer_value(before) == 1 ? "thread" : "threads",
                       (long long)json_integer_value(after));
    } else {
        dp_text_printf(words, "%s otherwise", what);
    }
}

char *dp_diff_detail(const json_t *change)
{
    struct dp_text words = DP_TEXT(DP_DIFF_TEXT_MOST);
    const json_t *before = json_object_get(change, "before"), *after = json_object_get(change, "after");
    const json_t *axes = json_object_get(change, "axes");
    if (before && after && !json_equal(before, after)) {
        char *was = dp_diff_verdict(before), *now = dp_diff_verdict(after);
        dp_text_printf(&words, "%s \xe2\x86\x92 %s", was, now);
        free(was);
        free(now);
    }
    for (size_t i = 0; i < json_array_size(axes); i++) {
        dp_text_printf(&words, "%s%s",
                       i              ? ", "
                       : words.length ? "; to "
                                      : "to ",
                       json_string_value(json_array_get(axes, i)));
    }
    add_pair(&words, "chose", json_object_get(change, "chosen"));
    add_pair(&words, "launched", json_object_get(change, "kernels"));
    add_pair(&words, "ran on", json_object_get(change, "threads"));
    const json_t *order = json_object_get(change, "order");
    if (order && dp_diff_is_other_order(order)) {
        char *orders = dp_diff_orders(order);
        dp_text_printf(&words, "%sadds up %s", words.length ? "; " : "", orders);
        free(orders);
    }
    return dp_text_take(&words);
}
