/* SPDX-License-Identifier: Apache-2.0
 *
 * Remedies of results put together. Cases of a library share their remedies, so a report in which hundreds
 * are sensitive has few of them.
 */
#include "reports/render/advice.h"

#include <stdlib.h>
#include <string.h>

#include "reports/render/words.h"
#include "suite/base/json.h"

#define MOST ((size_t)1 << 20) /* bytes of a list of names */
#define CASES_NAMED 2          /* of more cases their families are named */
#define USERS_NAMED 3

/* --- one result --- */

static bool is_finding_kind(const char *kind)
{
    return strcmp(kind, "varies") == 0 || strcmp(kind, "wrong") == 0;
}

static void add_applying(json_t *ret, const char *kind, const json_t *remedy)
{
    if (dp_json_string(remedy, "text", "")[0]) {
        json_array_append_new(ret, json_pack("[sO]", kind, remedy));
    }
}

json_t *dp_advice_of(const json_t *result)
{
    const json_t *remedy = json_object_get(result, "remedy");
    const json_t *along = json_object_get(result, "remedy_along");
    const json_t *sensitive = json_object_get(result, "sensitive_to");
    json_t *applying = json_array();
    const char *observed = dp_json_string(result, "observed", "");
    if (is_finding_kind(observed)) {
        add_applying(applying, observed, remedy);
    }
    for (size_t i = 0; i < json_array_size(sensitive); i++) {
        const char *axis = json_string_value(json_array_get(sensitive, i));
        const json_t *own = json_object_get(along, axis);
        add_applying(applying, axis, own ? own : remedy);
    }
    return applying;
}

/* --- all results --- */

static void add_once(json_t *names, json_t *name)
{
    if (!dp_json_array_has(names, json_string_value(name))) {
        json_array_append(names, name);
    }
}

/* The entry of this remedy, made where it is the first time. Borrowed. */
static json_t *entry_of(json_t *entries, const json_t *remedy)
{
    char *key = json_dumps(remedy, JSON_COMPACT | JSON_SORT_KEYS);
    json_t *entry = json_object_get(entries, key ? key : "");
    if (!entry) {
        entry = json_pack("{sOs{}s[]s[]}", "remedy", remedy, "kinds", "cases", "users");
        json_object_set_new(entries, key ? key : "", entry);
    }
    free(key);
    return entry;
}

static void add_result(json_t *entries, const json_t *result)
{
    json_t *applying = dp_advice_of(result);
    const json_t *users = json_object_get(result, "used_by");
    for (size_t i = 0; i < json_array_size(applying); i++) {
        const json_t *pair = json_array_get(applying, i);
        json_t *entry = entry_of(entries, json_array_get(pair, 1));
        json_t *cases = json_object_get(entry, "cases"), *id = json_object_get(result, "case");
        const json_t *last = json_array_get(cases, json_array_size(cases) - 1);
        dp_json_count(json_object_get(entry, "kinds"), json_string_value(json_array_get(pair, 0)));
        if (!last || !json_equal(last, id)) { /* one remedy may serve along several axes */
            json_array_append(cases, id);
        }
        for (size_t k = 0; k < json_array_size(users); k++) {
            add_once(json_object_get(entry, "users"), json_array_get(users, k));
        }
    }
    json_decref(applying);
}

static bool is_finding(const json_t *entry)
{
    const char *kind;
    json_t *number;
    bool is = false;
    json_object_foreach(json_object_get(entry, "kinds"), kind, number)
    {
        is = is || is_finding_kind(kind);
    }
    return is;
}

json_t *dp_advice_collect(const json_t *results)
{
    json_t *entries = json_object(), *sorted = json_array(), *entry;
    for (size_t i = 0; i < json_array_size(results); i++) {
        add_result(entries, json_array_get(results, i));
    }
    for (int finding = 1; finding >= 0; finding--) {
        const char *key;
        json_object_foreach(entries, key, entry)
        {
            if (is_finding(entry) == finding) {
                json_array_append(sorted, entry);
            }
        }
    }
    json_decref(entries);
    return sorted;
}

/* --- in words --- */

static char *owned_of(struct dp_text *text)
{
    return dp_text_take(text);
}

/* "10 vary", "1 wrong" */
static char *finding_text(const char *kind, long long count)
{
    const bool many = strcmp(kind, "varies") == 0 && count != 1;
    return dp_printf("%lld %s", count, many ? "vary" : kind);
}

char *dp_advice_kinds(const json_t *advice)
{
    struct dp_text out = DP_TEXT(MOST), axes = DP_TEXT(MOST);
    const char *kind;
    json_t *number;
    json_object_foreach(json_object_get(advice, "kinds"), kind, number)
    {
        const long long count = (long long)json_integer_value(number);
        const bool finding = is_finding_kind(kind);
        char *word = finding ? finding_text(kind, count) : dp_printf("%s %lld", kind, count);
        dp_words_join(finding ? &out : &axes, ", ", word);
        free(word);
    }
    if (axes.length > 0) {
        dp_words_join(&out, ", ", "sensitive to ");
        dp_text_put(&out, axes.data);
    }
    dp_text_free(&axes);
    return owned_of(&out);
}

/* Family -> cases. Owned. */
static json_t *count_families(const json_t *cases)
{
    json_t *families = json_object();
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const char *id = json_string_value(json_array_get(cases, i));
        const char *end = strrchr(id, '/');
        char *family = dp_printf("%.*s", end ? (int)(end - id) : (int)strlen(id), id);
        dp_json_count(families, family);
        free(family);
    }
    return families;
}

/* The first names, and how many more there are. Owned. */
static char *list_names(const json_t *names, size_t most)
{
    const size_t count = json_array_size(names);
    struct dp_text out = DP_TEXT(MOST);
    for (size_t i = 0; i < count && i < most; i++) {
        dp_words_join(&out, ", ", json_string_value(json_array_get(names, i)));
    }
    if (count > most) {
        dp_text_printf(&out, " and %zu more", count - most);
    }
    return owned_of(&out);
}

char *dp_advice_where(const json_t *advice, bool all)
{
    const json_t *cases = json_object_get(advice, "cases");
    if (all || json_array_size(cases) <= CASES_NAMED) {
        return list_names(cases, json_array_size(cases));
    }
    json_t *families = count_families(cases), *number;
    struct dp_text out = DP_TEXT(MOST);
    const char *family;
    json_object_foreach(families, family, number)
    {
        char *word = json_object_size(families) == 1
                         ? dp_strdup(family)
                         : dp_printf("%s %lld", family, (long long)json_integer_value(number));
        dp_words_join(&out, ", ", word);
        free(word);
    }
    json_decref(families);
    return owned_of(&out);
}

char *dp_advice_users(const json_t *advice, bool all)
{
    const json_t *users = json_object_get(advice, "users");
    return list_names(users, all ? json_array_size(users) : USERS_NAMED);
}

char *dp_advice_text(const json_t *advice)
{
    const json_t *remedy = json_object_get(advice, "remedy");
    const char *text = dp_json_string(remedy, "text", ""), *setting = dp_json_string(remedy, "setting", "");
    const char *source = dp_json_string(remedy, "source", ""), *end = strstr(source, ": ");
    struct dp_text out = DP_TEXT(MOST);
    dp_text_put(&out, text);
    if (setting[0] && !strstr(text, setting)) {
        dp_text_printf(&out, " (%s)", setting);
    }
    if (source[0]) {
        dp_text_put(&out, " [");
        dp_text_add(&out, source, end ? (size_t)(end - source) : strlen(source));
        dp_text_put(&out, "]");
    }
    return owned_of(&out);
}
