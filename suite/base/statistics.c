/* SPDX-License-Identifier: Apache-2.0
 *
 * Statistics of repeat-and-compare: how large the rate of a difference may still be after n comparisons of
 * which k differed. Exact limits, by bisection on the regularised incomplete beta function, which the
 * bootstrap distribution of a median follows too.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "suite/base/statistics.h"
#include "suite/base/text.h"

#define ALPHA 0.05

double dp_missed(double rate, int64_t comparisons)
{
    return exp((double)comparisons * log1p(-rate));
}

int64_t dp_comparisons_needed(double rate, double confidence)
{
    const double needed = ceil(log1p(-confidence) / log1p(-rate));
    return !(needed < 9e18) ? INT64_MAX : needed < 1.0 ? 1 : (int64_t)needed;
}

double dp_rate_bound(int64_t comparisons, double missed)
{
    return comparisons > 0 ? -expm1(log(missed) / (double)comparisons) : 1.0;
}

double dp_zero_bound(size_t comparisons)
{
    return dp_rate_bound((int64_t)comparisons, ALPHA);
}

/* The continued fraction of the incomplete beta function (DLMF 8.17.22), by the modified Lentz method;
 * converges in O(sqrt(max(a, b))) steps for x below the mean. */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1.0;
    double d = 1.0 - (a + b) * x / (a + 1.0);
    d = 1.0 / (fabs(d) < tiny ? tiny : d);
    double value = d;
    for (int m = 1; m <= 100000; m++) {
        const double twice = 2.0 * m;
        const double terms[2] = {
            m * (b - m) * x / ((a + twice - 1.0) * (a + twice)),
            -(a + m) * (a + b + m) * x / ((a + twice) * (a + twice + 1.0)),
        };
        double step = 1.0;
        for (int i = 0; i < 2; i++) {
            d = 1.0 + terms[i] * d;
            c = 1.0 + terms[i] / c;
            d = 1.0 / (fabs(d) < tiny ? tiny : d);
            c = fabs(c) < tiny ? tiny : c;
            step = d * c;
            value *= step;
        }
        if (fabs(step - 1.0) < 1e-15) {
            break;
        }
    }
    return value;
}

static double log_gamma(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

/* I_x(a, b), the chance that a Beta(a, b) variable is at most x. */
static double beta_cumulative(double a, double b, double x)
{
    if (x <= 0.0 || x >= 1.0) {
        return x <= 0.0 ? 0.0 : 1.0;
    }
    const double front = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1.0) / (a + b + 2.0)) {
        return front * beta_fraction(a, b, x) / a;
    }
    return 1.0 - front * beta_fraction(b, a, 1.0 - x) / b;
}

static double beta_quantile(double a, double b, double probability)
{
    double low = 0.0;
    double high = 1.0;
    for (int i = 0; i < 200 && high - low > 1e-15 * high; i++) {
        const double middle = low + (high - low) / 2.0;
        if (beta_cumulative(a, b, middle) < probability) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low + (high - low) / 2.0;
}

void dp_clopper_pearson(size_t k, size_t n, double *ret_low, double *ret_high)
{
    const double hits = (double)k;
    const double misses = (double)n - hits;
    *ret_low = k == 0 || n == 0 ? 0.0 : beta_quantile(hits, misses + 1.0, ALPHA / 2.0);
    *ret_high = k >= n ? 1.0 : beta_quantile(hits + 1.0, misses, 1.0 - ALPHA / 2.0);
}

static int by_size(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* The chance that the median of n draws out of n numbers is at most the k-th smallest: that of at least m of
 * them being so, P(Bin(n, k/n) >= m) = I_{k/n}(m, n - m + 1). */
static double median_cumulative(size_t n, size_t k)
{
    const size_t middle = (n + 1) / 2;
    return beta_cumulative((double)middle, (double)(n - middle + 1), (double)k / (double)n);
}

struct dp_median dp_median_of(const double *values, size_t n)
{
    double *sorted = dp_alloc(n, sizeof(*sorted));
    memcpy(sorted, values, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), by_size);
    size_t low = 1, high = 1;
    while (low < n && median_cumulative(n, low) < ALPHA / 2.0) {
        low++;
    }
    while (high < n && median_cumulative(n, high) < 1.0 - ALPHA / 2.0) {
        high++;
    }
    const struct dp_median median = {sorted[(n + 1) / 2 - 1], sorted[low - 1], sorted[high - 1]};
    free(sorted);
    return median;
}
