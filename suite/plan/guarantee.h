/* SPDX-License-Identifier: Apache-2.0
 *
 * What is documented for a case where libraries of given versions are. A guarantee of the catalogue may be
 * said of some versions and devices alone (`versions`), and another one of the others (`otherwise`): the
 * first that speaks of what is here counts. Judging and 'detprobe guarantees' both ask here. Pure.
 */
#ifndef DP_PLAN_GUARANTEE_H
#define DP_PLAN_GUARANTEE_H

#include <jansson.h>

#include "suite/base/err.h"

/* Of the device instead of a library: its compute capability without the dot, "90", "120". */
#define DP_ROLE_SM "sm"

/* Role -> {name?, version?}, from `libraries` and `devices` as a hello or a report's environment has them.
 * With `family` ("cpu/gemm"), of libraries that say their families those alone that its programs had open.
 * What two of them say differently, two libraries of one role or two devices, is not known. Owned. */
json_t *dp_versions_of(const json_t *libraries, const json_t *devices, const char *family);

/* {level, source}, with {said_of} in words where that is not everything. Where nobody speaks of what is here
 * the level is `unstated` and there is a {reason}; where that cannot be told because a version is not known,
 * {depends_on: [role, ...]} as well. Owned. */
json_t *dp_guarantee_stated(const json_t *guarantee, const json_t *versions);
/* Everything that is said, whatever is here: [{level, source, versions?, said_of?}]. Owned. */
json_t *dp_guarantee_alternatives(const json_t *guarantee, const json_t *versions);

/* "cuDNN since 7 and before 10, sm since 89": what `versions` of a guarantee says. Owned. */
char *dp_guarantee_versions_text(const json_t *ranges, const json_t *versions);

/* Whether each of them can count at all: no empty range, nothing behind one that is said of everything. */
int dp_guarantee_check(const json_t *guarantee, struct dp_err *err);

#endif
