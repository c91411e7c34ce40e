/* SPDX-License-Identifier: Apache-2.0
 *
 * What the control groups above this process allow, of either version. Everything is read below a folder that
 * stands for '/', so that tests can lay out both versions.
 */
#ifndef DP_BASE_CGROUP_H
#define DP_BASE_CGROUP_H

#include <stdint.h>

#define DP_CGROUP_UNLIMITED INT64_MAX

struct dp_cgroup {
    int64_t memory_limit;     /* bytes, the least of all levels */
    int64_t memory_available; /* bytes: the least over all levels of limit minus what cannot be reclaimed */
    int64_t cpu_hundredths;   /* processors times 100, the least of all levels, rounded down */
};

/* `root` is "" for the running system. A machine without control groups is unlimited. */
void dp_cgroup_read(const char *root, struct dp_cgroup *ret);

#endif
