/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of formats: a new one is a row here.
 */
#include "reports/render/render.h"

#include <string.h>

#include "reports/diff/render.h"
#include "reports/gate/render.h"
#include "reports/guarantees/render.h"
#include "reports/matrix/render.h"
#include "reports/render/formats.h"

struct format {
    const char *name;
    bool judges;                                 /* says passed or failed, to a service that shows it */
    dp_render_function *render[DP_DOCUMENT_MAX]; /* NULL: this document has no such format */
};

static const struct format formats[] = {
    {"text", false, {dp_render_text, dp_diff_text, dp_gate_text, dp_matrix_text, dp_guarantees_text}},
    {"json", false, {dp_render_json, dp_render_json, dp_render_json, dp_render_json, dp_render_json}},
    {"markdown",
     false,
     {dp_render_markdown, dp_diff_markdown, dp_gate_markdown, dp_matrix_markdown, dp_guarantees_markdown}},
    {"junit", true, {dp_render_junit, dp_render_junit, dp_render_junit}},
    {"github", true, {dp_render_github, dp_render_github, dp_render_github}},
    {"summary", true, {dp_render_summary, dp_render_summary_diff, dp_render_summary_gate}},
    {"tap", true, {dp_render_tap, dp_render_tap, dp_render_tap}},
    {"sarif", true, {dp_render_sarif, dp_render_sarif, dp_render_sarif}},
    {"prometheus", true, {dp_render_prometheus, dp_render_prometheus, dp_render_prometheus}},
    {"html", false, {dp_render_html_report, dp_render_html_diff, dp_render_html_gate, dp_render_html_matrix}},
};
#define COUNT (sizeof(formats) / sizeof(formats[0]))

static const struct format *find(enum dp_document document, const char *name)
{
    for (size_t i = 0; i < COUNT; i++) {
        if (formats[i].render[document] && strcmp(formats[i].name, name) == 0) {
            return &formats[i];
        }
    }
    return NULL;
}

int dp_render(enum dp_document document, const char *format, const json_t *json,
              const struct dp_render_options *options, struct dp_text *out, struct dp_err *err)
{
    const struct format *found = find(document, format);
    if (!found) {
        return dp_err_set(err, DP_EXIT_USAGE, "unknown format '%.80s', expected %s", format,
                          dp_format_names(document));
    }
    found->render[document](json, options, out);
    return out->truncated
               ? dp_err_set(err, DP_EXIT_NO_VERDICT, "cannot render as '%s': it is too long", format)
               : 0;
}

bool dp_format_judges(const char *format)
{
    for (size_t i = 0; i < COUNT; i++) {
        if (strcmp(formats[i].name, format) == 0) {
            return formats[i].judges;
        }
    }
    return false;
}

bool dp_format_is_appended(const char *format)
{
    return strcmp(format, "summary") == 0;
}

const char *dp_format_names(enum dp_document document)
{
    static char names[DP_DOCUMENT_MAX][256];
    char *of = names[document];
    of[0] = '\0';
    for (size_t i = 0; i < COUNT; i++) {
        if (formats[i].render[document]) {
            strncat(of, of[0] ? "|" : "", sizeof(names[0]) - strlen(of) - 1);
            strncat(of, formats[i].name, sizeof(names[0]) - strlen(of) - 1);
        }
    }
    return of;
}

const char *dp_format_names_report(void)
{
    return dp_format_names(DP_DOCUMENT_REPORT);
}

const char *dp_format_names_diff(void)
{
    return dp_format_names(DP_DOCUMENT_DIFF);
}

const char *dp_format_names_gate(void)
{
    return dp_format_names(DP_DOCUMENT_GATE);
}

const char *dp_format_names_guarantees(void)
{
    return dp_format_names(DP_DOCUMENT_GUARANTEES);
}
