/* SPDX-License-Identifier: Apache-2.0
 *
 * What renderers of text share: hostile strings made harmless, columns of characters rather than bytes,
 * wrapping, singular and plural.
 */
#ifndef DP_RENDER_WORDS_H
#define DP_RENDER_WORDS_H

#include <jansson.h>
#include <stddef.h>

#include "suite/base/text.h"

/* Adds `string` with everything that could drive a terminal replaced. */
void dp_words_put(struct dp_text *out, const char *string);
/* The same for Markdown: whatever could be markup, a link or the end of a cell becomes a character reference.
 */
void dp_words_markdown(struct dp_text *out, const char *string);
/* Characters of a string, as far as one character is one column. */
size_t dp_words_width(const char *string);
/* `count` blanks. */
void dp_words_blanks(struct dp_text *out, size_t count);
/* Adds words broken at blanks so that no line passes `columns` where a blank allows it. The first line starts
 * at column `at`, the others at column `indent`; ends with a newline. */
void dp_words_wrap(struct dp_text *out, const char *string, size_t at, size_t indent, size_t columns);
/* "1 operation", "3 operations": `many` is used for every other number. Owned. */
char *dp_words_count(size_t count, const char *one, const char *many);
/* "cpu/gemm 21, cpu/blas 40": how many of the rows (members `backend` and `family`) are of each family, in
 * their order. Owned. */
char *dp_words_families(const json_t *rows);
/* Sum of words with a separator between them: adds ", " unless `out` is empty. */
void dp_words_join(struct dp_text *out, const char *separator, const char *string);

#endif
