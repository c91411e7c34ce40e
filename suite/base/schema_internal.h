/* SPDX-License-Identifier: Apache-2.0
 *
 * What the two files of the schema reader share: schema.c walks schema and value and combines,
 * schema_assert.c checks one value against one keyword.
 */
#ifndef DP_BASE_SCHEMA_INTERNAL_H
#define DP_BASE_SCHEMA_INTERNAL_H

#include <jansson.h>
#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

#include "suite/base/err.h"

/* Steps of nesting, schema and value together; jansson alone would allow 2048 levels of value. */
enum { DEPTH_MAX = 400, PATTERN_MAX = 64 };

/* One step of the way from the top of the value to where the check stands; lives on the stack. */
struct schema_place {
    const struct schema_place *up;
    const char *key; /* NULL: an array's element */
    size_t index;
};

struct schema_pattern {
    const char *source; /* by address: the strings of a schema outlive the check */
    regex_t compiled;
};

struct schema_check {
    const json_t *root;
    struct dp_err *err;
    int depth;
    bool fatal;     /* not a matter of valid or not: no `anyOf` or `not` may swallow it */
    size_t deepest; /* length of the pointer of the error kept by anyOf and oneOf */
    struct schema_pattern patterns[PATTERN_MAX];
    size_t pattern_count;
};

/* What one keyword's function is called with. */
struct schema_subject {
    const json_t *schema;
    const json_t *rule; /* the keyword's value */
    const json_t *value;
    const struct schema_place *place;
};

/* Both return -1 and set the error: the value is not valid; the schema or the depth forbids an answer. */
int schema_invalid(struct schema_check *check, const struct schema_place *place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int schema_fatal(struct schema_check *check, const struct schema_place *place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* 1 matches, 0 does not, -1 fatal. */
int schema_matches(struct schema_check *check, const char *source, const char *string,
                   const struct schema_place *place);

int schema_key_type(struct schema_check *check, const struct schema_subject *s);
int schema_key_const(struct schema_check *check, const struct schema_subject *s);
int schema_key_enum(struct schema_check *check, const struct schema_subject *s);
int schema_key_required(struct schema_check *check, const struct schema_subject *s);
int schema_key_unique_items(struct schema_check *check, const struct schema_subject *s);
int schema_key_min_items(struct schema_check *check, const struct schema_subject *s);
int schema_key_max_items(struct schema_check *check, const struct schema_subject *s);
int schema_key_min_properties(struct schema_check *check, const struct schema_subject *s);
int schema_key_max_properties(struct schema_check *check, const struct schema_subject *s);
int schema_key_min_length(struct schema_check *check, const struct schema_subject *s);
int schema_key_max_length(struct schema_check *check, const struct schema_subject *s);
int schema_key_pattern(struct schema_check *check, const struct schema_subject *s);
int schema_key_minimum(struct schema_check *check, const struct schema_subject *s);
int schema_key_maximum(struct schema_check *check, const struct schema_subject *s);

#endif
