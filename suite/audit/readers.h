/* SPDX-License-Identifier: Apache-2.0
 *
 * Which of the libraries that read settings are here: told by programs' hellos, found as files of a Python
 * environment, or mapped by a process. No Python is started and no library opened.
 */
#ifndef DP_AUDIT_READERS_H
#define DP_AUDIT_READERS_H

#include "suite/audit/audit.h"

struct dp_readers {
    json_t *files;    /* array of {path, name?, version?} */
    json_t *packages; /* name of a Python distribution -> version */
};

void dp_readers_open(struct dp_readers *readers);
void dp_readers_free(struct dp_readers *readers);

/* The libraries of programs' hellos, as in a report. */
void dp_readers_add_libraries(struct dp_readers *readers, const json_t *libraries);
/* What the Python environment or prefix holds. */
void dp_readers_add_prefix(struct dp_readers *readers, const char *prefix);
/* The files, which are an object's keys, and the packages that they are parts of. */
void dp_readers_add_mapped(struct dp_readers *readers, const json_t *mapped);

/* Whether what reads the setting is here; *ret_version is its version or NULL, borrowed. Where nothing was
 * found that could stand in its place (another BLAS), `asked` lets it be assumed. */
enum dp_audit_presence dp_readers_find(const struct dp_readers *readers, const json_t *setting, bool asked,
                                       const char **ret_version);
/* Whether the area is here: cpu always is. */
bool dp_readers_have_area(const struct dp_readers *readers, const char *area);

#endif
