/* SPDX-License-Identifier: Apache-2.0
 *
 * The loops of atomics.c for one element type, included once per type with TYPE and NAME(function) defined.
 * No guard on purpose.
 */

static void NAME(add)(const struct geometry *g, const void *values, void *result, int threads)
{
    const TYPE *from = values;
    TYPE *sums = result;
    memset(sums, 0, (size_t)g->rows * sizeof(*sums));
    for (int64_t row = 0; row < g->rows; row++) {
#pragma omp parallel for schedule(static, CHUNK) num_threads(threads)
        for (int64_t i = row * g->n; i < (row + 1) * g->n; i++) {
#pragma omp atomic
            sums[row] += from[i];
        }
    }
}

/* The loop that hardware without the atomic instruction runs: read, compute, swap if nobody came between. */
static void NAME(add_cas)(const struct geometry *g, const void *values, void *result, int threads)
{
    const TYPE *from = values;
    TYPE *sums = result;
    memset(sums, 0, (size_t)g->rows * sizeof(*sums));
    for (int64_t row = 0; row < g->rows; row++) {
        TYPE *const sum = &sums[row];
#pragma omp parallel for schedule(static, CHUNK) num_threads(threads)
        for (int64_t i = row * g->n; i < (row + 1) * g->n; i++) {
            TYPE seen, wanted;
            __atomic_load(sum, &seen, __ATOMIC_RELAXED);
            do {
                wanted = seen + from[i];
            } while (!__atomic_compare_exchange(sum, &seen, &wanted, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
        }
    }
}

static void NAME(max_cas)(const struct geometry *g, const void *values, void *result, int threads)
{
    const TYPE *from = values;
    TYPE *best = result;
    for (int64_t row = 0; row < g->rows; row++) {
        TYPE *const target = &best[row];
        *target = from[row * g->n];
#pragma omp parallel for schedule(static, CHUNK) num_threads(threads)
        for (int64_t i = row * g->n; i < (row + 1) * g->n; i++) {
            TYPE seen, wanted = from[i];
            __atomic_load(target, &seen, __ATOMIC_RELAXED);
            while (wanted > seen && !__atomic_compare_exchange(target, &seen, &wanted, 0, __ATOMIC_RELAXED,
                                                               __ATOMIC_RELAXED)) {
            }
        }
    }
}

#undef TYPE
#undef NAME
