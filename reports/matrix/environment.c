/* SPDX-License-Identifier: Apache-2.0
 *
 * What is not the same in all environments of a matrix, one row for each thing with its value in each report.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/diff/parts.h"
#include "reports/matrix/parts.h"
#include "suite/base/json.h"
#include "suite/base/text.h"

struct environments {
    const json_t *of[DP_MATRIX_MOST];
    json_t *by_role[DP_MATRIX_MOST]; /* role -> its libraries */
    size_t count;
    json_t *rows;
};

/* Takes `values`; adds the row unless all of them are equal. Borrowed, NULL where there is none. */
static json_t *add_row(struct environments *all, const char *kind, const char *subject, const char *member,
                       json_t *values)
{
    bool differ = false;
    for (size_t i = 1; i < all->count; i++) {
        differ = differ || !json_equal(json_array_get(values, 0), json_array_get(values, i));
    }
    if (differ) {
        json_array_append_new(all->rows, json_pack("{ss ss ss sO}", "kind", kind, "subject", subject,
                                                   "member", member, "values", values));
    }
    json_decref(values);
    return differ ? json_array_get(all->rows, json_array_size(all->rows) - 1) : NULL;
}

/* The value of a member as text; null where there is none. Owned. */
static json_t *value_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!value || json_is_string(value)) {
        return value ? json_string(json_string_value(value)) : json_null();
    }
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS);
    json_t *string = json_string(text ? text : "");
    free(text);
    return string;
}

/* Keys of the objects of all environments at this member, each once. Owned. */
static json_t *keys_of_all(const struct environments *all, const char *member)
{
    json_t *keys = json_object();
    for (size_t i = 0; i < all->count; i++) {
        json_object_update_missing(keys, json_object_get(all->of[i], member));
    }
    json_t *names = dp_json_keys(keys);
    json_decref(keys);
    return names;
}

/* --- libraries, by role --- */

/* "OpenBLAS 0.3.21": what all libraries of a role say, joined by commas; null where the role has none. Owned.
 */
static json_t *said_by(const json_t *libraries, char *(*say)(const json_t *library))
{
    struct dp_text words = DP_TEXT(DP_DIFF_TEXT_MOST);
    for (size_t i = 0; i < json_array_size(libraries); i++) {
        char *said = say(json_array_get(libraries, i));
        if (said) {
            dp_text_printf(&words, "%s%s", words.length ? ", " : "", said);
        }
        free(said);
    }
    json_t *string = words.data ? json_string(words.data) : json_null();
    dp_text_free(&words);
    return string;
}

static char *say_path(const json_t *library)
{
    return dp_strdup(dp_json_string(library, "path", ""));
}

static char *say_config(const json_t *library)
{
    return dp_strdup(dp_json_string(library, "config", ""));
}

/* Families that had a library of the role in any of the reports; NULL where one does not say. Owned. */
static json_t *families_of(const struct environments *all, const char *role)
{
    json_t *names = json_object(), *families = NULL;
    bool known = true;
    for (size_t i = 0; i < all->count; i++) {
        const json_t *libraries = json_object_get(all->by_role[i], role);
        for (size_t k = 0; k < json_array_size(libraries); k++) {
            const json_t *own = json_object_get(json_array_get(libraries, k), "families");
            known = known && own;
            for (size_t f = 0; f < json_array_size(own); f++) {
                json_object_set_new(names, json_string_value(json_array_get(own, f)), json_true());
            }
        }
    }
    families = known ? dp_json_keys(names) : NULL;
    json_decref(names);
    return families;
}

/* A version says more than how it was built, that more than a path; the instruction set stands beside them.
 */
static void compare_role(struct environments *all, const char *role)
{
    static const struct {
        const char *kind, *member;
        char *(*say)(const json_t *library);
    } members[] = {{"library", "version", dp_library_title},
                   {"isa", "isa", dp_library_isa},
                   {"library", "config", say_config},
                   {"library", "path", say_path}};
    json_t *families = families_of(all, role);
    const size_t had = json_array_size(all->rows);
    for (size_t m = 0; m < sizeof(members) / sizeof(members[0]); m++) {
        if (m >= 2 && json_array_size(all->rows) > had) {
            break;
        }
        json_t *values = json_array();
        for (size_t i = 0; i < all->count; i++) {
            json_array_append_new(values, said_by(json_object_get(all->by_role[i], role), members[m].say));
        }
        json_t *row = add_row(all, members[m].kind, role, members[m].member, values);
        if (row && families) {
            json_object_set(row, "families", families);
        }
    }
    json_decref(families);
}

/* Every library of every report. Owned. */
static json_t *libraries_of_all(const struct environments *all)
{
    json_t *libraries = json_array();
    for (size_t i = 0; i < all->count; i++) {
        json_array_extend(libraries, json_object_get(all->of[i], "libraries"));
    }
    return libraries;
}

/* Owned. */
static json_t *by_role(const json_t *libraries)
{
    json_t *roles = json_object();
    for (size_t i = 0; i < json_array_size(libraries); i++) {
        json_t *library = json_array_get(libraries, i);
        dp_json_group(roles, dp_json_string(library, "role", ""), json_incref(library));
    }
    return roles;
}

static void compare_libraries(struct environments *all)
{
    json_t *roles = json_object();
    for (size_t i = 0; i < all->count; i++) {
        all->by_role[i] = by_role(json_object_get(all->of[i], "libraries"));
        json_object_update_missing(roles, all->by_role[i]);
    }
    const char *role;
    json_t *unused;
    json_object_foreach(roles, role, unused)
    {
        compare_role(all, role);
    }
    for (size_t i = 0; i < all->count; i++) {
        json_decref(all->by_role[i]);
    }
    json_decref(roles);
}

/* --- everything else --- */

static void compare_variables(struct environments *all, const json_t *libraries)
{
    json_t *names = keys_of_all(all, "variables");
    for (size_t n = 0; n < json_array_size(names); n++) {
        const char *name = json_string_value(json_array_get(names, n));
        json_t *values = json_array();
        for (size_t i = 0; i < all->count; i++) {
            json_array_append_new(values, value_of(json_object_get(all->of[i], "variables"), name));
        }
        json_t *row = add_row(all, "variable", name, name, values);
        if (row) {
            const json_t *both[2] = {libraries, NULL};
            dp_difference_readers(row, both);
        }
    }
    json_decref(names);
}

static void compare_host(struct environments *all)
{
    static const char *const members[] = {"arch", "cpu_model", "cores_allowed", "cores_online",  "cgroup_cpu",
                                          "libc", "kernel",    "memory",        "cgroup_memory", "cpu_flags"};
    for (size_t m = 0; m < sizeof(members) / sizeof(members[0]); m++) {
        json_t *values = json_array();
        for (size_t i = 0; i < all->count; i++) {
            json_array_append_new(values, value_of(json_object_get(all->of[i], "host"), members[m]));
        }
        add_row(all, "host", members[m], members[m], values);
    }
}

/* Whole members: the devices by their names, else as they stand. */
static void compare_devices(struct environments *all)
{
    json_t *names = json_array(), *values = json_array();
    for (size_t i = 0; i < all->count; i++) {
        const json_t *devices = json_object_get(all->of[i], "devices");
        struct dp_text words = DP_TEXT(10000);
        for (size_t k = 0; k < json_array_size(devices); k++) {
            dp_text_printf(&words, "%s%s", k ? ", " : "",
                           dp_json_string(json_array_get(devices, k), "name", "a device"));
        }
        json_array_append_new(names, words.data ? json_string(words.data) : json_null());
        json_array_append_new(values, value_of(all->of[i], "devices"));
        dp_text_free(&words);
    }
    if (add_row(all, "device", "devices", "name", names)) {
        json_decref(values);
    } else {
        add_row(all, "device", "devices", "members", values);
    }
}

static void compare_whole(struct environments *all, const char *kind, const char *subject, const char *member)
{
    json_t *values = json_array();
    for (size_t i = 0; i < all->count; i++) {
        json_array_append_new(values, value_of(all->of[i], member));
    }
    add_row(all, kind, subject, member, values);
}

json_t *dp_matrix_environment(const struct dp_diff_side *sides, size_t count)
{
    struct environments all = {.count = count, .rows = json_array()};
    for (size_t i = 0; i < count; i++) {
        all.of[i] = json_object_get(json_object_get(sides[i].report, "body"), "environment");
    }
    json_t *libraries = libraries_of_all(&all);
    compare_libraries(&all);
    compare_devices(&all);
    compare_variables(&all, libraries);
    compare_host(&all);
    compare_whole(&all, "kernels", "own kernels", "own_kernels");
    compare_whole(&all, "floats", "floating-point control", "float_environment");
    json_decref(libraries);
    return all.rows;
}
