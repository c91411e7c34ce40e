/* SPDX-License-Identifier: Apache-2.0
 *
 * Text: growing buffers with a ceiling, globs, suggestions, durations. Nothing here depends on the locale.
 */
#ifndef DP_BASE_TEXT_H
#define DP_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "suite/base/err.h"

/* A growing string. `limit` is the most bytes it may hold; what would pass it is dropped and `truncated` set.
 * Zero-initialise with DP_TEXT(limit); data is NULL or NUL-terminated. Owner calls dp_text_free. */
struct dp_text {
    char *data;
    size_t length;
    size_t capacity;
    size_t limit;
    bool truncated;
};
#define DP_TEXT(max) ((struct dp_text){.limit = (max)})

void dp_text_add(struct dp_text *text, const char *bytes, size_t length);
void dp_text_put(struct dp_text *text, const char *string);
void dp_text_put_word(struct dp_text *text, const char *word); /* as a POSIX shell reads it back */
void dp_text_printf(struct dp_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* What it holds, "" of nothing; it is empty then, with the same limit. Owned. */
char *dp_text_take(struct dp_text *text);
void dp_text_free(struct dp_text *text);

/* Aborts the program with one line when memory is exhausted: no caller could do better. Result is owned. */
void *dp_alloc(size_t count, size_t size); /* zeroed */
void *dp_realloc(void *old, size_t count, size_t size);
char *dp_strdup(const char *string);
char *dp_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Shell-like match of a whole string: `*` (also across '/'), `?`, `[abc]`, `[!a-z]`. */
bool dp_glob_match(const char *pattern, const char *string);
bool dp_glob_is(const char *string); /* does it contain a wildcard */
/* A path as a pattern of glob(3) that matches nothing else. Owned. */
char *dp_glob_escape(const char *path);

/* Is `string` one of "a|b|c"? */
bool dp_word_among(const char *string, const char *words);
/* Number of edits (insert, delete, replace, swap of neighbours) between two short strings. */
unsigned dp_edit_distance(const char *a, const char *b);
/* The candidate nearest to `word`, or NULL when none is near enough to suggest. Borrowed from candidates. */
const char *dp_suggest(const char *word, const char *const *candidates, size_t count);

/* "50s", "2m", "1h", "7d", "250ms", "50" (seconds) -> nanoseconds. */
int dp_parse_duration(const char *string, int64_t *ret_ns, struct dp_err *err);
/* "0.002", "2e-3", "0.2%" -> a number above 0 and below 1. */
int dp_parse_share(const char *string, double *ret, struct dp_err *err);
/* A whole decimal number within [low, high]; no sign other than '-', no blanks. */
int dp_parse_int(const char *string, int64_t low, int64_t high, int64_t *ret, struct dp_err *err);

/* Copies `string` with every control character and every byte that is not part of valid UTF-8 replaced by
 * '?', so that hostile text cannot drive a terminal. Result is owned. */
char *dp_printable(const char *string, size_t length);

/* Length of a beginning of `string` of at most `most` bytes that does not end inside of a character. */
size_t dp_text_fit(const char *string, size_t most);

#endif
