/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading --assume strictly.
 */
#include "suite/plan/assume.h"

#include <stdlib.h>
#include <string.h>

#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/base/version.h"
#include "suite/plan/guarantee.h"

enum { ROLES_MOST = 200 };

static void add_roles(json_t *roles, const json_t *statement)
{
    const char *library = dp_json_string(statement, "library", NULL), *role;
    json_t *range;
    if (library) {
        json_object_set_new(roles, library, json_true());
    }
    json_object_foreach(json_object_get(statement, "versions"), role, range)
    {
        json_object_set_new(roles, role, json_true());
    }
}

json_t *dp_assume_roles_of(const struct dp_case *item)
{
    const json_t *guarantee = json_object_get(item->json, "guarantee");
    const json_t *otherwise = json_object_get(guarantee, "otherwise");
    json_t *roles = json_object();
    add_roles(roles, guarantee);
    for (size_t i = 0; i < json_array_size(otherwise); i++) {
        add_roles(roles, json_array_get(otherwise, i));
    }
    return roles;
}

static json_t *known_roles(const struct dp_catalogue *catalogue)
{
    json_t *roles = json_object();
    for (size_t i = 0; i < catalogue->case_count; i++) {
        json_t *own = dp_assume_roles_of(&catalogue->cases[i]);
        json_object_update(roles, own);
        json_decref(own);
    }
    return roles;
}

static int unknown_role(const char *role, json_t *known, struct dp_err *err)
{
    const char *names[ROLES_MOST], *name;
    size_t count = 0;
    json_t *value;
    struct dp_text all = DP_TEXT(1000);
    json_object_foreach(known, name, value)
    {
        if (count < ROLES_MOST) {
            dp_text_printf(&all, "%s%s", count ? ", " : "", name);
            names[count++] = name;
        }
    }
    const char *near = dp_suggest(role, names, count);
    if (near) {
        dp_err_set(err, DP_EXIT_USAGE, "option '--assume': unknown role '%.60s', did you mean '%s'?", role,
                   near);
    } else {
        dp_err_set(err, DP_EXIT_USAGE, "option '--assume': unknown role '%.60s', expected one of %s", role,
                   all.data ? all.data : "none");
    }
    dp_text_free(&all);
    return -1;
}

/* "90", "120": two digits or three. */
static bool is_sm(const char *text)
{
    const size_t digits = strspn(text, "0123456789");
    return text[digits] == '\0' && digits >= 2 && digits <= 3 && text[0] != '0';
}

/* Numbers with dots between them, then what a build adds. */
static bool is_version(const char *text)
{
    static const char added[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.+-";
    return dp_version_known(text) && strspn(text, added) == strlen(text) && !strstr(text, "..") &&
           text[strlen(text) - 1] != '.';
}

static bool is_name(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (text[i] < ' ' || text[i] > '~') {
            return false;
        }
    }
    return length > 0;
}

static int add_pair(json_t *assumed, const char *role, const char *value, json_t *known, struct dp_err *err)
{
    const char *slash = strrchr(value, '/'), *version = slash ? slash + 1 : value;
    const bool sm = strcmp(role, DP_ROLE_SM) == 0;
    if (!json_object_get(known, role)) {
        return unknown_role(role, known, err);
    }
    if (json_object_get(assumed, role)) {
        return dp_err_set(err, DP_EXIT_USAGE, "option '--assume': '%s' has two versions", role);
    }
    if (sm && !is_sm(value)) {
        return dp_err_set(err, DP_EXIT_USAGE,
                          "option '--assume': 'sm' is no '%.60s', write compute capability 9.0 as sm=90",
                          value);
    }
    if (!is_version(version) || (slash && !is_name(value, (size_t)(slash - value)))) {
        return dp_err_set(
            err, DP_EXIT_USAGE,
            "option '--assume': '%.60s' is no version of '%s', expected numbers with dots between "
            "them, as in 9.1",
            value, role);
    }
    json_t *row = json_pack("{ss, ss}", "version", version, "from", "assumed");
    if (slash) {
        json_object_set_new(row, "name", json_stringn(value, (size_t)(slash - value)));
    }
    json_object_set_new(assumed, role, row);
    return 0;
}

/* One word of the command line. */
static int add_word(json_t *assumed, const char *word, json_t *known, struct dp_err *err)
{
    char *copy = dp_strdup(word), *rest = copy;
    int rc = 0;
    for (char *pair; rc == 0 && (pair = strsep(&rest, ","));) {
        char *equals = strchr(pair, '=');
        if (!equals || equals == pair || !equals[1]) {
            rc = dp_err_set(err, DP_EXIT_USAGE,
                            "option '--assume': '%.60s' is no ROLE=VERSION, as in cudnn=9.1", pair);
        } else {
            *equals = '\0';
            rc = add_pair(assumed, pair, equals + 1, known, err);
        }
    }
    free(copy);
    return rc;
}

json_t *dp_assume(const struct dp_strings *words, const struct dp_catalogue *catalogue, struct dp_err *err)
{
    json_t *assumed = json_object(), *known = known_roles(catalogue);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < words->count; i++) {
        rc = add_word(assumed, words->items[i], known, err);
    }
    json_decref(known);
    if (rc != 0) {
        json_decref(assumed);
        return NULL;
    }
    return assumed;
}
