/* SPDX-License-Identifier: Apache-2.0
 *
 * Formats: each turns a document into bytes. A document is what a command makes: a report, a comparison of
 * two or of several, what a gate decided, the table of guarantees. A new format is one file, and one row in
 * render.c.
 */
#ifndef DP_REPORTS_RENDER_H
#define DP_REPORTS_RENDER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "suite/base/err.h"
#include "suite/base/text.h"

enum dp_document {
    DP_DOCUMENT_REPORT,
    DP_DOCUMENT_DIFF,
    DP_DOCUMENT_GATE,
    DP_DOCUMENT_MATRIX,
    DP_DOCUMENT_GUARANTEES,
    DP_DOCUMENT_MAX
};

struct dp_render_options {
    bool colour;        /* words carry the meaning, colour only repeats it */
    bool verbose;       /* every case, not only families with findings and counts */
    int columns;        /* width of the terminal, 0: 100 */
    const char *source; /* name of the file that the document is about, for formats that point at one; NULL */
    size_t taken;       /* bytes that the file holds already, of a format that is appended */
};

/* Adds the whole of a document that its own checks let pass; its strings are hostile all the same. */
typedef void dp_render_function(const json_t *document, const struct dp_render_options *options,
                                struct dp_text *out);

/* In the format of this name; code 64 where the document has no such format, 2 where the text is too long to
 * hold. `out` is the caller's to free either way. */
int dp_render(enum dp_document document, const char *format, const json_t *json,
              const struct dp_render_options *options, struct dp_text *out, struct dp_err *err);
/* Does the format say passed or failed? Where a gate decides, it is the decision that it has to show. */
bool dp_format_judges(const char *format);
/* Is what this format makes added to a file that collects what several commands write? Any other is a file.
 */
bool dp_format_is_appended(const char *format);
/* "text|json|...": the formats of a document, for option tables. Static. */
const char *dp_format_names(enum dp_document document);
const char *dp_format_names_report(void);
const char *dp_format_names_diff(void);
const char *dp_format_names_gate(void);
const char *dp_format_names_guarantees(void);

/* The last line of the text: "no guarantee broken; 31 operations vary, none of them promised otherwise".
 * Owned. */
char *dp_report_sentence(const json_t *report);
/* What the run may have missed, from measurements.strength; NULL: the report does not say. Owned. */
char *dp_report_strength(const json_t *measurements);

#endif
