/* SPDX-License-Identifier: Apache-2.0
 *
 * What the pages share. A page is one file: its style and script are embedded, nothing is fetched, and its
 * Content-Security-Policy allows those two texts and nothing else. Every string of a document goes through
 * dp_html_text (into text and quoted attributes), dp_html_fragment (into an address) or dp_html_data (into
 * the JSON that the script reads).
 */
#ifndef DP_REPORTS_HTML_H
#define DP_REPORTS_HTML_H

#include <jansson.h>
#include <stddef.h>

#include "reports/render/render.h"
#include "reports/render/sheet.h"
#include "suite/base/text.h"

/* Made by embed.py. */
extern const char dp_html_style[], dp_html_style_hash[], dp_html_script[], dp_html_script_hash[];

void dp_html_text(struct dp_text *out, const char *string);
void dp_html_owned(struct dp_text *out, char *string); /* the same, frees the string */
void dp_html_attribute(struct dp_text *out, const char *name, const char *value); /* ` name="value"` */
void dp_html_fragment(struct dp_text *out, const char *string);
void dp_html_data(struct dp_text *out, const json_t *value);
/* A copy in which no string can drive a terminal or reorder what is shown. Owned. */
json_t *dp_html_clean(const json_t *value);

/* Everything up to the sections. */
struct dp_html_head {
    const char *kind;     /* of document */
    const char *about;    /* the files that it is about; NULL */
    const char *tone;     /* "good", "warn" or "bad" */
    const char *sentence; /* the verdict */
};
void dp_html_open(struct dp_text *out, const struct dp_html_head *head);
/* The rest; `digest` of a report or "". */
void dp_html_close(struct dp_text *out, const char *digest);

/* <td class="word-WORD">word</td>; "none" is shown as "unstated". */
void dp_html_word(struct dp_text *out, const char *word);
/* One number of the summary, in the colour of `look`; the script makes it a button that sets `facet` (NULL:
 * none) to `value`. */
struct dp_html_tile {
    const char *look, *facet, *value, *shown;
    size_t count;
};
void dp_html_tile(struct dp_text *out, const struct dp_html_tile *tile);
/* The form of filters: a select for each of `facets` (ends with NULL), a search for `what`, the live count.
 */
struct dp_html_facet {
    const char *name, *label;
};
void dp_html_filters(struct dp_text *out, const struct dp_html_facet *facets, const char *what);
/* The section of cases that could not be compared, by reason, and of those that could not be decided. */
void dp_html_not_compared(struct dp_text *out, const json_t *unlike, const json_t *undecided);
void dp_html_pair(struct dp_text *out, const char *name, const char *value); /* <dt>, <dd> */

/* What an axis showed of a case, in a word: "repeats", "varies", "moved", "confounded", "not measured", ""
 * where it was not varied. */
const char *dp_html_state(const json_t *result, const json_t *entry, const char *axis);
/* The section on libraries, devices, machine and variables of a report. */
void dp_html_environment(struct dp_text *out, const json_t *environment);
/* The section on what the deterministic forms cost; nothing without any (NULL, too). */
void dp_html_prices(struct dp_text *out, const json_t *prices);
/* The cases of a report, and what of it their parts need. */
struct dp_html_cases {
    struct dp_sheet sheet;
    const json_t *report, *results;
    json_t *axes; /* those of the plan that show something of some case */
};
/* What the script shows of each case. Owned. */
json_t *dp_html_data_of(const struct dp_html_cases *page);

#endif
