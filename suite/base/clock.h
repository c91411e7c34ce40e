/* SPDX-License-Identifier: Apache-2.0
 *
 * Time: a monotonic clock in nanoseconds and UTC stamps.
 */
#ifndef DP_BASE_CLOCK_H
#define DP_BASE_CLOCK_H

#include <stdint.h>

int64_t dp_now_ns(void); /* CLOCK_MONOTONIC */
/* RFC 3339 in UTC with whole seconds: "2026-01-31T12:00:00Z". */
void dp_utc_now(char ret[21]);
/* Seconds since 1970 of such a stamp; -1 where it is none, or of a day that no calendar has. */
int dp_utc_read(const char *stamp, int64_t *ret_seconds);

#endif
