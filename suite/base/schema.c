/* SPDX-License-Identifier: Apache-2.0
 *
 * A reader of the project's subset of JSON Schema 2020-12. One table row per keyword; a keyword that no row
 * knows is an error of the schema, so that a rule can never be written down and then not be checked.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite/base/json.h"
#include "suite/base/schema.h"
#include "suite/base/schema_builtin.h"
#include "suite/base/schema_internal.h"
#include "suite/base/text.h"

static int check_value(struct schema_check *check, const json_t *schema, const json_t *value,
                       const struct schema_place *place);

static void print_place(struct dp_text *text, const struct schema_place *place)
{
    if (!place) {
        return;
    }
    print_place(text, place->up);
    if (!place->key) {
        dp_text_printf(text, "/%zu", place->index);
        return;
    }
    dp_text_put(text, "/");
    for (const char *c = place->key; *c; c++) {
        dp_text_put(text, *c == '~' ? "~0" : *c == '/' ? "~1" : (char[]){*c, '\0'});
    }
}

int schema_invalid(struct schema_check *check, const struct schema_place *place, const char *format, ...)
{
    if (check->quiet) {
        return -1;
    }
    struct dp_text where = DP_TEXT(200);
    print_place(&where, place);
    char what[320];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    check->deepest = where.length;
    dp_err_set(check->err, DP_EXIT_DATA, "at '%s%s': %s", where.length ? where.data : "/",
               where.truncated ? "..." : "", what);
    dp_text_free(&where);
    return -1;
}

int schema_fatal(struct schema_check *check, const struct schema_place *place, const char *format, ...)
{
    char what[320];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    check->quiet = 0; /* nobody asks any more */
    schema_invalid(check, place, "%s", what);
    check->fatal = true;
    return -1;
}

/* 1 matches, 0 does not, -1 fatal. */
int schema_matches(struct schema_check *check, const char *source, const char *string,
                   const struct schema_place *place)
{
    const regex_t *pattern = schema_pattern_of(check->compiled, source);
    return pattern ? regexec(pattern, string, 0, NULL, 0) == 0
                   : schema_fatal(check, place, "the schema's pattern '%s' cannot be read", source);
}

static int check_member(struct schema_check *check, const struct schema_subject *s, const json_t *schema,
                        const char *key, const json_t *member)
{
    const struct schema_place place = {.up = s->place, .key = key};
    return check_value(check, schema, member, &place);
}

static int key_properties(struct schema_check *check, const struct schema_subject *s)
{
    const char *key;
    json_t *member;
    if (!json_is_object(s->value)) {
        return 0;
    }
    /* By the value's members, so that the first error is the first in the file. */
    json_object_foreach((json_t *)(uintptr_t)s->value, key, member)
    {
        const json_t *schema = json_object_get(s->rule, key);
        if (check->versioned && !s->place && strcmp(key, "schema_version") == 0) {
            continue;
        }
        if (schema && check_member(check, s, schema, key, member) != 0) {
            return -1;
        }
    }
    return 0;
}

static int key_pattern_properties(struct schema_check *check, const struct schema_subject *s)
{
    const char *source;
    json_t *schema;
    json_object_foreach((json_t *)(uintptr_t)s->rule, source, schema)
    {
        const char *key;
        json_t *member;
        json_object_foreach((json_t *)(uintptr_t)s->value, key, member)
        {
            const int found = schema_matches(check, source, key, s->place);
            if (found < 0 || (found && check_member(check, s, schema, key, member) != 0)) {
                return -1;
            }
        }
    }
    return 0;
}

/* 1 if `properties` or `patternProperties` speaks of the member, -1 fatal. */
static int is_spoken_of(struct schema_check *check, const struct schema_subject *s, const char *key)
{
    if (json_object_get(json_object_get(s->schema, "properties"), key)) {
        return 1;
    }
    const char *source;
    json_t *unused;
    json_object_foreach(json_object_get(s->schema, "patternProperties"), source, unused)
    {
        const int found = schema_matches(check, source, key, s->place);
        if (found != 0) {
            return found;
        }
    }
    return 0;
}

static int unknown_member(struct schema_check *check, const struct schema_subject *s, const char *key)
{
    if (check->quiet) {
        return -1;
    }
    const char *names[64];
    size_t count = 0;
    const char *name;
    json_t *unused;
    json_object_foreach(json_object_get(s->schema, "properties"), name, unused)
    {
        if (count < sizeof(names) / sizeof(names[0]) && !json_object_get(s->value, name)) {
            names[count++] = name;
        }
    }
    const char *near = dp_suggest(key, names, count);
    return near ? schema_invalid(check, s->place, "unknown member '%.60s', did you mean '%s'?", key, near)
                : schema_invalid(check, s->place, "unknown member '%.60s'", key);
}

static int key_additional_properties(struct schema_check *check, const struct schema_subject *s)
{
    const char *key;
    json_t *member;
    json_object_foreach((json_t *)(uintptr_t)s->value, key, member)
    {
        const int spoken_of = is_spoken_of(check, s, key);
        if (spoken_of < 0) {
            return -1;
        }
        if (spoken_of) {
            continue;
        }
        if (json_is_false(s->rule) && check->newer) {
            continue;
        }
        if (json_is_false(s->rule)) {
            return unknown_member(check, s, key);
        }
        if (check_member(check, s, s->rule, key, member) != 0) {
            return -1;
        }
    }
    return 0;
}

static int key_property_names(struct schema_check *check, const struct schema_subject *s)
{
    const char *key;
    json_t *member;
    json_object_foreach((json_t *)(uintptr_t)s->value, key, member)
    {
        json_t *name = json_string(key);
        const int rc = check_member(check, s, s->rule, key, name);
        json_decref(name);
        if (rc != 0) {
            return -1;
        }
    }
    return 0;
}

static int check_element(struct schema_check *check, const struct schema_subject *s, const json_t *schema,
                         size_t index)
{
    const struct schema_place place = {.up = s->place, .index = index};
    return check_value(check, schema, json_array_get(s->value, index), &place);
}

static int key_prefix_items(struct schema_check *check, const struct schema_subject *s)
{
    for (size_t i = 0; i < json_array_size(s->rule) && i < json_array_size(s->value); i++) {
        if (check_element(check, s, json_array_get(s->rule, i), i) != 0) {
            return -1;
        }
    }
    return 0;
}

static int key_items(struct schema_check *check, const struct schema_subject *s)
{
    const size_t first = json_array_size(json_object_get(s->schema, "prefixItems"));
    for (size_t i = first; i < json_array_size(s->value); i++) {
        if (check_element(check, s, s->rule, i) != 0) {
            return -1;
        }
    }
    return 0;
}

/* Valid under the schema? 1 yes, 0 no, -1 fatal. */
static int fits(struct schema_check *check, const struct schema_subject *s, const json_t *schema)
{
    check->quiet++;
    const int rc = check_value(check, schema, s->value, s->place);
    if (check->fatal) {
        return -1;
    }
    check->quiet--;
    return rc == 0;
}

/* Number of forms that fit, -1 fatal. */
static int count_forms(struct schema_check *check, const struct schema_subject *s)
{
    int count = 0;
    for (size_t i = 0; i < json_array_size(s->rule); i++) {
        const int fit = fits(check, s, json_array_get(s->rule, i));
        if (fit < 0) {
            return -1;
        }
        count += fit;
    }
    return count;
}

/* No form fits. The error that lies deepest stays: the form that fits furthest is most likely the one that
 * was meant. */
static int no_form_fits(struct schema_check *check, const struct schema_subject *s)
{
    struct dp_err *outer = check->err;
    schema_invalid(check, s->place, "none of the allowed forms fits");
    size_t deepest = check->deepest;
    for (size_t i = 0; !check->quiet && i < json_array_size(s->rule); i++) {
        struct dp_err own = {0};
        check->err = &own;
        check_value(check, json_array_get(s->rule, i), s->value, s->place);
        check->err = outer;
        if (check->deepest > deepest) {
            *outer = own;
            deepest = check->deepest;
        }
    }
    check->deepest = deepest;
    return -1;
}

static int key_any_of(struct schema_check *check, const struct schema_subject *s)
{
    const int count = count_forms(check, s);
    return count == 0 ? no_form_fits(check, s) : count > 0 ? 0 : -1;
}

static int key_one_of(struct schema_check *check, const struct schema_subject *s)
{
    const int count = count_forms(check, s);
    if (count > 1) {
        return schema_invalid(check, s->place, "more than one of the allowed forms fits");
    }
    return count == 0 ? no_form_fits(check, s) : count - 1;
}

static int key_all_of(struct schema_check *check, const struct schema_subject *s)
{
    for (size_t i = 0; i < json_array_size(s->rule); i++) {
        if (check_value(check, json_array_get(s->rule, i), s->value, s->place) != 0) {
            return -1;
        }
    }
    return 0;
}

static int key_not(struct schema_check *check, const struct schema_subject *s)
{
    const int fit = fits(check, s, s->rule);
    return fit > 0 ? schema_invalid(check, s->place, "the value has a form that is not allowed") : fit;
}

static int key_if(struct schema_check *check, const struct schema_subject *s)
{
    const int fit = fits(check, s, s->rule);
    if (fit < 0) {
        return -1;
    }
    const json_t *next = json_object_get(s->schema, fit ? "then" : "else");
    return next ? check_value(check, next, s->value, s->place) : 0;
}

static int key_ref(struct schema_check *check, const struct schema_subject *s)
{
    const char *name = json_string_value(s->rule);
    return s->keyword->target
               ? check_value(check, s->keyword->target, s->value, s->place)
               : schema_fatal(check, s->place, "the schema's reference '%s' leads nowhere", name ? name : "");
}

struct keyword {
    const char *name;
    schema_function *check; /* NULL: says nothing by itself */
};

/* Sorted by strcmp. */
static const struct keyword keywords[] = {
    {"$comment", NULL},
    {"$defs", NULL},
    {"$id", NULL},
    {"$ref", key_ref},
    {"$schema", NULL},
    {"additionalProperties", key_additional_properties},
    {"allOf", key_all_of},
    {"anyOf", key_any_of},
    {"const", schema_key_const},
    {"default", NULL},
    {"deprecated", NULL},
    {"description", NULL},
    {"else", NULL}, /* by `if` */
    {"enum", schema_key_enum},
    {"examples", NULL},
    {"if", key_if},
    {"items", key_items},
    {"maxItems", schema_key_max_items},
    {"maxLength", schema_key_max_length},
    {"maxProperties", schema_key_max_properties},
    {"maximum", schema_key_maximum},
    {"minItems", schema_key_min_items},
    {"minLength", schema_key_min_length},
    {"minProperties", schema_key_min_properties},
    {"minimum", schema_key_minimum},
    {"not", key_not},
    {"oneOf", key_one_of},
    {"pattern", schema_key_pattern},
    {"patternProperties", key_pattern_properties},
    {"prefixItems", key_prefix_items},
    {"properties", key_properties},
    {"propertyNames", key_property_names},
    {"required", schema_key_required},
    {"then", NULL}, /* by `if` */
    {"title", NULL},
    {"type", schema_key_type},
    {"uniqueItems", schema_key_unique_items},
};

static int compare_keyword(const void *name, const void *row)
{
    return strcmp(name, ((const struct keyword *)row)->name);
}

bool schema_keyword_find(const char *name, schema_function **ret_check)
{
    const struct keyword *keyword =
        bsearch(name, keywords, sizeof(keywords) / sizeof(keywords[0]), sizeof(keywords[0]), compare_keyword);
    *ret_check = keyword ? keyword->check : NULL;
    return keyword != NULL;
}

static int check_keywords(struct schema_check *check, const json_t *schema, const json_t *value,
                          const struct schema_place *place)
{
    const struct schema_node node = *schema_node_of(check->compiled, schema);
    for (size_t i = 0; i < node.count; i++) {
        const struct schema_rule *rule = &node.rules[i];
        const struct schema_subject subject = {
            .schema = schema, .keyword = rule, .rule = rule->value, .value = value, .place = place};
        if (rule->check(check, &subject) != 0) {
            return -1;
        }
    }
    return node.unknown
               ? schema_fatal(check, place, "the schema's keyword '%.60s' is not supported", node.unknown)
               : 0;
}

static int check_value(struct schema_check *check, const json_t *schema, const json_t *value,
                       const struct schema_place *place)
{
    if (json_is_true(schema)) {
        return 0;
    }
    if (json_is_false(schema)) {
        return schema_invalid(check, place, "nothing is allowed here");
    }
    if (!json_is_object(schema)) {
        return schema_fatal(check, place, "the schema is no object");
    }
    if (check->depth == DEPTH_MAX) {
        return schema_fatal(check, place, "too deeply nested");
    }
    check->depth++;
    const int rc = check_keywords(check, schema, value, place);
    check->depth--;
    return rc;
}

enum { BUILTIN_MAX = 32 };
static struct {
    json_t *schema;
    struct schema_compiled *compiled;
} builtin[BUILTIN_MAX];

__attribute__((destructor)) static void free_builtin(void)
{
    for (size_t i = 0; i < BUILTIN_MAX; i++) {
        schema_compiled_free(builtin[i].compiled);
        json_decref(builtin[i].schema);
    }
}

const json_t *dp_schema_builtin(const char *name)
{
    for (size_t i = 0; i < BUILTIN_MAX && dp_schema_texts[i].name; i++) {
        if (strcmp(dp_schema_texts[i].name, name) == 0) {
            if (!builtin[i].schema) {
                builtin[i].schema = json_loads(dp_schema_texts[i].text, JSON_REJECT_DUPLICATES, NULL);
                builtin[i].compiled = schema_compiled_new(builtin[i].schema);
            }
            return builtin[i].schema;
        }
    }
    return NULL;
}

static struct schema_compiled *builtin_compiled(const json_t *schema)
{
    for (size_t i = 0; schema && i < BUILTIN_MAX && dp_schema_texts[i].name; i++) {
        if (builtin[i].schema == schema) {
            return builtin[i].compiled;
        }
    }
    return NULL;
}

static int check_all(const json_t *schema, const json_t *value, struct schema_check check)
{
    struct dp_err ignored = {0};
    struct schema_compiled *built = builtin_compiled(schema);
    struct schema_compiled *own = built ? NULL : schema_compiled_new(schema);
    check.compiled = built ? built : own;
    check.err = check.err ? check.err : &ignored;
    const int rc = check_value(&check, schema, value, NULL);
    schema_compiled_free(own);
    return rc;
}

int dp_schema_check(const json_t *schema, const json_t *value, struct dp_err *err)
{
    return check_all(schema, value, (struct schema_check){.err = err});
}

/* "1.12" and nothing that only looks like it. */
static bool read_version(const char *text, long ret[2])
{
    char again[48];
    char *end = NULL;
    ret[0] = strtol(text, &end, 10);
    ret[1] = *end == '.' ? strtol(end + 1, NULL, 10) : -1;
    snprintf(again, sizeof(again), "%ld.%ld", ret[0], ret[1]);
    return ret[0] >= 0 && ret[1] >= 0 && strcmp(again, text) == 0;
}

int dp_schema_check_document(const char *name, const json_t *document, enum dp_schema_reading reading,
                             struct dp_err *err)
{
    const json_t *schema = dp_schema_builtin(name);
    const json_t *rule = json_object_get(json_object_get(schema, "properties"), "schema_version");
    const char *known = dp_json_string(rule, "const", "");
    const char *found = dp_json_string(document, "schema_version", NULL);
    long ours[2] = {0}, theirs[2] = {0};
    if (!found) {
        return dp_err_set(err, DP_EXIT_DATA, "not a %s: it has no 'schema_version'", name);
    }
    const bool read = read_version(known, ours) && read_version(found, theirs) && theirs[0] == ours[0];
    if (!read || (theirs[1] > ours[1] && reading == DP_SCHEMA_STRICT)) {
        return dp_err_set(err, DP_EXIT_DATA, "unknown schema version '%.40s', this detprobe reads %s", found,
                          known);
    }
    return check_all(schema, document,
                     (struct schema_check){.err = err, .versioned = true, .newer = theirs[1] > ours[1]});
}
