/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes put together by cause. A cause is the set of differences of the environment that reach the case;
 * one that nothing reaches says so. It is what may explain a change, not a proof that it does.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/diff/parts.h"
#include "suite/base/json.h"
#include "suite/base/text.h"

#define MAX_NAMED 3 /* differences named in a cause; the environment has them all */

/* "cpu/gemm" of "cpu/gemm/sgemm-nn-16x16x16". Owned. */
static char *family_of(const char *id)
{
    const char *slash = strchr(id, '/');
    const char *end = slash ? strchr(slash + 1, '/') : NULL;
    return dp_printf("%.*s", (int)(end ? end - id : 0), id);
}

/* The words of a change's cause. Owned. */
static char *cause_of(const json_t *change, const json_t *environment)
{
    char *family = family_of(dp_json_string(change, "case", ""));
    struct dp_text words = DP_TEXT(DP_DIFF_TEXT_MOST);
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(environment); i++) {
        const json_t *difference = json_array_get(environment, i);
        if (!dp_difference_reaches(difference, dp_json_string(change, "backend", ""), family)) {
            continue;
        }
        if (count++ < MAX_NAMED) {
            dp_text_printf(&words, "%s%s", words.length ? "; " : "", dp_json_string(difference, "words", ""));
        }
    }
    if (count > MAX_NAMED) {
        dp_text_printf(&words, "; and %zu more", count - MAX_NAMED);
    }
    free(family);
    char *owned = dp_strdup(words.data ? words.data : "nothing in the environment explains it");
    dp_text_free(&words);
    return owned;
}

static json_t *cause_named(json_t *causes, const char *words)
{
    for (size_t i = 0; i < json_array_size(causes); i++) {
        json_t *cause = json_array_get(causes, i);
        if (strcmp(dp_json_string(cause, "cause", ""), words) == 0) {
            return cause;
        }
    }
    json_array_append_new(causes, json_pack("{ss s{} s{}}", "cause", words, "kinds", "cases"));
    return json_array_get(causes, json_array_size(causes) - 1);
}

static void count_kind(json_t *kinds, const char *kind)
{
    json_object_set_new(kinds, kind, json_integer(dp_json_int(kinds, kind, 0) + 1));
}

/* What is on one side alone has no cause in the environment: somebody chose other cases. */
static bool has_cause(const char *kind)
{
    return strcmp(kind, dp_change_name(DP_CHANGE_NEW)) != 0 &&
           strcmp(kind, dp_change_name(DP_CHANGE_MISSING)) != 0;
}

/* Owned. */
static json_t *keys_of(json_t *object)
{
    json_t *keys = json_array();
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        json_array_append_new(keys, json_string(key));
    }
    return keys;
}

json_t *dp_diff_causes(json_t *changes, const json_t *environment)
{
    json_t *causes = json_array();
    size_t i;
    json_t *change;
    json_array_foreach(changes, i, change)
    {
        const char *kind = dp_json_string(change, "kind", "");
        if (!has_cause(kind)) {
            continue;
        }
        char *words = cause_of(change, environment);
        json_t *cause = cause_named(causes, words);
        count_kind(json_object_get(cause, "kinds"), kind);
        json_object_set(json_object_get(cause, "cases"), dp_json_string(change, "case", ""), json_true());
        free(words);
    }
    json_array_foreach(causes, i, change)
    {
        json_object_set_new(change, "cases", keys_of(json_object_get(change, "cases")));
    }
    return causes;
}
