/* SPDX-License-Identifier: Apache-2.0
 *
 * Format text: for each library what is documented, with the families it is said of and where it is said;
 * what a report broke, or did not see although it may vary, by name. `verbose` names every case.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/guarantees/parts.h"
#include "reports/guarantees/render.h"
#include "reports/render/words.h"
#include "suite/base/json.h"

enum { COLUMNS = 100, LEVEL = 16, COUNT = 4, INDENT = 2 + LEVEL + COUNT + 2 };

static void put_lines(struct dp_text *out, const char *text, size_t columns)
{
    char *copy = dp_strdup(text), *rest = copy;
    for (char *line; rest && *rest && (line = strsep(&rest, "\n"));) {
        dp_words_blanks(out, INDENT);
        dp_words_wrap(out, line, INDENT, INDENT, columns);
    }
    free(copy);
}

static void put_case(struct dp_text *out, const json_t *row, size_t columns)
{
    const char *status = dp_json_string(row, "status", ""), *observed = dp_json_string(row, "observed", "");
    char *evidence = dp_guarantees_evidence(row);
    char *words = dp_printf("%s%s%s%s%s%s%s", dp_json_string(row, "case", ""), observed[0] ? ": " : "",
                            observed, status[0] ? " · " : "", status, evidence[0] ? ", " : "", evidence);
    dp_words_blanks(out, INDENT);
    dp_words_wrap(out, words, INDENT, INDENT + 2, columns);
    free(words);
    free(evidence);
}

static void put_statement(struct dp_text *out, const json_t *rows, bool verbose, size_t columns)
{
    const json_t *first = json_array_get(rows, 0);
    char *families = dp_words_families(rows), *observed = dp_guarantees_observed(rows),
         *remarks = dp_guarantees_remarks(first);
    dp_text_printf(out, "  %-*s%*zu  ", LEVEL, dp_json_string(first, "level", ""), COUNT,
                   json_array_size(rows));
    dp_words_wrap(out, families, INDENT, INDENT, columns);
    put_lines(out, dp_json_string(first, "source", ""), columns);
    put_lines(out, remarks, columns);
    put_lines(out, observed, columns);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        if (verbose || dp_guarantees_is_news(row)) {
            put_case(out, row, columns);
        }
    }
    free(families);
    free(observed);
    free(remarks);
}

void dp_guarantees_text(const json_t *document, const struct dp_render_options *options, struct dp_text *out)
{
    const size_t columns = options->columns > 0 ? (size_t)options->columns : COLUMNS;
    json_t *groups = dp_guarantees_groups(document);
    const char *label;
    json_t *statements;
    json_object_foreach(groups, label, statements)
    {
        dp_words_put(out, label);
        dp_text_put(out, "\n");
        for (size_t i = 0; i < json_array_size(statements); i++) {
            put_statement(out, json_array_get(statements, i), options->verbose, columns);
        }
        dp_text_put(out, "\n");
    }
    char *sentence = dp_guarantees_sentence(document);
    dp_words_wrap(out, sentence, 0, 4, columns);
    free(sentence);
    json_decref(groups);
}
