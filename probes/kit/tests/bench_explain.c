/* SPDX-License-Identifier: Apache-2.0
 *
 * What it costs to explain a difference: two outputs of 64 MiB, of which nothing, one element, one in a
 * thousand and everything differs, for types of each size. Beside it one memcmp of as much, which is the
 * limit where little differs. Nothing is asserted, for a time says nothing about right or wrong.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/kit/explain.h"
#include "suite/base/clock.h"
#include "suite/base/text.h"

#define MIB ((size_t)1 << 20)
#define BYTES (64 * MIB)
#define ROUNDS 3
#define TARGET_MS 500.0

/* Any numbers: the low bits of a counter's square, far from infinity in every type. */
static void fill(unsigned char *bytes)
{
    for (size_t i = 0; i < BYTES; i++) {
        bytes[i] = (unsigned char)((i * i >> 3) & 0x3f);
    }
}

static double best_ms(const struct kit_operand *operand, const void *first, const void *other,
                      int64_t *ret_elements)
{
    double best = 1e9;
    for (int i = 0; i < ROUNDS; i++) {
        struct kit_difference difference;
        const int64_t start = dp_now_ns();
        kit_explain(operand, NULL, first, other, &difference);
        const double ms = (double)(dp_now_ns() - start) * 1e-6;
        best = ms < best ? ms : best;
        *ret_elements = difference.elements;
    }
    return best;
}

static double memcmp_ms(const void *first, const void *other)
{
    double best = 1e9;
    for (int i = 0; i < ROUNDS; i++) {
        const int64_t start = dp_now_ns();
        const int order = memcmp(first, other, BYTES);
        const double ms = (double)(dp_now_ns() - start) * 1e-6;
        best = ms < best && order == 0 ? ms : best;
    }
    return best;
}

/* Every `step`-th element is another, by its lowest bit. */
static void differ(unsigned char *other, size_t size, size_t step)
{
    for (size_t i = 0; i * size < BYTES; i += step) {
        other[i * size] ^= 1;
    }
}

int main(void)
{
    static const enum kit_dtype dtypes[] = {KIT_F64, KIT_F32, KIT_BF16, KIT_F8E4M3, KIT_S64};
    static const struct {
        const char *what;
        size_t step;
    } rows[] = {{"one element", BYTES}, {"1 in 1000", 1000}, {"everything", 1}};
    unsigned char *const first = dp_alloc(BYTES, 1), *const other = dp_alloc(BYTES, 1);
    fill(first);
    memcpy(other, first, BYTES);
    const double limit = memcmp_ms(first, other);
    for (size_t t = 0; t < sizeof(dtypes) / sizeof(dtypes[0]); t++) {
        const size_t size = kit_dtype_size(dtypes[t]);
        const struct kit_operand operand = {.dtype = dtypes[t],
                                            .ndim = 2,
                                            .shape = {(int64_t)(BYTES / MIB), (int64_t)(MIB / size)},
                                            .batch_dim = -1};
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
            int64_t elements = 0;
            differ(other, size, rows[i].step);
            const double ms = best_ms(&operand, first, other, &elements);
            memcpy(other, first, BYTES);
            printf("explain 64 MiB of %s, %s differs (%lld): %.0f ms, %.2f GB/s, target <= %.0f ms; limit: "
                   "memcmp "
                   "%.0f ms, and where all differ the work for each element\n",
                   kit_dtype_name(dtypes[t]), rows[i].what, (long long)elements, ms,
                   (double)BYTES / ms * 1e-6, TARGET_MS, limit);
        }
    }
    free(first);
    free(other);
    return EXIT_SUCCESS;
}
