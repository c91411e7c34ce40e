/* SPDX-License-Identifier: Apache-2.0
 *
 * Statistics of repeat-and-compare: how large the rate of a difference may still be; and of times: the middle
 * one, and how sure it is.
 */
#ifndef DP_BASE_STATISTICS_H
#define DP_BASE_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

/* The model of all of these: the runs of one input are independent, and give outputs 1, 2, ... with
 * probabilities p1 >= p2 >= ...; the rate r of the variation is the share of runs outside of the most
 * frequent output, 1 - p1. The first run is the reference and a run like any other, maybe itself the odd one.
 * That n + 1 runs are all equal, so that n comparisons with the first show nothing, has probability
 *
 *     p1^(n+1) + p2^(n+1) + ... <= p1^n (p1 + p2 + ...) = (1 - r)^n,
 *
 * which is sharp when r is small: the bound of n trials that all succeed (C. J. Clopper and E. S. Pearson,
 * Biometrika 26, 1934, 404-413, for k = 0; J. A. Hanley and A. Lippman-Hand, JAMA 249, 1983, 1743-1745). Over
 * several inputs comparisons add up; where the rate depends on the input, r is its mean over inputs that are
 * compared equally often, since log(1 - r) is concave. That a case stops at its first difference changes
 * nothing for one that has shown none. */

/* The probability that n comparisons do not show a variation of this rate, at most: (1 - rate)^n. */
double dp_missed(double rate, int64_t comparisons);
/* The least n for which that is at most 1 - confidence: ceil(log(1 - confidence) / log(1 - rate)). Both
 * within (0, 1); INT64_MAX if it does not fit. */
int64_t dp_comparisons_needed(double rate, double confidence);
/* The rate above which n comparisons would have shown a variation, but for this probability:
 * 1 - missed^(1/n). 1 without comparisons. */
double dp_rate_bound(int64_t comparisons, double missed);
/* Upper 95 % bound of the rate of a difference after 0 of n comparisons: 1 - 0.05^(1/n). */
double dp_zero_bound(size_t comparisons);
/* Clopper-Pearson interval for k of n at 95 %, n set beforehand: where runs end at the first difference, the
 * rate is seen too high. */
void dp_clopper_pearson(size_t k, size_t n, double *ret_low, double *ret_high);

struct dp_median {
    double value;     /* the middle one; of an even number the lower of two */
    double low, high; /* 95 % percentile interval of its bootstrap distribution */
};
/* Of n > 0 numbers in any order. The distribution is the exact one, which drawing samples only approaches, so
 * nothing is random: the median of n draws is at most the k-th smallest number when at least m = (n + 1) / 2
 * draws are, and a draw is with chance k/n (Efron, "Bootstrap methods: another look at the jackknife", Annals
 * of Statistics 7, 1979, section 3). The interval is Efron and Tibshirani, An Introduction to the Bootstrap,
 * 1993, chapter 13. It is all of the numbers if they are fewer than six, which is to say nothing. */
struct dp_median dp_median_of(const double *values, size_t n);

#endif
