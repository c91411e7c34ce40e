/* SPDX-License-Identifier: Apache-2.0
 *
 * Written and right. The bounds are those of N. J. Higham, Accuracy and Stability of Numerical Algorithms,
 * 2nd ed., section 3.1: |fl(x'y) - x'y| <= gamma_n |x|'|y| in whatever order the sum is taken.
 */
#include "probes/kit/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "probes/kit/dtype.h"
#include "probes/kit/shape.h"
#include "suite/base/text.h"

#define SAMPLE 512              /* cells where not all are checked */
#define CHUNK ((size_t)1 << 20) /* cells asked for at once: bounds the memory of the reference */

int64_t kit_check_unwritten(const struct kit_operand *operand, const uint8_t *mask, const void *one,
                            const struct kit_pattern *pattern, const void *other,
                            const struct kit_pattern *other_pattern)
{
    const struct kit_pattern a = kit_pattern_for(pattern, operand->dtype);
    const struct kit_pattern b = kit_pattern_for(other_pattern, operand->dtype);
    uint64_t element_a[1], element_b[1];
    kit_cpu.fill(element_a, &a, sizeof(element_a));
    kit_cpu.fill(element_b, &b, sizeof(element_b));
    const uint64_t poison_a = kit_bits(operand->dtype, element_a, 0);
    const uint64_t poison_b = kit_bits(operand->dtype, element_b, 0);
    const int64_t count = kit_elements(operand);
    int64_t unwritten = 0;
    for (int64_t i = 0; i < count; i++) {
        unwritten += (!mask || mask[i]) && kit_bits(operand->dtype, one, i) == poison_a &&
                     kit_bits(operand->dtype, other, i) == poison_b;
    }
    return unwritten;
}

static int ascending(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a;
    const int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* splitmix64: which cells are looked at needs to be the same everywhere, nothing more. */
static uint64_t next_word(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* A cell: dimension d is at its start or end where bit d of `edges` is set (by bit d of `ends`), else
 * anywhere. */
static int64_t cell_at(const struct kit_operand *operand, unsigned edges, unsigned ends, uint64_t *state)
{
    int64_t cell = 0;
    for (int d = 0; d < operand->ndim; d++) {
        const int64_t extent = operand->shape[d];
        const int64_t any = (int64_t)(next_word(state) % (uint64_t)extent);
        const int64_t index = !(edges >> d & 1) ? any : ends >> d & 1 ? extent - 1 : 0;
        cell = cell * extent + index;
    }
    return cell;
}

static size_t sample_cells(const struct kit_operand *operand, const uint8_t *mask, int64_t *cells)
{
    const unsigned corners = 1u << operand->ndim;
    uint64_t state = 1;
    size_t count = 0;
    for (unsigned i = 0; count < SAMPLE && i < 64 * SAMPLE; i++) {
        /* corners first, then every fourth on an edge; a mask may refuse many, so there are many tries */
        const unsigned edges = i < corners  ? corners - 1
                               : i % 4 == 0 ? 1u << (i / 4 % (unsigned)operand->ndim)
                                            : 0;
        const int64_t cell = cell_at(operand, edges, i < corners ? i : (unsigned)next_word(&state), &state);
        if (!mask || mask[cell]) {
            cells[count++] = cell;
        }
    }
    qsort(cells, count, sizeof(*cells), ascending);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || cells[i] != cells[kept - 1]) {
            cells[kept++] = cells[i];
        }
    }
    return kept;
}

int64_t *kit_check_cells(const struct kit_operand *operand, double flops, const uint8_t *mask,
                         size_t *ret_count)
{
    const int64_t elements = kit_elements(operand);
    const bool all = flops <= KIT_CHECK_ALL_FLOPS || elements <= SAMPLE;
    int64_t *const cells = dp_alloc(all ? (size_t)elements : SAMPLE, sizeof(*cells));
    if (!all) {
        *ret_count = sample_cells(operand, mask, cells);
        return cells;
    }
    size_t count = 0;
    for (int64_t i = 0; i < elements; i++) {
        if (!mask || mask[i]) {
            cells[count++] = i;
        }
    }
    *ret_count = count;
    return cells;
}

/* What is collected over the cells. Normwise bounds need the largest scale, which is known at the end, so the
 * largest error over c gamma_k is kept apart. */
struct worst {
    long double ratio;      /* of cells with a bound of their own */
    long double over_gamma; /* largest error / (c gamma_k) */
    long double scale;      /* largest */
    bool infinite;
};

static int gamma_of(int64_t k, long double roundoff, long double *ret)
{
    const long double ku = (long double)k * roundoff;
    if (ku >= 0.5L) {
        return kit_fail("no bound: k = %lld terms are too many for the output's precision", (long long)k);
    }
    *ret = ku / (1 - ku);
    return KIT_OK;
}

static void take_ratio(struct worst *worst, long double *into, long double error, long double bound)
{
    if (error == 0) {
        return;
    }
    if (!(bound > 0) || !isfinite(bound)) {
        worst->infinite = true;
        return;
    }
    const long double ratio = error / bound;
    *into = ratio > *into ? ratio : *into;
}

/* Where the true value is beyond the largest number of the type, or undefined, so is the right answer. */
static bool is_right_infinity(enum kit_dtype dtype, long double value, long double actual, long double bound)
{
    if (isnan(value) || isnan(actual)) {
        return isnan(value) && isnan(actual);
    }
    const long double slack = 1 + 2 * bound * kit_dtype_roundoff(dtype);
    return isinf(actual) && signbit(actual) == signbit(value) &&
           fabsl(value) * slack > kit_dtype_largest(dtype);
}

static int take_cell(struct worst *worst, const struct kit_request *request, enum kit_dtype dtype,
                     const struct kit_cell *cell, long double actual)
{
    const long double roundoff = kit_dtype_roundoff(dtype);
    const long double c = request->bound;
    long double gamma = 0;
    if (!isfinite(actual) || !isfinite(cell->value)) {
        worst->infinite = worst->infinite || !is_right_infinity(dtype, cell->value, actual, c);
        return KIT_OK;
    }
    const long double error = fabsl(actual - cell->value);
    /* Below the normal numbers the relative error of a rounding has no bound, its absolute error has. */
    const long double least =
        cell->value != 0 && cell->scale > 0 && roundoff > 0 ? kit_dtype_smallest(dtype) : 0;
    if (request->arithmetic == KIT_NONE) {
        take_ratio(worst, &worst->ratio, error, 0);
        return KIT_OK;
    }
    if (request->arithmetic == KIT_DIRECT && request->set == KIT_EXACT) {
        gamma_of(2, roundoff, &gamma);
        take_ratio(worst, &worst->ratio, error, c * gamma * fabsl(cell->value) + least);
        return KIT_OK;
    }
    if (gamma_of(cell->k, roundoff, &gamma)) {
        return KIT_FAILED;
    }
    if (request->arithmetic == KIT_DIRECT) {
        take_ratio(worst, &worst->ratio, error, c * gamma * cell->scale + least);
        return KIT_OK;
    }
    worst->scale = cell->scale > worst->scale ? cell->scale : worst->scale;
    take_ratio(worst, &worst->over_gamma, error, c * gamma);
    return KIT_OK;
}

static double verdict(struct worst *worst)
{
    take_ratio(worst, &worst->ratio, worst->over_gamma, worst->scale);
    return worst->infinite || worst->ratio > KIT_WRONG ? KIT_WRONG : (double)worst->ratio;
}

static int check_cells(const struct kit_operands *operands, struct kit_call *call,
                       const struct kit_request *request, int output, const void *logical,
                       const int64_t *cells, size_t count, double *ret)
{
    const enum kit_dtype dtype = operands->shape.operand[output].dtype;
    const size_t chunk = count < CHUNK ? count : CHUNK;
    struct kit_cell *const values = dp_alloc(chunk ? chunk : 1, sizeof(*values));
    struct worst worst = {0};
    int rc = KIT_OK;
    for (size_t done = 0; done < count && !rc; done += chunk) {
        const size_t piece = count - done < chunk ? count - done : chunk;
        memset(values, 0, piece * sizeof(*values));
        rc = operands->op->reference(call, output, (const void *const *)operands->logical, cells + done,
                                     piece, values);
        for (size_t i = 0; i < piece && !rc; i++) {
            rc = take_cell(&worst, request, dtype, &values[i], kit_value(dtype, logical, cells[done + i]));
        }
    }
    free(values);
    if (!rc) {
        *ret = verdict(&worst);
    }
    return rc;
}

int kit_check_reference(const struct kit_operands *operands, struct kit_call *call,
                        const struct kit_request *request, int output, const void *logical,
                        const uint8_t *mask, double *ret_error_over_bound)
{
    const struct op *op = operands->op;
    if (op->accepts) {
        int64_t wrong = 0;
        const int rc = op->accepts(call, output, (const void *const *)operands->logical, logical, &wrong);
        *ret_error_over_bound = rc ? *ret_error_over_bound : wrong ? KIT_WRONG : 0;
        return rc;
    }
    if (!op->reference) {
        return 1;
    }
    size_t count = 0;
    int64_t *const cells =
        kit_check_cells(&operands->shape.operand[output],
                        request->setting.sampled ? INFINITY : operands->shape.flops, mask, &count);
    const int rc = check_cells(operands, call, request, output, logical, cells, count, ret_error_over_bound);
    free(cells);
    return rc;
}

/* By op->accepts, which looks at a whole output. */
static void accepts_both(const struct kit_operands *operands, struct kit_call *call, int output,
                         const void *const sides[2], double *ret)
{
    int64_t wrong[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        if (operands->op->accepts(call, output, (const void *const *)operands->logical, sides[i],
                                  &wrong[i])) {
            return;
        }
    }
    *ret = wrong[0] || wrong[1] ? KIT_WRONG : 0;
}

void kit_check_different(const struct kit_operands *operands, struct kit_call *call,
                         const struct kit_request *request, int output, const void *first, const void *other,
                         struct kit_difference *difference)
{
    const struct op *op = operands->op;
    const void *const sides[] = {first, other};
    const enum kit_dtype dtype = operands->shape.operand[output].dtype;
    const bool normwise = request->arithmetic != KIT_DIRECT && request->arithmetic != KIT_NONE;
    struct kit_cell values[KIT_CELLS_DIFFERENT] = {0};
    struct worst worst = {0};
    if (op->accepts) {
        accepts_both(operands, call, output, sides, &difference->error_over_bound);
    } else if (op->reference && !normwise) {
        int rc = op->reference(call, output, (const void *const *)operands->logical, difference->cells,
                               (size_t)difference->cell_count, values);
        for (int i = 0; i < 2 * difference->cell_count && !rc; i++) {
            const int64_t cell = difference->cells[i / 2];
            rc = take_cell(&worst, request, dtype, &values[i / 2], kit_value(dtype, sides[i % 2], cell));
        }
        difference->error_over_bound = rc ? -1 : verdict(&worst);
    }
}

int kit_check_residual(const struct kit_operands *operands, struct kit_call *call,
                       const struct kit_request *request, const void *const *out,
                       double ret_error_over_bound[KIT_MAX_OPERANDS])
{
    struct kit_cell cells[KIT_MAX_OPERANDS];
    for (int i = 0; i < KIT_MAX_OPERANDS; i++) { /* an output that the op forgets is not right */
        cells[i] = (struct kit_cell){.value = (long double)NAN};
    }
    const int rc = operands->op->residual(call, (const void *const *)operands->logical, out, cells);
    for (int i = 0; i < operands->shape.count && !rc; i++) {
        const struct kit_operand *operand = &operands->shape.operand[i];
        struct worst worst = {.infinite = !isfinite(cells[i].value)};
        long double gamma = 0;
        if (!kit_is_output(operand)) {
            continue;
        }
        if (gamma_of(cells[i].k, kit_dtype_roundoff(operand->dtype), &gamma)) {
            return KIT_FAILED;
        }
        take_ratio(&worst, &worst.ratio, fabsl(cells[i].value), request->bound * gamma * cells[i].scale);
        ret_error_over_bound[i] = verdict(&worst);
    }
    return rc;
}
