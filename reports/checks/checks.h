/* SPDX-License-Identifier: Apache-2.0
 *
 * What a document says, as a list of checks: the neutral form behind the formats that CI services read, which
 * all know no more than passed, failed, error and skipped. Each kind of document is turned into it by one
 * file here, each format is made of it by one file of reports/render, so that every format serves every
 * document.
 *
 * Every string of a list is harmless to look at (dp_printable), bounded and one line; `detail` has lines.
 */
#ifndef DP_REPORTS_CHECKS_H
#define DP_REPORTS_CHECKS_H

#include <jansson.h>
#include <stddef.h>

#include "suite/base/text.h"

/* The weightiest first. */
enum dp_check_state {
    DP_CHECK_FAIL,  /* what was found fails the job */
    DP_CHECK_ERROR, /* no verdict */
    DP_CHECK_NOTE,  /* passed, and worth a word: varies where nobody promised otherwise */
    DP_CHECK_SKIP,  /* did not run, or not enough of it */
    DP_CHECK_PASS,
    DP_CHECK_STATE_MAX
};

struct dp_check {
    enum dp_check_state state;
    const char *group;     /* "cpu/gemm"; DP_CHECK_WHOLE: of the document as a whole */
    const char *name;      /* within the group, unique there: "sgemm-nn-64x64x64", "... (other_bits)" */
    const char *kind;      /* "broken", "varies", "not_built": the same for the same thing in every run */
    const char *subject;   /* the case, "" where there is none */
    const char *line;      /* the finding */
    const char *detail;    /* more lines, maybe "" */
    const char *reproduce; /* a command, "" where there is none */
    double seconds;
};

#define DP_CHECK_WHOLE "detprobe"

struct dp_checks {
    const char *document;   /* "run", "diff", "gate" */
    const char *title;      /* the verdict in words */
    const char *started;    /* RFC 3339, or "" */
    const char *host;       /* or "" */
    json_t *facts;          /* name -> string: what was measured, and how */
    struct dp_check *items; /* the whole first, then in the document's order */
    size_t count, capacity;
    size_t counts[DP_CHECK_STATE_MAX];
    char **strings; /* what the pointers above point to */
    size_t string_count, string_capacity;
};

/* Of a report, a comparison or a gate's decision, whichever it is. Caller frees. */
struct dp_checks dp_checks_of(const json_t *document);
void dp_checks_free(struct dp_checks *checks);

/* The items sorted by `compare` (of two `const struct dp_check *`), which sees each once in its place. Owned.
 */
const struct dp_check **dp_checks_sorted(const struct dp_checks *checks,
                                         int (*compare)(const struct dp_check *a, const struct dp_check *b));
/* By group, else as they come. */
int dp_check_by_group(const struct dp_check *a, const struct dp_check *b);

#endif
