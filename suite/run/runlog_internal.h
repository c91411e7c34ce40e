/* SPDX-License-Identifier: Apache-2.0
 *
 * The run log between its two files: writing and reading.
 */
#ifndef DP_RUN_RUNLOG_INTERNAL_H
#define DP_RUN_RUNLOG_INTERNAL_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "suite/base/err.h"
#include "suite/run/runlog.h"

struct dp_runlog {
    int fd;
    char *path;
    bool regular; /* a file that can be cut, locked and synced; not /dev/null */
    bool broken;  /* a torn line could not be taken back: nothing may follow it */
    int error;    /* errno of the first failed append */
    off_t good;   /* size up to the last whole line */
    json_t *kept; /* key -> answer of retests that a resumed log holds */
};

/* Opens and locks the file; with `create` it is made or emptied (code 2), else it must be there (code 65). */
struct dp_runlog *dp_runlog_open(const char *path, bool create, struct dp_err *err);
/* {host, variables} as they are now: a log is resumed only where it began. Owned. */
json_t *dp_runlog_environment(void);
void dp_runlog_discard(struct dp_runlog *log);

#endif
