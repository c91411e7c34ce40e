/* SPDX-License-Identifier: Apache-2.0
 *
 * What was measured and on what: the report's `environment`, from the host and the programs' hello messages.
 */
#ifndef DP_RUN_ENVIRONMENT_H
#define DP_RUN_ENVIRONMENT_H

#include <jansson.h>

#include "suite/plan/plan.h"
#include "suite/run/runner.h"

/* host, devices[], libraries[], variables, float_environment and stack (NULL: none was asked for), from the
 * hellos and from what observations say of the floating-point control register after their program's first
 * run. Each library once per role and path; the order does not depend on which program answered first. Owned.
 */
json_t *dp_environment(const struct dp_plan *plan, const struct dp_answers *answers,
                       const struct dp_stack *stack);

/* What the hellos say of each device that two equal machines do not have in common: for the measurements.
 * Owned; NULL without devices. */
json_t *dp_environment_device_state(const struct dp_answers *answers);

/* The processes of axis isa: what each was held to, what its library said of that, and which families it
 * served; for the measurements. Owned; NULL without the axis. */
json_t *dp_environment_caps(const struct dp_plan *plan, const struct dp_answers *answers);

/* Adds to `libraries` (array) those of one hello message that it does not hold yet, and to each of the hello
 * the families (array of "cpu/gemm", or NULL) whose program it was. */
void dp_environment_add_libraries(json_t *libraries, const json_t *families, const json_t *hello);

#endif
