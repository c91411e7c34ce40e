/* SPDX-License-Identifier: Apache-2.0
 *
 * A reader of the subset of JSON Schema 2020-12 that the project's own schemas use: type, enum, const,
 * required, properties, patternProperties, additionalProperties, propertyNames, items, prefixItems, minItems,
 * maxItems, uniqueItems, minLength, maxLength, pattern, minimum, maximum, minProperties, maxProperties,
 * allOf, anyOf, oneOf, not, if/then/else, $ref to "#/$defs/NAME"; annotations are passed over. A keyword
 * outside the subset is a bug (the schema files are ours) and reported as an error, never ignored. Patterns
 * are those that POSIX extended and ECMAScript regular expressions read alike. No C library for JSON Schema
 * is packaged by Debian; python3-jsonschema checks in the tests that both agree.
 */
#ifndef DP_BASE_SCHEMA_H
#define DP_BASE_SCHEMA_H

#include <jansson.h>

#include "suite/base/err.h"

/* 0 if `value` is valid; otherwise -1 and *err names the place as a JSON pointer and what was expected:
 * "at '/cases/3/op': expected a string". Depth is limited, hostile input cannot overflow the stack. */
int dp_schema_check(const json_t *schema, const json_t *value, struct dp_err *err);

/* The schemas that are built into the program (reports/schema/NAME.schema.json), parsed once; borrowed.
 * Names: "catalogue", "report", "list", ...; NULL for an unknown one. */
const json_t *dp_schema_builtin(const char *name);

/* A document that says its `schema_version`, against the built-in schema of this name. Of an older or equal
 * minor version it is checked as it stands. A newer minor version only adds members: where the reading allows
 * it, those that the schema does not know are passed over, everywhere. Another major version is refused by
 * its number. Code 65. */
enum dp_schema_reading {
    DP_SCHEMA_STRICT, /* to judge the document itself */
    DP_SCHEMA_NEWER,  /* to use what it says */
};
int dp_schema_check_document(const char *name, const json_t *document, enum dp_schema_reading reading,
                             struct dp_err *err);

#endif
