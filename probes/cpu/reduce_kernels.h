/* SPDX-License-Identifier: Apache-2.0
 *
 * The reduction loops for one element type; included once for each with TYPE and NAME set. No include guard
 * on purpose.
 */

/* The reduction clause: private partial sums, combined as threads finish. */
static void NAME(sum_static)(const TYPE *values, TYPE *result, int64_t rows, int64_t n, int threads)
{
    for (int64_t r = 0; r < rows; r++) {
        const TYPE *const row = values + r * n;
        TYPE sum = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : sum)
        for (int64_t i = 0; i < n; i++) {
            sum += row[i];
        }
        result[r] = sum;
    }
}

/* Loops dealt on demand. A thread that wakes late finds nothing left of one, and where cores are busy that is
 * each thread but one: then there is one partial sum and no order. So the first half is dealt evenly and only
 * the rest on demand, as loops do that are balanced at their end: who adds what moves, and all have a part.
 */
static void NAME(sum_dynamic)(const TYPE *values, TYPE *result, int64_t rows, int64_t n, int threads)
{
    for (int64_t r = 0; r < rows; r++) {
        const TYPE *const row = values + r * n;
        TYPE sum = 0;
#pragma omp parallel num_threads(threads) reduction(+ : sum)
        {
#pragma omp for schedule(static) nowait
            for (int64_t i = 0; i < n / 2; i++) {
                sum += row[i];
            }
#pragma omp for schedule(dynamic, 64) nowait
            for (int64_t i = n / 2; i < n; i++) {
                sum += row[i];
            }
        }
        result[r] = sum;
    }
}

static void NAME(sum_guided)(const TYPE *values, TYPE *result, int64_t rows, int64_t n, int threads)
{
    for (int64_t r = 0; r < rows; r++) {
        const TYPE *const row = values + r * n;
        TYPE sum = 0;
#pragma omp parallel num_threads(threads) reduction(+ : sum)
        {
#pragma omp for schedule(static) nowait
            for (int64_t i = 0; i < n / 2; i++) {
                sum += row[i];
            }
#pragma omp for schedule(guided, 16) nowait
            for (int64_t i = n / 2; i < n; i++) {
                sum += row[i];
            }
        }
        result[r] = sum;
    }
}

/* Every addend by an atomic update, in arrival order. */
static void NAME(sum_atomic)(const TYPE *values, TYPE *result, int64_t rows, int64_t n, int threads)
{
    for (int64_t r = 0; r < rows; r++) {
        const TYPE *const row = values + r * n;
        TYPE sum = 0;
#pragma omp parallel for num_threads(threads) schedule(static)
        for (int64_t i = 0; i < n; i++) {
#pragma omp atomic
            sum += row[i];
        }
        result[r] = sum;
    }
}

/* Partial sums of fixed blocks, dealt evenly, each added in a critical section, in arrival order. */
static void NAME(sum_critical)(const TYPE *values, TYPE *result, int64_t rows, int64_t n, int threads)
{
    for (int64_t r = 0; r < rows; r++) {
        const TYPE *const row = values + r * n;
        TYPE sum = 0;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
        for (int64_t block = 0; block < n; block += CRITICAL_BLOCK) {
            TYPE part = 0;
            for (int64_t i = block; i < block + CRITICAL_BLOCK && i < n; i++) {
                part += row[i];
            }
#pragma omp critical
            sum += part;
        }
        result[r] = sum;
    }
}

/* Blocks added in loop order, whoever made them: the form that repeats. */
static void NAME(sum_ordered)(const TYPE *values, TYPE *result, int64_t rows, int64_t n, int threads)
{
    for (int64_t r = 0; r < rows; r++) {
        const TYPE *const row = values + r * n;
        TYPE sum = 0;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1) ordered
        for (int64_t block = 0; block < n; block += ORDERED_BLOCK) {
            TYPE part = 0;
            for (int64_t i = block; i < block + ORDERED_BLOCK && i < n; i++) {
                part += row[i];
            }
#pragma omp ordered
            sum += part;
        }
        result[r] = sum;
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

static void NAME(sum_tree)(const TYPE *values, TYPE *result, int64_t rows, int64_t n, int threads)
{
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (int64_t r = 0; r < rows; r++) {
        result[r] = NAME(tree)(values + r * n, n);
    }
}

/* A maximum does not depend on the order. */
static void NAME(max)(const TYPE *values, TYPE *result, int64_t rows, int64_t n, int threads)
{
    for (int64_t r = 0; r < rows; r++) {
        const TYPE *const row = values + r * n;
        TYPE most = row[0];
#pragma omp parallel for num_threads(threads) schedule(dynamic, 64) reduction(max : most)
        for (int64_t i = 0; i < n; i++) {
            most = row[i] > most ? row[i] : most;
        }
        result[r] = most;
    }
}

#undef TYPE
#undef NAME
