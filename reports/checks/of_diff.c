/* SPDX-License-Identifier: Apache-2.0
 *
 * A comparison as checks: one for each change, one for each case that could not be compared, one for the
 * whole. A change for the worse fails, one for the better is a note. Cases that agree are counted in the
 * document and not named, so they are no checks.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/checks/parts.h"
#include "reports/diff/diff.h"
#include "reports/diff/render.h"
#include "reports/render/reproduce.h"
#include "suite/base/json.h"

#define MOST 16000 /* bytes of one check's words */

static bool is_worse(enum dp_change kind)
{
    return kind < DP_CHANGE_NEW || kind == DP_CHANGE_MAX;
}

/* case -> array of causes */
static json_t *causes_by_case(const json_t *diff)
{
    const json_t *causes = json_object_get(diff, "causes");
    json_t *map = json_object();
    for (size_t i = 0; i < json_array_size(causes); i++) {
        const json_t *cause = json_array_get(causes, i), *cases = json_object_get(cause, "cases");
        for (size_t k = 0; k < json_array_size(cases); k++) {
            dp_json_group(map, json_string_value(json_array_get(cases, k)),
                          json_incref(json_object_get(cause, "cause")));
        }
    }
    return map;
}

static void add_change(const json_t *diff, const json_t *change, const json_t *causes,
                       struct dp_checks *checks)
{
    const char *id = dp_json_string(change, "case", ""), *name = dp_json_string(change, "kind", "");
    const enum dp_change kind = dp_change_named(name);
    const json_t *own = json_object_get(causes, id);
    char *words = dp_diff_detail(change);
    char *line = dp_printf("%s%s%s", kind < DP_CHANGE_MAX ? dp_change_words(kind, false) : name,
                           words[0] ? ": " : "", words);
    /* Plan and level are all that a comparison knows of how it was measured. */
    json_t *body = json_pack("{s:{s:O?}}", "body", "plan", json_object_get(diff, "plan"));
    char *reproduce = is_worse(kind) ? dp_reproduce(body, id) : NULL;
    struct dp_text detail = DP_TEXT(MOST);
    for (size_t i = 0; i < json_array_size(own); i++) {
        dp_checks_line(&detail, "may be explained by: ", json_string_value(json_array_get(own, i)));
    }
    const struct dp_check check = {.state = is_worse(kind) ? DP_CHECK_FAIL : DP_CHECK_NOTE,
                                   .kind = name,
                                   .subject = id,
                                   .line = line,
                                   .detail = detail.data,
                                   .reproduce = reproduce};
    dp_checks_add_case(checks, check, name);
    dp_text_free(&detail);
    json_decref(body);
    free(words);
    free(line);
    free(reproduce);
}

static void add_unlike(const json_t *row, struct dp_checks *checks)
{
    const struct dp_check check = {.state = DP_CHECK_SKIP,
                                   .kind = "not_compared",
                                   .subject = dp_json_string(row, "case", ""),
                                   .line = dp_json_string(row, "reason", "")};
    dp_checks_add_case(checks, check, "not_compared");
}

static void add_whole(const json_t *diff, struct dp_checks *checks)
{
    static const char *const names[] = {"before", "after"};
    const json_t *sides = json_object_get(diff, "sides"), *plan = json_object_get(diff, "plan");
    char *sentence = dp_diff_sentence(diff);
    struct dp_check check = {.state = dp_diff_agrees(diff) ? DP_CHECK_PASS : DP_CHECK_FAIL,
                             .group = DP_CHECK_WHOLE,
                             .name = "diff",
                             .kind = "verdict",
                             .line = sentence};
    checks->document = "diff";
    checks->title = dp_checks_string(checks, sentence);
    checks->started = dp_checks_string(checks, "");
    checks->host = dp_checks_string(checks, "");
    for (size_t i = 0; i < 2; i++) {
        const json_t *side = json_array_get(sides, i);
        char *fact = dp_printf("%s, report %.12s", dp_json_string(side, "name", ""),
                               dp_json_string(side, "digest", ""));
        dp_checks_fact(checks, names[i], fact);
        free(fact);
    }
    dp_checks_fact(checks, "detprobe", dp_json_string(json_array_get(sides, 1), "tool", ""));
    dp_checks_fact(checks, "level", dp_json_string(plan, "level", ""));
    dp_checks_fact(checks, "seed", dp_json_string(plan, "seed", ""));
    dp_checks_add(checks, &check);
    free(sentence);
}

void dp_checks_of_diff(const json_t *diff, struct dp_checks *checks)
{
    const json_t *changes = json_object_get(diff, "changes");
    const json_t *unlike = json_object_get(diff, "not_compared");
    json_t *causes = causes_by_case(diff);
    add_whole(diff, checks);
    for (size_t i = 0; i < json_array_size(changes); i++) {
        add_change(diff, json_array_get(changes, i), causes, checks);
    }
    for (size_t i = 0; i < json_array_size(unlike); i++) {
        add_unlike(json_array_get(unlike, i), checks);
    }
    json_decref(causes);
}
