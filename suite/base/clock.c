/* SPDX-License-Identifier: Apache-2.0
 *
 * Time from the system's clocks.
 */
#include <stdio.h>
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
