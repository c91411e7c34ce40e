/* SPDX-License-Identifier: Apache-2.0
 *
 * Axis price: the time of one call of an operation. Reading the clock takes tens of nanoseconds and a device
 * is waited for longer than many kernels run, so a run of what is short is several calls, one after the
 * other, and one wait: as a program that does not wait after each would make them.
 */
#ifndef KIT_STOPWATCH_H
#define KIT_STOPWATCH_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "probes/kit/op.h"

struct kit_stopwatch {
    int calls;    /* that the next run is to make */
    bool several; /* the operation may be called again on what it left */
    double *ns;   /* of one call, by run; the first two warm up and tell how many calls a run takes. Owned */
    int count;    /* runs that were timed */
};

void kit_stopwatch_start(struct kit_stopwatch *watch, const struct kit_shape *shape, int runs);
/* Takes what a run took. Returns it for one call, rounded to at least 1. */
int64_t kit_stopwatch_take(struct kit_stopwatch *watch, int run, int64_t ns);
/* Adds to the observation's `time` the members `median_ns`, of one call, and `calls` of one run. */
void kit_stopwatch_tell(const struct kit_stopwatch *watch, json_t *time);
void kit_stopwatch_free(struct kit_stopwatch *watch);

#endif
