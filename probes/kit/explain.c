/* SPDX-License-Identifier: Apache-2.0
 *
 * How far two outputs are apart: ULP, absolute and norm-relative together, since a result near zero is
 * millions of ULP off and still a millionth of the largest element. Outputs of many megabytes are walked
 * once, in blocks of which equal ones are passed over, and elements are taken by their bits: the magnitudes
 * of a float type are in the order of its bits, and their value is that of a double with the same fields.
 */
#include "probes/kit/explain.h"

#include <math.h>
#include <string.h>

#include "probes/kit/dtype.h"
#include "probes/kit/shape.h"

#define NOT_FINITE 1e308 /* what JSON can hold of infinity */
#define BLOCK 512        /* elements that are looked at together */
#define DOUBLE_MANTISSA 52
#define DOUBLE_BIAS 1023

/* Inlined where the size is a constant: one loop for each size of an element. */
#define FOR_EACH_SIZE inline __attribute__((always_inline))

/* The elements of a block that differ: their offsets and the bits of both sides. */
struct block {
    int count;
    int64_t at[BLOCK];
    uint64_t a[BLOCK], b[BLOCK];
};

/* What the bits of an element mean. Loops hold a copy of their own, which nothing that they store can change.
 */
struct layout {
    bool is_float, is_signed;
    uint64_t sign, all;         /* the sign bit, all bits of an element */
    uint64_t special, infinity; /* of floats: magnitudes from here on are no numbers; this one is infinity */
    int mantissa, shift;        /* of floats: bits of the mantissa, and how many a double has more */
    uint64_t rebias;            /* of floats: from their exponent to a double's */
    double least;               /* of floats: the smallest subnormal, of which the others are multiples */
};

struct walk {
    struct layout layout;
    const uint8_t *mask;
    const char *first, *other;
    uint64_t norm; /* the largest finite magnitude of the first output */
    double max_abs;
    int64_t farthest; /* where that is */
    uint64_t balance; /* 0: the elements are the same in another order */
    uint64_t several; /* bits of elements that differ in more than one */
    int64_t stride;   /* every so many elements that differ are kept as cells; a power of two */
};

/* splitmix64's finaliser: sums of mixed bits do not depend on an order. */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static double as_json(double value)
{
    return isfinite(value) && value < NOT_FINITE ? value : NOT_FINITE;
}

/* Other bits of one value (NaN) are no value apart, and still differ. */
static int bin_of(uint64_t ulps)
{
    return ulps ? KIT_ULP_BINS - 1 - __builtin_clzll(ulps) : 0;
}

static struct layout layout_of(enum kit_dtype dtype)
{
    const struct kit_format *format = kit_format_of(dtype);
    const int width = (int)format->size * 8;
    struct layout ret = {.is_float = format->is_float,
                         .is_signed = format->is_signed,
                         .sign = (uint64_t)1 << (width - 1),
                         .special = UINT64_MAX,
                         .infinity = UINT64_MAX,
                         .mantissa = format->mantissa};
    ret.all = ret.sign | (ret.sign - 1);
    if (format->is_float) {
        const uint64_t exponents = ret.sign - ((uint64_t)1 << format->mantissa);
        ret.special = format->finite ? ret.sign - 1 : exponents;
        ret.infinity = format->finite ? UINT64_MAX : exponents;
        ret.shift = DOUBLE_MANTISSA - format->mantissa;
        ret.rebias = (uint64_t)(DOUBLE_BIAS - format->bias) << DOUBLE_MANTISSA;
        ret.least = (double)kit_dtype_smallest(dtype);
    }
    return ret;
}

static FOR_EACH_SIZE uint64_t bits_at(const char *elements, int64_t index, size_t size)
{
    uint64_t bits = 0;
    memcpy(&bits, elements + (size_t)index * size, size);
    return bits;
}

static FOR_EACH_SIZE uint64_t magnitude_of(const struct layout *layout, uint64_t bits)
{
    if (layout->is_float) {
        return bits & ~layout->sign;
    }
    return layout->is_signed && bits & layout->sign ? -bits & layout->all : bits;
}

/* Of a magnitude that is a number. */
static FOR_EACH_SIZE double value_of(const struct layout *layout, uint64_t magnitude)
{
    if (!layout->is_float) {
        return (double)magnitude;
    }
    if (magnitude >> layout->mantissa == 0) {
        return (double)magnitude * layout->least;
    }
    const uint64_t bits = (magnitude << layout->shift) + layout->rebias;
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static FOR_EACH_SIZE void take_norm(struct walk *walk, size_t size, int64_t from, int64_t to)
{
    const struct layout layout = walk->layout;
    const uint8_t *const mask = walk->mask;
    const char *const first = walk->first;
    uint64_t norm = walk->norm;
    for (int64_t i = from; i < to; i++) {
        const uint64_t magnitude = magnitude_of(&layout, bits_at(first, i, size));
        const bool counts = (!mask || mask[i]) && magnitude < layout.special;
        norm = counts && magnitude > norm ? magnitude : norm;
    }
    walk->norm = norm;
}

/* Every `stride`-th of the elements that differ; where there is no more room, every second of them goes. */
static void keep_cells(struct walk *walk, const struct block *block, struct kit_difference *difference)
{
    const int most = KIT_CELLS_DIFFERENT - 1; /* one is left for the farthest */
    const int64_t past = difference->elements & (walk->stride - 1);
    for (int64_t i = past ? walk->stride - past : 0; i < block->count; i += walk->stride) {
        if (difference->cell_count == most) {
            difference->cell_count = 0;
            for (int k = 0; k < most; k += 2) {
                difference->cells[difference->cell_count++] = difference->cells[k];
            }
            walk->stride *= 2;
        }
        if (((difference->elements + i) & (walk->stride - 1)) == 0) {
            difference->cells[difference->cell_count++] = block->at[i];
        }
    }
}

static bool is_opposite(const struct layout *layout, uint64_t a, uint64_t b)
{
    return layout->is_signed && (a ^ b) & layout->sign;
}

/* Two zeros of floats are neighbours, of integers there is one. */
static uint64_t ulps_of(const struct layout *layout, uint64_t a, uint64_t b)
{
    const uint64_t x = magnitude_of(layout, a), y = magnitude_of(layout, b);
    return is_opposite(layout, a, b) ? x + y + layout->is_float : x > y ? x - y : y - x;
}

/* Returns the bits that differ. */
static uint64_t take_bits(struct walk *walk, const struct block *block, struct kit_difference *difference)
{
    uint64_t bits = 0, several = 0, balance = 0;
    for (int i = 0; i < block->count; i++) {
        const uint64_t apart = block->a[i] ^ block->b[i];
        bits |= apart;
        several |= apart & (apart - 1);
        balance += mix(block->a[i]) - mix(block->b[i]);
    }
    difference->bits |= bits;
    walk->several |= several;
    walk->balance += balance;
    return bits;
}

/* Returns the largest magnitude. */
static uint64_t take_ulps(const struct walk *walk, const struct block *block,
                          struct kit_difference *difference)
{
    const struct layout layout = walk->layout;
    uint64_t most = difference->max_ulp, largest = 0;
    for (int i = 0; i < block->count; i++) {
        const uint64_t x = magnitude_of(&layout, block->a[i]), y = magnitude_of(&layout, block->b[i]);
        const uint64_t ulps = ulps_of(&layout, block->a[i], block->b[i]);
        most = ulps > most ? ulps : most;
        largest = x > largest ? x : largest;
        largest = y > largest ? y : largest;
        difference->ulps[bin_of(ulps)]++;
    }
    difference->max_ulp = most;
    return largest;
}

static double distance_of(const struct layout *layout, uint64_t a, uint64_t b)
{
    const uint64_t x = magnitude_of(layout, a), y = magnitude_of(layout, b);
    if (!layout->is_float) {
        return (double)ulps_of(layout, a, b);
    }
    if (x >= layout->special || y >= layout->special) {
        return (double)INFINITY;
    }
    return is_opposite(layout, a, b) ? value_of(layout, x) + value_of(layout, y)
                                     : fabs(value_of(layout, x) - value_of(layout, y));
}

static void take_distances(struct walk *walk, const struct block *block)
{
    const struct layout layout = walk->layout;
    for (int i = 0; i < block->count; i++) {
        const double distance = distance_of(&layout, block->a[i], block->b[i]);
        if (distance > walk->max_abs) {
            walk->max_abs = distance;
            walk->farthest = block->at[i];
        }
    }
}

/* What is special about a difference: signs, zeros, infinities, NaN. */
static void take_classes(const struct walk *walk, const struct block *block,
                         struct kit_difference *difference)
{
    const struct layout layout = walk->layout;
    int64_t signs = 0, zeros = 0, payloads = 0, specials = 0;
    for (int i = 0; i < block->count; i++) {
        const uint64_t x = magnitude_of(&layout, block->a[i]), y = magnitude_of(&layout, block->b[i]);
        const bool special_x = x >= layout.special, special_y = y >= layout.special;
        const bool nan_x = special_x && x != layout.infinity, nan_y = special_y && y != layout.infinity;
        signs += is_opposite(&layout, block->a[i], block->b[i]) && special_x == special_y && !nan_x &&
                 !nan_y && x && y;
        zeros += !x && !y;
        payloads += nan_x && nan_y;
        specials += special_x != special_y || nan_x != nan_y;
    }
    difference->signs += signs;
    difference->zeros += zeros;
    difference->payloads += payloads;
    difference->specials += specials;
}

static FOR_EACH_SIZE void find_different(const struct walk *walk, size_t size, int64_t from, int64_t to,
                                         struct block *block)
{
    const uint8_t *const mask = walk->mask;
    const char *const first = walk->first, *const other = walk->other;
    int count = 0;
    for (int64_t i = from; i < to; i++) {
        const uint64_t a = bits_at(first, i, size), b = bits_at(other, i, size);
        block->at[count] = i;
        block->a[count] = a;
        block->b[count] = b;
        count += a != b && (!mask || mask[i]);
    }
    block->count = count;
}

static FOR_EACH_SIZE void walk_all(struct walk *walk, struct kit_difference *difference, size_t size)
{
    struct block block;
    for (int64_t from = 0; from < difference->span; from += BLOCK) {
        const int64_t to = from + BLOCK < difference->span ? from + BLOCK : difference->span;
        const size_t at = (size_t)from * size;
        take_norm(walk, size, from, to);
        if (memcmp(walk->first + at, walk->other + at, (size_t)(to - from) * size) == 0) {
            continue;
        }
        find_different(walk, size, from, to, &block);
        const uint64_t bits = take_bits(walk, &block, difference);
        const uint64_t largest = take_ulps(walk, &block, difference);
        take_distances(walk, &block);
        if (bits & walk->layout.sign || largest >= walk->layout.special) {
            take_classes(walk, &block, difference);
        }
        keep_cells(walk, &block, difference);
        kit_region_add(&difference->box, block.at, block.count);
        difference->elements += block.count;
    }
}

static int64_t count_from(const uint8_t *mask, int64_t from, int64_t span)
{
    int64_t count = 0;
    for (int64_t i = from; mask && i < span; i++) {
        count += mask[i] != 0;
    }
    return mask ? count : span - from;
}

/* The farthest element among the cells, in its place. */
static void add_farthest(struct kit_difference *difference, int64_t farthest)
{
    int at = difference->cell_count;
    while (at > 0 && difference->cells[at - 1] > farthest) {
        at--;
    }
    if (at > 0 && difference->cells[at - 1] == farthest) {
        return;
    }
    memmove(&difference->cells[at + 1], &difference->cells[at],
            (size_t)(difference->cell_count - at) * sizeof(difference->cells[0]));
    difference->cells[at] = farthest;
    difference->cell_count++;
}

void kit_explain(const struct kit_operand *operand, const uint8_t *mask, const void *first, const void *other,
                 struct kit_difference *ret)
{
    struct walk walk = {.layout = layout_of(operand->dtype),
                        .mask = mask,
                        .first = first,
                        .other = other,
                        .farthest = -1,
                        .stride = 1};
    const int64_t span = kit_elements(operand);
    *ret = (struct kit_difference){
        .of = count_from(mask, 0, span), .span = span, .first_index = -1, .error_over_bound = -1};
    kit_region_init(&ret->box, operand);
    switch (kit_dtype_size(operand->dtype)) {
    case 1:
        walk_all(&walk, ret, 1);
        break;
    case 2:
        walk_all(&walk, ret, 2);
        break;
    case 4:
        walk_all(&walk, ret, 4);
        break;
    default:
        walk_all(&walk, ret, 8);
    }
    if (ret->elements == 0) {
        return;
    }
    const double norm = value_of(&walk.layout, walk.norm);
    ret->first_index = ret->box.first;
    ret->max_abs = as_json(walk.max_abs);
    ret->max_rel = walk.max_abs == 0 ? 0 : as_json(walk.max_abs / norm);
    ret->permutation = walk.balance == 0;
    ret->one_bit = walk.several == 0;
    ret->region = kit_region_kind_of(&ret->box, ret->of, count_from(mask, ret->first_index, span));
    if (walk.farthest >= 0) {
        add_farthest(ret, walk.farthest);
    }
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
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
    into->box = from->elements > into->elements ? from->box : into->box;
    into->region = from->region == into->region ? into->region : KIT_REGION_SCATTERED;
    into->elements = larger(from->elements, into->elements);
    into->max_ulp = from->max_ulp > into->max_ulp ? from->max_ulp : into->max_ulp;
    into->max_abs = fmax(into->max_abs, from->max_abs);
    into->max_rel = fmax(into->max_rel, from->max_rel);
    into->first_index = from->first_index < into->first_index ? from->first_index : into->first_index;
    into->permutation = into->permutation && from->permutation;
    into->signs = larger(from->signs, into->signs);
    into->zeros = larger(from->zeros, into->zeros);
    into->specials = larger(from->specials, into->specials);
    into->payloads = larger(from->payloads, into->payloads);
    into->one_bit = into->one_bit && from->one_bit;
    into->bits |= from->bits;
    into->error_over_bound = fmax(into->error_over_bound, from->error_over_bound);
    for (int i = 0; i < KIT_ULP_BINS; i++) {
        into->ulps[i] += from->ulps[i];
    }
}

bool kit_difference_is_earlier(const struct kit_difference *one, const struct kit_difference *other)
{
    return (double)one->first_index * (double)other->span < (double)other->first_index * (double)one->span;
}

/* Counts by powers of two, up to the last that is not 0. */
static json_t *histogram_json(const struct kit_difference *difference)
{
    json_t *histogram = json_array();
    int last = KIT_ULP_BINS - 1;
    while (last > 0 && difference->ulps[last] == 0) {
        last--;
    }
    for (int i = 0; i <= last; i++) {
        json_array_append_new(histogram, json_integer((json_int_t)difference->ulps[i]));
    }
    return histogram;
}

/* The offset that the first index has in the tensor that is told of, which may be one sample. */
static int64_t told_index(const struct kit_operand *operand, bool slice, int64_t index)
{
    int64_t told = 0, extents = 1;
    for (int d = operand->ndim - 1; d >= 0; d--) {
        const bool sample = slice && d == operand->batch_dim;
        told += sample ? 0 : index % operand->shape[d] * extents;
        extents *= sample ? 1 : operand->shape[d];
        index /= operand->shape[d];
    }
    return told;
}

static void add_box(json_t *object, const struct kit_region *box, bool slice)
{
    json_t *const extents = json_array(), *const at = json_array();
    for (int d = 0; d < box->operand->ndim; d++) {
        const bool sample = slice && d == box->operand->batch_dim;
        json_array_append_new(extents, json_integer(box->high[d] - box->low[d] + 1));
        json_array_append_new(at, json_integer(sample ? 0 : box->low[d]));
    }
    json_object_set_new(object, "box", extents);
    json_object_set_new(object, "box_at", at);
}

json_t *kit_difference_json(const struct kit_difference *difference, bool slice)
{
    const struct kit_operand *const operand = difference->box.operand;
    char ulp[32], bits[32];
    snprintf(ulp, sizeof(ulp), "%llu", (unsigned long long)difference->max_ulp);
    snprintf(bits, sizeof(bits), "0x%llx", (unsigned long long)difference->bits);
    json_t *const object =
        json_pack("{s:I, s:I, s:s, s:f, s:f, s:I, s:s, s:o, s:s, s:I, s:I, s:I, s:I}", "elements",
                  (json_int_t)difference->elements, "of", (json_int_t)difference->of, "max_ulp", ulp,
                  "max_abs", difference->max_abs, "max_rel", difference->max_rel, "first_index",
                  (json_int_t)told_index(operand, slice, difference->first_index), "kind",
                  difference->permutation ? "permutation" : "values", "ulp_histogram",
                  histogram_json(difference), "region", kit_region_name(difference->region), "signs",
                  (json_int_t)difference->signs, "zeros", (json_int_t)difference->zeros, "specials",
                  (json_int_t)difference->specials, "payloads", (json_int_t)difference->payloads);
    add_box(object, &difference->box, slice);
    if (difference->one_bit) {
        json_object_set_new(object, "flipped", json_string(bits));
    }
    if (difference->error_over_bound >= 0) {
        json_object_set_new(object, "error_over_bound", json_real(difference->error_over_bound));
    }
    return object;
}
