/* SPDX-License-Identifier: Apache-2.0
 *
 * Manual pages in the man macros. Text is escaped here and nowhere else: what comes out is ASCII, begins no
 * line with a request by accident, and has quotes and dashes that survive being pasted into a shell.
 */
#ifndef DP_DOCS_ROFF_H
#define DP_DOCS_ROFF_H

#include "suite/base/text.h"

enum dp_roff_font {
    DP_ROFF_PLAIN, /* prose: a dash between two letters is a hyphen, one before a letter that of an option */
    DP_ROFF_BOLD,  /* what is typed as it stands */
    DP_ROFF_ITALIC /* what is replaced */
};

/* `date` is empty where there is none. */
void dp_roff_title(struct dp_text *out, const char *name, const char *section, const char *date);
void dp_roff_section(struct dp_text *out, const char *heading);
void dp_roff_subsection(struct dp_text *out, const char *heading);
/* Begins a paragraph; its text is put behind it, piece by piece, and ended by dp_roff_end. */
void dp_roff_paragraph(struct dp_text *out);
/* Begins an entry of a list: the tag is put behind it, ended, then the text is put and ended. */
void dp_roff_entry(struct dp_text *out);
/* A piece of a line. */
void dp_roff_put(struct dp_text *out, enum dp_roff_font font, const char *string);
void dp_roff_end(struct dp_text *out);
/* Lines that stay as they are. */
void dp_roff_example(struct dp_text *out, const char *lines);
/* Everything until the outdent stands further in. */
void dp_roff_indent(struct dp_text *out);
void dp_roff_outdent(struct dp_text *out);

#endif
