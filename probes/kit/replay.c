/* SPDX-License-Identifier: Apache-2.0
 *
 * Random summands and their sums in a tree.
 */
#include "probes/kit/replay.h"

#include <math.h>
#include <stdlib.h>

#include "probes/kit/dtype.h"
#include "suite/base/text.h"

#define KEPT_LEAST 8
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

static int length_of(wide value)
{
    const unsigned __int128 magnitude = (unsigned __int128)(value < 0 ? -value : value);
    const uint64_t high = (uint64_t)(magnitude >> 64), low = (uint64_t)magnitude;
    return high ? 128 - __builtin_clzll(high) : low ? 64 - __builtin_clzll(low) : 0;
}

/* Without its lowest `bits` bits, toward zero. */
static wide cut(wide value, int bits)
{
    return bits <= 0 ? value : value < 0 ? -(-value >> bits << bits) : value >> bits << bits;
}

/* To so many bits: toward zero, or to nearest, of two the even one. */
static wide rounded(wide value, int bits, bool toward_zero)
{
    const int more = length_of(value) - bits;
    if (more <= 0 || toward_zero) {
        return cut(value, more);
    }
    const wide magnitude = value < 0 ? -value : value, unit = (wide)1 << more;
    const wide low = cut(magnitude, more), rest = magnitude - low;
    const bool up = rest > unit / 2 || (rest == unit / 2 && (low / unit & 1));
    const wide nearest = low + (up ? unit : 0);
    return value < 0 ? -nearest : nearest;
}

struct node {
    wide sum;
    int length, children; /* bits of the largest child, and how many there are */
};

/* A child's number is lower than its parent's, so one pass over the nodes adds all. */
static wide tree_sum(const struct kit_replay *replay, struct kit_adding adding, int round)
{
    const struct kit_order *const order = replay->order;
    const int summands = replay->summands;
    struct node *const nodes = dp_alloc((size_t)order->nodes, sizeof(*nodes));
    int *const first = dp_alloc((size_t)order->nodes + 1, sizeof(*first)); /* lists of children, + 1 */
    int *const next = dp_alloc((size_t)order->nodes + 1, sizeof(*next));
    const int bits = precision(adding.in);
    for (int i = 0; i < order->nodes; i++) {
        wide sum = i < summands ? kit_replay_number(replay->input, round, i) : 0;
        const bool many = nodes[i].children > 2;
        for (int c = first[i]; c; c = next[c]) {
            sum += many ? cut(nodes[c - 1].sum, nodes[i].length - adding.aligned) : nodes[c - 1].sum;
        }
        nodes[i].sum = i < summands ? sum : rounded(sum, bits, many && adding.toward_zero);
        if (i + 1 < order->nodes) {
            struct node *const up = &nodes[order->parent[i]];
            const int length = length_of(nodes[i].sum);
            next[i + 1] = first[order->parent[i]];
            first[order->parent[i]] = i + 1;
            up->length = length > up->length ? length : up->length;
            up->children++;
        }
    }
    const wide sum = nodes[order->nodes - 1].sum;
    free(next);
    free(first);
    free(nodes);
    return sum;
}

static bool is_same(const struct kit_replay *replay, struct kit_adding adding, int round)
{
    const wide sum =
        replay->order ? tree_sum(replay, adding, round) : exact_sum(replay->input, round, replay->summands);
    const long double value = (long double)rounded(sum, precision(replay->output), false);
    return value * replay->unit * kit_replay_scale(replay->input) == replay->sums[round];
}

int kit_replay_same(const struct kit_replay *replay, struct kit_adding adding)
{
    int same = 0;
    for (int round = 0; round < KIT_REPLAYS; round++) {
        same += is_same(replay, adding, round);
    }
    return same;
}

static const enum kit_dtype types[] = {KIT_F32, KIT_F64, KIT_F16, KIT_BF16};
#define TYPES (sizeof(types) / sizeof(types[0]))

/* Wide types that a library adds up narrow ones in, and the narrow ones themselves. */
static bool may_add_in(const struct kit_replay *replay, enum kit_dtype in)
{
    const bool wider = (in == KIT_F32 || in == KIT_F64) && precision(in) >= precision(replay->output);
    return wider || in == replay->input || in == replay->output;
}

static bool is_all(const struct kit_replay *replay, struct kit_adding adding)
{
    int round = 0;
    while (round < KIT_REPLAYS && is_same(replay, adding, round)) {
        round++;
    }
    return round == KIT_REPLAYS;
}

/* The fewest kept bits that give all sums, and how many more give them as well. */
static int find_aligned(const struct kit_replay *replay, struct kit_adding *ret)
{
    for (int bits = KEPT_LEAST; bits <= KIT_KEPT_MOST; bits++) {
        for (int zero = 1; zero >= 0; zero--) {
            const struct kit_adding adding = {.in = KIT_F32, .aligned = bits, .toward_zero = zero};
            if (ret->most < bits && is_all(replay, adding)) {
                *ret = ret->aligned ? *ret : adding;
                ret->most = bits;
            }
        }
    }
    return ret->aligned ? KIT_REPLAYS : 0;
}

int kit_replay_find(const struct kit_replay *replay, struct kit_adding *ret)
{
    int best = -1;
    *ret = (struct kit_adding){.in = KIT_F32};
    if (replay->order && replay->order->nodes < 2 * replay->summands - 1) {
        return find_aligned(replay, ret);
    }
    for (size_t i = 0; i < TYPES && best < KIT_REPLAYS; i++) {
        const struct kit_adding adding = {.in = types[i]};
        const int same = may_add_in(replay, types[i]) ? kit_replay_same(replay, adding) : -1;
        *ret = same > best ? adding : *ret;
        best = same > best ? same : best;
    }
    return best;
}
