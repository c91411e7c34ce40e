/* SPDX-License-Identifier: Apache-2.0
 *
 * Element types. Floats of 16 and 8 bits are handled by their bits alone, so that no compiler support is
 * needed.
 */
#include "probes/kit/dtype.h"

#include <math.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "digests are defined over little-endian bytes; a big-endian machine needs a swap in gather and digest"
#endif

static const struct kit_format formats[KIT_DTYPE_MAX] = {
    [KIT_F32] = {"f32", 4, true, true, 23, 127, false},
    [KIT_F64] = {"f64", 8, true, true, 52, 1023, false},
    [KIT_F16] = {"f16", 2, true, true, 10, 15, false},
    [KIT_BF16] = {"bf16", 2, true, true, 7, 127, false},
    [KIT_F8E4M3] = {"f8e4m3", 1, true, true, 3, 7, true},
    [KIT_F8E5M2] = {"f8e5m2", 1, true, true, 2, 15, false},
    [KIT_S8] = {"s8", 1, false, true, 0, 0, false},
    [KIT_U8] = {"u8", 1, false, false, 0, 0, false},
    [KIT_S32] = {"s32", 4, false, true, 0, 0, false},
    [KIT_S64] = {"s64", 8, false, true, 0, 0, false},
};

const struct kit_format *kit_format_of(enum kit_dtype dtype)
{
    return &formats[dtype];
}

size_t kit_dtype_size(enum kit_dtype dtype)
{
    return formats[dtype].size;
}

const char *kit_dtype_name(enum kit_dtype dtype)
{
    return formats[dtype].name;
}

int kit_dtype_parse(const char *name)
{
    for (int i = 0; i < KIT_DTYPE_MAX; i++) {
        if (strcmp(formats[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

bool kit_dtype_is_float(enum kit_dtype dtype)
{
    return formats[dtype].is_float;
}

long double kit_dtype_roundoff(enum kit_dtype dtype)
{
    return formats[dtype].is_float ? ldexpl(1.0L, -formats[dtype].mantissa - 1) : 0.0L;
}

long double kit_dtype_largest(enum kit_dtype dtype)
{
    const struct kit_format *f = &formats[dtype];
    const int exponents = 1 << ((int)f->size * 8 - 1 - f->mantissa);
    const int exponent = exponents - 1 - !f->finite - f->bias;
    /* The mantissa is all ones, less the one pattern that is NaN where there are no infinities. */
    return ldexpl(2.0L - ldexpl(f->finite ? 2.0L : 1.0L, -f->mantissa), exponent);
}

long double kit_dtype_smallest(enum kit_dtype dtype)
{
    return ldexpl(1.0L, 1 - formats[dtype].bias - formats[dtype].mantissa);
}

uint64_t kit_bits(enum kit_dtype dtype, const void *elements, int64_t index)
{
    const size_t size = formats[dtype].size;
    uint64_t bits = 0;
    memcpy(&bits, (const char *)elements + (size_t)index * size, size);
    return bits;
}

/* Whether bits without a sign are an infinity or NaN. */
static bool is_special(const struct kit_format *format, int exponent, uint64_t fraction)
{
    const int all = (1 << ((int)format->size * 8 - 1 - format->mantissa)) - 1;
    return exponent == all && (!format->finite || fraction == (1u << format->mantissa) - 1);
}

/* A float format of at most 16 bits, by its fields. */
static long double narrow_value(const struct kit_format *format, uint64_t bits)
{
    const int width = (int)format->size * 8;
    const int exponent_bits = width - 1 - format->mantissa;
    const uint64_t fraction = bits & ((1u << format->mantissa) - 1);
    const int exponent = (int)(bits >> format->mantissa) & ((1 << exponent_bits) - 1);
    long double value;
    if (is_special(format, exponent, fraction)) {
        value = fraction ? (long double)NAN : (long double)INFINITY;
    } else if (exponent == 0) {
        value = ldexpl((long double)fraction, 1 - format->bias - format->mantissa);
    } else {
        value = ldexpl((long double)(fraction | (1u << format->mantissa)),
                       exponent - format->bias - format->mantissa);
    }
    return bits >> (width - 1) ? -value : value;
}

long double kit_value(enum kit_dtype dtype, const void *elements, int64_t index)
{
    const uint64_t bits = kit_bits(dtype, elements, index);
    float single;
    double wide;
    switch (dtype) {
    case KIT_F32:
        memcpy(&single, &bits, sizeof(single));
        return single;
    case KIT_F64:
        memcpy(&wide, &bits, sizeof(wide));
        return wide;
    case KIT_S8:
        return (int8_t)bits;
    case KIT_U8:
        return (uint8_t)bits;
    case KIT_S32:
        return (int32_t)bits;
    case KIT_S64:
        return (int64_t)bits;
    default:
        return narrow_value(&formats[dtype], bits);
    }
}

/* Bits of a float by fields; no infinities come here. */
static uint64_t float_bits(const struct kit_format *format, long double value)
{
    const int width = (int)format->size * 8;
    const int exponent_bits = width - 1 - format->mantissa;
    const uint64_t sign = (uint64_t)(signbit(value) ? 1 : 0) << (width - 1);
    if (isnan(value)) {
        const uint64_t quiet = (uint64_t)1 << (format->mantissa - 1);
        return (((uint64_t)1 << exponent_bits) - 1) << format->mantissa |
               (format->finite ? 2 * quiet - 1 : quiet);
    }
    if (value == 0) {
        return sign;
    }
    int exponent = 0;
    const long double fraction = frexpl(fabsl(value), &exponent); /* in [0.5, 1) */
    exponent += format->bias - 1;
    if (exponent <= 0) { /* subnormal: a number of the smallest */
        return sign | (uint64_t)ldexpl(fabsl(value), format->bias - 1 + format->mantissa);
    }
    const uint64_t mantissa = (uint64_t)ldexpl(fraction, format->mantissa + 1);
    return sign | (uint64_t)exponent << format->mantissa |
           (mantissa & (((uint64_t)1 << format->mantissa) - 1));
}

void kit_store(enum kit_dtype dtype, void *elements, int64_t index, long double value)
{
    const struct kit_format *format = &formats[dtype];
    const uint64_t bits = format->is_float ? float_bits(format, value) : (uint64_t)(int64_t)value;
    memcpy((char *)elements + (size_t)index * format->size, &bits, format->size);
}

/* Maps bits to integers that grow with the value, so that neighbours differ by one. */
static uint64_t rank(const struct kit_format *format, uint64_t bits)
{
    const uint64_t top = (uint64_t)1 << (format->size * 8 - 1);
    const uint64_t all = top | (top - 1);
    if (!format->is_signed) {
        return bits;
    }
    if (!format->is_float) {
        return bits ^ top;
    }
    return bits & top ? ~bits & all : bits | top;
}

uint64_t kit_ulps(enum kit_dtype dtype, uint64_t a, uint64_t b)
{
    const uint64_t x = rank(&formats[dtype], a);
    const uint64_t y = rank(&formats[dtype], b);
    return x > y ? x - y : y - x;
}
