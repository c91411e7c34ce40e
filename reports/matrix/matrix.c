/* SPDX-License-Identifier: Apache-2.0
 *
 * Making a matrix: one cell for each case and report, then rows of cases that are not the same in all.
 */
#include "reports/matrix/matrix.h"

#include <stdlib.h>
#include <string.h>

#include "reports/diff/parts.h"
#include "reports/matrix/parts.h"
#include "reports/model.h"
#include "suite/base/json.h"
#include "suite/base/text.h"

#define MAX_ROWS 2000 /* of the environment, held against each group: real ones have dozens */

/* What one report says of each case. */
struct column {
    json_t *results, *measured; /* by id */
};

struct table {
    size_t count; /* of columns */
    struct column columns[DP_MATRIX_MOST];
    const char **ids; /* of any of them, sorted; the strings are the indexes' */
    size_t rows;
};

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static void table_make(const struct dp_diff_side *sides, size_t count, struct table *ret)
{
    size_t most = 1;
    json_t *known = json_object();
    *ret = (struct table){.count = count};
    for (size_t i = 0; i < count; i++) {
        const json_t *report = sides[i].report;
        ret->columns[i].results =
            dp_json_index(json_object_get(json_object_get(report, "body"), "results"), "case");
        ret->columns[i].measured =
            dp_json_index(json_object_get(json_object_get(report, "measurements"), "cases"), "case");
        most += json_object_size(ret->columns[i].results);
    }
    ret->ids = dp_alloc(most, sizeof(*ret->ids));
    for (size_t i = 0; i < count; i++) {
        const char *id;
        json_t *result;
        json_object_foreach(ret->columns[i].results, id, result)
        {
            if (!json_object_get(known, id)) {
                json_object_set_new(known, id, json_true());
                ret->ids[ret->rows++] = id;
            }
        }
    }
    qsort(ret->ids, ret->rows, sizeof(*ret->ids), compare_names);
    json_decref(known);
}

static void table_free(struct table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        json_decref(table->columns[i].results);
        json_decref(table->columns[i].measured);
    }
    free(table->ids);
}

/* --- the cells of one case --- */

struct row {
    const char *id;
    const json_t *results[DP_MATRIX_MOST]; /* NULL: the report has no such case */
    char cells[DP_MATRIX_MOST][16];
    const char *unlike; /* why the reports cannot be compared here, or NULL */
};

static bool is_one_case(struct row *row, size_t count)
{
    const json_t *definition = NULL;
    for (size_t i = 0; i < count; i++) {
        const json_t *own = json_object_get(row->results[i], "definition");
        if (own && definition && !json_equal(own, definition)) {
            return false;
        }
        definition = own ? own : definition;
    }
    return true;
}

/* The letter of the first report with these bits. */
static void put_class(struct row *row, size_t column, size_t *classes, size_t *first_of)
{
    const json_t *outputs = json_object_get(row->results[column], "outputs");
    size_t class = 0;
    for (; class < *classes; class ++) {
        const char *unlike = NULL;
        const bool equal =
            dp_outputs_equal(json_object_get(row->results[first_of[class]], "outputs"), outputs, &unlike);
        row->unlike = unlike ? unlike : row->unlike;
        if (equal && !unlike) {
            break;
        }
    }
    if (class == *classes) {
        first_of[(*classes)++] = column;
    }
    snprintf(row->cells[column], sizeof(row->cells[column]), "%c", (char)('a' + (int)class));
}

/* A letter, with a star or without. */
static bool is_class(const char *cell)
{
    return cell[0] >= 'a' && cell[0] <= 'z' && (!cell[1] || strcmp(cell + 1, "*") == 0);
}

/* A star where the case is sensitive to an axis that moves nothing in another report, which varied it too. */
static void put_stars(const struct table *table, struct row *row)
{
    bool stars[DP_MATRIX_MOST] = {false};
    for (size_t i = 0; i < table->count; i++) {
        for (size_t k = 0; k < table->count && !stars[i]; k++) {
            if (!is_class(row->cells[i]) || !is_class(row->cells[k])) {
                continue;
            }
            struct dp_changes changes;
            const struct dp_pair pair = {.id = row->id,
                                         .result = {row->results[k], row->results[i]},
                                         .measured = {json_object_get(table->columns[k].measured, row->id),
                                                      json_object_get(table->columns[i].measured, row->id)}};
            dp_changes_find(&pair, &changes);
            stars[i] = changes.is[DP_CHANGE_SENSITIVE];
            dp_changes_free(&changes);
        }
    }
    for (size_t i = 0; i < table->count; i++) {
        strcat(row->cells[i], stars[i] ? "*" : "");
    }
}

static void fill(const struct table *table, const char *id, struct row *row)
{
    size_t classes = 0, first_of[DP_MATRIX_MOST];
    *row = (struct row){.id = id};
    for (size_t i = 0; i < table->count; i++) {
        row->results[i] = json_object_get(table->columns[i].results, id);
    }
    row->unlike = is_one_case(row, table->count) ? NULL : "the catalogues define it differently";
    for (size_t i = 0; i < table->count && !row->unlike; i++) {
        const json_t *result = row->results[i];
        if (dp_result_broken(result) && !dp_result_is(result, "wrong")) {
            strcpy(row->cells[i], "broken");
        } else if (dp_result_is(result, "repeats")) {
            put_class(row, i, &classes, first_of);
        } else {
            snprintf(row->cells[i], sizeof(row->cells[i]), "%s", dp_json_string(result, "observed", "-"));
        }
    }
    if (!row->unlike) {
        put_stars(table, row);
    }
}

/* --- what they say together --- */

static bool is_idle(const char *cell)
{
    return strcmp(cell, "skipped") == 0 || strcmp(cell, "untested") == 0;
}

static bool are_same(const char *cell, const char *other)
{
    return strcmp(cell, other) == 0 || (is_idle(cell) && is_idle(other));
}

static bool is_alike(const struct row *row, size_t count)
{
    bool alike = true;
    for (size_t i = 1; i < count; i++) {
        alike = alike && are_same(row->cells[0], row->cells[i]);
    }
    return alike;
}

static bool ran_nowhere(const struct row *row, size_t count)
{
    bool idle = true;
    for (size_t i = 0; i < count; i++) {
        idle = idle && (is_idle(row->cells[i]) || strcmp(row->cells[i], "-") == 0 ||
                        strcmp(row->cells[i], "error") == 0);
    }
    return idle;
}

/* Do the reports differ in nothing but that some saw a rare difference and others did not, with one rate of
 * differences that explains all? */
static bool is_undecided(const struct table *table, const struct row *row)
{
    const char *class = NULL;
    for (size_t i = 0; i < table->count; i++) {
        const bool varies = strcmp(row->cells[i], "varies") == 0;
        if ((!varies && !is_class(row->cells[i])) ||
            (!varies && class && strcmp(class, row->cells[i]) != 0)) {
            return false;
        }
        class = varies ? class : row->cells[i];
    }
    for (size_t i = 0; i < table->count; i++) {
        for (size_t k = 0; k < table->count; k++) {
            const struct dp_pair pair = {.id = row->id,
                                         .measured = {json_object_get(table->columns[i].measured, row->id),
                                                      json_object_get(table->columns[k].measured, row->id)}};
            if (is_class(row->cells[i]) && !is_class(row->cells[k]) && dp_rates_exclude(&pair, 0, 1)) {
                return false;
            }
        }
    }
    return true;
}

/* --- groups: cases of one family with one pattern --- */

struct groups {
    json_t *list;
    json_t *places; /* family and pattern -> place in the list */
    const json_t *environment;
};

/* Places of the environment's rows that can have reached the family and split the reports at least as finely
 * as the cells do: where such a value is the same, so is the cell. Owned. */
static json_t *followed(const json_t *environment, const json_t *cells, const char *backend,
                        const char *family)
{
    json_t *places = json_array();
    for (size_t r = 0; r < json_array_size(environment) && r < MAX_ROWS && json_array_size(places) < 8; r++) {
        const json_t *difference = json_array_get(environment, r);
        const json_t *values = json_object_get(difference, "values");
        bool follows = dp_difference_reaches(difference, backend, family);
        for (size_t i = 0; follows && i < json_array_size(cells); i++) {
            for (size_t k = 0; follows && k < i; k++) {
                follows = !json_equal(json_array_get(values, i), json_array_get(values, k)) ||
                          are_same(json_string_value(json_array_get(cells, i)),
                                   json_string_value(json_array_get(cells, k)));
            }
        }
        if (follows) {
            json_array_append_new(places, json_integer((json_int_t)r));
        }
    }
    return places;
}

static void add_to_group(struct groups *groups, const struct row *row, size_t count)
{
    const json_t *any = NULL;
    json_t *cells = json_array();
    for (size_t i = 0; i < count; i++) {
        any = any ? any : row->results[i];
        json_array_append_new(cells, json_string(row->cells[i]));
    }
    const char *backend = dp_json_string(any, "backend", "");
    char *family = dp_printf("%s/%s", backend, dp_json_string(any, "family", ""));
    char *pattern = json_dumps(cells, JSON_COMPACT);
    char *key = dp_printf("%s %s", family, pattern);
    if (!json_object_get(groups->places, key)) {
        json_object_set_new(groups->places, key, json_integer((json_int_t)json_array_size(groups->list)));
        json_array_append_new(groups->list,
                              json_pack("{ss sO so s[]}", "family", family, "cells", cells, "follows",
                                        followed(groups->environment, cells, backend, family), "cases"));
    }
    json_t *group = json_array_get(groups->list, (size_t)dp_json_int(groups->places, key, 0));
    json_array_append_new(json_object_get(group, "cases"), json_string(row->id));
    json_decref(cells);
    free(family);
    free(pattern);
    free(key);
}

/* The heaviest word of a group's cells: lower is heavier. */
static int weight_of(const json_t *group)
{
    static const char *const words[] = {"broken", "wrong", "error", "varies"};
    const json_t *cells = json_object_get(group, "cells");
    int weight = (int)(sizeof(words) / sizeof(words[0]));
    for (size_t i = 0; i < json_array_size(cells); i++) {
        for (int word = 0; word < weight; word++) {
            weight = strcmp(json_string_value(json_array_get(cells, i)), words[word]) == 0 ? word : weight;
        }
    }
    return weight;
}

/* The same groups, the heaviest first. Owned. */
static json_t *by_weight(const json_t *list)
{
    json_t *sorted = json_array();
    for (int weight = 0; weight <= 4; weight++) {
        for (size_t i = 0; i < json_array_size(list); i++) {
            if (weight_of(json_array_get(list, i)) == weight) {
                json_array_append(sorted, json_array_get(list, i));
            }
        }
    }
    return sorted;
}

/* --- the document --- */

static json_t *report_json(const struct dp_diff_side *side, const char *label)
{
    char *name = dp_printable(side->name, strlen(side->name));
    char *measured = dp_diff_measured(side->report);
    const json_t *body = json_object_get(side->report, "body");
    json_t *json = json_pack("{ss ss ss ss ss sO}", "label", label, "name", name, "measured", measured,
                             "digest", dp_json_string(side->report, "digest", ""), "tool",
                             dp_json_string(json_object_get(side->report, "tool"), "version", ""), "counts",
                             json_object_get(json_object_get(body, "summary"), "counts"));
    free(name);
    free(measured);
    return json;
}

struct counts {
    size_t alike, differing, undecided, idle, common;
};

static void sort_row(const struct table *table, const struct row *row, struct groups *groups, json_t *unlike,
                     struct counts *counts)
{
    size_t has = 0;
    for (size_t i = 0; i < table->count; i++) {
        has += row->results[i] != NULL;
    }
    counts->common += has > 1;
    if (row->unlike) {
        json_array_append_new(unlike, json_pack("{ssss}", "case", row->id, "reason", row->unlike));
    } else if (is_alike(row, table->count)) {
        counts->idle += ran_nowhere(row, table->count);
        counts->alike += !ran_nowhere(row, table->count);
    } else if (is_undecided(table, row)) {
        counts->undecided++;
    } else {
        counts->differing++;
        add_to_group(groups, row, table->count);
    }
}

static int check_plans(const struct dp_diff_side *sides, size_t count, struct dp_err *err)
{
    for (size_t i = 1; i < count; i++) {
        const struct dp_diff_side two[2] = {sides[0], sides[i]};
        if (dp_diff_comparable(two, err) != 0) {
            return -1;
        }
    }
    return 0;
}

static json_t *document(const struct dp_diff_side *sides, const struct table *table, struct groups *groups,
                        json_t *unlike, const struct counts *counts)
{
    json_t *labels = dp_matrix_labels(sides, table->count), *reports = json_array();
    for (size_t i = 0; i < table->count; i++) {
        json_array_append_new(reports, report_json(&sides[i], json_string_value(json_array_get(labels, i))));
    }
    const json_t *plan = json_object_get(json_object_get(sides[0].report, "body"), "plan");
    json_t *matrix =
        json_pack("{ss so s{sOsO} s{sb sI sI sI sI sI} so sO sO}", "schema_version", DP_MATRIX_SCHEMA_VERSION,
                  "reports", reports, "plan", "level", json_object_get(plan, "level"), "seed",
                  json_object_get(plan, "seed"), "summary", "agree", counts->differing == 0, "cases",
                  (json_int_t)table->rows, "alike", (json_int_t)counts->alike, "differing",
                  (json_int_t)counts->differing, "undecided", (json_int_t)counts->undecided, "idle",
                  (json_int_t)counts->idle, "groups", by_weight(groups->list), "environment",
                  groups->environment, "not_compared", unlike);
    json_decref(labels);
    return matrix;
}

json_t *dp_matrix_make(const struct dp_diff_side *sides, size_t count, struct dp_err *err)
{
    if (check_plans(sides, count, err) != 0) {
        return NULL;
    }
    struct table table;
    struct counts counts = {0};
    json_t *environment = dp_matrix_environment(sides, count), *unlike = json_array(), *matrix = NULL;
    struct groups groups = {json_array(), json_object(), environment};
    table_make(sides, count, &table);
    for (size_t i = 0; i < table.rows; i++) {
        struct row row;
        fill(&table, table.ids[i], &row);
        sort_row(&table, &row, &groups, unlike, &counts);
    }
    if (counts.common > 0 && json_array_size(unlike) == counts.common) {
        dp_err_set(
            err, DP_EXIT_DATA,
            "the reports are not comparable: each case of several of them is another one by its catalogue "
            "or outputs");
    } else {
        matrix = document(sides, &table, &groups, unlike, &counts);
    }
    table_free(&table);
    json_decref(groups.list);
    json_decref(groups.places);
    json_decref(environment);
    json_decref(unlike);
    return matrix;
}

bool dp_matrix_agrees(const json_t *matrix)
{
    return json_is_true(json_object_get(json_object_get(matrix, "summary"), "agree"));
}
