/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON over jansson: strict loading of files that may be hostile, canonical bytes, whole-file writing.
 */
#ifndef DP_BASE_JSON_H
#define DP_BASE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "suite/base/err.h"

/* Parses text strictly: duplicate members are an error, NUL bytes are refused. Owned, or NULL with code 65.
 * `name` is what a message calls the text. */
json_t *dp_json_parse(const char *text, size_t length, const char *name, struct dp_err *err);
/* The bytes of a regular file or pipe, at most `limit`. Path "-" is standard input. Owned, or
 * NULL with code 65. */
char *dp_file_read(const char *path, size_t limit, size_t *ret_length, struct dp_err *err);
/* Reads a regular file or pipe of at most `limit` bytes and parses it. Path "-" is standard input. */
json_t *dp_json_load(const char *path, size_t limit, struct dp_err *err);

/* Canonical bytes of a value in the subset where jansson's sorted compact output equals RFC 8785: keys of
 * printable ASCII, no reals, integers within +-(2^53 - 1), strings without control characters. Anything else
 * is an error that names the place. Result is owned (free). */
char *dp_json_canonical(const json_t *value, size_t *ret_length, struct dp_err *err);

/* Writes `length` bytes to `path`: a regular file under a temporary name in the same folder, fsync, rename
 * (symbolic links followed); a device or pipe in place; what standard output or error is already, through
 * that descriptor; "-" is standard output. Code 2 when it cannot be written. */
int dp_file_write(const char *path, const char *bytes, size_t length, struct dp_err *err);
/* Adds to the end of `path`, in one write where the system lets it; a regular file that could not take all of
 * it is as before. */
int dp_file_append(const char *path, const char *bytes, size_t length, struct dp_err *err);
/* Bytes of a regular file, else 0. */
size_t dp_file_size(const char *path);
/* Is the path "-" or another name of what standard output is (/dev/stdout, the file it was redirected to)? */
bool dp_file_is_stdout(const char *path);
/* The text that a report or other document has on disk: indented by 2, members sorted, a newline at the end.
 */
int dp_json_write(const char *path, const json_t *value, struct dp_err *err);
char *dp_json_pretty(const json_t *value); /* the same text, owned (free) */

/* Members of an object, with defaults for absent ones; wrong types count as absent. Borrowed. */
const char *dp_json_string(const json_t *object, const char *key, const char *fallback);
json_int_t dp_json_int(const json_t *object, const char *key, json_int_t fallback);
double dp_json_number(const json_t *object, const char *key, double fallback);
bool dp_json_array_has(const json_t *array, const char *string);

/* Objects of an array by a member of theirs, "" where one lacks it; of two alike the later. Owned. */
json_t *dp_json_index(const json_t *array, const char *member);
/* The keys of an object, in its order. Owned. */
json_t *dp_json_keys(const json_t *object);
/* One more under this key. */
void dp_json_count(json_t *counts, const char *key);
/* Takes a value into the array under this key; the first makes it. */
void dp_json_group(json_t *arrays, const char *key, json_t *value_owned);

#endif
