/* SPDX-License-Identifier: Apache-2.0
 *
 * One catalogue file expanded to plain cases: defaults merged, products of `vary` multiplied out, templates
 * and keys of sources and operators replaced, what was left out filled in.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite/base/json.h"
#include "suite/base/schema.h"
#include "suite/base/text.h"
#include "suite/plan/catalogue.h"
#include "suite/plan/guarantee.h"

/* Of one variant, and of one file: a slip in `vary` shall not fill the memory. */
enum { PRODUCT_MAX = 4096 };
enum { PARAM_NAME_MAX = 100 }; /* in a template */

/* Members that merge member by member; every other member replaces what is below it. */
static const char *const merged_members[] = {"params",       "guarantee",  "remedy",
                                             "remedy_along", "standalone", "environment"};
/* Members of an object in `vary` that belong to the case instead of its params. */
static const char *const vary_case_members[] = {"cost", "pair", "bound", "choice", "choices"};
/* Members in which {name} stands for a param, and {choice} for the choice, which may be a template itself. */
static const char *const template_members[] = {"choice", "id", "problem", "pair", "used_by"};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool is_one_of(const char *word, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(word, words[i]) == 0) {
            return true;
        }
    }
    return false;
}

static json_t *own_object(json_t *item, const char *key)
{
    json_t *member = json_object_get(item, key);
    if (!member) {
        member = json_object();
        json_object_set_new(item, key, member);
    }
    return member;
}

/* Puts the members of `from` into the case; `from` stays as it is. */
static void merge(json_t *item, const json_t *from)
{
    const char *key;
    json_t *member;
    json_object_foreach((json_t *)(uintptr_t)from, key, member)
    {
        if (strcmp(key, "vary") == 0) {
            continue;
        }
        if (is_one_of(key, merged_members, COUNT(merged_members))) {
            json_object_update(own_object(item, key), member);
        } else {
            json_object_set(item, key, member); /* shared: nothing below changes an array */
        }
    }
}

static void merge_vary(json_t *item, const char *name, json_t *value)
{
    json_t *params = own_object(item, "params");
    if (!json_is_object(value)) {
        json_object_set(params, name, value);
        return;
    }
    const char *key;
    json_t *member;
    json_object_foreach(value, key, member)
    {
        json_object_set(is_one_of(key, vary_case_members, COUNT(vary_case_members)) ? item : params, key,
                        member);
    }
}

static void print_param(struct dp_text *text, const json_t *value)
{
    if (json_is_string(value)) {
        dp_text_put(text, json_string_value(value));
    } else if (json_is_integer(value)) {
        dp_text_printf(text, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    } else {
        dp_text_put(text, json_is_true(value) ? "true" : "false");
    }
}

static const json_t *find_value(const json_t *item, const char *member, const char *name)
{
    const json_t *param = json_object_get(json_object_get(item, "params"), name);
    const bool is_choice = strcmp(name, "choice") == 0 && strcmp(member, "choice") != 0;
    return param || !is_choice ? param : json_object_get(item, "choice");
}

/* Replaces every {name} by its value. */
static int fill_template(const json_t *item, const char *member, const char *template, struct dp_text *text,
                         struct dp_err *err)
{
    for (const char *at = template; *at;) {
        const size_t plain = strcspn(at, "{");
        dp_text_add(text, at, plain);
        at += plain;
        if (!*at) {
            break;
        }
        const size_t length = strcspn(at + 1, "}");
        char name[PARAM_NAME_MAX + 1] = "";
        memcpy(name, at + 1, length <= PARAM_NAME_MAX ? length : 0);
        const json_t *value = at[1 + length] ? find_value(item, member, name) : NULL;
        if (!value) {
            return dp_err_set(err, DP_EXIT_DATA, "'%.120s' names no param at '%.40s'", template, at);
        }
        print_param(text, value);
        at += length + 2;
    }
    return 0;
}

static int fill_templates(json_t *item, struct dp_err *err)
{
    for (size_t i = 0; i < COUNT(template_members); i++) {
        const char *template = dp_json_string(item, template_members[i], NULL);
        if (!template || !strchr(template, '{')) {
            continue;
        }
        struct dp_text text = DP_TEXT(400);
        const int rc = fill_template(item, template_members[i], template, &text, err);
        if (rc == 0) {
            json_object_set_new(item, template_members[i], json_string(text.data));
        }
        dp_text_free(&text);
        if (rc != 0) {
            return -1;
        }
    }
    return 0;
}

static size_t span(const char *string, const char *more)
{
    size_t n = 0;
    while ((string[n] >= 'a' && string[n] <= 'z') || (string[n] >= '0' && string[n] <= '9') ||
           (string[n] && strchr(more, string[n]))) {
        n++;
    }
    return n;
}

/* backend/family/name; the schema's pattern, checked again because a template is known only now. */
static bool is_case_id(const char *id)
{
    const size_t backend = span(id, "");
    if (backend == 0 || id[backend] != '/') {
        return false;
    }
    const char *family = id + backend + 1;
    const size_t length = span(family, "-");
    if (length == 0 || family[length] != '/') {
        return false;
    }
    const char *name = family + length + 1;
    return span(name, "") > 0 && name[span(name, "._-")] == '\0' && strlen(id) <= 160;
}

/* Replaces a key of `sources` by its text. What has a blank in it is a text already. */
static int resolve_source(json_t *object, const char *member, const json_t *sources, struct dp_err *err)
{
    const char *key = dp_json_string(object, member, NULL);
    if (!key) {
        return 0;
    }
    json_t *text = json_object_get(sources, key);
    if (text) {
        json_object_set(object, member, text);
        return 0;
    }
    return strchr(key, ' ')
               ? 0
               : dp_err_set(err, DP_EXIT_DATA, "'%s' is '%.80s', which 'sources' does not hold", member, key);
}

/* Replaces a key of `operators` by its list. */
static int resolve_used_by(json_t *item, const json_t *operators, struct dp_err *err)
{
    const char *key = dp_json_string(item, "used_by", NULL);
    json_t *list = key ? json_object_get(operators, key) : NULL;
    if (list) {
        json_object_set(item, "used_by", list);
    } else if (key) {
        return dp_err_set(err, DP_EXIT_DATA, "'used_by' is '%.80s', which 'operators' does not hold", key);
    }
    return 0;
}

/* Of each axis. A remedy may be one of the file's defaults, which other cases share: it is replaced whole. */
static int resolve_along(json_t *along, const json_t *sources, struct dp_err *err)
{
    const char *axis;
    json_t *remedy;
    json_object_foreach(along, axis, remedy)
    {
        json_t *own = json_copy(remedy);
        const int rc = resolve_source(own, "source", sources, err);
        json_object_set_new(along, axis, own);
        if (rc != 0) {
            return -1;
        }
    }
    return 0;
}

/* Of versions that the guarantee itself does not speak of. The array may be the defaults': it is replaced. */
static int resolve_otherwise(json_t *guarantee, const json_t *sources, struct dp_err *err)
{
    const json_t *shared = json_object_get(guarantee, "otherwise");
    json_t *own = json_deep_copy(shared);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < json_array_size(own); i++) {
        rc = resolve_source(json_array_get(own, i), "source", sources, err);
    }
    if (own) {
        json_object_set_new(guarantee, "otherwise", own);
    }
    return rc;
}

json_t *dp_usual_covers(void)
{
    return json_pack("[s, s, s, s]", "repeat", "fresh", "poison", "busy");
}

static int complete_guarantee(json_t *guarantee, const json_t *sources, struct dp_err *err)
{
    const char *level = dp_json_string(guarantee, "level", "unstated");
    if (!json_object_get(guarantee, "source")) {
        if (strcmp(level, "unstated") != 0) {
            return dp_err_set(err, DP_EXIT_DATA, "guarantee '%s' names no source", level);
        }
        json_object_set_new(guarantee, "source", json_string("no statement is known"));
    }
    json_object_set_new(guarantee, "level", json_string(level));
    if (!json_object_get(guarantee, "covers")) {
        json_object_set_new(guarantee, "covers", dp_usual_covers());
    }
    if (!json_object_get(guarantee, "invariant")) {
        json_object_set_new(guarantee, "invariant", json_array());
    }
    own_object(guarantee, "conditions");
    return resolve_source(guarantee, "source", sources, err) != 0 ||
                   resolve_otherwise(guarantee, sources, err) != 0
               ? -1
               : dp_guarantee_check(guarantee, err);
}

/* A report's remedy says at least what to do. */
static int check_remedy(const json_t *remedy, struct dp_err *err)
{
    return json_object_size(remedy) == 0 || json_object_get(remedy, "text")
               ? 0
               : dp_err_set(err, DP_EXIT_DATA, "its 'remedy' has no 'text'");
}

static int check_control(const json_t *item, struct dp_err *err)
{
    const bool tagged = dp_json_array_has(json_object_get(item, "tags"), "control");
    const bool expected = json_object_get(item, "expected") != NULL;
    if (tagged != expected) {
        return dp_err_set(err, DP_EXIT_DATA,
                          tagged ? "tagged 'control' but has no 'expected'"
                                 : "has 'expected' but is not tagged 'control'");
    }
    return 0;
}

/* What was left out and what only the whole case can tell. */
static int complete(json_t *item, const json_t *file, struct dp_err *err)
{
    const json_t *sources = json_object_get(file, "sources");
    const char *id = dp_json_string(item, "id", "");
    if (!is_case_id(id)) {
        return dp_err_set(err, DP_EXIT_DATA, "the id is not of the form 'backend/family/name'");
    }
    if (!json_object_get(item, "op")) {
        return dp_err_set(err, DP_EXIT_DATA, "member 'op' is missing");
    }
    const char *batch = dp_json_string(item, "batch", NULL);
    if (batch && !json_is_integer(json_object_get(json_object_get(item, "params"), batch))) {
        return dp_err_set(err, DP_EXIT_DATA, "batch '%s' is no number among its params", batch);
    }
    if (json_object_get(item, "choices") && json_object_get(item, "choice")) {
        return dp_err_set(err, DP_EXIT_DATA, "has 'choices' although its 'choice' is fixed");
    }
    if (!json_object_get(item, "problem")) {
        json_object_set_new(item, "problem", json_string(strchr(id, '/') + 1));
    }
    static const char *const objects[] = {"params", "guarantee"};
    for (size_t i = 0; i < COUNT(objects); i++) {
        own_object(item, objects[i]);
    }
    static const char *const arrays[] = {"used_by", "tags"};
    for (size_t i = 0; i < COUNT(arrays); i++) {
        if (!json_object_get(item, arrays[i])) {
            json_object_set_new(item, arrays[i], json_array());
        }
    }
    if (!json_object_get(item, "arithmetic")) {
        json_object_set_new(item, "arithmetic", json_string("none"));
    }
    if (!json_object_get(item, "bound")) {
        json_object_set_new(item, "bound", json_integer(1));
    }
    if (complete_guarantee(json_object_get(item, "guarantee"), sources, err) != 0 ||
        resolve_source(json_object_get(item, "remedy"), "source", sources, err) != 0 ||
        resolve_along(json_object_get(item, "remedy_along"), sources, err) != 0 ||
        check_remedy(json_object_get(item, "remedy"), err) != 0 ||
        resolve_source(item, "bound_source", sources, err) != 0 ||
        resolve_used_by(item, json_object_get(file, "operators"), err) != 0) {
        return -1;
    }
    return check_control(item, err);
}

struct expansion {
    const json_t *file;
    json_t *cases; /* the array that is filled */
    json_t *ids;   /* object used as a set */
    struct dp_err *err;
};

/* Takes `item`. */
static int finish(struct expansion *expansion, json_t *item)
{
    if (fill_templates(item, expansion->err) != 0 || complete(item, expansion->file, expansion->err) != 0) {
        dp_err_prefix(expansion->err, "case '%.160s'", dp_json_string(item, "id", ""));
        json_decref(item);
        return -1;
    }
    const char *id = dp_json_string(item, "id", "");
    if (json_object_get(expansion->ids, id)) {
        dp_err_set(expansion->err, DP_EXIT_DATA, "case '%s' stands there twice", id);
        json_decref(item);
        return -1;
    }
    json_object_set_new(expansion->ids, id, json_true());
    json_array_append_new(expansion->cases, item);
    return 0;
}

static json_t *start(const struct expansion *expansion, const json_t *from)
{
    json_t *item = json_object();
    merge(item, json_object_get(expansion->file, "defaults"));
    merge(item, from);
    return item;
}

static size_t product(const json_t *vary)
{
    size_t total = 1;
    const char *name;
    json_t *list;
    json_object_foreach((json_t *)(uintptr_t)vary, name, list)
    {
        total *= json_array_size(list);
        if (total > PRODUCT_MAX) {
            return 0;
        }
    }
    return total;
}

static int expand_variant(struct expansion *expansion, const json_t *variant)
{
    json_t *vary = json_object_get(variant, "vary");
    const size_t total = product(vary);
    if (total == 0 || json_array_size(expansion->cases) + total > PRODUCT_MAX) {
        return dp_err_set(expansion->err, DP_EXIT_DATA, "variant '%.160s' makes more than %d cases",
                          dp_json_string(variant, "id", ""), PRODUCT_MAX);
    }
    for (size_t n = 0; n < total; n++) {
        json_t *item = start(expansion, variant);
        size_t block = total; /* cases over which the list at hand runs through once */
        const char *name;
        json_t *list;
        json_object_foreach(vary, name, list)
        {
            const size_t inner = block / json_array_size(list);
            merge_vary(item, name, json_array_get(list, n % block / inner));
            block = inner;
        }
        if (finish(expansion, item) != 0) {
            return -1;
        }
    }
    return 0;
}

static int expand_all(struct expansion *expansion)
{
    size_t i;
    json_t *item;
    json_array_foreach(json_object_get(expansion->file, "cases"), i, item)
    {
        if (finish(expansion, start(expansion, item)) != 0) {
            return -1;
        }
    }
    json_array_foreach(json_object_get(expansion->file, "variants"), i, item)
    {
        if (expand_variant(expansion, item) != 0) {
            return -1;
        }
    }
    return 0;
}

json_t *dp_catalogue_expand(const json_t *file, struct dp_err *err)
{
    if (dp_schema_check(dp_schema_builtin("catalogue"), file, err) != 0) {
        return NULL;
    }
    struct expansion expansion = {.file = file, .cases = json_array(), .ids = json_object(), .err = err};
    if (expand_all(&expansion) != 0) {
        json_decref(expansion.cases);
        expansion.cases = NULL;
    }
    json_decref(expansion.ids);
    return expansion.cases;
}
