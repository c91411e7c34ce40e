/* SPDX-License-Identifier: Apache-2.0
 *
 * How far two outputs are apart: ULP, absolute and norm-relative together, since a result near zero is
 * millions of ULP off and still a millionth of the largest element.
 */
#include "probes/kit/explain.h"

#include <math.h>

#include "probes/kit/dtype.h"

#define NOT_FINITE 1e308 /* what JSON can hold of infinity */

/* An order-free fingerprint of the elements: two sums of mixed bits (splitmix64's finaliser). */
struct multiset {
    uint64_t a, b;
};

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static void multiset_add(struct multiset *set, uint64_t bits)
{
    set->a += mix(bits + 0x9e3779b97f4a7c15u);
    set->b += mix(~bits);
}

static double as_json(long double value)
{
    return isfinite(value) && value < NOT_FINITE ? (double)value : NOT_FINITE;
}

/* Other bits of one value (NaN) are no value apart, and still differ. */
static int bin_of(uint64_t ulps)
{
    return ulps ? KIT_ULP_BINS - 1 - __builtin_clzll(ulps) : 0;
}

void kit_explain(enum kit_dtype dtype, const void *first, const void *other, int64_t count,
                 struct kit_difference *ret)
{
    struct multiset before = {0, 0};
    struct multiset after = {0, 0};
    long double norm = 0;
    long double max_abs = 0;
    *ret = (struct kit_difference){.of = count, .first_index = -1};
    for (int64_t i = 0; i < count; i++) {
        const uint64_t a = kit_bits(dtype, first, i);
        const uint64_t b = kit_bits(dtype, other, i);
        const long double value = kit_value(dtype, first, i);
        norm = isfinite(value) && fabsl(value) > norm ? fabsl(value) : norm;
        if (a == b) {
            continue;
        }
        const uint64_t ulps = kit_ulps(dtype, a, b);
        const long double apart = fabsl(value - kit_value(dtype, other, i));
        ret->elements++;
        ret->first_index = ret->first_index < 0 ? i : ret->first_index;
        ret->max_ulp = ulps > ret->max_ulp ? ulps : ret->max_ulp;
        ret->ulps[bin_of(ulps)]++;
        max_abs = apart > max_abs || isnan(apart) ? (isnan(apart) ? (long double)INFINITY : apart) : max_abs;
        multiset_add(&before, a);
        multiset_add(&after, b);
    }
    ret->max_abs = as_json(max_abs);
    ret->max_rel = max_abs == 0 ? 0 : as_json(max_abs / norm);
    ret->permutation = ret->elements > 0 && before.a == after.a && before.b == after.b;
}

void kit_difference_merge(struct kit_difference *into, const struct kit_difference *from)
{
    if (from->elements == 0) {
        return;
    }
    if (into->elements == 0) {
        *into = *from;
        return;
    }
    into->elements = from->elements > into->elements ? from->elements : into->elements;
    into->max_ulp = from->max_ulp > into->max_ulp ? from->max_ulp : into->max_ulp;
    into->max_abs = fmax(into->max_abs, from->max_abs);
    into->max_rel = fmax(into->max_rel, from->max_rel);
    into->first_index = from->first_index < into->first_index ? from->first_index : into->first_index;
    into->permutation = into->permutation && from->permutation;
    for (int i = 0; i < KIT_ULP_BINS; i++) {
        into->ulps[i] += from->ulps[i];
    }
}

bool kit_difference_is_earlier(const struct kit_difference *one, const struct kit_difference *other)
{
    return (double)one->first_index * (double)other->of < (double)other->first_index * (double)one->of;
}
