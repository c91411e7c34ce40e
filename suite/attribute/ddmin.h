/* SPDX-License-Identifier: Apache-2.0
 *
 * Delta debugging: the smallest part of a set of changes that still has the effect of all of them. The
 * algorithm ddmin of A. Zeller and R. Hildebrandt, Simplifying and Isolating Failure-Inducing Input, IEEE
 * Transactions on Software Engineering 28(2), 2002, section 3.
 */
#ifndef DP_ATTRIBUTE_DDMIN_H
#define DP_ATTRIBUTE_DDMIN_H

#include <stdbool.h>
#include <stddef.h>

/* Does this part have the effect? What cannot be tried has not (the paper's "unresolved"). */
typedef bool dp_ddmin_test(void *context, const size_t *part, size_t count);

/* `items` as a whole has the effect. Reduces it in place, its order kept, to a part of which no single item
 * can be left out; returns the number of items that are left. */
size_t dp_ddmin(size_t *items, size_t count, dp_ddmin_test *test, void *context);

#endif
