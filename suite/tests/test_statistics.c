/* SPDX-License-Identifier: Apache-2.0
 *
 * The statistics against published values, and against the definition of the limits summed term by term.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "suite/base/statistics.h"

static void assert_near(double value, double expected, double relative)
{
    if (!(fabs(value - expected) <= relative * fabs(expected))) {
        fail_msg("%.12g is not %.12g", value, expected);
    }
}

static void test_zero_bound(void **state)
{
    assert_near(dp_zero_bound(1), 0.95, 1e-12);
    assert_near(dp_zero_bound(24), 0.1173461, 1e-6);
    assert_near(dp_zero_bound(59), 0.0495076, 1e-5); /* the usual 59 samples for 95 % */
    assert_near(dp_zero_bound(1000000), 2.995728e-6, 1e-5);
    assert_near(dp_zero_bound(0), 1.0, 0.0); /* nothing compared, nothing known */
    assert_true(dp_zero_bound(58) > 0.05);
}

/* Numbers of samples that quality assurance has in its tables, and the one of this project's own goal. */
static void test_comparisons_needed(void **state)
{
    static const struct {
        double rate, confidence;
        int64_t comparisons;
    } rows[] = {
        {0.05, 0.95, 59},   {0.01, 0.95, 299},     {0.01, 0.99, 459},  {0.1, 0.9, 22},
        {2e-3, 0.99, 2301}, {1e-6, 0.95, 2995731}, {0.999999, 0.5, 1}, {1e-300, 0.5, INT64_MAX},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const int64_t n = dp_comparisons_needed(rows[i].rate, rows[i].confidence);
        assert_true(n == rows[i].comparisons);
        if (n < INT64_MAX) {
            assert_true(dp_missed(rows[i].rate, n) <= 1.0 - rows[i].confidence);
            assert_true(n == 1 || dp_missed(rows[i].rate, n - 1) > 1.0 - rows[i].confidence);
            assert_true(dp_rate_bound(n, 1.0 - rows[i].confidence) <= rows[i].rate);
        }
    }
    assert_near(dp_rate_bound(2301, dp_missed(2e-3, 2301)), 2e-3, 1e-12);
    assert_true(dp_rate_bound(0, 0.05) == 1.0);
    assert_near(dp_rate_bound(24, 0.05), dp_zero_bound(24), 1e-15);
}

/* Over whatever outputs a case has: that n + 1 runs are equal is no more probable than is said. */
static void test_missed_is_a_bound(void **state)
{
    static const double outputs[][4] = {
        {0.998, 0.002, 0, 0}, {0.5, 0.5, 0, 0}, {0.25, 0.25, 0.25, 0.25}, {0.9, 0.05, 0.05, 0}, {1, 0, 0, 0}};
    for (size_t i = 0; i < sizeof(outputs) / sizeof(outputs[0]); i++) {
        for (int64_t n = 1; n < 100; n++) {
            double equal = 0;
            for (int k = 0; k < 4; k++) {
                equal += pow(outputs[i][k], (double)n + 1.0);
            }
            assert_true(equal <= dp_missed(1.0 - outputs[i][0], n) * (1.0 + 1e-12));
        }
    }
    assert_near(pow(0.998, 101) + pow(0.002, 101), dp_missed(0.002, 100), 0.003); /* and hardly less */
}

static void test_published_intervals(void **state)
{
    static const struct {
        size_t k, n;
        double low, high;
    } rows[] = {
        {0, 10, 0.0, 0.3084971},
        {1, 10, 0.002528579, 0.4450161},
        {5, 10, 0.1870860, 0.8129140},
        {9, 10, 0.5549839, 0.9974714},
        {10, 10, 0.6915029, 1.0},
        {2, 50, 0.004881435, 0.1371376},
        {1, 100, 0.0002531460, 0.05445945},
        {50, 100, 0.3983211, 0.6016789},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        double low, high;
        dp_clopper_pearson(rows[i].k, rows[i].n, &low, &high);
        assert_near(low, rows[i].low, 1e-5);
        assert_near(high, rows[i].high, 1e-5);
    }
}

/* P(X >= k) of a binomial variable, summed term by term. */
static double upper_tail(size_t k, size_t n, double p)
{
    double sum = 0.0;
    for (size_t i = k; i <= n; i++) {
        const double log_choose =
            lgamma((double)n + 1.0) - lgamma((double)i + 1.0) - lgamma((double)(n - i) + 1.0);
        sum += exp(log_choose + (double)i * log(p) + (double)(n - i) * log1p(-p));
    }
    return sum;
}

static void test_definition(void **state)
{
    static const size_t rows[][2] = {{1, 24},   {7, 24},      {23, 24},    {3, 200},
                                     {2, 6400}, {6399, 6400}, {3100, 6400}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const size_t k = rows[i][0], n = rows[i][1];
        double low, high;
        dp_clopper_pearson(k, n, &low, &high);
        assert_near(upper_tail(k, n, low), 0.025, 1e-7);
        assert_near(1.0 - upper_tail(k + 1, n, high), 0.025, 1e-6);
        assert_true(low < (double)k / (double)n && (double)k / (double)n < high);
    }
}

static void test_edges(void **state)
{
    double low, high;
    dp_clopper_pearson(0, 0, &low, &high);
    assert_true(low == 0.0 && high == 1.0);
    dp_clopper_pearson(1, 1, &low, &high);
    assert_near(low, 0.025, 1e-9);
    assert_true(high == 1.0);
    dp_clopper_pearson(5, 10000000, &low, &high);
    assert_true(low > 1e-7 && high < 1.3e-6);
}

static void check_median(const double *values, size_t n, double value, double low, double high)
{
    const struct dp_median median = dp_median_of(values, n);
    assert_true(median.value == value && median.low == low && median.high == high);
}

/* Places of the interval's ends, by the binomial distribution summed term by term. */
static void test_median_places(void **state)
{
    static const struct {
        size_t n, low, middle, high;
    } rows[] = {{1, 1, 1, 1}, {2, 1, 1, 2},   {5, 1, 3, 5},    {6, 1, 3, 5},
                {7, 2, 4, 6}, {15, 4, 8, 12}, {31, 11, 16, 21}};
    double values[31];
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (size_t k = 0; k < rows[i].n; k++) {
            values[k] = (double)(k + 1);
        }
        check_median(values, rows[i].n, (double)rows[i].middle, (double)rows[i].low, (double)rows[i].high);
    }
    for (size_t n = 1; n <= 31; n++) {
        for (size_t k = 0; k < n; k++) {
            values[k] = (double)(k + 1);
        }
        const struct dp_median median = dp_median_of(values, n);
        const size_t m = (n + 1) / 2, low = (size_t)median.low, high = (size_t)median.high;
        assert_true(low == n || upper_tail(m, n, (double)low / (double)n) >= 0.025);
        assert_true(low == 1 || upper_tail(m, n, (double)(low - 1) / (double)n) < 0.025);
        assert_true(high == n || upper_tail(m, n, (double)high / (double)n) >= 0.975);
        assert_true(high == 1 || upper_tail(m, n, (double)(high - 1) / (double)n) < 0.975);
    }
}

static void test_median(void **state)
{
    static const double equal[] = {2.5, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5};
    check_median(equal, 9, 2.5, 2.5, 2.5); /* what never moves is a point */
    /* of two clusters the larger has the middle, and the interval reaches into both where they are close */
    static const double close[] = {1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2};
    check_median(close, 15, 2, 1, 2);
    static const double few[] = {1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 9};
    check_median(few, 15, 2, 2, 2); /* and neither where one is rare */
    static const double sorted[] = {1, 2, 3, 4, 5, 6, 7}, mixed[] = {7, 1, 6, 2, 5, 3, 4};
    check_median(sorted, 7, 4, 2, 6);
    check_median(mixed, 7, 4, 2, 6);
    assert_true(mixed[0] == 7); /* the caller's order stays */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_median_places),     cmocka_unit_test(test_median),
        cmocka_unit_test(test_zero_bound),        cmocka_unit_test(test_comparisons_needed),
        cmocka_unit_test(test_missed_is_a_bound), cmocka_unit_test(test_published_intervals),
        cmocka_unit_test(test_definition),        cmocka_unit_test(test_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
