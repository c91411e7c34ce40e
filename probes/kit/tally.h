/* SPDX-License-Identifier: Apache-2.0
 *
 * The distinct outputs of one output operand: a table of classes, constant in the number of runs.
 */
#ifndef KIT_TALLY_H
#define KIT_TALLY_H

#include <jansson.h>

#include "probes/kit/explain.h"
#include "suite/base/digest.h"

#define KIT_MAX_CLASSES 1024 /* beyond that "at least 1024" */
#define KIT_MAX_DIGESTS 8    /* classes that get a SHA-256 and are sent */

struct kit_class {
    struct dp_hash128 hash;
    int runs, first_run;
    char sha256[DP_SHA256_HEX];
};

struct kit_tally {
    struct kit_class *classes; /* in the order of their first run; owned */
    int count;
    int total; /* runs counted */
    struct kit_difference worst;
};

void kit_tally_init(struct kit_tally *tally);
void kit_tally_free(struct kit_tally *tally);
/* Counts one run whose digested bytes are given. Returns the number of its class, or -1 when the table is
 * full; *ret_new tells whether the class is new. */
int kit_tally_count(struct kit_tally *tally, int run, const void *bytes, size_t length, bool *ret_new);
/* Counts one run that equals the first. */
void kit_tally_same(struct kit_tally *tally);
/* Adds what caller number `caller` counted for itself: runs that gave what it got alone to those that did so
 * here, any other output as a class of its own, also where its bytes are those of somebody else. */
void kit_tally_add(struct kit_tally *to, const struct kit_tally *from, int caller);
/* Runs outside the largest class (ties: the earliest); runs beyond the table are outside. */
int kit_tally_mismatches(const struct kit_tally *tally);
/* The array `classes` of an observation. Owned. */
json_t *kit_tally_json(const struct kit_tally *tally);

#endif
