/* SPDX-License-Identifier: Apache-2.0
 *
 * What differs between two environments, row by row, and whom each row can have reached: a library the
 * families whose program opened it, a device its backend, the machine and its variables everyone.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/diff/parts.h"
#include "suite/base/json.h"
#include "suite/base/text.h"

#define WORDS_MOST ((size_t)1000) /* bytes of one side in words; before and after have it whole */

/* Borrows `before` and `after`; NULL: not there. */
static json_t *row(const char *kind, const char *subject, const char *member, const char *before,
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

/* Owned. */
static char *words_only_of(const char *text, const char *other)
{
    struct dp_text words = DP_TEXT(DP_DIFF_TEXT_MOST);
    json_t *known = set_of_words(other);
    for (const char *at = text; *at; at += strspn(at, " ")) {
        const size_t length = strcspn(at, " ");
        char *word = dp_printf("%.*s", (int)length, at);
        if (!json_object_get(known, word)) {
            dp_text_printf(&words, "%s%s", words.length ? " " : "", word);
        }
        free(word);
        at += length;
    }
    json_decref(known);
    char *owned = dp_strdup(words.data ? words.data : "");
    dp_text_free(&words);
    return owned;
}

/* Cuts an owned text between characters. */
static char *shortened(char *text)
{
    size_t length = WORDS_MOST;
    if (strlen(text) <= length) {
        return text;
    }
    while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80) {
        length--;
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
    char *owned = dp_strdup(words.data ? words.data : "");
    dp_text_free(&words);
    return owned;
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

/* Adds a row where the member differs; `extra` is added to it, borrowed, or NULL. */
static void compare_member(json_t *rows, const char *kind, const char *subject, const char *member,
                           const json_t *before, const json_t *after, json_t *extra)
{
    if (json_equal(json_object_get(before, member), json_object_get(after, member)) ||
        (!json_object_get(before, member) && !json_object_get(after, member))) {
        return;
    }
    char *left = shown(before, member), *right = shown(after, member);
    json_t *found = row(kind, subject, member, left, right);
    if (extra) {
        json_object_update(found, extra);
    }
    json_array_append_new(rows, found);
    free(left);
    free(right);
}

/* --- libraries: by role; several of one role by their place in the order of paths --- */

static json_t *of_role(const json_t *libraries, const char *role, size_t nth)
{
    for (size_t i = 0; i < json_array_size(libraries); i++) {
        json_t *library = json_array_get(libraries, i);
        if (strcmp(dp_json_string(library, "role", ""), role) == 0 && nth-- == 0) {
            return library;
        }
    }
    return NULL;
}

static size_t nth_of_role(const json_t *libraries, size_t index)
{
    const char *role = dp_json_string(json_array_get(libraries, index), "role", "");
    size_t nth = 0;
    for (size_t i = 0; i < index; i++) {
        nth += strcmp(dp_json_string(json_array_get(libraries, i), "role", ""), role) == 0;
    }
    return nth;
}

/* Families that had the library on either side. Owned. */
static json_t *families_of(const json_t *before, const json_t *after)
{
    const json_t *sides[] = {json_object_get(before, "families"), json_object_get(after, "families")};
    json_t *families = json_array();
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < json_array_size(sides[side]); i++) {
            json_t *family = json_array_get(sides[side], i);
            if (!dp_json_array_has(families, json_string_value(family))) {
                json_array_append(families, family);
            }
        }
    }
    return families;
}

/* "OpenBLAS 0.3.21"; NULL for none. Owned. */
static char *title_of(const json_t *library)
{
    return library ? dp_printf("%s %s", dp_json_string(library, "name", ""),
                               dp_json_string(library, "version", ""))
                   : NULL;
}

/* A version says more than how it was built, that more than a path: the first that differs is the row. */
static void compare_library(json_t *rows, const json_t *before, const json_t *after)
{
    static const char *const members[] = {"version", "config", "path"};
    const json_t *any = after ? after : before;
    const char *name = dp_json_string(any, "name", ""), *role = dp_json_string(any, "role", "");
    const bool another = !before || !after || strcmp(dp_json_string(before, "name", ""), name) != 0;
    const size_t had = json_array_size(rows);
    json_t *extra = json_pack("{ssso}", "role", role, "families", families_of(before, after));
    if (another) {
        char *left = title_of(before), *right = title_of(after);
        json_t *found = row("library", role, "version", left, right);
        json_object_update(found, extra);
        json_array_append_new(rows, found);
        free(left);
        free(right);
    }
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]) && json_array_size(rows) == had; i++) {
        compare_member(rows, "library", name, members[i], before, after, extra);
    }
    json_decref(extra);
}

static void compare_libraries(json_t *rows, const json_t *before, const json_t *after)
{
    for (size_t i = 0; i < json_array_size(after); i++) {
        const json_t *library = json_array_get(after, i);
        compare_library(rows, of_role(before, dp_json_string(library, "role", ""), nth_of_role(after, i)),
                        library);
    }
    for (size_t i = 0; i < json_array_size(before); i++) {
        const json_t *library = json_array_get(before, i);
        if (!of_role(after, dp_json_string(library, "role", ""), nth_of_role(before, i))) {
            compare_library(rows, library, NULL);
        }
    }
}

/* --- devices, host, variables --- */

static void compare_objects(json_t *rows, const char *kind, const char *subject, const json_t *before,
                            const json_t *after)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)after, key, value)
    {
        compare_member(rows, kind, subject ? subject : key, key, before, after, NULL);
    }
    json_object_foreach((json_t *)(uintptr_t)before, key, value)
    {
        if (!json_object_get(after, key)) {
            compare_member(rows, kind, subject ? subject : key, key, before, after, NULL);
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
            json_array_append_new(rows, row("device", "device", "name", dp_json_string(left, "name", NULL),
                                            dp_json_string(right, "name", NULL)));
        }
    }
}

static void compare_host(json_t *rows, const json_t *before, const json_t *after)
{
    static const char *const members[] = {"arch", "cpu_model", "cores_allowed", "cores_online",  "cgroup_cpu",
                                          "libc", "kernel",    "memory",        "cgroup_memory", "cpu_flags"};
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        compare_member(rows, "host", members[i], members[i], before, after, NULL);
    }
}

/* --- own kernels, by program: equal text gives other images where compiler or device differ --- */

static json_t *kernels_of(const json_t *kernels, const char *program)
{
    for (size_t i = 0; i < json_array_size(kernels); i++) {
        if (strcmp(dp_json_string(json_array_get(kernels, i), "program", ""), program) == 0) {
            return json_array_get(kernels, i);
        }
    }
    return NULL;
}

static void compare_kernels(json_t *rows, const json_t *before, const json_t *after)
{
    for (size_t i = 0; i < json_array_size(before); i++) {
        const json_t *left = json_array_get(before, i);
        const char *program = dp_json_string(left, "program", "");
        const json_t *right = kernels_of(after, program);
        const bool text =
            right && !json_equal(json_object_get(left, "source"), json_object_get(right, "source"));
        json_t *extra = json_pack("{s[s]}", "families", program);
        if (right) {
            compare_member(rows, "kernels", program, text ? "source" : "image", left, right, extra);
        }
        json_decref(extra);
    }
}

/* "cuBLAS 12.4.5 -> 12.6.1"; of long lists of words, only those that one side alone has. Owned. */
static char *words_of(const json_t *difference)
{
    const char *subject = dp_json_string(difference, "subject", "");
    const char *member = dp_json_string(difference, "member", "");
    const char *before = dp_json_string(difference, "before", NULL);
    const char *after = dp_json_string(difference, "after", NULL);
    const bool list = strcmp(member, "config") == 0 || strcmp(member, "cpu_flags") == 0;
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
    compare_libraries(rows, json_object_get(before, "libraries"), json_object_get(after, "libraries"));
    compare_devices(rows, json_object_get(before, "devices"), json_object_get(after, "devices"));
    compare_objects(rows, "variable", NULL, json_object_get(before, "variables"),
                    json_object_get(after, "variables"));
    compare_host(rows, json_object_get(before, "host"), json_object_get(after, "host"));
    compare_kernels(rows, json_object_get(before, "own_kernels"), json_object_get(after, "own_kernels"));
    compare_member(rows, "floats", "floating-point control", "changes",
                   json_object_get(before, "float_environment"), json_object_get(after, "float_environment"),
                   NULL);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        char *words = words_of(json_array_get(rows, i));
        json_object_set_new(json_array_get(rows, i), "words", json_string(words));
        free(words);
    }
    return rows;
}

/* --- whom it reaches --- */

/* Members of the host that decide which code runs or how work is split. */
static bool host_decides(const char *member)
{
    static const char *const deciding[] = {"arch",          "cpu_model",  "cpu_flags",
                                           "cores_allowed", "cgroup_cpu", "libc"};
    for (size_t i = 0; i < sizeof(deciding) / sizeof(deciding[0]); i++) {
        if (strcmp(deciding[i], member) == 0) {
            return true;
        }
    }
    return false;
}

bool dp_difference_reaches(const json_t *difference, const char *backend, const char *family)
{
    const char *kind = dp_json_string(difference, "kind", "");
    if (strcmp(kind, "library") == 0 || strcmp(kind, "kernels") == 0) {
        const json_t *families = json_object_get(difference, "families");
        return json_array_size(families) == 0 || dp_json_array_has(families, family);
    }
    if (strcmp(kind, "device") == 0) {
        return strcmp(backend, "cpu") != 0 && strcmp(backend, "python") != 0;
    }
    if (strcmp(kind, "floats") == 0) {
        return strcmp(backend, "cuda") != 0;
    }
    if (strcmp(kind, "host") == 0) {
        return strcmp(backend, "cuda") != 0 && host_decides(dp_json_string(difference, "member", ""));
    }
    return true;
}
