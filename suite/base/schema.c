/* SPDX-License-Identifier: Apache-2.0
 *
 * A reader of the project's subset of JSON Schema 2020-12. One table row per keyword; a keyword that no row
 * knows is an error of the schema, so that a rule can never be written down and then not be checked.
 */
#include <regex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    schema_invalid(check, place, "%s", what);
    check->fatal = true;
    return -1;
}

static const regex_t *compile(struct schema_check *check, const char *source,
                              const struct schema_place *place)
{
    for (size_t i = 0; i < check->pattern_count; i++) {
        if (check->patterns[i].source == source) {
            return &check->patterns[i].compiled;
        }
    }
    if (check->pattern_count == PATTERN_MAX) {
        schema_fatal(check, place, "the schema has more than %d patterns", PATTERN_MAX);
        return NULL;
    }
    struct schema_pattern *pattern = &check->patterns[check->pattern_count];
    if (regcomp(&pattern->compiled, source, REG_EXTENDED | REG_NOSUB) != 0) {
        schema_fatal(check, place, "the schema's pattern '%s' cannot be read", source);
        return NULL;
    }
    pattern->source = source;
    check->pattern_count++;
    return &pattern->compiled;
}

/* 1 matches, 0 does not, -1 fatal. */
int schema_matches(struct schema_check *check, const char *source, const char *string,
                   const struct schema_place *place)
{
    const regex_t *pattern = compile(check, source, place);
    return pattern ? regexec(pattern, string, 0, NULL, 0) == 0 : -1;
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

/* Valid under the schema? 1 yes, 0 no, -1 fatal. The error of a "no" stays in `kept` when it lies deeper than
 * what is there: of several forms, the one that fits furthest is most likely the one that was meant. */
static int try_value(struct schema_check *check, const struct schema_subject *s, const json_t *schema,
                     struct dp_err *kept, size_t *kept_deepest)
{
    struct dp_err *outer = check->err;
    struct dp_err own = {0};
    check->err = &own;
    const int rc = check_value(check, schema, s->value, s->place);
    check->err = outer;
    if (rc == 0) {
        return 1;
    }
    if (check->fatal) {
        *outer = own;
    } else if (kept && check->deepest > *kept_deepest) {
        *kept = own;
        *kept_deepest = check->deepest;
    }
    return check->fatal ? -1 : 0;
}

/* Number of forms that fit, -1 fatal; the best error is left in `kept`. */
static int count_forms(struct schema_check *check, const struct schema_subject *s, struct dp_err *kept)
{
    int count = 0;
    size_t deepest = 0;
    schema_invalid(check, s->place, "none of the allowed forms fits");
    *kept = *check->err;
    deepest = check->deepest;
    for (size_t i = 0; i < json_array_size(s->rule); i++) {
        const int fits = try_value(check, s, json_array_get(s->rule, i), kept, &deepest);
        if (fits < 0) {
            return -1;
        }
        count += fits;
    }
    check->deepest = deepest;
    return count;
}

static int key_any_of(struct schema_check *check, const struct schema_subject *s)
{
    struct dp_err kept;
    const int count = count_forms(check, s, &kept);
    if (count == 0) {
        *check->err = kept;
    }
    return count > 0 ? 0 : -1;
}

static int key_one_of(struct schema_check *check, const struct schema_subject *s)
{
    struct dp_err kept;
    const int count = count_forms(check, s, &kept);
    if (count == 0) {
        *check->err = kept;
    }
    return count > 1 ? schema_invalid(check, s->place, "more than one of the allowed forms fits") : count - 1;
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
    const int fits = try_value(check, s, s->rule, NULL, NULL);
    return fits > 0 ? schema_invalid(check, s->place, "the value has a form that is not allowed") : fits;
}

static int key_if(struct schema_check *check, const struct schema_subject *s)
{
    const int fits = try_value(check, s, s->rule, NULL, NULL);
    if (fits < 0) {
        return -1;
    }
    const json_t *next = json_object_get(s->schema, fits ? "then" : "else");
    return next ? check_value(check, next, s->value, s->place) : 0;
}

static int key_ref(struct schema_check *check, const struct schema_subject *s)
{
    static const char prefix[] = "#/$defs/";
    const char *name = json_string_value(s->rule);
    const json_t *target = NULL;
    if (name && strncmp(name, prefix, sizeof(prefix) - 1) == 0) {
        target = json_object_get(json_object_get(check->root, "$defs"), name + sizeof(prefix) - 1);
    }
    return target
               ? check_value(check, target, s->value, s->place)
               : schema_fatal(check, s->place, "the schema's reference '%s' leads nowhere", name ? name : "");
}

struct keyword {
    const char *name;
    int (*check)(struct schema_check *check,
                 const struct schema_subject *subject); /* NULL: says nothing by itself */
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

static int check_keywords(struct schema_check *check, const json_t *schema, const json_t *value,
                          const struct schema_place *place)
{
    const char *name;
    json_t *rule;
    json_object_foreach((json_t *)(uintptr_t)schema, name, rule)
    {
        const struct keyword *keyword = bsearch(name, keywords, sizeof(keywords) / sizeof(keywords[0]),
                                                sizeof(keywords[0]), compare_keyword);
        if (!keyword) {
            return schema_fatal(check, place, "the schema's keyword '%.60s' is not supported", name);
        }
        const struct schema_subject subject = {
            .schema = schema, .rule = rule, .value = value, .place = place};
        if (keyword->check && keyword->check(check, &subject) != 0) {
            return -1;
        }
    }
    return 0;
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

int dp_schema_check(const json_t *schema, const json_t *value, struct dp_err *err)
{
    struct dp_err ignored = {0};
    struct schema_check *check = dp_alloc(1, sizeof(*check));
    check->root = schema;
    check->err = err ? err : &ignored;
    const int rc = check_value(check, schema, value, NULL);
    for (size_t i = 0; i < check->pattern_count; i++) {
        regfree(&check->patterns[i].compiled);
    }
    free(check);
    return rc;
}

enum { BUILTIN_MAX = 32 };
static json_t *builtin[BUILTIN_MAX];

__attribute__((destructor)) static void free_builtin(void)
{
    for (size_t i = 0; i < BUILTIN_MAX; i++) {
        json_decref(builtin[i]);
    }
}

const json_t *dp_schema_builtin(const char *name)
{
    for (size_t i = 0; i < BUILTIN_MAX && dp_schema_texts[i].name; i++) {
        if (strcmp(dp_schema_texts[i].name, name) == 0) {
            if (!builtin[i]) {
                builtin[i] = json_loads(dp_schema_texts[i].text, JSON_REJECT_DUPLICATES, NULL);
            }
            return builtin[i];
        }
    }
    return NULL;
}
