/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes put together by cause. A cause is the set of differences of the environment that reach the case,
 * and what differs in how the case itself ran: another implementation chosen, other kernels launched, another
 * number of threads. It is what may explain a change, not a proof that it does; a change that nothing reaches
 * says so.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/diff/parts.h"
#include "suite/base/json.h"
#include "suite/base/text.h"

#define MAX_NAMED 3   /* differences in the words of a cause */
#define MAX_KEPT 64   /* differences that a cause points at */
#define MAX_FREE 2000 /* differences that may reach anybody, by weight: real environments have dozens */

/* --- differences by whom they reach --- */

struct reach {
    const json_t *environment;
    json_t *by_family; /* "cpu/gemm" -> places of rows that name families */
    json_t *free;      /* places of all other rows */
    json_t *known;     /* who is asked for -> {words, differences} */
};

static struct reach reach_of(const json_t *environment)
{
    struct reach reach = {environment, json_object(), json_array(), json_object()};
    for (size_t i = 0; i < json_array_size(environment); i++) {
        const json_t *families = json_object_get(json_array_get(environment, i), "families");
        for (size_t k = 0; k < json_array_size(families); k++) {
            dp_json_group(reach.by_family, json_string_value(json_array_get(families, k)),
                          json_integer((json_int_t)i));
        }
        if (!families && json_array_size(reach.free) < MAX_FREE) {
            json_array_append_new(reach.free, json_integer((json_int_t)i));
        }
    }
    return reach;
}

static void reach_free(struct reach *reach)
{
    json_decref(reach->by_family);
    json_decref(reach->free);
    json_decref(reach->known);
}

/* The lower of the first places of two lists, taken from its list; SIZE_MAX where both are through. */
static size_t next_place(const json_t *lists[2], size_t at[2])
{
    json_int_t least = -1;
    for (int i = 0; i < 2; i++) {
        const json_t *place = json_array_get(lists[i], at[i]);
        if (place && (least < 0 || json_integer_value(place) < least)) {
            least = json_integer_value(place);
        }
    }
    for (int i = 0; i < 2 && least >= 0; i++) {
        at[i] +=
            json_integer_value(json_array_get(lists[i], at[i])) == least && json_array_get(lists[i], at[i]);
    }
    return least < 0 ? SIZE_MAX : (size_t)least;
}

/* Does the case set this variable itself, so that the one of the environment does not reach it? */
static bool is_set_by(const json_t *change, const json_t *difference)
{
    return strcmp(dp_json_string(difference, "kind", ""), "variable") == 0 &&
           dp_json_array_has(json_object_get(change, "sets"), dp_json_string(difference, "subject", ""));
}

/* A list of processor flags says less than how many lines it takes; the environment has it. */
static const char *headline_of(const json_t *difference)
{
    const bool flags = strcmp(dp_json_string(difference, "member", ""), "cpu_flags") == 0 &&
                       strcmp(dp_json_string(difference, "kind", ""), "host") == 0;
    return flags ? "other cpu_flags" : dp_json_string(difference, "words", "");
}

static json_t *differences_of(const struct reach *reach, const json_t *change, const char *family)
{
    const json_t *lists[2] = {json_object_get(reach->by_family, family), reach->free};
    size_t at[2] = {0, 0}, count = 0;
    struct dp_text words = DP_TEXT(DP_DIFF_TEXT_MOST);
    json_t *places = json_array();
    for (size_t place; (place = next_place(lists, at)) != SIZE_MAX;) {
        const json_t *difference = json_array_get(reach->environment, place);
        if (!dp_difference_reaches(difference, dp_json_string(change, "backend", ""), family) ||
            is_set_by(change, difference)) {
            continue;
        }
        if (count < MAX_NAMED) {
            dp_text_printf(&words, "%s%s", words.length ? "; " : "", headline_of(difference));
        }
        if (count++ < MAX_KEPT) {
            json_array_append_new(places, json_integer((json_int_t)place));
        }
    }
    if (count > MAX_NAMED) {
        dp_text_printf(&words, "; and %zu more", count - MAX_NAMED);
    }
    json_t *found = json_pack("{ss so}", "words", words.data ? words.data : "", "differences", places);
    dp_text_free(&words);
    return found;
}

/* What of the environment reaches the case of a change. Borrowed. */
static const json_t *found_for(struct reach *reach, const json_t *change)
{
    char *family =
        dp_printf("%s/%s", dp_json_string(change, "backend", ""), dp_json_string(change, "family", ""));
    char *sets = json_dumps(json_object_get(change, "sets"), JSON_COMPACT);
    char *key = dp_printf("%s %s", family, sets ? sets : "");
    if (!json_object_get(reach->known, key)) {
        json_object_set_new(reach->known, key, differences_of(reach, change, family));
    }
    const json_t *found = json_object_get(reach->known, key);
    free(family);
    free(sets);
    free(key);
    return found;
}

/* --- causes --- */

/* What differs in how the case itself ran: "another implementation chosen; 2 → 4 threads". */
static void add_own(const json_t *change, struct dp_text *words, json_t *names)
{
    static const char *const own[][2] = {{"chosen", "another implementation chosen"},
                                         {"kernels", "other kernels launched"},
                                         {"threads", NULL}};
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        const json_t *two = json_object_get(change, own[i][0]);
        if (!two) {
            continue;
        }
        dp_text_put(words, words->length ? "; " : "");
        if (own[i][1]) {
            dp_text_put(words, own[i][1]);
        } else {
            dp_text_printf(words, "%lld \xe2\x86\x92 %lld threads",
                           (long long)json_integer_value(json_array_get(two, 0)),
                           (long long)json_integer_value(json_array_get(two, 1)));
        }
        json_array_append_new(names, json_string(own[i][0]));
    }
}

#define OTHER_ORDER "summation order changed"

/* Another order explains other bits, and the same one says that it does not. */
static void add_order(const json_t *change, struct dp_text *words, json_t *names)
{
    const json_t *two = json_object_get(change, "order");
    if (two) {
        const bool other = dp_diff_is_other_order(two);
        dp_text_printf(words, "%s%s", words->length ? "; " : "",
                       other ? OTHER_ORDER : "same summation order, so other arithmetic or other elements");
        json_array_append_new(names, json_string(other ? "order" : "arithmetic"));
    }
}

struct causes {
    json_t *list;
    json_t *places; /* words -> place in the list */
    json_t *orders; /* words -> "4 blocks of 128 → 8 blocks of 64" of its changes, each once */
};

static void add_orders(const struct causes *causes, const char *cause, const json_t *change)
{
    char *orders = dp_diff_orders(json_object_get(change, "order"));
    if (!json_object_get(causes->orders, cause)) {
        json_object_set_new(causes->orders, cause, json_object());
    }
    json_object_set_new(json_object_get(causes->orders, cause), orders, json_true());
    free(orders);
}

/* Where one change of the order is behind all that a cause explains, the cause tells it. */
static void tell_orders(const struct causes *causes, json_t *cause)
{
    const char *words = dp_json_string(cause, "cause", "");
    json_t *orders = json_object_get(causes->orders, words);
    const char *end = NULL;
    for (const char *at = words; (at = strstr(at, OTHER_ORDER));
         at++) { /* the last: behind the environment */
        end = at + strlen(OTHER_ORDER);
    }
    if (json_object_size(orders) == 1 && end) {
        char *told = dp_printf("%.*s: %s%s", (int)(end - words), words,
                               json_object_iter_key(json_object_iter(orders)), end);
        json_object_set_new(cause, "cause", json_string(told));
        free(told);
    }
}

/* The place of the cause of a change. */
static size_t cause_of(struct causes *causes, struct reach *reach, const json_t *change)
{
    const json_t *found = found_for(reach, change);
    struct dp_text words = DP_TEXT(DP_DIFF_TEXT_MOST);
    json_t *own = json_array();
    dp_text_put(&words, dp_json_string(found, "words", ""));
    add_own(change, &words, own);
    add_order(change, &words, own);
    if (json_array_size(json_object_get(found, "differences")) == 0) {
        dp_text_printf(&words, "%snothing in the environment explains it", words.length ? "; " : "");
    }
    if (!json_object_get(causes->places, words.data)) {
        json_object_set_new(causes->places, words.data,
                            json_integer((json_int_t)json_array_size(causes->list)));
        json_array_append_new(causes->list,
                              json_pack("{ss sO sO s{} s{}}", "cause", words.data, "differences",
                                        json_object_get(found, "differences"), "own", own, "kinds", "cases"));
    }
    const json_int_t place = dp_json_int(causes->places, words.data, 0);
    if (dp_json_array_has(own, "order")) {
        add_orders(causes, words.data, change);
    }
    json_decref(own);
    dp_text_free(&words);
    return (size_t)place;
}

/* What is on one side alone has no cause in the environment: somebody chose other cases. */
static bool has_cause(const char *kind)
{
    return strcmp(kind, dp_change_name(DP_CHANGE_NEW)) != 0 &&
           strcmp(kind, dp_change_name(DP_CHANGE_MISSING)) != 0;
}

json_t *dp_diff_causes(json_t *changes, const json_t *environment)
{
    struct causes causes = {json_array(), json_object(), json_object()};
    struct reach reach = reach_of(environment);
    size_t i;
    json_t *change, *cause;
    json_array_foreach(changes, i, change)
    {
        const char *kind = dp_json_string(change, "kind", "");
        if (!has_cause(kind)) {
            continue;
        }
        const size_t place = cause_of(&causes, &reach, change);
        cause = json_array_get(causes.list, place);
        dp_json_count(json_object_get(cause, "kinds"), kind);
        json_object_set(json_object_get(cause, "cases"), dp_json_string(change, "case", ""), json_true());
        json_object_set_new(change, "cause", json_integer((json_int_t)place));
    }
    json_array_foreach(causes.list, i, cause)
    {
        json_object_set_new(cause, "cases", dp_json_keys(json_object_get(cause, "cases")));
        tell_orders(&causes, cause);
    }
    reach_free(&reach);
    json_decref(causes.places);
    json_decref(causes.orders);
    return causes.list;
}
