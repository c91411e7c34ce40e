/* SPDX-License-Identifier: Apache-2.0
 *
 * Format summary: the Markdown of a document within what GitHub takes of a step's summary, which it refuses
 * as a whole when it is longer. Cut between lines, and said.
 */
#include <string.h>

#include "reports/diff/render.h"
#include "reports/gate/render.h"
#include "reports/render/formats.h"
#include "reports/render/services.h"

static const char pointer[] = "\nThis summary is cut: the whole is in the report that the job keeps.\n";
static const char opened[] = "<details>", closed[] = "\n</details>\n";

static bool is_open(const char *text, size_t length)
{
    const char *last = NULL;
    for (const char *at = text; (at = strstr(at, opened)) != NULL && at < text + length; at++) {
        last = at;
    }
    const char *end = last ? strstr(last, closed) : NULL;
    return last && (!end || end >= text + length);
}

static void put(dp_render_function *render, const json_t *document, const struct dp_render_options *options,
                struct dp_text *out)
{
    const size_t least = sizeof(pointer) + sizeof(closed);
    const size_t room =
        options->taken + least < DP_GITHUB_SUMMARY ? DP_GITHUB_SUMMARY - options->taken : least;
    struct dp_text whole = DP_TEXT(out->limit);
    dp_text_put(&whole, options->taken > 0 ? "\n" : "");
    render(document, options, &whole);
    if (whole.length <= room) {
        dp_text_add(out, whole.data, whole.length);
    } else {
        const char *end = memrchr(whole.data, '\n', room - least);
        const size_t length = end ? (size_t)(end - whole.data) + 1 : 0;
        dp_text_add(out, whole.data, length);
        dp_text_put(out, is_open(whole.data, length) ? closed : "");
        dp_text_put(out, pointer);
    }
    dp_text_free(&whole);
}

void dp_render_summary(const json_t *document, const struct dp_render_options *options, struct dp_text *out)
{
    put(dp_render_markdown, document, options, out);
}

void dp_render_summary_diff(const json_t *document, const struct dp_render_options *options,
                            struct dp_text *out)
{
    put(dp_diff_markdown, document, options, out);
}

void dp_render_summary_gate(const json_t *document, const struct dp_render_options *options,
                            struct dp_text *out)
{
    put(dp_gate_markdown, document, options, out);
}
