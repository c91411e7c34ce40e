/* SPDX-License-Identifier: Apache-2.0
 *
 * Format markdown: for a pull request or an issue. What comes from reports is escaped, so that it stays text.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/diff/render.h"
#include "reports/render/words.h"
#include "suite/base/json.h"

#define MOST 200 /* rows of the table: services cut longer comments */

static void put_owned(struct dp_text *out, char *string)
{
    dp_words_markdown(out, string);
    free(string);
}

static void add_causes(const json_t *causes, struct dp_text *out)
{
    for (size_t i = 0; i < json_array_size(causes); i++) {
        const json_t *cause = json_array_get(causes, i);
        dp_text_put(out, "- ");
        dp_words_markdown(out, dp_json_string(cause, "cause", ""));
        dp_text_put(out, " — ");
        put_owned(out, dp_diff_counts(json_object_get(cause, "kinds")));
        dp_text_put(out, "\n");
    }
}

static void add_changes(const json_t *changes, struct dp_text *out)
{
    const size_t count = json_array_size(changes);
    if (count == 0) {
        return;
    }
    dp_text_put(out, "\n| case | change | detail |\n|---|---|---|\n");
    for (size_t i = 0; i < count && i < MOST; i++) {
        const json_t *change = json_array_get(changes, i);
        dp_text_put(out, "| ");
        dp_words_markdown(out, dp_json_string(change, "case", ""));
        dp_text_put(out, " | ");
        dp_words_markdown(out, dp_json_string(change, "kind", ""));
        dp_text_put(out, " | ");
        put_owned(out, dp_diff_detail(change));
        dp_text_put(out, " |\n");
    }
    if (count > MOST) {
        dp_text_printf(out, "\n%zu more rows are left out.\n", count - MOST);
    }
}

static void add_environment(const json_t *rows, struct dp_text *out)
{
    dp_text_put(out, json_array_size(rows) ? "\n| environment | before | after |\n|---|---|---|\n" : "");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        dp_text_put(out, "| ");
        dp_words_markdown(out, dp_json_string(row, "subject", ""));
        dp_text_put(out, " ");
        dp_words_markdown(out, dp_json_string(row, "member", ""));
        dp_text_put(out, " | ");
        dp_words_markdown(out, dp_json_string(row, "before", "none"));
        dp_text_put(out, " | ");
        dp_words_markdown(out, dp_json_string(row, "after", "none"));
        dp_text_put(out, " |\n");
    }
}

static void add_unlike(const json_t *diff, struct dp_text *out)
{
    const json_t *unlike = json_object_get(diff, "not_compared");
    const size_t count = json_array_size(unlike);
    dp_text_put(out, count ? "\n| not compared | because |\n|---|---|\n" : "");
    for (size_t i = 0; i < count && i < MOST; i++) {
        dp_text_put(out, "| ");
        dp_words_markdown(out, dp_json_string(json_array_get(unlike, i), "case", ""));
        dp_text_put(out, " | ");
        dp_words_markdown(out, dp_json_string(json_array_get(unlike, i), "reason", ""));
        dp_text_put(out, " |\n");
    }
    if (count > MOST) {
        dp_text_printf(out, "\n%zu more rows are left out.\n", count - MOST);
    }
}

void dp_diff_markdown(const json_t *diff, const struct dp_render_options *options, struct dp_text *out)
{
    const json_t *sides = json_object_get(diff, "sides");
    dp_text_put(out, "**detprobe diff**: ");
    put_owned(out, dp_diff_sentence(diff));
    dp_text_put(out, "\n\n");
    dp_words_markdown(out, dp_json_string(json_array_get(sides, 0), "name", ""));
    dp_text_put(out, " → ");
    dp_words_markdown(out, dp_json_string(json_array_get(sides, 1), "name", ""));
    dp_text_put(out, "\n\n");
    add_causes(json_object_get(diff, "causes"), out);
    add_changes(json_object_get(diff, "changes"), out);
    add_unlike(diff, out);
    add_environment(json_object_get(diff, "environment"), out);
}
