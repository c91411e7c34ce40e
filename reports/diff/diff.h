/* SPDX-License-Identifier: Apache-2.0
 *
 * What differs between two reports: one document (schema/diff.schema.json), made here; renderers take it
 * alone. Verdicts and bits come first, and each change stands beside what may explain it: what the library
 * chose, and the differences in the environment that its program could have met.
 *
 * Bits are compared where the inputs were the same: level and seed of the plan, definition of the case, name,
 * type, shape, seed and set of the output. What cannot be compared is named, never taken for a change.
 */
#ifndef DP_REPORTS_DIFF_H
#define DP_REPORTS_DIFF_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "suite/base/err.h"

#define DP_DIFF_SCHEMA_VERSION "1.1"
#define DP_DIFF_TEXT_MOST ((size_t)1 << 30) /* bytes of a text: nothing of two reports is cut */

/* A report that dp_report_load read, and what the user calls it. Both borrowed. */
struct dp_diff_side {
    const json_t *report;
    const char *name;
};

/* The same inputs in the same amount, or there is nothing to compare: code 65. */
int dp_diff_comparable(const struct dp_diff_side sides[2], struct dp_err *err);
/* From the first report to the second. Owned; NULL with code 65 where the two are not comparable. */
json_t *dp_diff_make(const struct dp_diff_side sides[2], struct dp_err *err);
/* Whether the results agree; differences of the environment alone are none. */
bool dp_diff_agrees(const json_t *diff);
/* Whether there was anything to compare: not where both have cases in common and each of them is another one
 * by its catalogue, or has other outputs. */
bool dp_diff_compares(const json_t *diff);

/* Kinds of change, the weightiest first. */
enum dp_change {
    DP_CHANGE_BROKEN,      /* a guarantee that was kept is broken */
    DP_CHANGE_WRONG,       /* bits that were right are wrong, be it under a cap of axis isa */
    DP_CHANGE_FAILED,      /* ends in an error */
    DP_CHANGE_VARIES,      /* bits that repeated vary */
    DP_CHANGE_BITS,        /* repeats on both sides, with other bits */
    DP_CHANGE_SENSITIVE,   /* an axis moves bits that it did not move */
    DP_CHANGE_STOPPED,     /* ran, and is skipped or untested */
    DP_CHANGE_MISSING,     /* not in the second report */
    DP_CHANGE_NEW,         /* not in the first report */
    DP_CHANGE_STARTED,     /* was skipped, untested or an error, and runs */
    DP_CHANGE_MENDED,      /* was wrong, or its guarantee broken */
    DP_CHANGE_REPEATS,     /* bits that varied repeat */
    DP_CHANGE_INSENSITIVE, /* an axis moves bits no more */
    DP_CHANGE_MAX
};
/* "newly_broken", ...: the member `kind`. */
const char *dp_change_name(enum dp_change kind);
/* The kind of that name, DP_CHANGE_MAX where there is none. */
enum dp_change dp_change_named(const char *name);
/* "guarantee newly broken", "guarantees newly broken": of one case, of several. */
const char *dp_change_words(enum dp_change kind, bool several);

#endif
