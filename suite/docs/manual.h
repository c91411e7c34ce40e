/* SPDX-License-Identifier: Apache-2.0
 *
 * The pages of the manual. Each is made of the program's tables, of the schemas built into it, and of the
 * pages for people (README.md, probes/README.md), so that nothing stands in two places.
 */
#ifndef DP_DOCS_MANUAL_H
#define DP_DOCS_MANUAL_H

#include "suite/base/err.h"
#include "suite/base/text.h"
#include "suite/command/command.h"

struct dp_manual {
    const char *date;   /* of SOURCE_DATE_EPOCH; "" without it: a build says nothing of its day */
    const char *readme; /* texts */
    const char *probes;
};

int dp_manual_program(const struct dp_manual *manual, struct dp_text *out, struct dp_err *err);
int dp_manual_command(const struct dp_manual *manual, const struct dp_command *command, struct dp_text *out,
                      struct dp_err *err);
int dp_manual_report(const struct dp_manual *manual, struct dp_text *out, struct dp_err *err);
int dp_manual_probe(const struct dp_manual *manual, struct dp_text *out, struct dp_err *err);

/* Shared by them. */
void dp_manual_name(const struct dp_manual *manual, const char *name, const char *section,
                    const char *summary, struct dp_text *out);
/* The sections ENVIRONMENT and FILES as far as they concern `reader` (see surroundings.h; NULL: everybody).
 */
void dp_manual_surroundings(const char *reader, struct dp_text *out);
/* The section SEE ALSO without the page itself. */
void dp_manual_see_also(const char *self, struct dp_text *out);

#endif
