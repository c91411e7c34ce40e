/* SPDX-License-Identifier: Apache-2.0
 *
 * Inputs. The element loop works on blocks of counters that gcc and clang turn into vector code; what a word
 * becomes is a table by set and dtype.
 */
#include "probes/kit/input.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "probes/kit/dtype.h"
#include "suite/base/digest.h"
#include "suite/base/text.h"

/* Wider vectors where the machine has them; integer code, so the bits are the same. clang 14 gives clones a
 * name that other files do not find. */
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__clang__) &&    \
    defined(__has_attribute)
#if __has_attribute(target_clones)
#define VECTOR_CLONES __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#endif
#endif
#ifndef VECTOR_CLONES
#define VECTOR_CLONES
#endif

#define PHILOX_M0 0xD2511F53u
#define PHILOX_M1 0xCD9E8D57u
#define PHILOX_W0 0x9E3779B9u
#define PHILOX_W1 0xBB67AE85u
#define PHILOX_ROUNDS 10

VECTOR_CLONES void kit_philox(struct kit_words *words, uint64_t key)
{
    uint32_t k0 = (uint32_t)key;
    uint32_t k1 = (uint32_t)(key >> 32);
    uint32_t *restrict const w0 = words->word[0];
    uint32_t *restrict const w1 = words->word[1];
    uint32_t *restrict const w2 = words->word[2];
    uint32_t *restrict const w3 = words->word[3];
    for (int round = 0; round < PHILOX_ROUNDS; round++) {
        for (int i = 0; i < KIT_BLOCK; i++) {
            const uint64_t p0 = (uint64_t)w0[i] * PHILOX_M0;
            const uint64_t p1 = (uint64_t)w2[i] * PHILOX_M1;
            const uint32_t c1 = w1[i];
            const uint32_t c3 = w3[i];
            w0[i] = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
            w1[i] = (uint32_t)p1;
            w2[i] = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
            w3[i] = (uint32_t)p0;
        }
        k0 += PHILOX_W0;
        k1 += PHILOX_W1;
    }
}

/* One counter; for shuffles, which need their words one after the other. */
static uint64_t philox_one(uint64_t key, uint64_t sample, uint64_t offset)
{
    uint32_t c[4] = {(uint32_t)sample, (uint32_t)(sample >> 32), (uint32_t)offset, (uint32_t)(offset >> 32)};
    uint32_t k0 = (uint32_t)key;
    uint32_t k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < PHILOX_ROUNDS; round++) {
        const uint64_t p0 = (uint64_t)c[0] * PHILOX_M0;
        const uint64_t p1 = (uint64_t)c[2] * PHILOX_M1;
        const uint32_t next[4] = {(uint32_t)(p1 >> 32) ^ c[1] ^ k0, (uint32_t)p1,
                                  (uint32_t)(p0 >> 32) ^ c[3] ^ k1, (uint32_t)p0};
        memcpy(c, next, sizeof(c));
        k0 += PHILOX_W0;
        k1 += PHILOX_W1;
    }
    return (uint64_t)c[1] << 32 | c[0];
}

/* floor(word * below / 2^64): uniform enough, the same everywhere. */
static uint64_t scale64(uint64_t word, uint64_t below)
{
    return (uint64_t)((unsigned __int128)word * below >> 64);
}

/* Converters: `count` words to elements. */
#define CONVERT(name) VECTOR_CLONES static void name(const struct kit_words *words, int count, void *to)

/* Floats by their bits: sign, 5 bits of exponent around 2^0, every mantissa bit random. */
CONVERT(wide_f32)
{
    uint32_t *const out = to;
    for (int i = 0; i < count; i++) {
        const uint32_t w = words->word[0][i];
        out[i] = (w & 0x80000000u) | ((127 - 16 + (w >> 23 & 31)) << 23) | (w & 0x7fffffu);
    }
}

CONVERT(wide_f64)
{
    uint64_t *const out = to;
    for (int i = 0; i < count; i++) {
        const uint64_t w = (uint64_t)words->word[0][i] << 32 | words->word[1][i];
        out[i] = (w & 0x8000000000000000u) | ((1023 - 16 + (w >> 52 & 31)) << 52) | (w & 0xfffffffffffffu);
    }
}

/* Half floats reach 65504 only: 3 bits of exponent, 2^-5 .. 2^2, so that sums of products stay finite. */
CONVERT(wide_f16)
{
    uint16_t *const out = to;
    for (int i = 0; i < count; i++) {
        const uint32_t w = words->word[0][i];
        out[i] = (uint16_t)((w >> 16 & 0x8000u) | ((15 - 5 + (w >> 10 & 7)) << 10) | (w & 0x3ffu));
    }
}

CONVERT(wide_bf16)
{
    uint16_t *const out = to;
    for (int i = 0; i < count; i++) {
        const uint32_t w = words->word[0][i];
        out[i] = (uint16_t)((w >> 16 & 0x8000u) | ((127 - 16 + (w >> 7 & 31)) << 7) | (w & 0x7fu));
    }
}

/* Products of few bits are summed in float, so their lowest bits must be far below their sums: 2^-6 .. 2^3,
 * the lower end of what this format has, while sums of products stay finite as half. */
CONVERT(wide_f8e4m3)
{
    uint8_t *const out = to;
    for (int i = 0; i < count; i++) {
        const uint32_t w = words->word[0][i];
        out[i] = (uint8_t)((w >> 24 & 0x80u) | ((1 + ((w >> 8 & 0xff) * 10 >> 8)) << 3) | (w & 7u));
    }
}

/* 2^-12 .. 2^3 */
CONVERT(wide_f8e5m2)
{
    uint8_t *const out = to;
    for (int i = 0; i < count; i++) {
        const uint32_t w = words->word[0][i];
        out[i] = (uint8_t)((w >> 24 & 0x80u) | ((15 - 12 + (w >> 8 & 15)) << 2) | (w & 3u));
    }
}

/* Signed integers of one bit more than the mantissa, scaled by a power of two: exact. */
CONVERT(unit_f32)
{
    float *const out = to;
    for (int i = 0; i < count; i++) {
        out[i] = (float)((int32_t)words->word[0][i] >> 8) * 0x1p-23f;
    }
}

CONVERT(unit_f64)
{
    double *const out = to;
    for (int i = 0; i < count; i++) {
        const uint64_t w = (uint64_t)words->word[0][i] << 32 | words->word[1][i];
        out[i] = (double)((int64_t)w >> 10) * 0x1p-53;
    }
}

static void unit_narrow(const struct kit_words *words, int count, void *to, enum kit_dtype dtype, int bits)
{
    for (int i = 0; i < count; i++) {
        const int32_t value = (int32_t)words->word[0][i] >> (32 - bits);
        kit_store(dtype, to, i, ldexpl(value, 1 - bits));
    }
}

static void unit_f16(const struct kit_words *words, int count, void *to)
{
    unit_narrow(words, count, to, KIT_F16, 12);
}

static void unit_bf16(const struct kit_words *words, int count, void *to)
{
    unit_narrow(words, count, to, KIT_BF16, 9);
}

static void unit_f8e4m3(const struct kit_words *words, int count, void *to)
{
    unit_narrow(words, count, to, KIT_F8E4M3, 5);
}

static void unit_f8e5m2(const struct kit_words *words, int count, void *to)
{
    unit_narrow(words, count, to, KIT_F8E5M2, 4);
}

#define SMALL(w) ((int32_t)((uint64_t)(w)*9 >> 32) - 4) /* -4 .. 4 */

CONVERT(exact_f32)
{
    float *const out = to;
    for (int i = 0; i < count; i++) {
        out[i] = (float)SMALL(words->word[0][i]);
    }
}

CONVERT(exact_f64)
{
    double *const out = to;
    for (int i = 0; i < count; i++) {
        out[i] = (double)SMALL(words->word[0][i]);
    }
}

static void exact_f16(const struct kit_words *words, int count, void *to)
{
    static const uint16_t values[9] = {0xc400, 0xc200, 0xc000, 0xbc00, 0, 0x3c00, 0x4000, 0x4200, 0x4400};
    for (int i = 0; i < count; i++) {
        ((uint16_t *)to)[i] = values[SMALL(words->word[0][i]) + 4];
    }
}

static void exact_bf16(const struct kit_words *words, int count, void *to)
{
    static const uint16_t values[9] = {0xc080, 0xc040, 0xc000, 0xbf80, 0, 0x3f80, 0x4000, 0x4040, 0x4080};
    for (int i = 0; i < count; i++) {
        ((uint16_t *)to)[i] = values[SMALL(words->word[0][i]) + 4];
    }
}

static void exact_f8e4m3(const struct kit_words *words, int count, void *to)
{
    static const uint8_t values[9] = {0xc8, 0xc4, 0xc0, 0xb8, 0, 0x38, 0x40, 0x44, 0x48};
    for (int i = 0; i < count; i++) {
        ((uint8_t *)to)[i] = values[SMALL(words->word[0][i]) + 4];
    }
}

static void exact_f8e5m2(const struct kit_words *words, int count, void *to)
{
    static const uint8_t values[9] = {0xc4, 0xc2, 0xc0, 0xbc, 0, 0x3c, 0x40, 0x42, 0x44};
    for (int i = 0; i < count; i++) {
        ((uint8_t *)to)[i] = values[SMALL(words->word[0][i]) + 4];
    }
}

CONVERT(small_s8)
{
    int8_t *const out = to;
    for (int i = 0; i < count; i++) {
        out[i] = (int8_t)SMALL(words->word[0][i]);
    }
}

CONVERT(small_u8)
{
    uint8_t *const out = to;
    for (int i = 0; i < count; i++) {
        out[i] = (uint8_t)(SMALL(words->word[0][i]) + 4);
    }
}

CONVERT(small_s32)
{
    int32_t *const out = to;
    for (int i = 0; i < count; i++) {
        out[i] = SMALL(words->word[0][i]);
    }
}

CONVERT(small_s64)
{
    int64_t *const out = to;
    for (int i = 0; i < count; i++) {
        out[i] = SMALL(words->word[0][i]);
    }
}

/* 12 bits and a sign: distinct enough to show who wrote, small enough that 2^19 of them fit 32 bits. */
CONVERT(medium_s32)
{
    int32_t *const out = to;
    for (int i = 0; i < count; i++) {
        out[i] = (int32_t)words->word[0][i] >> 19;
    }
}

CONVERT(medium_s64)
{
    int64_t *const out = to;
    for (int i = 0; i < count; i++) {
        out[i] = (int32_t)words->word[0][i] >> 19;
    }
}

static void (*const converters[KIT_DTYPE_MAX][KIT_SET_MAX])(const struct kit_words *, int, void *) = {
    [KIT_F32] = {wide_f32, unit_f32, exact_f32},
    [KIT_F64] = {wide_f64, unit_f64, exact_f64},
    [KIT_F16] = {wide_f16, unit_f16, exact_f16},
    [KIT_BF16] = {wide_bf16, unit_bf16, exact_bf16},
    [KIT_F8E4M3] = {wide_f8e4m3, unit_f8e4m3, exact_f8e4m3},
    [KIT_F8E5M2] = {wide_f8e5m2, unit_f8e5m2, exact_f8e5m2},
    [KIT_S8] = {small_s8, small_s8, small_s8},
    [KIT_U8] = {small_u8, small_u8, small_u8},
    [KIT_S32] = {medium_s32, medium_s32, small_s32},
    [KIT_S64] = {medium_s64, medium_s64, small_s64},
};

/* The tensor seen as outer x samples x inner. */
struct split {
    int64_t outer, samples, inner;
};

static struct split split_of(const struct kit_operand *operand)
{
    struct split split = {1, 1, 1};
    for (int d = 0; d < operand->ndim; d++) {
        int64_t *const part = operand->batch_dim < 0    ? &split.inner
                              : d < operand->batch_dim  ? &split.outer
                              : d == operand->batch_dim ? &split.samples
                                                        : &split.inner;
        *part *= operand->shape[d];
    }
    return split;
}

/* An operand without samples holds the same data wherever sample 0 of the others sits. */
static int64_t place_in(const struct kit_operand *operand, int64_t place)
{
    return operand->batch_dim < 0 ? 0 : place;
}

/* Which sample's data sits at `seat`. */
static uint64_t sample_at(int64_t seat, int64_t place)
{
    return (uint64_t)(seat == place ? 0 : seat == 0 ? place : seat);
}

/* Steps through a tensor in row-major order and hands out counters. */
struct cursor {
    struct split split;
    int64_t place, outer, seat, inner;
};

static void take_counters(struct cursor *cursor, struct kit_words *words, int count)
{
    int i = 0;
    while (i < count) {
        const uint64_t sample = sample_at(cursor->seat, cursor->place);
        const uint64_t base = (uint64_t)(cursor->outer * cursor->split.inner + cursor->inner);
        const int64_t left = cursor->split.inner - cursor->inner;
        const int run = left < count - i ? (int)left : count - i;
        for (int j = 0; j < run; j++) {
            const uint64_t offset = base + (uint64_t)j;
            words->word[0][i + j] = (uint32_t)sample;
            words->word[1][i + j] = (uint32_t)(sample >> 32);
            words->word[2][i + j] = (uint32_t)offset;
            words->word[3][i + j] = (uint32_t)(offset >> 32);
        }
        i += run;
        cursor->inner += run;
        if (cursor->inner == cursor->split.inner) {
            cursor->inner = 0;
            if (++cursor->seat == cursor->split.samples) {
                cursor->seat = 0;
                cursor->outer++;
            }
        }
    }
}

static void fill_ties(const struct kit_words *words, int count, const struct kit_operand *operand, void *to)
{
    for (int i = 0; i < count; i++) {
        const uint64_t word = (uint64_t)words->word[1][i] << 32 | words->word[0][i];
        const int64_t level = (int64_t)scale64(word, (uint64_t)operand->below);
        kit_store(operand->dtype, to, i, (long double)(level - operand->below / 2));
    }
}

static void fill_below(const struct kit_words *words, int count, const struct kit_operand *operand, void *to)
{
    for (int i = 0; i < count; i++) {
        const uint64_t word = (uint64_t)words->word[1][i] << 32 | words->word[0][i];
        kit_store(operand->dtype, to, i, (long double)scale64(word, (uint64_t)operand->below));
    }
}

static void scale_f32(float *values, int count, float factor)
{
    for (int i = 0; i < count; i++) {
        values[i] *= factor;
    }
}

/* As each set has them, but scaled by a power of two so that none is above 2^exponent. */
static void fill_bounded(const struct kit_words *words, int count, const struct kit_operand *operand,
                         enum kit_set set, void *to)
{
    static const int reach[] = {[KIT_WIDE] = 16, [KIT_UNIT] = 0, [KIT_EXACT] = 2}; /* largest exponents */
    const int exponent = operand->exponent - reach[set];
    converters[operand->dtype][set](words, count, to);
    if (operand->dtype == KIT_F32) {
        scale_f32(to, count, ldexpf(1, exponent));
        return;
    }
    for (int i = 0; exponent != 0 && i < count; i++) {
        kit_store(operand->dtype, to, i, ldexpl(kit_value(operand->dtype, to, i), exponent));
    }
}

static void fill_independent(const struct kit_operand *operand, const struct kit_source *source, uint64_t key,
                             char *to)
{
    const size_t size = kit_dtype_size(operand->dtype);
    struct cursor cursor = {.split = split_of(operand), .place = place_in(operand, source->place)};
    const int64_t total = cursor.split.outer * cursor.split.samples * cursor.split.inner;
    struct kit_words words;
    for (int64_t done = 0; done < total; done += KIT_BLOCK) {
        const int count = total - done < KIT_BLOCK ? (int)(total - done) : KIT_BLOCK;
        take_counters(&cursor, &words, count);
        kit_philox(&words, key);
        void *const piece = to + (size_t)done * size;
        if (operand->fill == KIT_TIES) {
            fill_ties(&words, count, operand, piece);
        } else if (operand->fill == KIT_INDICES) {
            fill_below(&words, count, operand, piece);
        } else if (operand->fill == KIT_BOUNDED) {
            fill_bounded(&words, count, operand, source->set, piece);
        } else {
            converters[operand->dtype][source->set](&words, count, piece);
        }
    }
}

/* A well-conditioned triangle from values: diagonal of magnitude 1 to 2, the rest of a row sums to less than
 * 1. In `exact` the diagonal is +-1 and only (odd row, even column) couples, or its mirror for `upper`: then
 * substitution has two levels, all its numbers are small integers, and any order is exact. */
static long double triangle_cell(const struct kit_operand *operand, enum kit_set set, int64_t i, int64_t j,
                                 long double value)
{
    const int64_t n = operand->shape[operand->ndim - 1];
    if (operand->upper ? j < i : j > i) {
        return (long double)NAN;
    }
    if (set == KIT_EXACT) {
        return i == j ? (value < 0 ? -1 : 1) : i % 2 != j % 2 && i % 2 == 1 ? value : 0;
    }
    int exponent = 0;
    if (i == j) {
        const long double unit = 2 * frexpl(fabsl(value), &exponent);
        const long double magnitude = set == KIT_WIDE ? unit : 1 + fabsl(value);
        return value < 0 ? -magnitude : magnitude;
    }
    frexpl((long double)n, &exponent); /* n < 2^exponent */
    return ldexpl(value, -exponent - (set == KIT_WIDE ? 16 : 0));
}

/* A symmetric matrix by one half, from values; a definite one has a diagonal of at least 1, and the rest of
 * each row of the whole matrix sums to less. */
static long double symmetric_cell(const struct kit_operand *operand, enum kit_set set, int64_t i, int64_t j,
                                  long double value)
{
    int exponent = 0;
    if (operand->upper ? j < i : j > i) {
        return (long double)NAN;
    }
    if (operand->fill == KIT_SYMMETRIC) {
        return value;
    }
    if (i == j) {
        return 1 + frexpl(fabsl(value), &exponent) / 2;
    }
    frexpl((long double)operand->shape[operand->ndim - 1], &exponent); /* n < 2^exponent */
    return ldexpl(value, -exponent - (set == KIT_WIDE ? 16 : set == KIT_EXACT ? 2 : 0));
}

static void make_half(const struct kit_operand *operand, enum kit_set set, void *matrices)
{
    const int64_t n = operand->shape[operand->ndim - 1];
    int64_t total = 1;
    for (int d = 0; d < operand->ndim; d++) {
        total *= operand->shape[d];
    }
    for (int64_t e = 0; e < total; e++) {
        const long double value = kit_value(operand->dtype, matrices, e);
        const int64_t i = e / n % n, j = e % n;
        kit_store(operand->dtype, matrices, e,
                  operand->fill == KIT_TRIANGLE ? triangle_cell(operand, set, i, j, value)
                                                : symmetric_cell(operand, set, i, j, value));
    }
}

/* One sample of a tensor whose elements depend on each other: list of `count` numbers, then shuffled
 * (Fisher-Yates from the end). */
static void shuffle(int64_t *list, int64_t count, uint64_t key, uint64_t sample)
{
    for (int64_t i = count - 1; i > 0; i--) {
        const int64_t j = (int64_t)scale64(philox_one(key, sample, (uint64_t)i), (uint64_t)i + 1);
        const int64_t kept = list[i];
        list[i] = list[j];
        list[j] = kept;
    }
}

static int fill_shuffled(const struct kit_operand *operand, const struct kit_source *source, uint64_t key,
                         void *to)
{
    const struct split split = split_of(operand);
    const int64_t count = split.outer * split.inner; /* of one sample */
    const int64_t multiplicity = operand->fill == KIT_PERMUTATION ? 1 : operand->multiplicity;
    const int64_t distinct = (count + multiplicity - 1) / multiplicity;
    const int64_t below = operand->fill == KIT_PERMUTATION ? count : operand->below;
    if (distinct > below) {
        return kit_fail("bad operand '%s': %lld indices of multiplicity %lld do not fit below %lld",
                        operand->name, (long long)count, (long long)multiplicity, (long long)below);
    }
    int64_t *const list = dp_alloc((size_t)count, sizeof(*list));
    for (int64_t seat = 0; seat < split.samples; seat++) {
        const uint64_t sample = sample_at(seat, place_in(operand, source->place));
        for (int64_t i = 0; i < count; i++) { /* which indices occur: spread evenly over the range */
            list[i] = (int64_t)((unsigned __int128)(i / multiplicity) * (uint64_t)below / (uint64_t)distinct);
        }
        shuffle(list, count, key, sample);
        for (int64_t i = 0; i < count; i++) {
            const int64_t cell = (i / split.inner * split.samples + seat) * split.inner + i % split.inner;
            kit_store(operand->dtype, to, cell, (long double)list[i]);
        }
    }
    free(list);
    return KIT_OK;
}

int kit_input_fill(const struct kit_operand *operand, const struct kit_source *source, void *ret_logical)
{
    char *const name = dp_printf("%s/%s/%s", source->seed, source->problem, operand->name);
    const uint64_t key = dp_xxh3_64(name, strlen(name));
    free(name);
    if (operand->fill == KIT_PERMUTATION || (operand->fill == KIT_INDICES && operand->multiplicity > 0)) {
        return fill_shuffled(operand, source, key, ret_logical);
    }
    fill_independent(operand, source, key, ret_logical);
    if (operand->fill >= KIT_TRIANGLE) {
        make_half(operand, source->set, ret_logical);
    }
    return KIT_OK;
}
