/* SPDX-License-Identifier: Apache-2.0
 *
 * Format markdown: one table, a line for each statement. What comes from files is escaped, so that it stays
 * text.
 */
#include <stdlib.h>

#include "reports/guarantees/parts.h"
#include "reports/guarantees/render.h"
#include "reports/render/words.h"
#include "suite/base/json.h"

static void put_cell(struct dp_text *out, const char *text)
{
    dp_text_put(out, " ");
    for (const char *at = text; *at;) { /* lines of one cell */
        const char *end = at;
        while (*end && *end != '\n') {
            end++;
        }
        char *line = dp_printf("%s%.*s", at == text ? "" : "; ", (int)(end - at), at);
        dp_words_markdown(out, line);
        free(line);
        at = *end ? end + 1 : end;
    }
    dp_text_put(out, " |");
}

static void put_news(struct dp_text *out, const json_t *rows)
{
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        if (dp_guarantees_is_news(row)) {
            char *evidence = dp_guarantees_evidence(row);
            dp_text_put(out, "- ");
            dp_words_markdown(out, dp_json_string(row, "case", ""));
            dp_text_put(out, evidence[0] ? ": " : ": guarantee broken");
            dp_words_markdown(out, evidence);
            dp_text_put(out, "\n");
            free(evidence);
        }
    }
}

static void put_statement(struct dp_text *out, const char *label, const json_t *rows, bool joined)
{
    const json_t *first = json_array_get(rows, 0);
    char *families = dp_words_families(rows), *remarks = dp_guarantees_remarks(first),
         *observed = dp_guarantees_observed(rows);
    char *source = dp_printf("%s%s%s", dp_json_string(first, "source", ""), remarks[0] ? "\n" : "", remarks);
    dp_text_put(out, "|");
    put_cell(out, label);
    put_cell(out, dp_json_string(first, "level", ""));
    put_cell(out, families);
    if (joined) {
        put_cell(out, observed);
    }
    put_cell(out, source);
    dp_text_put(out, "\n");
    free(source);
    free(observed);
    free(remarks);
    free(families);
}

void dp_guarantees_markdown(const json_t *document, const struct dp_render_options *options,
                            struct dp_text *out)
{
    (void)options;
    const bool joined = json_object_get(document, "report") != NULL;
    json_t *groups = dp_guarantees_groups(document);
    char *sentence = dp_guarantees_sentence(document);
    const char *label;
    json_t *statements;
    dp_text_put(out, "**detprobe guarantees**: ");
    dp_words_markdown(out, sentence);
    dp_text_put(out,
                joined ? "\n\n| library | documented | cases | observed | said in |\n|---|---|---|---|---|\n"
                       : "\n\n| library | documented | cases | said in |\n|---|---|---|---|\n");
    json_object_foreach(groups, label, statements)
    {
        for (size_t i = 0; i < json_array_size(statements); i++) {
            put_statement(out, label, json_array_get(statements, i), joined);
        }
    }
    dp_text_put(out, joined ? "\n" : "");
    json_object_foreach(groups, label, statements)
    {
        for (size_t i = 0; i < json_array_size(statements); i++) {
            put_news(out, json_array_get(statements, i));
        }
    }
    free(sentence);
    json_decref(groups);
}
