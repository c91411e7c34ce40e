/* SPDX-License-Identifier: Apache-2.0
 *
 * Orders with ties: argsort and top-k of rows in which many values are equal. The values of a sorted row are
 * one and the same whatever sorts it; the places of equal ones are not, where the sort is unstable and
 * threads decide. Sixteen levels in rows of 512 make nearly every place a tie, and each row is a parallel
 * region of its own, so that what can vary does so at every look (as in atomics.c).
 */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "probes/kit/op.h"

#define CHUNK 16 /* iterations dealt at once: neighbours go to different threads */
#define SHORT 32 /* items that one thread sorts before runs are merged */

enum { VALUES, PLACES };

struct rows {
    int64_t rows, n, k; /* k places of n are asked for; k = n: a sort */
    int64_t levels;
};

static int read_rows(const struct kit_params *params, struct rows *ret)
{
    if (kit_param_int(params, "rows", &ret->rows) || kit_param_int(params, "n", &ret->n) ||
        kit_param_int(params, "levels", &ret->levels) || kit_param_int_or(params, "k", ret->n, &ret->k)) {
        return KIT_FAILED;
    }
    return ret->k >= 1 && ret->k <= ret->n ? KIT_OK : kit_fail("'k' must be from 1 to n");
}

static int describe(const struct kit_params *params, struct kit_shape *ret)
{
    struct rows r;
    if (read_rows(params, &r)) {
        return KIT_FAILED;
    }
    ret->operand[VALUES] = (struct kit_operand){.name = "values",
                                                .role = KIT_IN,
                                                .dtype = KIT_F32,
                                                .ndim = 2,
                                                .shape = {r.rows, r.n},
                                                .batch_dim = 0,
                                                .fill = KIT_TIES,
                                                .below = r.levels};
    ret->operand[PLACES] = (struct kit_operand){.name = "places",
                                                .role = KIT_OUT,
                                                .dtype = KIT_S64,
                                                .ndim = 2,
                                                .shape = {r.rows, r.k},
                                                .batch_dim = 0};
    ret->count = 2;
    ret->flops = (double)r.rows * (double)r.n;
    return KIT_OK;
}

/* A key and where it came from. The workspace holds those of one row twice: to sort, and to merge into. */
struct item {
    float value;
    int64_t place;
};

static int prepare(struct kit_call *call, struct kit_prepared *ret)
{
    struct rows *r = calloc(1, sizeof(*r));
    call->state = r;
    if (!r) {
        return kit_fail("out of memory");
    }
    ret->workspace_bytes = 2 * (size_t)call->shape->operand[VALUES].shape[1] * sizeof(struct item);
    return read_rows(call->params, r);
}

/* Larger values first, as top-k has it. */
static int by_value(const void *left, const void *right)
{
    const struct item *a = left, *b = right;
    return (a->value < b->value) - (a->value > b->value);
}

static int by_value_and_place(const void *left, const void *right)
{
    const int order = by_value(left, right);
    const struct item *a = left, *b = right;
    return order ? order : (a->place > b->place) - (a->place < b->place);
}

/* Items of a row in the order in which threads come to them. */
static void collect_by_counter(const float *values, int64_t n, int threads, struct item *items)
{
    int64_t used = 0;
#pragma omp parallel for schedule(static, CHUNK) num_threads(threads)
    for (int64_t i = 0; i < n; i++) {
        int64_t at;
#pragma omp atomic capture
        at = used++;
        items[at] = (struct item){values[i], i};
    }
}

static void collect_in_order(const float *values, int64_t n, int threads, struct item *items)
{
#pragma omp parallel for schedule(static, CHUNK) num_threads(threads)
    for (int64_t i = 0; i < n; i++) {
        items[i] = (struct item){values[i], i};
    }
}

/* Two sorted runs into one; of equal items the left one first, which keeps the sort stable. */
static void merge(const struct item *left, int64_t left_count, const struct item *right, int64_t right_count,
                  struct item *into)
{
    while (left_count > 0 && right_count > 0) {
        if (by_value(left, right) <= 0) {
            *into++ = *left++;
            left_count--;
        } else {
            *into++ = *right++;
            right_count--;
        }
    }
    memcpy(into, left_count > 0 ? left : right, (size_t)(left_count + right_count) * sizeof(*into));
}

/* Stable, for few items. */
static void insertion_sort(struct item *items, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        const struct item item = items[i];
        int64_t at = i;
        for (; at > 0 && by_value(&items[at - 1], &item) > 0; at--) {
            items[at] = items[at - 1];
        }
        items[at] = item;
    }
}

/* Bottom-up: each round merges neighbours, every pair by whichever thread is free. */
static void merge_sort(struct item *items, struct item *spare, int64_t n, int threads)
{
    struct item *from = items, *to = spare;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (int64_t first = 0; first < n; first += SHORT) {
        insertion_sort(items + first, n - first < SHORT ? n - first : SHORT);
    }
    for (int64_t width = SHORT; width < n; width *= 2) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
        for (int64_t first = 0; first < n; first += 2 * width) {
            const int64_t left = n - first < width ? n - first : width;
            const int64_t rest = n - first - left, right = rest < width ? rest : width;
            merge(from + first, left, from + first + left, right, to + first);
        }
        struct item *swap = from;
        from = to;
        to = swap;
    }
    if (from != items) {
        memcpy(items, from, (size_t)n * sizeof(*items));
    }
}

struct form {
    void (*collect)(const float *values, int64_t n, int threads, struct item *items);
    int (*compare)(const void *left, const void *right); /* for qsort; NULL: the parallel merge sort */
};

static int run_form(struct kit_call *call, const struct kit_buffers *buffers, const struct form *form)
{
    const struct rows *r = call->state;
    const int64_t rows = call->shape->operand[VALUES].shape[0];
    struct item *items = buffers->workspace, *spare = items + r->n;
    for (int64_t row = 0; row < rows; row++) {
        form->collect((const float *)buffers->data[VALUES] + row * r->n, r->n, call->threads, items);
        if (form->compare) {
            qsort(items, (size_t)r->n, sizeof(*items), form->compare);
        } else {
            merge_sort(items, spare, r->n, call->threads);
        }
        for (int64_t i = 0; i < r->k; i++) {
            ((int64_t *)buffers->data[PLACES])[row * r->k + i] = items[i].place;
        }
    }
    return KIT_OK;
}

/* Every row: places that are there, each once, with the values of the sorted row; among equal values in the
 * order of their places where the sort is stable. */
static bool row_is_right(const float *values, const int64_t *places, const struct rows *r, bool stable,
                         struct item *sorted, bool *seen)
{
    for (int64_t i = 0; i < r->n; i++) {
        sorted[i] = (struct item){values[i], i};
        seen[i] = false;
    }
    qsort(sorted, (size_t)r->n, sizeof(*sorted), by_value_and_place);
    for (int64_t i = 0; i < r->k; i++) {
        const int64_t place = places[i];
        if (place < 0 || place >= r->n || seen[place] || values[place] != sorted[i].value ||
            (stable && place != sorted[i].place)) {
            return false;
        }
        seen[place] = true;
    }
    return true;
}

static int accepts(struct kit_call *call, const void *const *in, const void *logical, bool stable,
                   int64_t *ret_wrong)
{
    const struct rows *r = call->state;
    const int64_t rows = call->shape->operand[VALUES].shape[0];
    struct item *sorted = calloc((size_t)r->n, sizeof(*sorted));
    bool *seen = calloc((size_t)r->n, sizeof(*seen));
    int rc = sorted && seen ? KIT_OK : kit_fail("out of memory");
    *ret_wrong = 0;
    for (int64_t row = 0; rc == KIT_OK && row < rows; row++) {
        *ret_wrong += !row_is_right((const float *)in[VALUES] + row * r->n,
                                    (const int64_t *)logical + row * r->k, r, stable, sorted, seen);
    }
    free(sorted);
    free(seen);
    return rc;
}

static int accepts_any(struct kit_call *call, int output, const void *const *in, const void *logical,
                       int64_t *ret_wrong)
{
    return accepts(call, in, logical, false, ret_wrong);
}

static int accepts_stable(struct kit_call *call, int output, const void *const *in, const void *logical,
                          int64_t *ret_wrong)
{
    return accepts(call, in, logical, true, ret_wrong);
}

#define FORM(id, name_, collect_, compare_, right)                                                           \
    static int run_##id(struct kit_call *call, const struct kit_buffers *buffers)                            \
    {                                                                                                        \
        static const struct form self = {collect_, compare_};                                                \
        return run_form(call, buffers, &self);                                                               \
    }                                                                                                        \
    static const struct op op_##id = {.name = name_,                                                         \
                                      .describe = describe,                                                  \
                                      .prepare = prepare,                                                    \
                                      .run = run_##id,                                                       \
                                      .accepts = right,                                                      \
                                      .release = kit_free_state}
FORM(by_counter, "by-counter", collect_by_counter, by_value, accepts_any);
FORM(by_qsort, "by-qsort", collect_in_order, by_value, accepts_any);
FORM(by_pairs, "by-value-and-place", collect_by_counter, by_value_and_place, accepts_stable);
FORM(by_merge, "by-merge", collect_in_order, NULL, accepts_stable);

int main(void)
{
    static const struct op *const ops[] = {&op_by_counter, &op_by_qsort, &op_by_pairs, &op_by_merge, NULL};
    static const struct kit_program program = {
        .name = "sort", .backend = "cpu", .ops = ops, .default_threads = 8};
    return kit_main(&program);
}
