/* SPDX-License-Identifier: Apache-2.0
 *
 * The params of a case, with a mark for each one that was read: a param that nothing reads is a mistake in
 * the catalogue and must not pass silently.
 */
#ifndef KIT_PARAMS_H
#define KIT_PARAMS_H

#include <jansson.h>

#include "probes/kit/op.h"

#define KIT_MAX_PARAMS 64

struct kit_params {
    json_t *object; /* owned */
    uint64_t read;  /* bit i: the i-th member, in the object's order */
};

/* Copies `object`, which must hold integers, strings and booleans only. */
int kit_params_init(struct kit_params *params, const json_t *object);
void kit_params_free(struct kit_params *params);
/* Fails with the name of a param that was never read. */
int kit_params_all_read(const struct kit_params *params);

#endif
