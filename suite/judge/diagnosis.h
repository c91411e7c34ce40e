/* SPDX-License-Identifier: Apache-2.0
 *
 * Diagnosis: what kind of difference a case shows, from what was observed of it. A kind is said only where
 * facts decide for it; everything else is unknown. It explains a verdict and never makes one. Internal to
 * suite/judge.
 */
#ifndef DP_JUDGE_DIAGNOSIS_H
#define DP_JUDGE_DIAGNOSIS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "suite/judge/facts.h"

/* What the kinds are decided from: the observations of one case in the first pass. */
struct dp_traits {
    bool differs;          /* anything at all: runs, or processes, or settings of a covered axis */
    size_t varied;         /* observations whose runs differ */
    const char *unwritten; /* an output with elements that no run wrote, or NULL */
    bool follows_poison;   /* patterns in memory move the bits, and each one repeats */
    const char *caller; /* at this setting of axis concurrency values of another caller were found; or NULL */
    bool direct;        /* sums whose terms do not round: catalogue's arithmetic */
    bool plain;         /* nothing rounds: arithmetic none */
    bool exact_varies;  /* sums that are exact in any order differ */
    bool first_call;    /* only the first call of a process differs */
    bool order_varies;  /* a sum whose order was revealed was another when asked again */
    bool selection;     /* other bits in a new process go with another choice, and one process repeats */
    /* of the mismatches of all observations whose runs differ */
    size_t mismatches;       /* so many were told */
    bool permutation;        /* each of them the same elements in another order */
    const char *flipped;     /* the bits of one of them where each differs in single bits, else NULL */
    double error_over_bound; /* the largest; negative: one of them has none, or there is no mismatch */
    /* of the base setting: runs unlike the most common of their request, out of comparisons */
    size_t unlike, comparisons;
    size_t exact_comparisons; /* the same of sums that are exact in any order */
};
void dp_traits_read(const struct dp_view *view, struct dp_traits *ret);

/* The kind by the first rule that holds, and why, in a sentence; owned. NULL: nothing differs. Static words:
 * unwritten uninitialised_read cross_talk corruption first_call selection race_sized permutation reordering
 * unknown. */
const char *dp_diagnose(const struct dp_traits *traits, char **ret_reason);

/* measurements.cases[].diagnosis, or NULL. Owned. */
json_t *dp_diagnosis_json(const struct dp_view *view);

/* In every observation at the base setting that varied, the first run alone was unlike all others. */
bool dp_first_run_differs(const struct dp_view *view);

#endif
