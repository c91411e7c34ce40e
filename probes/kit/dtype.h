/* SPDX-License-Identifier: Apache-2.0
 *
 * Element types: sizes, names, exact conversions to and from wider types, order of representable values.
 */
#ifndef KIT_DTYPE_H
#define KIT_DTYPE_H

#include "probes/kit/op.h"

struct kit_format {
    const char *name;
    size_t size;
    bool is_float, is_signed;
    int mantissa, bias; /* stored mantissa bits, exponent bias */
    bool finite;        /* no infinities: the largest exponent is one like the others but for one NaN */
};
const struct kit_format *kit_format_of(enum kit_dtype dtype);

bool kit_dtype_is_float(enum kit_dtype dtype);
/* Unit roundoff u of a float type; 0 for integers. */
long double kit_dtype_roundoff(enum kit_dtype dtype);
/* The largest finite value of a float type, and its smallest positive one, subnormal. */
long double kit_dtype_largest(enum kit_dtype dtype);
long double kit_dtype_smallest(enum kit_dtype dtype);
/* The bits of element `index`, zero-extended. */
uint64_t kit_bits(enum kit_dtype dtype, const void *elements, int64_t index);
/* The value of element `index`, exact. */
long double kit_value(enum kit_dtype dtype, const void *elements, int64_t index);
/* Stores a value that the type holds exactly; others are rounded toward zero. */
void kit_store(enum kit_dtype dtype, void *elements, int64_t index, long double value);
/* How many representable values lie between two elements, given as bits: 0 for equal bits, 1 for neighbours,
 * and 1 between -0 and +0. Integers: their difference. */
uint64_t kit_ulps(enum kit_dtype dtype, uint64_t a, uint64_t b);

#endif
