/* SPDX-License-Identifier: Apache-2.0
 *
 * The loops of scatter.c for one element type, included once per type with TYPE and NAME(function) defined.
 * No guard on purpose.
 */

static void NAME(add_atomic)(const struct kit_scatter *g, const int64_t *indices, const void *src, void *dst,
                             int threads)
{
    const TYPE *from = src;
    TYPE *to = dst;
    for (int64_t group = 0; group < g->groups; group++) {
#pragma omp parallel for schedule(static, CHUNK) num_threads(threads)
        for (int64_t i = group * g->n; i < (group + 1) * g->n; i++) {
            const int64_t row = target_row(g, indices, i) * g->width;
            for (int64_t j = 0; j < g->width; j++) {
#pragma omp atomic
                to[row + j] += from[i * g->width + j];
            }
        }
    }
}

static void NAME(add_sorted)(const struct kit_scatter *g, const int64_t *starts, const int64_t *order,
                             const void *src, void *dst, int threads)
{
    const TYPE *from = src;
    TYPE *to = dst;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t row = 0; row < g->groups * g->rows; row++) {
        for (int64_t p = starts[row]; p < starts[row + 1]; p++) {
            for (int64_t j = 0; j < g->width; j++) {
                to[row * g->width + j] += from[order[p] * g->width + j];
            }
        }
    }
}

static void NAME(count_atomic)(const struct kit_scatter *g, const int64_t *indices, void *dst, int threads)
{
    TYPE *to = dst;
    for (int64_t group = 0; group < g->groups; group++) {
#pragma omp parallel for schedule(static, CHUNK) num_threads(threads)
        for (int64_t i = group * g->n; i < (group + 1) * g->n; i++) {
            const int64_t row = target_row(g, indices, i);
#pragma omp atomic
            to[row] += 1;
        }
    }
}

static void NAME(put_atomic)(const struct kit_scatter *g, const int64_t *indices, const void *src, void *dst,
                             int threads)
{
    const TYPE *from = src;
    TYPE *to = dst;
    for (int64_t group = 0; group < g->groups; group++) {
#pragma omp parallel for schedule(static, CHUNK) num_threads(threads)
        for (int64_t i = group * g->n; i < (group + 1) * g->n; i++) {
            const int64_t row = target_row(g, indices, i) * g->width;
            for (int64_t j = 0; j < g->width; j++) {
#pragma omp atomic write
                to[row + j] = from[i * g->width + j];
            }
        }
    }
}

static void NAME(put_sorted)(const struct kit_scatter *g, const int64_t *starts, const int64_t *order,
                             const void *src, void *dst, int threads)
{
    const TYPE *from = src;
    TYPE *to = dst;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t row = 0; row < g->groups * g->rows; row++) {
        if (starts[row] < starts[row + 1]) {
            const int64_t last = order[starts[row + 1] - 1];
            memcpy(to + row * g->width, from + last * g->width, (size_t)g->width * sizeof(*to));
        }
    }
}

#undef TYPE
#undef NAME
