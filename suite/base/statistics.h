/* SPDX-License-Identifier: Apache-2.0
 *
 * Statistics of repeat-and-compare: how large the rate of a difference may still be.
 */
#ifndef DP_BASE_STATISTICS_H
#define DP_BASE_STATISTICS_H

#include <stddef.h>

/* Upper 95 % bound of the rate of a difference after 0 of n comparisons: 1 - 0.05^(1/n). */
double dp_zero_bound(size_t comparisons);
/* Clopper-Pearson interval for k of n at 95 %. */
void dp_clopper_pearson(size_t k, size_t n, double *ret_low, double *ret_high);

#endif
