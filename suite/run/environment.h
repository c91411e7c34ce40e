/* SPDX-License-Identifier: Apache-2.0
 *
 * What was measured and on what: the report's `environment`, from the host and the programs' hello messages.
 */
#ifndef DP_RUN_ENVIRONMENT_H
#define DP_RUN_ENVIRONMENT_H

#include <jansson.h>

/* `hellos` maps a program's name to its hello message (or to the answer that stands for it). host, devices[],
 * libraries[], variables and float_environment; each library once per role and path, sorted. Owned. */
json_t *dp_environment(json_t *hellos);

/* Adds to `libraries` (array) those of one hello message that it does not hold yet. */
void dp_environment_add_libraries(json_t *libraries, const json_t *hello);

#endif
