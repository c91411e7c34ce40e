/* SPDX-License-Identifier: Apache-2.0
 *
 * Observing: run a prepared operation so many times and say which outputs occurred how often.
 */
#ifndef KIT_OBSERVE_H
#define KIT_OBSERVE_H

#include "probes/kit/operands.h"
#include "probes/kit/request.h"

/* One setting of one axis: `request->runs` runs on buffers whose inputs are in place. *ret_observation gets
 * outputs, mismatch and time; owned. The first run compared with is kept in operands->first. */
int kit_observe(struct kit_operands *operands, struct kit_call *call, const struct kit_request *request,
                json_t **ret_observation);

/* One of several host threads: a call that was prepared for it, with buffers and inputs of its own. */
struct kit_caller {
    struct kit_call *call;
    struct kit_operands *operands;
};

/* Axis concurrency by host threads: the first run of each is alone, what it gives later, at once with the
 * others, is compared with that. The first class holds the runs that gave each its own; mismatch says how
 * many elements hold what another caller should have got. */
int kit_observe_callers(const struct kit_caller *callers, int count, const struct kit_request *request,
                        json_t **ret_observation);

/* One more run, of which nothing is kept but the names of its kernels: an array, or NULL where the backend
 * cannot see them; owned. */
json_t *kit_observe_kernels(struct kit_operands *operands, struct kit_call *call,
                            const struct kit_request *request);

#endif
