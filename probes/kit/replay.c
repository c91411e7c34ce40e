/* SPDX-License-Identifier: Apache-2.0
 *
 * Random summands and their sums in a tree.
 */
#include "probes/kit/replay.h"

#include <math.h>
#include <stdlib.h>

#include "probes/kit/dtype.h"
#include "suite/base/text.h"

#define SPREAD 8 /* binary orders of magnitude */

__extension__ typedef __int128 wide; /* holds any sum of summands exactly */

static int precision(enum kit_dtype dtype)
{
    return (int)-log2l(kit_dtype_roundoff(dtype));
}

/* splitmix64 */
static uint64_t random_of(int round, int number)
{
    uint64_t x = ((uint64_t)(uint32_t)round << 32 | (uint32_t)number) * 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

int64_t kit_replay_number(enum kit_dtype dtype, int round, int number)
{
    const int bits = precision(dtype);
    const bool second = round % 2 && number % 2; /* of a pair that nearly cancels */
    const uint64_t random = random_of(round, second ? number - 1 : number);
    const int64_t high = INT64_C(1) << (bits - 1);
    int64_t mantissa = high + (int64_t)(random & (uint64_t)(high - 1));
    const int shift = (int)(random >> 58) % SPREAD;
    bool negative = random >> 57 & 1;
    if (second) {
        mantissa ^= (int64_t)(random_of(round, number) & 7);
        negative = !negative;
    }
    return (negative ? -mantissa : mantissa) * (INT64_C(1) << shift);
}

long double kit_replay_scale(enum kit_dtype dtype)
{
    return ldexpl(1, -precision(dtype) - SPREAD / 2);
}

static wide exact_sum(enum kit_dtype input, int round, int summands)
{
    wide sum = 0;
    for (int i = 0; i < summands; i++) {
        sum += kit_replay_number(input, round, i);
    }
    return sum;
}

/* A child's number is lower than its parent's, so one pass over the nodes adds all. */
#define TREE_SUM(type)                                                                                       \
    static type tree_sum_##type(const struct kit_order *order, int summands, enum kit_dtype input,           \
                                int round)                                                                   \
    {                                                                                                        \
        type *const sums = dp_alloc((size_t)order->nodes, sizeof(*sums));                                    \
        for (int i = 0; i < order->nodes; i++) {                                                             \
            sums[i] = i < summands ? (type)kit_replay_number(input, round, i) : sums[i];                     \
            if (i + 1 < order->nodes) {                                                                      \
                sums[order->parent[i]] += sums[i];                                                           \
            }                                                                                                \
        }                                                                                                    \
        const type sum = sums[order->nodes - 1];                                                             \
        free(sums);                                                                                          \
        return sum;                                                                                          \
    }
TREE_SUM(float)
TREE_SUM(double)

static long double rounded(enum kit_dtype output, double value)
{
    return output == KIT_F32 ? (long double)(float)value : (long double)value;
}

int kit_replay_same(const struct kit_order *order, int summands, enum kit_dtype input, enum kit_dtype in,
                    enum kit_dtype output, long double unit, const long double *sums)
{
    int same = 0;
    for (int round = 0; round < KIT_REPLAYS; round++) {
        long double sum;
        if (!order) {
            const wide exact = exact_sum(input, round, summands);
            sum = output == KIT_F32 ? (long double)(float)exact : (long double)(double)exact;
        } else if (in == KIT_F32) {
            sum = tree_sum_float(order, summands, input, round);
        } else {
            sum = rounded(output, tree_sum_double(order, summands, input, round));
        }
        same += sum * unit * kit_replay_scale(input) == sums[round];
    }
    return same;
}
