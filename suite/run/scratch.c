/* SPDX-License-Identifier: Apache-2.0
 *
 * The run's scratch folder: TMPDIR, else /tmp. A variable of the caller's is never taken over: what stands in
 * its folder would be trusted.
 */
#include "suite/run/scratch.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "suite/base/text.h"

#define VARIABLE "DETPROBE_SCRATCH"

static char *scratch; /* owned; NULL: there is none */

void dp_scratch_open(void)
{
    const char *const wanted = getenv("TMPDIR");
    char *path = dp_printf("%s/detprobe-XXXXXX", wanted && *wanted ? wanted : "/tmp");
    unsetenv(VARIABLE);
    if (mkdtemp(path) && setenv(VARIABLE, path, /* overwrite= */ 1) == 0) {
        scratch = path;
    } else {
        free(path);
    }
}

void dp_scratch_close(void)
{
    DIR *const folder = scratch ? opendir(scratch) : NULL;
    for (struct dirent *entry; folder && (entry = readdir(folder)) != NULL;) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            unlinkat(dirfd(folder), entry->d_name, 0);
        }
    }
    if (folder) {
        closedir(folder);
    }
    if (scratch) {
        rmdir(scratch);
        unsetenv(VARIABLE);
    }
    free(scratch);
    scratch = NULL;
}
