/* SPDX-License-Identifier: Apache-2.0
 *
 * Keywords of JSON Schema that judge a value by itself: type, words, sizes, bounds, patterns.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite/base/schema_internal.h"
#include "suite/base/text.h"

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

static bool is_integer(const json_t *value)
{
    return json_is_integer(value) ||
           (json_is_real(value) && trunc(json_real_value(value)) == json_real_value(value));
}

static bool has_type(const json_t *value, unsigned types)
{
    const unsigned integer = 1u << JSON_INTEGER;
    return value && ((types & 1u << json_typeof(value)) || ((types & integer) && is_integer(value)));
}

int schema_key_type(struct schema_check *check, const struct schema_subject *s)
{
    if (has_type(s->value, s->keyword->types)) {
        return 0;
    }
    if (check->quiet) {
        return -1;
    }
    if (json_is_string(s->rule)) {
        const char *type = json_string_value(s->rule);
        const bool vowel = strchr("aeiou", type[0]) != NULL;
        return schema_invalid(check, s->place, "expected %s %s", vowel ? "an" : "a", type);
    }
    struct dp_text names = DP_TEXT(120);
    for (size_t i = 0; i < json_array_size(s->rule); i++) {
        dp_text_printf(&names, "%s%s", i ? " or " : "", json_string_value(json_array_get(s->rule, i)));
    }
    const int rc = schema_invalid(check, s->place, "expected %s", names.data);
    dp_text_free(&names);
    return rc;
}

static void print_short(char *ret, size_t size, const json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    snprintf(ret, size, "%s", text ? text : "?");
    free(text);
}

int schema_key_const(struct schema_check *check, const struct schema_subject *s)
{
    const bool equal = same(s->rule, s->value);
    if (equal || check->quiet) {
        return equal ? 0 : -1;
    }
    char text[100];
    print_short(text, sizeof(text), s->rule);
    return schema_invalid(check, s->place, "expected %s", text);
}

int schema_key_enum(struct schema_check *check, const struct schema_subject *s)
{
    for (size_t i = 0; i < json_array_size(s->rule); i++) {
        if (same(json_array_get(s->rule, i), s->value)) {
            return 0;
        }
    }
    if (check->quiet) {
        return -1;
    }
    const char *words[32];
    size_t count = 0;
    struct dp_text all = DP_TEXT(160);
    for (size_t i = 0; i < json_array_size(s->rule); i++) {
        const json_t *item = json_array_get(s->rule, i);
        char text[80];
        print_short(text, sizeof(text), item);
        dp_text_printf(&all, "%s%s", i ? ", " : "", text);
        if (json_is_string(item) && count < sizeof(words) / sizeof(words[0])) {
            words[count++] = json_string_value(item);
        }
    }
    const char *word = json_string_value(s->value);
    const char *near = word ? dp_suggest(word, words, count) : NULL;
    char found[80];
    print_short(found, sizeof(found), s->value);
    const int rc =
        near ? schema_invalid(check, s->place, "unknown word '%.60s', did you mean '%s'?", word, near)
             : schema_invalid(check, s->place, "expected one of %s, found %s",
                              all.length ? all.data : "nothing", found);
    dp_text_free(&all);
    return rc;
}

int schema_key_required(struct schema_check *check, const struct schema_subject *s)
{
    for (size_t i = 0; json_is_object(s->value) && i < json_array_size(s->rule); i++) {
        const char *name = json_string_value(json_array_get(s->rule, i));
        if (!json_object_get(s->value, name)) {
            return schema_invalid(check, s->place, "member '%s' is missing", name);
        }
    }
    return 0;
}

static int equal_elements(struct schema_check *check, const struct schema_subject *s, size_t first,
                          size_t second)
{
    return schema_invalid(check, s->place, "elements %zu and %zu are equal", first, second);
}

/* Strings, of which there may be many, are looked up; others are compared one by one. */
int schema_key_unique_items(struct schema_check *check, const struct schema_subject *s)
{
    json_t *seen = json_object();
    int rc = 0;
    for (size_t i = 0; rc == 0 && json_is_true(s->rule) && i < json_array_size(s->value); i++) {
        const json_t *element = json_array_get(s->value, i);
        const char *string = json_string_value(element);
        const json_t *before = string ? json_object_get(seen, string) : NULL;
        if (before) {
            rc = equal_elements(check, s, (size_t)json_integer_value(before), i);
        } else if (string) {
            json_object_set_new_nocheck(seen, string, json_integer((json_int_t)i));
        }
        for (size_t k = 0; rc == 0 && !string && k < i; k++) {
            rc = same(element, json_array_get(s->value, k)) ? equal_elements(check, s, k, i) : 0;
        }
    }
    json_decref(seen);
    return rc;
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

static int at_least(struct schema_check *check, const struct schema_subject *s, const struct measure *measure)
{
    const size_t bound = (size_t)json_integer_value(s->rule);
    return !measure->applies(s->value) || measure->size(s->value) >= bound
               ? 0
               : schema_invalid(check, s->place, "expected at least %zu %s", bound, measure->unit);
}

static int at_most(struct schema_check *check, const struct schema_subject *s, const struct measure *measure)
{
    const size_t bound = (size_t)json_integer_value(s->rule);
    if (json_string_length(s->value) <= bound && json_is_string(s->value)) {
        return 0; /* as many bytes have no more characters */
    }
    return !measure->applies(s->value) || measure->size(s->value) <= bound
               ? 0
               : schema_invalid(check, s->place, "expected at most %zu %s", bound, measure->unit);
}

int schema_key_min_items(struct schema_check *check, const struct schema_subject *s)
{
    return at_least(check, s, &measure_items);
}

int schema_key_max_items(struct schema_check *check, const struct schema_subject *s)
{
    return at_most(check, s, &measure_items);
}

int schema_key_min_properties(struct schema_check *check, const struct schema_subject *s)
{
    return at_least(check, s, &measure_members);
}

int schema_key_max_properties(struct schema_check *check, const struct schema_subject *s)
{
    return at_most(check, s, &measure_members);
}

int schema_key_min_length(struct schema_check *check, const struct schema_subject *s)
{
    return at_least(check, s, &measure_length);
}

int schema_key_max_length(struct schema_check *check, const struct schema_subject *s)
{
    return at_most(check, s, &measure_length);
}

int schema_key_pattern(struct schema_check *check, const struct schema_subject *s)
{
    if (!json_is_string(s->value)) {
        return 0;
    }
    const int found =
        schema_matches(check, json_string_value(s->rule), json_string_value(s->value), s->place);
    return found == 0 ? schema_invalid(check, s->place, "'%.60s' does not match '%s'",
                                       json_string_value(s->value), json_string_value(s->rule))
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

int schema_key_minimum(struct schema_check *check, const struct schema_subject *s)
{
    return !json_is_number(s->value) || order(s->value, s->rule) >= 0
               ? 0
               : schema_invalid(check, s->place, "expected at least %g", json_number_value(s->rule));
}

int schema_key_maximum(struct schema_check *check, const struct schema_subject *s)
{
    return !json_is_number(s->value) || order(s->value, s->rule) <= 0
               ? 0
               : schema_invalid(check, s->place, "expected at most %g", json_number_value(s->rule));
}
