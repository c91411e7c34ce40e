/* SPDX-License-Identifier: Apache-2.0
 *
 * Elements and sums of the emulated libraries.
 */
#include "suite/tests/emulation/sums.h"

#include <math.h>
#include <stdlib.h>

#include "probes/kit/kernel.h"
#include "suite/tests/emulation/emulation.h"

#define PIECE 64
#define LANES 8

size_t emulate_size(cudaDataType_t type)
{
    switch (type) {
    case CUDA_R_64F:
        return 8;
    case CUDA_R_32F:
    case CUDA_R_32I:
        return 4;
    case CUDA_R_16F:
    case CUDA_R_16BF:
        return 2;
    default:
        return 1;
    }
}

/* A float of 8 bits without infinities where `finite`. */
static double load_byte(u8 bits, int mantissa, int bias, bool finite)
{
    const int exponent = (bits & 0x7f) >> mantissa, fraction = bits & ((1 << mantissa) - 1);
    const int all = (1 << (7 - mantissa)) - 1;
    if (exponent == all && (!finite || fraction == (1 << mantissa) - 1)) {
        return NAN;
    }
    const double magnitude = exponent ? ldexp(fraction + (1 << mantissa), exponent - bias - mantissa)
                                      : ldexp(fraction, 1 - bias - mantissa);
    return bits & 0x80 ? -magnitude : magnitude;
}

double emulate_load(cudaDataType_t type, const void *from, int64_t i)
{
    switch (type) {
    case CUDA_R_64F:
        return ((const double *)from)[i];
    case CUDA_R_32F:
        return ((const float *)from)[i];
    case CUDA_R_16F:
        return float_of_f16(((const u16 *)from)[i]);
    case CUDA_R_16BF:
        return float_of_bf16(((const u16 *)from)[i]);
    case CUDA_R_8F_E4M3:
        return load_byte(((const u8 *)from)[i], 3, 7, true);
    case CUDA_R_8F_E5M2:
        return load_byte(((const u8 *)from)[i], 2, 15, false);
    case CUDA_R_32I:
        return ((const i32 *)from)[i];
    default:
        return ((const i8 *)from)[i];
    }
}

void emulate_store(cudaDataType_t type, void *to, int64_t i, double value)
{
    switch (type) {
    case CUDA_R_64F:
        ((double *)to)[i] = value;
        break;
    case CUDA_R_32F:
        ((float *)to)[i] = (float)value;
        break;
    case CUDA_R_16F:
        ((u16 *)to)[i] = f16_of_float((float)value);
        break;
    case CUDA_R_16BF:
        ((u16 *)to)[i] = bf16_of_float((float)value);
        break;
    default:
        ((i32 *)to)[i] = (i32)value;
        break;
    }
}

static double rounded_to_tf32(double value)
{
    const u32 bits = bits_of_float((float)value);
    return float_of_bits((bits + 0xfffu + ((bits >> 13) & 1)) & ~0x1fffu);
}

bool emulate_is_matrix(const void *matrix, cudaDataType_t type, int64_t rows, int64_t columns, int64_t ld)
{
    return rows >= 1 && columns >= 1 && ld >= rows && (uintptr_t)matrix % emulate_size(type) == 0 &&
           emulate_is_device_memory(matrix, (size_t)((columns - 1) * ld + rows) * emulate_size(type));
}

void emulate_gather(cudaDataType_t type, const void *matrix, int64_t ld, bool across, int64_t count,
                    int64_t k, bool tf32, double *ret)
{
    for (int64_t i = 0; i < count; i++) {
        for (int64_t l = 0; l < k; l++) {
            const double value = emulate_load(type, matrix, across ? i + l * ld : l + i * ld);
            ret[i * k + l] = tf32 ? rounded_to_tf32(value) : value;
        }
    }
}

float *emulate_narrow(const double *values, int64_t count)
{
    float *const narrow = calloc((size_t)count, sizeof(*narrow));
    for (int64_t i = 0; i < count; i++) {
        narrow[i] = (float)values[i];
    }
    return narrow;
}

struct sum_order emulate_sum_order(int64_t n, bool shuffled)
{
    struct sum_order order = {.pieces = (i32)((n + PIECE - 1) / PIECE)};
    order.place = calloc((size_t)order.pieces + 1, sizeof(*order.place));
    emulate_order(order.place, order.pieces, shuffled);
    return order;
}

#define DOT(type)                                                                                            \
    type emulate_dot_##type(const type *a, const type *b, int64_t n, const struct sum_order *order)          \
    {                                                                                                        \
        type total = 0;                                                                                      \
        for (i32 p = 0; p < order->pieces; p++) {                                                            \
            const int64_t from = (int64_t)order->place[p] * PIECE;                                           \
            const int64_t to = from + PIECE < n ? from + PIECE : n;                                          \
            type lanes[LANES] = {0}, sum = 0;                                                                \
            int64_t i = from;                                                                                \
            for (; i + LANES <= to; i += LANES) {                                                            \
                for (int l = 0; l < LANES; l++) {                                                            \
                    lanes[l] += a[i + l] * b[i + l];                                                         \
                }                                                                                            \
            }                                                                                                \
            for (; i < to; i++) {                                                                            \
                lanes[0] += a[i] * b[i];                                                                     \
            }                                                                                                \
            for (int l = 0; l < LANES; l++) {                                                                \
                sum += lanes[l];                                                                             \
            }                                                                                                \
            total += sum;                                                                                    \
        }                                                                                                    \
        return total;                                                                                        \
    }
DOT(float)
DOT(double)
