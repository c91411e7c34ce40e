/* SPDX-License-Identifier: Apache-2.0
 *
 * Renderers: each turns a report into one format. A new format is one file here and one row in render.c.
 */
#ifndef DP_REPORTS_RENDER_H
#define DP_REPORTS_RENDER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "suite/base/err.h"
#include "suite/base/text.h"

struct dp_render_options {
    bool colour;  /* words carry the meaning, colour only repeats it */
    bool verbose; /* every case, not only families with findings and counts */
    int columns;  /* width of the terminal, 0: 100 */
};

struct dp_renderer {
    const char *name; /* --format NAME: "text", "json" */
    int (*render)(const json_t *report, const struct dp_render_options *options, struct dp_text *out,
                  struct dp_err *err);
};

/* NULL for an unknown name. */
const struct dp_renderer *dp_renderer_find(const char *name);
/* "text|json", for the option table. */
const char *dp_renderer_names(void);

/* The last line of the text: "no guarantee broken; 31 operations vary, none of them promised otherwise".
 * Owned. */
char *dp_report_sentence(const json_t *report);

#endif
