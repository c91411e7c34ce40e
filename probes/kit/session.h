/* SPDX-License-Identifier: Apache-2.0
 *
 * One process's state between requests: the prepared call, its buffers and the inputs in them, so that
 * adjacent requests of one case, seed and set pay for them once.
 */
#ifndef KIT_SESSION_H
#define KIT_SESSION_H

#include "probes/kit/heap.h"
#include "probes/kit/operands.h"
#include "probes/kit/params.h"
#include "probes/kit/request.h"

struct kit_session {
    const struct kit_program *program;
    const struct kit_backend *backend;
    int initial_threads; /* what the library starts with; 0: it has no thread count */
    int perturb;         /* in force */
    struct kit_heap heap;
    bool ran; /* an operation ran in this process */

    const struct op *op; /* prepared; NULL: nothing is */
    char *prepared_key;  /* op, params, choice, threads, perturb, lanes */
    char *input_key;     /* problem, seed, set, place: what the buffers hold */
    struct kit_params params;
    struct kit_shape shape;
    struct kit_prepared prepared;
    struct kit_call call;
    char *choice; /* owned; call.choice */
    struct kit_operands operands;
    bool traced;     /* what is prepared was looked at for its kernels */
    json_t *kernels; /* ... and these were seen, or NULL; owned */
};

void kit_session_init(struct kit_session *session, const struct kit_program *program,
                      const struct kit_backend *backend);
/* Answers one request: KIT_OK with the owned observation (of axis order, the order), or an outcome kept.
 * After a failure nothing is kept from this request. */
int kit_session_serve(struct kit_session *session, const struct kit_request *request,
                      json_t **ret_observation);
void kit_session_drop(struct kit_session *session);

#endif
