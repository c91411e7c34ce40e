/* SPDX-License-Identifier: Apache-2.0
 *
 * Which library of one environment is which of the other, and how the two differ: in name or version, in the
 * instruction set whose kernels run, in how it was built, in its file.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/diff/parts.h"
#include "suite/base/json.h"
#include "suite/base/text.h"

/* --- pairs: of one role, the same file first, then the same name, then whatever is left of the role --- */

enum { PASSES = 3 };

/* What a library goes by in this pass. Owned. */
static char *key_of(const json_t *library, int pass)
{
    const char *by = pass == 0   ? dp_json_string(library, "path", "")
                     : pass == 1 ? dp_json_string(library, "name", "")
                                 : "";
    return dp_printf("%s\n%s", dp_json_string(library, "role", ""), by);
}

/* The places of the libraries that have no partner yet, in lists by key, the last place first: taken from the
 * end. Owned. */
static json_t *lists_by_key(const json_t *libraries, const size_t *partner, int pass)
{
    json_t *lists = json_object();
    for (size_t i = json_array_size(libraries); i-- > 0;) {
        if (partner[i] != SIZE_MAX) {
            continue;
        }
        char *key = key_of(json_array_get(libraries, i), pass);
        dp_json_group(lists, key, json_integer((json_int_t)i));
        free(key);
    }
    return lists;
}

/* Places of partners on the other side, SIZE_MAX for none. Both owned. */
static void find_partners(const json_t *before, const json_t *after, size_t **ret_before, size_t **ret_after)
{
    const size_t had = json_array_size(before), has = json_array_size(after);
    size_t *was = dp_alloc(had, sizeof(*was)), *is = dp_alloc(has, sizeof(*is));
    memset(was, 0xff, had * sizeof(*was));
    memset(is, 0xff, has * sizeof(*is));
    for (int pass = 0; pass < PASSES; pass++) {
        json_t *lists = lists_by_key(before, was, pass);
        for (size_t i = 0; i < has; i++) {
            char *key = is[i] == SIZE_MAX ? key_of(json_array_get(after, i), pass) : NULL;
            json_t *list = key ? json_object_get(lists, key) : NULL;
            const size_t left = json_array_size(list);
            free(key);
            if (left > 0) {
                is[i] = (size_t)json_integer_value(json_array_get(list, left - 1));
                was[is[i]] = i;
                json_array_remove(list, left - 1);
            }
        }
        json_decref(lists);
    }
    *ret_before = was;
    *ret_after = is;
}

/* --- rows --- */

/* Families that had the library on either side; NULL where neither side says. Owned. */
static json_t *families_of(const json_t *before, const json_t *after)
{
    const json_t *sides[] = {json_object_get(before, "families"), json_object_get(after, "families")};
    json_t *names = json_object();
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < json_array_size(sides[side]); i++) {
            json_object_set_new(names, json_string_value(json_array_get(sides[side], i)), json_true());
        }
    }
    json_t *families = sides[0] || sides[1] ? dp_json_keys(names) : NULL;
    json_decref(names);
    return families;
}

/* Reports before member `isa` have it in the configuration: the word after "core=" (OpenBLAS) or "effective
 * isa " (oneDNN). NULL: neither is there. Owned. */
static char *isa_in_config(const json_t *library)
{
    static const char *const marks[] = {"core=", "effective isa "};
    const char *config = dp_json_string(library, "config", "");
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        const char *mark = strstr(config, marks[i]);
        const char *word = mark ? mark + strlen(marks[i]) : "";
        if (*word && *word != ' ') {
            return dp_printf("%.*s", (int)strcspn(word, " "), word);
        }
    }
    return NULL;
}

char *dp_library_isa(const json_t *library)
{
    const char *isa = dp_json_string(library, "isa", NULL);
    return isa ? dp_strdup(isa) : isa_in_config(library);
}

/* Is the word of this length `value`, or "name=value"? */
static bool says(const char *word, size_t length, const char *value)
{
    const char *equals = memchr(word, '=', length);
    const char *said = equals ? equals + 1 : word;
    const size_t rest = length - (size_t)(said - word);
    return value && rest == strlen(value) && strncmp(said, value, rest) == 0;
}

/* The configuration without words that say the instruction set. Owned. */
static char *config_beside(const json_t *library)
{
    struct dp_text words = DP_TEXT(DP_DIFF_TEXT_MOST);
    const char *config = dp_json_string(library, "config", "");
    const char *isa = dp_json_string(library, "isa", NULL);
    char *older = isa_in_config(library);
    for (const char *at = config; *at; at += strspn(at, " ")) {
        const size_t length = strcspn(at, " ");
        if (!says(at, length, isa) && !says(at, length, older)) {
            dp_text_put(&words, words.length ? " " : "");
            dp_text_add(&words, at, length);
        }
        at += length;
    }
    free(older);
    return dp_text_take(&words);
}

char *dp_library_title(const json_t *library)
{
    const char *version = dp_json_string(library, "version", "");
    return library ? dp_printf("%s%s%s", dp_json_string(library, "name", ""), *version ? " " : "", version)
                   : NULL;
}

/* Whether the configurations differ in more than the instruction set. */
static bool built_otherwise(const json_t *before, const json_t *after)
{
    char *left = config_beside(before), *right = config_beside(after);
    const bool differ = strcmp(left, right) != 0;
    free(left);
    free(right);
    return differ;
}

/* A version says more than how it was built, that more than a path: the first that differs is the row. The
 * instruction set is a row of its own: it may differ between two runs of one file. */
static void compare_library(json_t *rows, const json_t *before, const json_t *after)
{
    const json_t *any = after ? after : before;
    const char *name = dp_json_string(any, "name", ""), *role = dp_json_string(any, "role", "");
    const bool another = !before || !after || strcmp(dp_json_string(before, "name", ""), name) != 0;
    const size_t had = json_array_size(rows);
    json_t *extra = json_pack("{ss so*}", "role", role, "families", families_of(before, after));
    if (another) {
        char *left = dp_library_title(before), *right = dp_library_title(after);
        json_t *found = dp_difference("library", role, "version", left, right);
        json_object_update(found, extra);
        json_array_append_new(rows, found);
        free(left);
        free(right);
        json_decref(extra);
        return;
    }
    /* one word is no other than what an older report has in other words */
    const bool both = json_object_get(before, "isa") && json_object_get(after, "isa");
    char *was = both ? dp_library_isa(before) : isa_in_config(before);
    char *is = both ? dp_library_isa(after) : isa_in_config(after);
    const bool other_isa = was && is && strcmp(was, is) != 0;
    dp_difference_member(rows, "library", name, "version", before, after, extra);
    if (json_array_size(rows) == had && (!other_isa || built_otherwise(before, after))) {
        dp_difference_member(rows, "library", name, "config", before, after, extra);
    }
    if (json_array_size(rows) == had) {
        dp_difference_member(rows, "library", name, "path", before, after, extra);
    }
    if (other_isa) {
        json_t *found = dp_difference("isa", name, "isa", was, is);
        json_object_update(found, extra);
        json_array_append_new(rows, found);
    }
    free(was);
    free(is);
    json_decref(extra);
}

void dp_difference_libraries(json_t *rows, const json_t *before, const json_t *after)
{
    size_t *was = NULL, *is = NULL;
    find_partners(before, after, &was, &is);
    for (size_t i = 0; i < json_array_size(after); i++) {
        compare_library(rows, is[i] == SIZE_MAX ? NULL : json_array_get(before, is[i]),
                        json_array_get(after, i));
    }
    for (size_t i = 0; i < json_array_size(before); i++) {
        if (was[i] == SIZE_MAX) {
            compare_library(rows, json_array_get(before, i), NULL);
        }
    }
    free(was);
    free(is);
}
