/* SPDX-License-Identifier: Apache-2.0
 *
 * The shape of a fuzz target: one file, one function that puts one input through a reader and through
 * whatever is made of what the reader lets pass. Built by clang the function is driven by libFuzzer (option
 * `fuzz`), by any compiler it reads the kept inputs once (replay.c), as a test like any other.
 *
 * A target says that something is wrong by fuzz_expect; the sanitizers say the rest.
 */
#ifndef DP_TESTS_FUZZ_H
#define DP_TESTS_FUZZ_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "reports/render/render.h"
#include "suite/base/err.h"

/* The target's own. `text` holds `length` bytes and a NUL behind them. */
void fuzz_one(const char *text, size_t length);

/* Aborts, with the words, unless `good`. */
void fuzz_expect(bool good, const char *words);
/* A refusal is one printable line with an exit code of bad input, or of `other` (0: none). */
void fuzz_expect_refusal(const struct dp_err *err, int other);
/* What goes to a terminal or into a file holds no control character but newlines. */
void fuzz_expect_printable(const char *text, size_t length);

/* A folder of this process's own, removed at its end; static. */
const char *fuzz_folder(void);
/* Makes the file in that folder. */
void fuzz_write(const char *name, const char *text, size_t length, bool executable);

/* The report of the input, as the reader of files lets it pass, at once or resealed. Owned; NULL: refused,
 * with one line. */
json_t *fuzz_report(const char *text, size_t length);
/* A report with a finding of each kind, to hold others against. Static. */
const json_t *fuzz_other_report(void);
/* In every format that there is for such a document, more than one way. */
void fuzz_render(enum dp_document document, const json_t *json);

/* Of a report that is wrong in its summary or digest alone, they are made to follow: what stands behind that
 * check has to be reached too. The rest stays as hostile as it is. */
void fuzz_reseal(json_t *report);

#endif
