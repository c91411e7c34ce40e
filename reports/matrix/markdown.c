/* SPDX-License-Identifier: Apache-2.0
 *
 * Format markdown of a matrix: two tables. What comes from reports is escaped, so that it stays text.
 */
#include <stdlib.h>

#include "reports/matrix/render.h"
#include "reports/render/words.h"
#include "suite/base/json.h"

#define MOST 200 /* rows of the table: services cut longer comments */

static void add_head(const json_t *matrix, const char *first, struct dp_text *out)
{
    const json_t *reports = json_object_get(matrix, "reports");
    dp_text_printf(out, "\n| %s |", first);
    for (size_t i = 0; i < json_array_size(reports); i++) {
        dp_text_put(out, " ");
        dp_words_markdown(out, dp_json_string(json_array_get(reports, i), "label", ""));
        dp_text_put(out, " |");
    }
    dp_text_put(out, "\n|---|");
    for (size_t i = 0; i < json_array_size(reports); i++) {
        dp_text_put(out, "---|");
    }
    dp_text_put(out, "\n");
}

static void add_row(char *title, const json_t *cells, struct dp_text *out)
{
    dp_text_put(out, "| ");
    dp_words_markdown(out, title);
    dp_text_put(out, " |");
    for (size_t i = 0; i < json_array_size(cells); i++) {
        char *value = dp_matrix_value(json_array_get(cells, i));
        dp_text_put(out, " ");
        dp_words_markdown(out, value);
        dp_text_put(out, " |");
        free(value);
    }
    dp_text_put(out, "\n");
    free(title);
}

void dp_matrix_markdown(const json_t *matrix, const struct dp_render_options *options, struct dp_text *out)
{
    const json_t *reports = json_object_get(matrix, "reports"), *groups = json_object_get(matrix, "groups");
    const json_t *rows = json_object_get(matrix, "environment");
    char *sentence = dp_matrix_sentence(matrix);
    dp_text_put(out, "**detprobe diff**: ");
    dp_words_markdown(out, sentence);
    dp_text_put(out, "\n\n");
    for (size_t i = 0; i < json_array_size(reports); i++) {
        static const char *const members[] = {"label", "name", "measured"};
        for (size_t m = 0; m < sizeof(members) / sizeof(members[0]); m++) {
            dp_text_put(out, m ? ", " : "- ");
            dp_words_markdown(out, dp_json_string(json_array_get(reports, i), members[m], ""));
        }
        dp_text_put(out, "\n");
    }
    if (json_array_size(groups) > 0) {
        add_head(matrix, "equal letters, equal bits", out);
    }
    for (size_t i = 0; i < json_array_size(groups) && i < MOST; i++) {
        const json_t *group = json_array_get(groups, i);
        add_row(dp_matrix_title(group), json_object_get(group, "cells"), out);
    }
    if (json_array_size(groups) > MOST) {
        dp_text_printf(out, "\n%zu more rows are left out.\n", json_array_size(groups) - MOST);
    }
    if (json_array_size(rows) > 0) {
        add_head(matrix, "environment", out);
    }
    for (size_t i = 0; i < json_array_size(rows); i++) {
        add_row(dp_matrix_subject(json_array_get(rows, i)),
                json_object_get(json_array_get(rows, i), "values"), out);
    }
    free(sentence);
}
