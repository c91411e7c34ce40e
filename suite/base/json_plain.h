/* SPDX-License-Identifier: Apache-2.0
 *
 * A fast reader of plain JSON in front of jansson.
 */
#ifndef DP_BASE_JSON_PLAIN_H
#define DP_BASE_JSON_PLAIN_H

#include <jansson.h>
#include <stddef.h>

/* The value that jansson reads with JSON_REJECT_DUPLICATES, or NULL: ask jansson. Equal strings and numbers
 * are one value, so none of them may be changed in its place. Owned. */
json_t *dp_json_parse_plain(const char *text, size_t length);

#endif
