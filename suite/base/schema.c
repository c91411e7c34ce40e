/* SPDX-License-Identifier: Apache-2.0
 *
 * A reader of the project's subset of JSON Schema 2020-12. One table row per keyword; a keyword that no row
 * knows is an error of the schema, so that a rule can never be written down and then not be checked.
 */
#include <math.h>
#include <regex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite/base/schema.h"
#include "suite/base/schema_builtin.h"
#include "suite/base/text.h"

/* Steps of nesting, schema and value together; jansson alone would allow 2048 levels of value. */
enum { DEPTH_MAX = 400, PATTERN_MAX = 64 };

/* One step of the way from the top of the value to where the check stands; lives on the stack. */
struct place {
    const struct place *up;
    const char *key; /* NULL: an array's element */
    size_t index;
};

struct pattern {
    const char *source; /* by address: the strings of a schema outlive the check */
    regex_t compiled;
};

struct check {
    const json_t *root;
    struct dp_err *err;
    int depth;
    bool fatal;     /* not a matter of valid or not: no `anyOf` or `not` may swallow it */
    size_t deepest; /* length of the pointer of the error kept by anyOf and oneOf */
    struct pattern patterns[PATTERN_MAX];
    size_t pattern_count;
};

/* What one keyword's function is called with. */
struct subject {
    const json_t *schema;
    const json_t *rule; /* the keyword's value */
    const json_t *value;
    const struct place *place;
};

static int check_value(struct check *check, const json_t *schema, const json_t *value,
                       const struct place *place);

static void print_place(struct dp_text *text, const struct place *place)
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

__attribute__((format(printf, 3, 4))) static int invalid(struct check *check, const struct place *place,
                                                         const char *format, ...)
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

__attribute__((format(printf, 3, 4))) static int fatal(struct check *check, const struct place *place,
                                                       const char *format, ...)
{
    char what[320];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    invalid(check, place, "%s", what);
    check->fatal = true;
    return -1;
}

/* Equality as JSON Schema means it: 1 and 1.0 are the same number. */
static bool same(const json_t *a, const json_t *b)
{
    if (json_is_number(a) && json_is_number(b)) {
        return json_is_integer(a) && json_is_integer(b) ? json_integer_value(a) == json_integer_value(b)
                                                        : json_number_value(a) == json_number_value(b);
    }
    if (json_typeof(a) != json_typeof(b)) {
        return false;
    }
    if (json_is_array(a)) {
        bool equal = json_array_size(a) == json_array_size(b);
        for (size_t i = 0; equal && i < json_array_size(a); i++) {
            equal = same(json_array_get(a, i), json_array_get(b, i));
        }
        return equal;
    }
    if (json_is_object(a)) {
        bool equal = json_object_size(a) == json_object_size(b);
        const char *key;
        json_t *member;
        json_object_foreach((json_t *)(uintptr_t)a, key, member)
        {
            const json_t *other = json_object_get(b, key);
            equal = equal && other && same(member, other);
        }
        return equal;
    }
    return json_equal(a, b) != 0;
}

static const regex_t *compile(struct check *check, const char *source, const struct place *place)
{
    for (size_t i = 0; i < check->pattern_count; i++) {
        if (check->patterns[i].source == source) {
            return &check->patterns[i].compiled;
        }
    }
    if (check->pattern_count == PATTERN_MAX) {
        fatal(check, place, "the schema has more than %d patterns", PATTERN_MAX);
        return NULL;
    }
    struct pattern *pattern = &check->patterns[check->pattern_count];
    if (regcomp(&pattern->compiled, source, REG_EXTENDED | REG_NOSUB) != 0) {
        fatal(check, place, "the schema's pattern '%s' cannot be read", source);
        return NULL;
    }
    pattern->source = source;
    check->pattern_count++;
    return &pattern->compiled;
}

/* 1 matches, 0 does not, -1 fatal. */
static int matches(struct check *check, const char *source, const char *string, const struct place *place)
{
    const regex_t *pattern = compile(check, source, place);
    return pattern ? regexec(pattern, string, 0, NULL, 0) == 0 : -1;
}

static bool is_integer(const json_t *value)
{
    return json_is_integer(value) ||
           (json_is_real(value) && trunc(json_real_value(value)) == json_real_value(value));
}

static bool has_type(const json_t *value, const char *type)
{
    static const struct {
        const char *name;
        json_type type;
    } types[] = {{"object", JSON_OBJECT}, {"array", JSON_ARRAY},  {"string", JSON_STRING},
                 {"null", JSON_NULL},     {"boolean", JSON_TRUE}, {"boolean", JSON_FALSE}};
    if (strcmp(type, "integer") == 0) {
        return is_integer(value);
    }
    if (strcmp(type, "number") == 0) {
        return json_is_number(value);
    }
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (types[i].type == json_typeof(value) && strcmp(types[i].name, type) == 0) {
            return true;
        }
    }
    return false;
}

static int key_type(struct check *check, const struct subject *s)
{
    if (json_is_string(s->rule)) {
        const char *type = json_string_value(s->rule);
        const bool vowel = strchr("aeiou", type[0]) != NULL;
        return has_type(s->value, type)
                   ? 0
                   : invalid(check, s->place, "expected %s %s", vowel ? "an" : "a", type);
    }
    struct dp_text names = DP_TEXT(120);
    bool found = false;
    for (size_t i = 0; i < json_array_size(s->rule); i++) {
        const char *type = json_string_value(json_array_get(s->rule, i));
        dp_text_printf(&names, "%s%s", i ? " or " : "", type);
        found = found || has_type(s->value, type);
    }
    const int rc = found ? 0 : invalid(check, s->place, "expected %s", names.data);
    dp_text_free(&names);
    return rc;
}

static void print_short(char *ret, size_t size, const json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    snprintf(ret, size, "%s", text ? text : "?");
    free(text);
}

static int key_const(struct check *check, const struct subject *s)
{
    if (same(s->rule, s->value)) {
        return 0;
    }
    char text[100];
    print_short(text, sizeof(text), s->rule);
    return invalid(check, s->place, "expected %s", text);
}

static int key_enum(struct check *check, const struct subject *s)
{
    const char *words[32];
    size_t count = 0;
    struct dp_text all = DP_TEXT(160);
    for (size_t i = 0; i < json_array_size(s->rule); i++) {
        const json_t *item = json_array_get(s->rule, i);
        if (same(item, s->value)) {
            dp_text_free(&all);
            return 0;
        }
        char text[80];
        print_short(text, sizeof(text), item);
        dp_text_printf(&all, "%s%s", i ? ", " : "", text);
        if (json_is_string(item) && count < sizeof(words) / sizeof(words[0])) {
            words[count++] = json_string_value(item);
        }
    }
    const char *word = json_string_value(s->value);
    const char *near = word ? dp_suggest(word, words, count) : NULL;
    const int rc = near ? invalid(check, s->place, "unknown word '%.60s', did you mean '%s'?", word, near)
                        : invalid(check, s->place, "expected one of %s", all.length ? all.data : "nothing");
    dp_text_free(&all);
    return rc;
}

static int key_required(struct check *check, const struct subject *s)
{
    for (size_t i = 0; json_is_object(s->value) && i < json_array_size(s->rule); i++) {
        const char *name = json_string_value(json_array_get(s->rule, i));
        if (!json_object_get(s->value, name)) {
            return invalid(check, s->place, "member '%s' is missing", name);
        }
    }
    return 0;
}

static int check_member(struct check *check, const struct subject *s, const json_t *schema, const char *key,
                        const json_t *member)
{
    const struct place place = {.up = s->place, .key = key};
    return check_value(check, schema, member, &place);
}

static int key_properties(struct check *check, const struct subject *s)
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

static int key_pattern_properties(struct check *check, const struct subject *s)
{
    const char *source;
    json_t *schema;
    json_object_foreach((json_t *)(uintptr_t)s->rule, source, schema)
    {
        const char *key;
        json_t *member;
        json_object_foreach((json_t *)(uintptr_t)s->value, key, member)
        {
            const int found = matches(check, source, key, s->place);
            if (found < 0 || (found && check_member(check, s, schema, key, member) != 0)) {
                return -1;
            }
        }
    }
    return 0;
}

/* 1 if `properties` or `patternProperties` speaks of the member, -1 fatal. */
static int is_spoken_of(struct check *check, const struct subject *s, const char *key)
{
    if (json_object_get(json_object_get(s->schema, "properties"), key)) {
        return 1;
    }
    const char *source;
    json_t *unused;
    json_object_foreach(json_object_get(s->schema, "patternProperties"), source, unused)
    {
        const int found = matches(check, source, key, s->place);
        if (found != 0) {
            return found;
        }
    }
    return 0;
}

static int unknown_member(struct check *check, const struct subject *s, const char *key)
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
    return near ? invalid(check, s->place, "unknown member '%.60s', did you mean '%s'?", key, near)
                : invalid(check, s->place, "unknown member '%.60s'", key);
}

static int key_additional_properties(struct check *check, const struct subject *s)
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

static int key_property_names(struct check *check, const struct subject *s)
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

static int check_element(struct check *check, const struct subject *s, const json_t *schema, size_t index)
{
    const struct place place = {.up = s->place, .index = index};
    return check_value(check, schema, json_array_get(s->value, index), &place);
}

static int key_prefix_items(struct check *check, const struct subject *s)
{
    for (size_t i = 0; i < json_array_size(s->rule) && i < json_array_size(s->value); i++) {
        if (check_element(check, s, json_array_get(s->rule, i), i) != 0) {
            return -1;
        }
    }
    return 0;
}

static int key_items(struct check *check, const struct subject *s)
{
    const size_t first = json_array_size(json_object_get(s->schema, "prefixItems"));
    for (size_t i = first; i < json_array_size(s->value); i++) {
        if (check_element(check, s, s->rule, i) != 0) {
            return -1;
        }
    }
    return 0;
}

static int key_unique_items(struct check *check, const struct subject *s)
{
    for (size_t i = 0; json_is_true(s->rule) && i < json_array_size(s->value); i++) {
        for (size_t k = 0; k < i; k++) {
            if (same(json_array_get(s->value, i), json_array_get(s->value, k))) {
                return invalid(check, s->place, "elements %zu and %zu are equal", k, i);
            }
        }
    }
    return 0;
}

/* Code points, as JSON Schema counts; jansson has refused what is not UTF-8. */
static size_t string_size(const json_t *value)
{
    size_t count = 0;
    for (const char *c = json_string_value(value); *c; c++) {
        count += ((unsigned char)*c & 0xc0) != 0x80;
    }
    return count;
}

struct measure {
    bool (*applies)(const json_t *value);
    size_t (*size)(const json_t *value);
    const char *unit;
};

static bool is_array(const json_t *value)
{
    return json_is_array(value);
}

static bool is_object(const json_t *value)
{
    return json_is_object(value);
}

static bool is_string(const json_t *value)
{
    return json_is_string(value);
}

static const struct measure measure_items = {is_array, json_array_size, "element(s)"};
static const struct measure measure_members = {is_object, json_object_size, "member(s)"};
static const struct measure measure_length = {is_string, string_size, "character(s)"};

static int at_least(struct check *check, const struct subject *s, const struct measure *measure)
{
    const size_t bound = (size_t)json_integer_value(s->rule);
    return !measure->applies(s->value) || measure->size(s->value) >= bound
               ? 0
               : invalid(check, s->place, "expected at least %zu %s", bound, measure->unit);
}

static int at_most(struct check *check, const struct subject *s, const struct measure *measure)
{
    const size_t bound = (size_t)json_integer_value(s->rule);
    return !measure->applies(s->value) || measure->size(s->value) <= bound
               ? 0
               : invalid(check, s->place, "expected at most %zu %s", bound, measure->unit);
}

static int key_min_items(struct check *check, const struct subject *s)
{
    return at_least(check, s, &measure_items);
}

static int key_max_items(struct check *check, const struct subject *s)
{
    return at_most(check, s, &measure_items);
}

static int key_min_properties(struct check *check, const struct subject *s)
{
    return at_least(check, s, &measure_members);
}

static int key_max_properties(struct check *check, const struct subject *s)
{
    return at_most(check, s, &measure_members);
}

static int key_min_length(struct check *check, const struct subject *s)
{
    return at_least(check, s, &measure_length);
}

static int key_max_length(struct check *check, const struct subject *s)
{
    return at_most(check, s, &measure_length);
}

static int key_pattern(struct check *check, const struct subject *s)
{
    if (!json_is_string(s->value)) {
        return 0;
    }
    const int found = matches(check, json_string_value(s->rule), json_string_value(s->value), s->place);
    return found == 0 ? invalid(check, s->place, "'%.60s' does not match '%s'", json_string_value(s->value),
                                json_string_value(s->rule))
                      : found - (found > 0);
}

/* -1, 0, 1 as a is below, at or above b; integers exactly. */
static int order(const json_t *a, const json_t *b)
{
    if (json_is_integer(a) && json_is_integer(b)) {
        return (json_integer_value(a) > json_integer_value(b)) -
               (json_integer_value(a) < json_integer_value(b));
    }
    return (json_number_value(a) > json_number_value(b)) - (json_number_value(a) < json_number_value(b));
}

static int key_minimum(struct check *check, const struct subject *s)
{
    return !json_is_number(s->value) || order(s->value, s->rule) >= 0
               ? 0
               : invalid(check, s->place, "expected at least %g", json_number_value(s->rule));
}

static int key_maximum(struct check *check, const struct subject *s)
{
    return !json_is_number(s->value) || order(s->value, s->rule) <= 0
               ? 0
               : invalid(check, s->place, "expected at most %g", json_number_value(s->rule));
}

/* Valid under the schema? 1 yes, 0 no, -1 fatal. The error of a "no" stays in `kept` when it lies deeper than
 * what is there: of several forms, the one that fits furthest is most likely the one that was meant. */
static int try_value(struct check *check, const struct subject *s, const json_t *schema, struct dp_err *kept,
                     size_t *kept_deepest)
{
    struct dp_err *outer = check->err;
    struct dp_err own;
    check->err = &own;
    const int rc = check_value(check, schema, s->value, s->place);
    check->err = outer;
    if (rc == 0) {
        return 1;
    }
    if (check->fatal || (kept && check->deepest > *kept_deepest)) {
        *(check->fatal ? outer : kept) = own;
        if (!check->fatal) {
            *kept_deepest = check->deepest;
        }
    }
    return check->fatal ? -1 : 0;
}

/* Number of forms that fit, -1 fatal; the best error is left in `kept`. */
static int count_forms(struct check *check, const struct subject *s, struct dp_err *kept)
{
    int count = 0;
    size_t deepest = 0;
    invalid(check, s->place, "none of the allowed forms fits");
    if (check->err) {
        *kept = *check->err;
    }
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

static int key_any_of(struct check *check, const struct subject *s)
{
    struct dp_err kept;
    const int count = count_forms(check, s, &kept);
    if (count == 0) {
        *check->err = kept;
    }
    return count > 0 ? 0 : -1;
}

static int key_one_of(struct check *check, const struct subject *s)
{
    struct dp_err kept;
    const int count = count_forms(check, s, &kept);
    if (count == 0) {
        *check->err = kept;
    }
    return count > 1 ? invalid(check, s->place, "more than one of the allowed forms fits") : count - 1;
}

static int key_all_of(struct check *check, const struct subject *s)
{
    for (size_t i = 0; i < json_array_size(s->rule); i++) {
        if (check_value(check, json_array_get(s->rule, i), s->value, s->place) != 0) {
            return -1;
        }
    }
    return 0;
}

static int key_not(struct check *check, const struct subject *s)
{
    const int fits = try_value(check, s, s->rule, NULL, NULL);
    return fits > 0 ? invalid(check, s->place, "the value has a form that is not allowed") : fits;
}

static int key_if(struct check *check, const struct subject *s)
{
    const int fits = try_value(check, s, s->rule, NULL, NULL);
    if (fits < 0) {
        return -1;
    }
    const json_t *next = json_object_get(s->schema, fits ? "then" : "else");
    return next ? check_value(check, next, s->value, s->place) : 0;
}

static int key_ref(struct check *check, const struct subject *s)
{
    static const char prefix[] = "#/$defs/";
    const char *name = json_string_value(s->rule);
    const json_t *target = NULL;
    if (name && strncmp(name, prefix, sizeof(prefix) - 1) == 0) {
        target = json_object_get(json_object_get(check->root, "$defs"), name + sizeof(prefix) - 1);
    }
    return target ? check_value(check, target, s->value, s->place)
                  : fatal(check, s->place, "the schema's reference '%s' leads nowhere", name ? name : "");
}

struct keyword {
    const char *name;
    int (*check)(struct check *check, const struct subject *subject); /* NULL: says nothing by itself */
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
    {"const", key_const},
    {"default", NULL},
    {"deprecated", NULL},
    {"description", NULL},
    {"else", NULL}, /* by `if` */
    {"enum", key_enum},
    {"examples", NULL},
    {"if", key_if},
    {"items", key_items},
    {"maxItems", key_max_items},
    {"maxLength", key_max_length},
    {"maxProperties", key_max_properties},
    {"maximum", key_maximum},
    {"minItems", key_min_items},
    {"minLength", key_min_length},
    {"minProperties", key_min_properties},
    {"minimum", key_minimum},
    {"not", key_not},
    {"oneOf", key_one_of},
    {"pattern", key_pattern},
    {"patternProperties", key_pattern_properties},
    {"prefixItems", key_prefix_items},
    {"properties", key_properties},
    {"propertyNames", key_property_names},
    {"required", key_required},
    {"then", NULL}, /* by `if` */
    {"title", NULL},
    {"type", key_type},
    {"uniqueItems", key_unique_items},
};

static int compare_keyword(const void *name, const void *row)
{
    return strcmp(name, ((const struct keyword *)row)->name);
}

static int check_keywords(struct check *check, const json_t *schema, const json_t *value,
                          const struct place *place)
{
    const char *name;
    json_t *rule;
    json_object_foreach((json_t *)(uintptr_t)schema, name, rule)
    {
        const struct keyword *keyword = bsearch(name, keywords, sizeof(keywords) / sizeof(keywords[0]),
                                                sizeof(keywords[0]), compare_keyword);
        if (!keyword) {
            return fatal(check, place, "the schema's keyword '%.60s' is not supported", name);
        }
        const struct subject subject = {.schema = schema, .rule = rule, .value = value, .place = place};
        if (keyword->check && keyword->check(check, &subject) != 0) {
            return -1;
        }
    }
    return 0;
}

static int check_value(struct check *check, const json_t *schema, const json_t *value,
                       const struct place *place)
{
    if (json_is_true(schema)) {
        return 0;
    }
    if (json_is_false(schema)) {
        return invalid(check, place, "nothing is allowed here");
    }
    if (!json_is_object(schema)) {
        return fatal(check, place, "the schema is no object");
    }
    if (check->depth == DEPTH_MAX) {
        return fatal(check, place, "too deeply nested");
    }
    check->depth++;
    const int rc = check_keywords(check, schema, value, place);
    check->depth--;
    return rc;
}

int dp_schema_check(const json_t *schema, const json_t *value, struct dp_err *err)
{
    struct dp_err ignored;
    struct check *check = dp_alloc(1, sizeof(*check));
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
