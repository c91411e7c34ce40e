/* SPDX-License-Identifier: Apache-2.0
 *
 * The reduction loops for one element type; included once for each with TYPE and NAME set. No include guard
 * on purpose. Each call reduces `width` rows in one parallel region: at most TOGETHER of them, all in
 * sum_tree.
 */

/* The reduction clause: private partial sums, combined as threads finish. */
static void NAME(sum_static)(const TYPE *rows, TYPE *sums, int64_t width, int64_t n, int threads)
{
    TYPE sum[TOGETHER] = {0};
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : sum[:TOGETHER])
    for (int64_t i = 0; i < n; i++) {
        for (int64_t r = 0; r < width; r++) {
            sum[r] += rows[r * n + i];
        }
    }
    memcpy(sums, sum, (size_t)width * sizeof(*sum));
}

/* Loops dealt on demand. A thread that wakes late finds nothing left of one, and where cores are busy that is
 * each thread but one: then there is one partial sum and no order. So the first half is dealt evenly and only
 * the rest on demand, as loops do that are balanced at their end: who adds what moves, and all have a part.
 */
static void NAME(sum_dynamic)(const TYPE *rows, TYPE *sums, int64_t width, int64_t n, int threads)
{
    TYPE sum[TOGETHER] = {0};
#pragma omp parallel num_threads(threads) reduction(+ : sum[:TOGETHER])
    {
#pragma omp for schedule(static) nowait
        for (int64_t i = 0; i < n / 2; i++) {
            for (int64_t r = 0; r < width; r++) {
                sum[r] += rows[r * n + i];
            }
        }
#pragma omp for schedule(dynamic, 16) nowait
        for (int64_t i = n / 2; i < n; i++) {
            for (int64_t r = 0; r < width; r++) {
                sum[r] += rows[r * n + i];
            }
        }
    }
    memcpy(sums, sum, (size_t)width * sizeof(*sum));
}

static void NAME(sum_guided)(const TYPE *rows, TYPE *sums, int64_t width, int64_t n, int threads)
{
    TYPE sum[TOGETHER] = {0};
#pragma omp parallel num_threads(threads) reduction(+ : sum[:TOGETHER])
    {
#pragma omp for schedule(static) nowait
        for (int64_t i = 0; i < n / 2; i++) {
            for (int64_t r = 0; r < width; r++) {
                sum[r] += rows[r * n + i];
            }
        }
#pragma omp for schedule(guided, 4) nowait
        for (int64_t i = n / 2; i < n; i++) {
            for (int64_t r = 0; r < width; r++) {
                sum[r] += rows[r * n + i];
            }
        }
    }
    memcpy(sums, sum, (size_t)width * sizeof(*sum));
}

/* Every addend by an atomic update, in arrival order. */
static void NAME(sum_atomic)(const TYPE *rows, TYPE *sums, int64_t width, int64_t n, int threads)
{
    memset(sums, 0, (size_t)width * sizeof(*sums));
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < n; i++) {
        for (int64_t r = 0; r < width; r++) {
#pragma omp atomic
            sums[r] += rows[r * n + i];
        }
    }
}

/* Sums of the values from `first` on, at most BLOCK of each row. */
static void NAME(sum_block)(const TYPE *rows, TYPE *sums, int64_t width, int64_t n, int64_t first)
{
    for (int64_t r = 0; r < width; r++) {
        sums[r] = 0;
        for (int64_t i = first; i < first + BLOCK && i < n; i++) {
            sums[r] += rows[r * n + i];
        }
    }
}

/* Partial sums of fixed blocks, dealt evenly, added in a critical section, in arrival order. */
static void NAME(sum_critical)(const TYPE *rows, TYPE *sums, int64_t width, int64_t n, int threads)
{
    memset(sums, 0, (size_t)width * sizeof(*sums));
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int64_t first = 0; first < n; first += BLOCK) {
        TYPE part[TOGETHER];
        NAME(sum_block)(rows, part, width, n, first);
#pragma omp critical
        for (int64_t r = 0; r < width; r++) {
            sums[r] += part[r];
        }
    }
}

/* Blocks added in loop order, whoever made them: the form that repeats. */
static void NAME(sum_ordered)(const TYPE *rows, TYPE *sums, int64_t width, int64_t n, int threads)
{
    memset(sums, 0, (size_t)width * sizeof(*sums));
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1) ordered
    for (int64_t first = 0; first < n; first += BLOCK) {
        TYPE part[TOGETHER];
        NAME(sum_block)(rows, part, width, n, first);
#pragma omp ordered
        for (int64_t r = 0; r < width; r++) {
            sums[r] += part[r];
        }
    }
}

/* A tree whose shape depends on n alone. */
static TYPE NAME(tree)(const TYPE *values, int64_t n)
{
    if (n <= 8) {
        TYPE sum = 0;
        for (int64_t i = 0; i < n; i++) {
            sum += values[i];
        }
        return sum;
    }
    return NAME(tree)(values, n / 2) + NAME(tree)(values + n / 2, n - n / 2);
}

static void NAME(sum_tree)(const TYPE *rows, TYPE *sums, int64_t width, int64_t n, int threads)
{
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (int64_t r = 0; r < width; r++) {
        sums[r] = NAME(tree)(rows + r * n, n);
    }
}

/* A maximum does not depend on the order. */
static void NAME(max)(const TYPE *rows, TYPE *maxima, int64_t width, int64_t n, int threads)
{
    TYPE most[TOGETHER];
    for (int64_t r = 0; r < TOGETHER; r++) {
        most[r] = r < width ? rows[r * n] : 0;
    }
#pragma omp parallel for num_threads(threads) schedule(dynamic, 16) reduction(max : most[:TOGETHER])
    for (int64_t i = 0; i < n; i++) {
        for (int64_t r = 0; r < width; r++) {
            most[r] = rows[r * n + i] > most[r] ? rows[r * n + i] : most[r];
        }
    }
    memcpy(maxima, most, (size_t)width * sizeof(*most));
}

#undef TYPE
#undef NAME
