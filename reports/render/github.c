/* SPDX-License-Identifier: Apache-2.0
 *
 * Format github: workflow commands of GitHub Actions that show as annotations. Checks of one family and kind
 * are one annotation, the weightiest come first, and the last says how many the service would have dropped.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/checks/checks.h"
#include "reports/render/formats.h"
#include "reports/render/services.h"

#define NAMED 5 /* cases in one annotation */

/* `special` are the characters that end what is being written; a line's end ends everything. */
static void put(struct dp_text *out, const char *string, const char *special)
{
    for (const char *at = string; *at; at++) {
        if (strchr(special, *at)) {
            dp_text_printf(out, "%%%02X", (unsigned char)*at);
        } else {
            dp_text_add(out, at, 1);
        }
    }
}

static void put_message(struct dp_text *out, const char *string)
{
    put(out, string, "%\r\n");
}

static void put_title(struct dp_text *out, const char *string)
{
    put(out, string, "%\r\n:,");
}

/* What did not run is said once for each reason, everything else once for each family and kind. */
static int by_annotation(const struct dp_check *a, const struct dp_check *b)
{
    const int state = (a->state > b->state) - (a->state < b->state);
    if (state) {
        return state;
    }
    if (a->state == DP_CHECK_SKIP) {
        return strcmp(a->line, b->line);
    }
    const int whole = (strcmp(b->group, DP_CHECK_WHOLE) == 0) - (strcmp(a->group, DP_CHECK_WHOLE) == 0);
    const int group = whole ? whole : dp_check_by_group(a, b);
    return group ? group : strcmp(a->kind, b->kind);
}

static void put_cases(struct dp_text *out, const struct dp_check **checks, size_t count)
{
    const bool one_line = checks[0]->state == DP_CHECK_SKIP;
    if (one_line) {
        put_message(out, checks[0]->line);
    }
    for (size_t i = 0; i < count && i < NAMED; i++) {
        put_message(out, i > 0 || one_line ? "\n" : "");
        put_message(out, checks[i]->subject);
        put_message(out, checks[i]->subject[0] && !one_line ? ": " : "");
        put_message(out, one_line ? "" : checks[i]->line);
    }
    if (count > NAMED) {
        dp_text_printf(out, "%%0Aand %zu more", count - NAMED);
    }
}

static void put_annotation(struct dp_text *out, const struct dp_check **checks, size_t count)
{
    const struct dp_check *first = checks[0];
    const bool error = first->state == DP_CHECK_FAIL || first->state == DP_CHECK_ERROR;
    dp_text_printf(out, "::%s title=", error ? "error" : "notice");
    put_title(out, first->state == DP_CHECK_SKIP ? DP_CHECK_WHOLE : first->group);
    put_title(out, ": ");
    put_title(out, first->kind);
    if (count > 1) {
        dp_text_printf(out, " (%zu cases)", count);
    }
    dp_text_put(out, "::");
    put_cases(out, checks, count);
    if (first->reproduce[0]) {
        put_message(out, "\nreproduce: ");
        put_message(out, first->reproduce);
    }
    dp_text_put(out, "\n");
}

void dp_render_github(const json_t *document, const struct dp_render_options *options, struct dp_text *out)
{
    struct dp_checks checks = dp_checks_of(document);
    const struct dp_check **sorted = dp_checks_sorted(&checks, by_annotation);
    size_t starts[DP_GITHUB_ANNOTATIONS + 1] = {0}, count = 0, end = 0;
    for (; end < checks.count && sorted[end]->state != DP_CHECK_PASS; end++) {
        if (end == 0 || by_annotation(sorted[end - 1], sorted[end]) != 0) {
            if (count < DP_GITHUB_ANNOTATIONS) {
                starts[count] = end;
            }
            count++;
        }
    }
    const size_t shown = count > DP_GITHUB_ANNOTATIONS ? DP_GITHUB_ANNOTATIONS - 1 : count;
    for (size_t i = 0; i < shown; i++) {
        const size_t next = i + 1 < count ? starts[i + 1] : end;
        put_annotation(out, sorted + starts[i], next - starts[i]);
    }
    if (count > shown) {
        dp_text_printf(out,
                       "::notice title=" DP_CHECK_WHOLE "::and %zu more, see the summary or the report\n",
                       count - shown);
    }
    free(sorted);
    dp_checks_free(&checks);
}
