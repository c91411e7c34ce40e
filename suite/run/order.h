/* SPDX-License-Identifier: Apache-2.0
 *
 * What an answer of type `order` may say.
 */
#ifndef DP_RUN_ORDER_H
#define DP_RUN_ORDER_H

#include <jansson.h>
#include <stdbool.h>

#include "suite/base/err.h"

/* Owned copy of the known members, or NULL. */
json_t *dp_order_check(const json_t *message, struct dp_err *err);

#endif
