/* SPDX-License-Identifier: Apache-2.0
 *
 * Format text of a matrix: which reports, then the rows under their columns, then where the environments
 * differ, then one line in words.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/matrix/render.h"
#include "reports/render/words.h"
#include "suite/base/json.h"

#define FEW 3       /* cases named of a row; --verbose names all */
#define WIDEST 48   /* columns of the titles of rows */
#define LONGEST 100 /* bytes of a value */
#define INDENT 4

struct page {
    const json_t *matrix;
    struct dp_text *out;
    bool verbose;
    size_t columns;
    size_t title;       /* width of the column of titles */
    const char *common; /* what every row goes with, or NULL: said once */
};

/* --- words --- */

char *dp_matrix_sentence(const json_t *matrix)
{
    const json_t *summary = json_object_get(matrix, "summary");
    const json_int_t undecided = dp_json_int(summary, "undecided", 0), idle = dp_json_int(summary, "idle", 0);
    const json_int_t alike = dp_json_int(summary, "alike", 0),
                     differing = dp_json_int(summary, "differing", 0);
    const size_t unlike = json_array_size(json_object_get(matrix, "not_compared"));
    struct dp_text words = DP_TEXT(1000);
    if (differing > 0) {
        dp_text_printf(&words, "the results differ in %lld of %lld cases", (long long)differing,
                       (long long)dp_json_int(summary, "cases", 0));
    } else {
        dp_text_printf(&words, "the results agree in %lld %s of %zu reports", (long long)(alike + undecided),
                       alike + undecided == 1 ? "case" : "cases",
                       json_array_size(json_object_get(matrix, "reports")));
    }
    if (unlike) {
        dp_text_printf(&words, ", %zu could not be compared", unlike);
    }
    if (idle) {
        dp_text_printf(&words, ", %lld ran nowhere", (long long)idle);
    }
    if (undecided) {
        dp_text_printf(&words, ", %lld undecided", (long long)undecided);
    }
    return words.data;
}

char *dp_matrix_title(const json_t *group)
{
    const json_t *cases = json_object_get(group, "cases");
    const size_t count = json_array_size(cases);
    return count == 1 ? dp_strdup(json_string_value(json_array_get(cases, 0)))
                      : dp_printf("%s: %zu cases", dp_json_string(group, "family", ""), count);
}

char *dp_matrix_subject(const json_t *difference)
{
    const char *kind = dp_json_string(difference, "kind", "");
    const char *subject = dp_json_string(difference, "subject", "");
    const char *member = dp_json_string(difference, "member", "");
    if (strcmp(kind, "isa") == 0) {
        return dp_printf("%s instruction set", subject);
    }
    const bool plain = strcmp(subject, member) == 0 || strcmp(member, "version") == 0 ||
                       strcmp(kind, "kernels") == 0 || strcmp(kind, "floats") == 0;
    return dp_printf("%s%s%s", subject, plain ? "" : " ", plain ? "" : member);
}

char *dp_matrix_follows(const json_t *matrix, const json_t *group)
{
    const json_t *places = json_object_get(group, "follows"), *rows = json_object_get(matrix, "environment");
    struct dp_text words = DP_TEXT(10000);
    for (size_t i = 0; i < json_array_size(places); i++) {
        const size_t place = (size_t)json_integer_value(json_array_get(places, i));
        char *subject = dp_matrix_subject(json_array_get(rows, place));
        dp_text_printf(&words, "%s%s", i ? ", " : "", subject);
        free(subject);
    }
    return dp_text_take(&words);
}

char *dp_matrix_value(const json_t *value)
{
    const char *text = json_is_string(value) ? json_string_value(value) : "none";
    const size_t length = dp_text_fit(text, LONGEST);
    return dp_printf("%.*s%s", (int)length, text, text[length] ? "\xe2\x80\xa6" : "");
}

/* --- the page --- */

static const char *label_of(const struct page *page, size_t column)
{
    return dp_json_string(json_array_get(json_object_get(page->matrix, "reports"), column), "label", "");
}

static size_t width_of(const struct page *page, size_t column)
{
    const size_t label = dp_words_width(label_of(page, column));
    return label > 8 ? label : 8; /* the longest words of cells: untested, skipped */
}

static void add_reports(const struct page *page)
{
    const json_t *reports = json_object_get(page->matrix, "reports");
    const json_t *plan = json_object_get(page->matrix, "plan");
    size_t widest = 0;
    for (size_t i = 0; i < json_array_size(reports); i++) {
        widest = width_of(page, i) > widest ? width_of(page, i) : widest;
    }
    for (size_t i = 0; i < json_array_size(reports); i++) {
        const json_t *report = json_array_get(reports, i);
        const size_t at = 8 + widest + 2;
        dp_text_put(page->out, i ? "        " : "reports ");
        dp_words_put(page->out, label_of(page, i));
        dp_words_blanks(page->out, at - 8 - dp_words_width(label_of(page, i)));
        char *line = dp_printf("%s, report %.12s: %s", dp_json_string(report, "name", ""),
                               dp_json_string(report, "digest", ""), dp_json_string(report, "measured", ""));
        dp_words_wrap(page->out, line, at, at, page->columns);
        free(line);
    }
    dp_text_printf(page->out, "plan    level %s, seed %s\n", dp_json_string(plan, "level", ""),
                   dp_json_string(plan, "seed", ""));
}

/* A title and the cells behind it; what follows the last cell has no blanks. */
static void add_line(const struct page *page, const char *title, const json_t *cells)
{
    size_t gap = page->title > dp_words_width(title) ? page->title - dp_words_width(title) : 0;
    dp_words_put(page->out, title);
    for (size_t i = 0; i < json_array_size(json_object_get(page->matrix, "reports")); i++) {
        const char *cell = cells ? json_string_value(json_array_get(cells, i)) : label_of(page, i);
        dp_words_blanks(page->out, gap + 2);
        dp_words_put(page->out, cell ? cell : "");
        gap = width_of(page, i) - dp_words_width(cell ? cell : "");
    }
    dp_text_put(page->out, "\n");
}

static void add_group(const struct page *page, const json_t *group)
{
    const json_t *cases = json_object_get(group, "cases");
    const size_t count = json_array_size(cases);
    char *title = dp_matrix_title(group), *follows = dp_matrix_follows(page->matrix, group);
    add_line(page, title, json_object_get(group, "cells"));
    if (*follows && !page->common) {
        dp_text_put(page->out, "    goes with ");
        dp_words_wrap(page->out, follows, INDENT + 10, 2 * INDENT, page->columns);
    }
    const size_t most = count == 1 ? 0 : page->verbose || count <= FEW ? count : FEW;
    for (size_t i = 0; i < most; i++) {
        dp_words_blanks(page->out, 2 * INDENT);
        dp_words_wrap(page->out, json_string_value(json_array_get(cases, i)), 2 * INDENT, 2 * INDENT,
                      page->columns);
    }
    if (most > 0 && most < count) {
        dp_text_printf(page->out, "        and %zu more, --verbose shows them\n", count - most);
    }
    free(title);
    free(follows);
}

/* What the rows go with where it is the same for all of several, or NULL. Owned. */
static char *common_follows(const json_t *matrix)
{
    const json_t *groups = json_object_get(matrix, "groups");
    char *common = dp_matrix_follows(matrix, json_array_get(groups, 0));
    bool same = *common && json_array_size(groups) > 1;
    for (size_t i = 1; same && i < json_array_size(groups); i++) {
        char *own = dp_matrix_follows(matrix, json_array_get(groups, i));
        same = strcmp(own, common) == 0;
        free(own);
    }
    if (!same) {
        free(common);
    }
    return same ? common : NULL;
}

static void add_groups(struct page *page)
{
    const json_t *groups = json_object_get(page->matrix, "groups");
    char *common = common_follows(page->matrix);
    page->common = common;
    for (size_t i = 0; i < json_array_size(groups); i++) {
        char *title = dp_matrix_title(json_array_get(groups, i));
        const size_t width = dp_words_width(title);
        page->title = width <= WIDEST && width > page->title ? width : page->title;
        free(title);
    }
    if (json_array_size(groups) > 0) {
        dp_text_put(page->out, "\n");
        add_line(page, "equal letters, equal bits", NULL);
    }
    for (size_t i = 0; i < json_array_size(groups); i++) {
        add_group(page, json_array_get(groups, i));
    }
    if (common) {
        char *line = dp_printf("every row goes with %s", common);
        dp_words_wrap(page->out, line, 0, INDENT, page->columns);
        free(line);
    }
    free(common);
}

/* "OPENBLAS_CORETYPE  haswell: Haswell; skylakex, prescott: none". */
static void add_difference(const struct page *page, const json_t *difference)
{
    const json_t *values = json_object_get(difference, "values");
    struct dp_text line = DP_TEXT(100000);
    char *subject = dp_matrix_subject(difference);
    dp_text_printf(&line, "%s \xe2\x80\x94", subject);
    for (size_t i = 0; i < json_array_size(values); i++) {
        bool said = false;
        for (size_t k = 0; k < i; k++) {
            said = said || json_equal(json_array_get(values, i), json_array_get(values, k));
        }
        char *value = said ? NULL : dp_matrix_value(json_array_get(values, i));
        for (size_t k = i; value && k < json_array_size(values); k++) {
            if (json_equal(json_array_get(values, i), json_array_get(values, k))) {
                dp_text_printf(&line, "%s %s", k > i ? "," : i > 0 ? ";" : "", label_of(page, k));
            }
        }
        if (value) {
            dp_text_printf(&line, ": %s", value);
        }
        free(value);
    }
    dp_words_blanks(page->out, INDENT);
    dp_words_wrap(page->out, line.data, INDENT, 2 * INDENT, page->columns);
    dp_text_free(&line);
    free(subject);
}

static void add_unlike(const struct page *page)
{
    const json_t *unlike = json_object_get(page->matrix, "not_compared");
    const size_t count = json_array_size(unlike), most = page->verbose || count <= FEW ? count : FEW;
    if (count > 0) {
        dp_text_printf(page->out, "\nNOT COMPARED: %zu %s\n", count, count == 1 ? "case" : "cases");
    }
    for (size_t i = 0; i < most; i++) {
        const json_t *entry = json_array_get(unlike, i);
        char *line =
            dp_printf("%s: %s", dp_json_string(entry, "case", ""), dp_json_string(entry, "reason", ""));
        dp_words_blanks(page->out, 2 * INDENT);
        dp_words_wrap(page->out, line, 2 * INDENT, 3 * INDENT, page->columns);
        free(line);
    }
    if (most < count) {
        dp_text_printf(page->out, "        and %zu more, --verbose shows them\n", count - most);
    }
}

void dp_matrix_text(const json_t *matrix, const struct dp_render_options *options, struct dp_text *out)
{
    struct page page = {.matrix = matrix,
                        .out = out,
                        .verbose = options->verbose,
                        .columns = options->columns ? (size_t)options->columns : 100,
                        .title = strlen("equal letters, equal bits")};
    const json_t *rows = json_object_get(matrix, "environment");
    char *sentence = dp_matrix_sentence(matrix);
    add_reports(&page);
    add_groups(&page);
    add_unlike(&page);
    dp_text_put(out, json_array_size(rows) ? "\nenvironment\n" : "\nenvironment  no difference\n");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        add_difference(&page, json_array_get(rows, i));
    }
    dp_text_printf(out, "\n%s\n", sentence);
    free(sentence);
}
