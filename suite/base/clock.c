/* SPDX-License-Identifier: Apache-2.0
 *
 * Time from the system's clocks.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "suite/base/clock.h"

int64_t dp_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void dp_utc_now(char ret[21])
{
    const time_t now = time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(ret, 21, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

int dp_utc_read(const char *stamp, int64_t *ret_seconds)
{
    struct tm utc = {0};
    char again[sizeof("2026-01-31T12:00:00Z")] = "";
    const char *end = strptime(stamp, "%Y-%m-%dT%H:%M:%SZ", &utc);
    const time_t seconds = end && !*end ? timegm(&utc) : -1;
    /* What strptime lets pass is more than one form, and days that timegm moves to the next month. */
    if (!gmtime_r(&seconds, &utc) || !strftime(again, sizeof(again), "%Y-%m-%dT%H:%M:%SZ", &utc) ||
        strcmp(again, stamp) != 0) {
        return -1;
    }
    *ret_seconds = seconds;
    return 0;
}
