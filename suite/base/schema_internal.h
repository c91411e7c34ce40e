/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the schema reader share: schema.c walks schema and value and combines, schema_assert.c
 * checks one value against one keyword, schema_compile.c keeps what is looked up once per schema.
 */
#ifndef DP_BASE_SCHEMA_INTERNAL_H
#define DP_BASE_SCHEMA_INTERNAL_H

#include <jansson.h>
#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

#include "suite/base/err.h"

/* Steps of nesting, schema and value together; jansson alone would allow 2048 levels of value. */
enum { DEPTH_MAX = 400 };

/* One step of the way from the top of the value to where the check stands; lives on the stack. */
struct schema_place {
    const struct schema_place *up;
    const char *key; /* NULL: an array's element */
    size_t index;
};

struct schema_check;
struct schema_subject;
typedef int schema_function(struct schema_check *check, const struct schema_subject *subject);

/* One keyword of one schema, looked up once. */
struct schema_rule {
    schema_function *check;
    const json_t *value;  /* the keyword's */
    const json_t *target; /* of $ref, NULL where it leads nowhere */
    unsigned types;       /* of type: bits by json_type */
};
struct schema_node {
    const json_t *schema;
    struct schema_rule *rules;
    size_t count;
    const char *unknown; /* keyword that no function knows, or NULL */
};

/* Everything that is known of one schema document. It outlives no string of it. */
struct schema_compiled;
struct schema_compiled *schema_compiled_new(const json_t *root);
void schema_compiled_free(struct schema_compiled *compiled);
/* Of a schema within the document, by address. Valid until the next call. */
const struct schema_node *schema_node_of(struct schema_compiled *compiled, const json_t *schema);
/* By the address of its source, compiled once; NULL where it cannot be read. */
const regex_t *schema_pattern_of(struct schema_compiled *compiled, const char *source);
/* The function of a keyword, NULL for one that says nothing by itself; false for an unknown keyword. */
bool schema_keyword_find(const char *name, schema_function **ret_check);

struct schema_check {
    struct schema_compiled *compiled;
    struct dp_err *err;
    int depth;
    int quiet;      /* above 0: only whether a value is valid is asked, no message is made */
    bool versioned; /* somebody judged `schema_version` at the top already */
    bool newer;     /* of a newer minor version: unknown members are passed over */
    bool fatal;     /* not a matter of valid or not: no `anyOf` or `not` may swallow it */
    size_t deepest; /* length of the pointer of the error kept by anyOf and oneOf */
};

/* What one keyword's function is called with. */
struct schema_subject {
    const json_t *schema;
    const struct schema_rule *keyword;
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
