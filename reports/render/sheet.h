/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of format text: the sheet that they write on, its labelled lines, the table of families, the
 * evidence of one case.
 */
#ifndef DP_RENDER_SHEET_H
#define DP_RENDER_SHEET_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "suite/base/text.h"

struct dp_sheet {
    struct dp_text *out;
    const json_t *body, *measurements;
    json_t *measured; /* case id -> entry of measurements.cases */
    bool colour, verbose;
    size_t columns; /* of a line */
    /* NULL: labelled lines become text; else they go here. The label is "" where the one before holds. */
    void (*line)(const struct dp_sheet *sheet, const char *label, const char *text);
};

/* The labelled lines but those of the libraries: on which machine, by which plan, what was left out,
 * controls. */
void dp_sheet_before(const struct dp_sheet *sheet);
void dp_sheet_after(const struct dp_sheet *sheet);

/* Adds a word in the colour of what it says, padded to `width` columns. */
void dp_sheet_word(const struct dp_sheet *sheet, const char *word, const char *shown, size_t width);

/* The table: a row for each (family, observed, guarantee), a row for each finding; --verbose: for each case.
 */
void dp_sheet_table(const struct dp_sheet *sheet);
/* What to do about what varies, is wrong or sensitive: each remedy once. */
void dp_sheet_advice(const struct dp_sheet *sheet);
/* What the deterministic forms cost, where that was asked for. */
void dp_sheet_prices(const struct dp_sheet *sheet);

/* What stands behind a result in figures: strength, magnitude; short lines separated by '\n'. Owned. */
char *dp_evidence(const struct dp_sheet *sheet, const json_t *result);
/* And in a sentence, maybe empty. Owned. */
char *dp_evidence_note(const struct dp_sheet *sheet, const json_t *result);
/* Why its bits moved along the axes that it is sensitive to, by another order of additions or not; else the
 * order at the base setting. Maybe empty. Owned. */
char *dp_orders_note(const json_t *result, const json_t *entry);
/* Which implementations give the same bits, where some do not: "bits by algorithm: jit = gemm, ref". Owned.
 */
char *dp_algorithms_note(const json_t *entry);
/* That its order changes from run to run, of an entry of measurements.cases; NULL: it was not seen to. Owned.
 */
char *dp_orders_changed(const json_t *entry);
/* Along which axes orders explain how many results; NULL: none were revealed. Owned. */
char *dp_orders_summary(const struct dp_sheet *sheet);
/* Runs at the base setting behind a result. */
size_t dp_evidence_runs(const struct dp_sheet *sheet, const json_t *result);

#endif
