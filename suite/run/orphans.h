/* SPDX-License-Identifier: Apache-2.0
 *
 * Children that programs leave behind. They become ours (the suite is a subreaper), wherever they went with
 * setsid; here they are found and ended.
 */
#ifndef DP_RUN_ORPHANS_H
#define DP_RUN_ORPHANS_H

#include <stddef.h>
#include <sys/types.h>

struct dp_pids {
    pid_t *items;
    size_t count;
};

/* The children of this process. Owned: dp_pids_free. */
struct dp_pids dp_children(void);
void dp_pids_free(struct dp_pids *pids);

/* Kills and reaps our children that are not in `spared`, and theirs in turn. With a token only those that
 * carry it in their environment: other programs that still run may have orphans of their own. */
void dp_orphans_end(const struct dp_pids *spared, const char *token);

#endif
