/* SPDX-License-Identifier: Apache-2.0
 *
 * Sections of the project's Markdown pages as parts of a manual page, so that what a page says is written
 * once. It reads what those pages use: paragraphs, lists, tables, code, emphasis, links; anything else is
 * shown as it stands.
 */
#ifndef DP_DOCS_MARKDOWN_H
#define DP_DOCS_MARKDOWN_H

#include "suite/base/err.h"
#include "suite/base/text.h"

/* Adds what stands under the heading ("## Protocol 1" is asked for as "Protocol 1"), without the heading,
 * until the next one of its level; deeper headings become subsections, or end it with `shallow`. -1: there is
 * no such heading. */
int dp_markdown_section(const char *page, const char *heading, bool shallow, struct dp_text *out,
                        struct dp_err *err);

#endif
