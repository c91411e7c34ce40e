/* SPDX-License-Identifier: Apache-2.0
 *
 * What differs between two environments, row by row.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/diff/parts.h"
#include "suite/base/json.h"
#include "suite/base/text.h"

#define FEW_WORDS ((size_t)6)     /* of a long list, those of one side alone */
#define WORDS_MOST ((size_t)1000) /* bytes of one side in words; before and after have it whole */

json_t *dp_difference(const char *kind, const char *subject, const char *member, const char *before,
                      const char *after)
{
    return json_pack("{ss ss ss ss* ss*}", "kind", kind, "subject", subject, "member", member, "before",
                     before, "after", after);
}

/* --- long values: the words that one side alone has --- */

/* The words of a text as keys. Owned. */
static json_t *set_of_words(const char *text)
{
    json_t *set = json_object();
    for (const char *at = text; *at; at += strspn(at, " ")) {
        const size_t length = strcspn(at, " ");
        char *word = dp_printf("%.*s", (int)length, at);
        json_object_set_new(set, word, json_true());
        free(word);
        at += length;
    }
    return set;
}

/* The first of them, and how many more there are. Owned. */
static char *words_only_of(const char *text, const char *other)
{
    struct dp_text words = DP_TEXT(DP_DIFF_TEXT_MOST);
    size_t count = 0;
    json_t *known = set_of_words(other);
    for (const char *at = text; *at; at += strspn(at, " ")) {
        const size_t length = strcspn(at, " ");
        char *word = dp_printf("%.*s", (int)length, at);
        if (!json_object_get(known, word) && count++ < FEW_WORDS) {
            dp_text_printf(&words, "%s%s", words.length ? " " : "", word);
        }
        free(word);
        at += length;
    }
    json_decref(known);
    if (count > FEW_WORDS) {
        dp_text_printf(&words, " and %zu more", count - FEW_WORDS);
    }
    return dp_text_take(&words);
}

/* Cuts an owned text between characters. */
static char *shortened(char *text)
{
    const size_t length = dp_text_fit(text, WORDS_MOST);
    if (!text[length]) {
        return text;
    }
    char *cut = dp_printf("%.*s\xe2\x80\xa6", (int)length, text);
    free(text);
    return cut;
}

/* A list as words. Owned. */
static char *joined(const json_t *list)
{
    struct dp_text words = DP_TEXT(DP_DIFF_TEXT_MOST);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *word = json_string_value(json_array_get(list, i));
        dp_text_printf(&words, "%s%s", words.length ? " " : "", word ? word : "");
    }
    return dp_text_take(&words);
}

/* The value of a member as a line of text, NULL where it is not there. Owned. */
static char *shown(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!value || json_is_string(value)) {
        return value ? dp_strdup(json_string_value(value)) : NULL;
    }
    const bool words = json_is_array(value) && json_is_string(json_array_get(value, 0));
    return words ? joined(value) : json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS);
}

void dp_difference_member(json_t *rows, const char *kind, const char *subject, const char *member,
                          const json_t *before, const json_t *after, json_t *extra)
{
    if (json_equal(json_object_get(before, member), json_object_get(after, member)) ||
        (!json_object_get(before, member) && !json_object_get(after, member))) {
        return;
    }
    char *left = shown(before, member), *right = shown(after, member);
    json_t *found = dp_difference(kind, subject, member, left, right);
    if (extra) {
        json_object_update(found, extra);
    }
    json_array_append_new(rows, found);
    free(left);
    free(right);
}

/* --- devices, host, variables --- */

static void compare_objects(json_t *rows, const char *kind, const char *subject, const json_t *before,
                            const json_t *after)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)after, key, value)
    {
        dp_difference_member(rows, kind, subject ? subject : key, key, before, after, NULL);
    }
    json_object_foreach((json_t *)(uintptr_t)before, key, value)
    {
        if (!json_object_get(after, key)) {
            dp_difference_member(rows, kind, subject ? subject : key, key, before, after, NULL);
        }
    }
}

static void compare_devices(json_t *rows, const json_t *before, const json_t *after)
{
    const size_t most =
        json_array_size(before) > json_array_size(after) ? json_array_size(before) : json_array_size(after);
    for (size_t i = 0; i < most; i++) {
        const json_t *left = json_array_get(before, i), *right = json_array_get(after, i);
        if (left && right) {
            compare_objects(rows, "device", "device", left, right);
        } else {
            json_array_append_new(rows, dp_difference("device", "device", "name",
                                                      dp_json_string(left, "name", NULL),
                                                      dp_json_string(right, "name", NULL)));
        }
    }
}

static void compare_host(json_t *rows, const json_t *before, const json_t *after)
{
    static const char *const members[] = {"arch", "cpu_model", "cores_allowed", "cores_online",  "cgroup_cpu",
                                          "libc", "kernel",    "memory",        "cgroup_memory", "cpu_flags"};
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        dp_difference_member(rows, "host", members[i], members[i], before, after, NULL);
    }
}

/* --- own kernels, by program: equal text gives other images where compiler or device differ --- */

/* Owned. */
static json_t *by_program(const json_t *kernels)
{
    json_t *index = json_object();
    for (size_t i = 0; i < json_array_size(kernels); i++) {
        json_t *entry = json_array_get(kernels, i);
        json_object_set(index, dp_json_string(entry, "program", ""), entry);
    }
    return index;
}

static void compare_kernels(json_t *rows, const json_t *before, const json_t *after)
{
    json_t *index = by_program(after);
    for (size_t i = 0; i < json_array_size(before); i++) {
        const json_t *left = json_array_get(before, i);
        const char *program = dp_json_string(left, "program", "");
        const json_t *right = json_object_get(index, program);
        const bool text =
            right && !json_equal(json_object_get(left, "source"), json_object_get(right, "source"));
        json_t *extra = json_pack("{s[s]}", "families", program);
        if (right) {
            dp_difference_member(rows, "kernels", program, text ? "source" : "image", left, right, extra);
        }
        json_decref(extra);
    }
    json_decref(index);
}

/* "cuBLAS 12.4.5 -> 12.6.1"; of long lists of words, only those that one side alone has. Owned. */
static char *words_of(const json_t *difference)
{
    const char *subject = dp_json_string(difference, "subject", "");
    const char *member = dp_json_string(difference, "member", "");
    const char *before = dp_json_string(difference, "before", NULL);
    const char *after = dp_json_string(difference, "after", NULL);
    const bool list = strcmp(member, "config") == 0 || strcmp(member, "cpu_flags") == 0;
    const bool isa = strcmp(dp_json_string(difference, "kind", ""), "isa") == 0;
    member = isa ? "instruction set" : member;
    const bool plain =
        strcmp(member, subject) == 0 || strcmp(member, "version") == 0 || strcmp(member, "config") == 0;
    char *left = before && after && list ? words_only_of(before, after) : dp_strdup(before ? before : "none");
    char *right = before && after && list ? words_only_of(after, before) : dp_strdup(after ? after : "none");
    left = shortened(left);
    right = shortened(right);
    char *words = dp_printf("%s%s%s %s \xe2\x86\x92 %s", subject, plain ? "" : " ", plain ? "" : member,
                            *left ? left : "without", *right ? right : "without");
    free(left);
    free(right);
    return words;
}

json_t *dp_diff_environment(const json_t *before, const json_t *after)
{
    json_t *rows = json_array();
    const json_t *libraries[2] = {json_object_get(before, "libraries"), json_object_get(after, "libraries")};
    dp_difference_libraries(rows, libraries[0], libraries[1]);
    compare_devices(rows, json_object_get(before, "devices"), json_object_get(after, "devices"));
    compare_objects(rows, "variable", NULL, json_object_get(before, "variables"),
                    json_object_get(after, "variables"));
    compare_host(rows, json_object_get(before, "host"), json_object_get(after, "host"));
    compare_kernels(rows, json_object_get(before, "own_kernels"), json_object_get(after, "own_kernels"));
    dp_difference_member(rows, "floats", "floating-point control", "changes",
                         json_object_get(before, "float_environment"),
                         json_object_get(after, "float_environment"), NULL);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        json_t *found = json_array_get(rows, i);
        char *words = words_of(found);
        json_object_set_new(found, "words", json_string(words));
        free(words);
        if (strcmp(dp_json_string(found, "kind", ""), "variable") == 0) {
            dp_difference_readers(found, libraries);
        }
    }
    return rows;
}
