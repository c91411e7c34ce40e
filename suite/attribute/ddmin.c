/* SPDX-License-Identifier: Apache-2.0
 *
 * ddmin: halves first, then ever smaller parts, each tried alone and left out.
 */
#include "suite/attribute/ddmin.h"

#include <stdlib.h>
#include <string.h>

#include "suite/base/text.h"

/* Where the i-th of n nearly equal parts begins. */
static size_t start_of(size_t i, size_t n, size_t count)
{
    return i * count / n;
}

/* The items without those of [from, to). Returns their number. */
static size_t leave_out(const size_t *items, size_t count, size_t from, size_t to, size_t *ret)
{
    memcpy(ret, items, from * sizeof(*ret));
    memcpy(ret + from, items + to, (count - to) * sizeof(*ret));
    return count - (to - from);
}

/* Reduces to one part of n, or to all but one; false where neither has the effect. */
static bool reduce(size_t *items, size_t *count, size_t *n, size_t *space, dp_ddmin_test *test, void *context)
{
    for (size_t i = 0; i < *n; i++) {
        const size_t from = start_of(i, *n, *count), length = start_of(i + 1, *n, *count) - from;
        if (test(context, items + from, length)) {
            memmove(items, items + from, length * sizeof(*items));
            *count = length;
            *n = 2;
            return true;
        }
    }
    for (size_t i = 0; i<*n && * n> 2; i++) { /* of two parts, the rest of one is the other */
        const size_t left =
            leave_out(items, *count, start_of(i, *n, *count), start_of(i + 1, *n, *count), space);
        if (test(context, space, left)) {
            memcpy(items, space, left * sizeof(*items));
            *count = left;
            *n = *n - 1;
            return true;
        }
    }
    return false;
}

size_t dp_ddmin(size_t *items, size_t count, dp_ddmin_test *test, void *context)
{
    size_t *space = dp_alloc(count + 1, sizeof(*space));
    size_t n = 2;
    while (count >= 2) {
        if (!reduce(items, &count, &n, space, test, context)) {
            if (n == count) {
                break;
            }
            n = 2 * n < count ? 2 * n : count;
        }
        n = n < count ? n : count;
    }
    free(space);
    return count;
}
