/* SPDX-License-Identifier: Apache-2.0
 *
 * Delivering the document a command made: in one format to standard output or a file, and in any number of
 * others to files (--report FORMAT:FILE).
 */
#ifndef DP_COMMAND_DELIVERY_H
#define DP_COMMAND_DELIVERY_H

#include "reports/render/render.h"
#include "suite/base/options.h"

/* What --report may say: a known format of this document, a file, no file twice, also not `output`, which -o
 * named (or NULL): only standard output may hold both. Before the work begins; code 64. */
int dp_delivery_check(const struct dp_strings *reports, const char *output, enum dp_document document,
                      struct dp_err *err);
/* Whether the document has this format; code 64. */
int dp_delivery_check_format(const char *format, enum dp_document document, struct dp_err *err);
/* Nothing that is read, by the names of `inputs` (NULL: none), is written over: neither by `output` nor by
 * one of the reports, which were checked. Code 64. */
int dp_delivery_spares(const struct dp_strings *reports, const char *output, const char *const inputs[],
                       size_t count, struct dp_err *err);
/* Whether the format of "FORMAT:FILE" says passed or failed: see dp_format_judges. */
bool dp_delivery_judges(const char *report);
/* Writes every one of them, whole or not at all, and goes on after a failure. The first failure is the error;
 * code 2. `source`: see struct dp_render_options. */
int dp_delivery_write(const struct dp_strings *reports, enum dp_document document, const json_t *json,
                      const char *source, struct dp_err *err);

struct dp_delivery {
    const char *format;
    const char *output; /* "-": standard output, as the terminal there wants it */
    const char *colour; /* auto, always, never */
    const char *source;
    bool verbose;
};
/* In the one format. Code 2 where it is not written. */
int dp_deliver(const struct dp_delivery *delivery, enum dp_document document, const json_t *json,
               struct dp_err *err);

#endif
