/* SPDX-License-Identifier: Apache-2.0
 *
 * What the script shows of each case when it is opened: the parts of a report that a person asks for, small.
 * Parts that many cases have alike stand once in `shared`, and a number in a case is the place of one there.
 * `cases` has an object for each result, in order; what does not apply is absent:
 *
 * - guarantee: shared: [level, status or null, source]
 * - remedies: [[what for, shared: the report's]...]: those that apply
 * - used_by: shared: names
 * - note: the evidence in a sentence
 * - classes: [[digest, runs, first run]...]
 * - axes: {axis: shared: {state, ... of the tally} or {state, settings [[setting, letters]...], dropped}}
 * - outputs: [[name, type, shape, [[seed, set, digest]...], how many more]...]
 * - kernels: [[where, names]...]
 * - diagnosis, mismatch, worst, time, threads, retests, confirmation, error, chosen, declared, ...: the
 *   report's
 * - environment, command: as text
 */
#include <stdlib.h>
#include <string.h>

#include "reports/html/html.h"
#include "reports/render/advice.h"
#include "reports/render/reproduce.h"
#include "reports/render/words.h"
#include "suite/base/host.h"
#include "suite/base/json.h"

#define DIGEST_SHOWN 12 /* digits: enough to tell digests apart, the report has them whole */
#define DIGESTS_MOST 8  /* of one output */
#define LETTERS_MOST 4096

struct shared {
    json_t *list, *places; /* places: text of a part -> its place in list */
};

/* The place of a part, which is taken over. Owned. */
static json_t *share(struct shared *shared, json_t *part)
{
    char *text = json_dumps(part, JSON_COMPACT | JSON_SORT_KEYS);
    json_t *place = json_object_get(shared->places, text ? text : "");
    if (!place) {
        place = json_integer((json_int_t)json_array_size(shared->list));
        json_object_set_new(shared->places, text ? text : "", place);
        json_array_append(shared->list, part);
    }
    free(text);
    json_decref(part);
    return json_incref(place);
}

static json_t *shown_string(const char *string)
{
    json_t *text = string ? json_string(string) : json_null();
    json_t *clean = dp_html_clean(text);
    json_decref(text);
    return clean;
}

static json_t *shown_owned(char *string)
{
    json_t *text = shown_string(string);
    free(string);
    return text;
}

static json_t *short_digest(const json_t *object)
{
    return shown_owned(dp_printf("%.*s", DIGEST_SHOWN, dp_json_string(object, "sha256", "")));
}

static json_t *guarantee_of(const json_t *result)
{
    const json_t *guarantee = json_object_get(result, "guarantee");
    json_t *row = json_array();
    json_array_append_new(row, shown_string(dp_json_string(guarantee, "level", "")));
    json_array_append_new(row, shown_string(dp_json_string(guarantee, "status", NULL)));
    json_array_append_new(row, shown_string(dp_json_string(guarantee, "source", "")));
    return row;
}

static json_t *classes_of(const json_t *entry)
{
    const json_t *classes = json_object_get(entry, "classes");
    json_t *rows = classes ? json_array() : NULL;
    for (size_t i = 0; i < json_array_size(classes); i++) {
        const json_t *one = json_array_get(classes, i);
        json_t *row = json_array();
        json_array_append_new(row, short_digest(one));
        json_array_append_new(row, json_integer(dp_json_int(one, "runs", 0)));
        json_array_append_new(row, json_integer(dp_json_int(one, "first_run", 0)));
        json_array_append_new(rows, row);
    }
    return rows;
}

static char *shape_text(const json_t *shape)
{
    struct dp_text out = DP_TEXT(512);
    for (size_t i = 0; i < json_array_size(shape); i++) {
        char *size = dp_printf("%lld", (long long)json_integer_value(json_array_get(shape, i)));
        dp_words_join(&out, "x", size);
        free(size);
    }
    return dp_text_take(&out);
}

/* The row of an output's name in `rows`, made when it is the first of that name. Borrowed. */
static json_t *output_row(json_t *rows, json_t *by_name, const json_t *output)
{
    const char *name = dp_json_string(output, "name", "");
    json_t *row = json_object_get(by_name, name);
    if (!row) {
        row = json_array();
        json_array_append_new(row, shown_string(name));
        json_array_append_new(row, shown_string(dp_json_string(output, "dtype", "")));
        json_array_append_new(row, shown_owned(shape_text(json_object_get(output, "shape"))));
        json_array_append_new(row, json_array());
        json_array_append_new(row, json_integer(0));
        json_array_append(rows, row);
        json_object_set_new(by_name, name, row);
    }
    return row;
}

static json_t *outputs_of(const json_t *result)
{
    const json_t *outputs = json_object_get(result, "outputs");
    json_t *rows = outputs ? json_array() : NULL, *by_name = json_object();
    for (size_t i = 0; i < json_array_size(outputs); i++) {
        const json_t *output = json_array_get(outputs, i);
        json_t *row = output_row(rows, by_name, output), *digests = json_array_get(row, 3);
        if (json_array_size(digests) == DIGESTS_MOST) {
            json_array_set_new(row, 4, json_integer(json_integer_value(json_array_get(row, 4)) + 1));
            continue;
        }
        json_t *digest = json_array();
        json_array_append_new(digest, shown_string(dp_json_string(output, "seed", "")));
        json_array_append_new(digest, shown_string(dp_json_string(output, "set", "")));
        json_array_append_new(digest, short_digest(output));
        json_array_append_new(digests, digest);
    }
    json_decref(by_name);
    return rows;
}

/* A letter for the bits of one setting and seed: the same letter at two settings is the same bits. Or: '!'
 * did not repeat there, '-' did not run, '.' repeats without a digest. */
static char letter_of(const json_t *setting, json_t *seeds)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const char *sha256 = dp_json_string(setting, "sha256", NULL);
    const char *seed = dp_json_string(setting, "seed", "");
    json_t *known = json_object_get(seeds, seed);
    if (!json_is_true(json_object_get(setting, "repeats"))) {
        return json_object_get(setting, "dropped") ? '-' : '!';
    }
    if (!sha256) {
        return '.';
    }
    if (!known) {
        known = json_object();
        json_object_set_new(seeds, seed, known);
    }
    if (!json_object_get(known, sha256)) {
        json_object_set_new(known, sha256, json_integer((json_int_t)json_object_size(known)));
    }
    const size_t place = (size_t)dp_json_int(known, sha256, 0);
    return place < sizeof(alphabet) - 1 ? alphabet[place] : '*';
}

/* [[setting, its letters in the order of the seeds, what ran there if it is told]...] */
static json_t *settings_of(const json_t *axis)
{
    const json_t *settings = json_object_get(axis, "settings");
    const size_t count = json_array_size(settings);
    struct dp_text *letters = dp_alloc(count, sizeof(letters[0])); /* of the rows, in their order */
    json_t *rows = json_array(), *places = json_object(), *seeds = json_object(), *chosen = json_array();
    for (size_t i = 0; i < count; i++) {
        const json_t *setting = json_array_get(settings, i);
        const char *name = dp_json_string(setting, "setting", "");
        if (!json_object_get(places, name)) {
            letters[json_array_size(rows)] = DP_TEXT(LETTERS_MOST);
            json_object_set_new(places, name, json_integer((json_int_t)json_array_size(rows)));
            json_array_append_new(rows, json_pack("[o]", shown_string(name)));
            json_array_append_new(chosen, shown_string(dp_json_string(setting, "chosen", "")));
        }
        dp_text_add(&letters[dp_json_int(places, name, 0)], &(char){letter_of(setting, seeds)}, 1);
    }
    for (size_t i = 0; i < json_array_size(rows); i++) {
        json_t *row = json_array_get(rows, i), *ran = json_array_get(chosen, i);
        json_array_append_new(row, json_string(letters[i].data));
        if (json_string_length(ran) > 0) {
            json_array_append(row, ran);
        }
        dp_text_free(&letters[i]);
    }
    free(letters);
    json_decref(chosen);
    json_decref(places);
    json_decref(seeds);
    return rows;
}

static const char *dropped_of(const json_t *axis)
{
    const json_t *settings = json_object_get(axis, "settings");
    const char *dropped = NULL;
    for (size_t i = 0; i < json_array_size(settings) && !dropped; i++) {
        dropped = dp_json_string(json_array_get(settings, i), "dropped", NULL);
    }
    return dropped;
}

static json_t *axis_of(const char *state, const json_t *axis)
{
    const char *dropped = dropped_of(axis);
    json_t *shown = json_object_get(axis, "settings") ? json_object() : dp_html_clean(axis);
    json_object_set_new(shown, "state", json_string(state));
    if (json_object_get(axis, "settings")) {
        json_object_set_new(shown, "settings", settings_of(axis));
    }
    if (dropped) {
        json_object_set_new(shown, "dropped", shown_string(dropped));
    }
    return shown;
}

static json_t *axes_of(const struct dp_html_cases *page, const json_t *result, const json_t *entry,
                       struct shared *shared)
{
    const json_t *axes = json_object_get(entry, "axes");
    json_t *all = json_object_size(axes) ? json_object() : NULL;
    for (size_t i = 0; all && i < json_array_size(page->axes); i++) {
        const char *name = json_string_value(json_array_get(page->axes, i));
        const json_t *axis = json_object_get(axes, name);
        if (json_is_object(axis)) {
            char *key = dp_printable(name, strlen(name));
            json_object_set_new(all, key, share(shared, axis_of(dp_html_state(result, entry, name), axis)));
            free(key);
        }
    }
    return all;
}

static json_t *kernels_of(const json_t *entry)
{
    const json_t *kernels = json_object_get(entry, "kernels");
    json_t *rows = kernels ? json_array() : NULL;
    for (size_t i = 0; i < json_array_size(kernels); i++) {
        const json_t *one = json_array_get(kernels, i), *launched = json_object_get(one, "launched");
        struct dp_text names = DP_TEXT(65536);
        for (size_t k = 0; k < json_array_size(launched); k++) {
            dp_words_join(&names, ", ", dp_json_string(json_array_get(launched, k), "name", ""));
        }
        json_t *row = json_array();
        json_array_append_new(row, shown_owned(dp_printf("%s %s", dp_json_string(one, "axis", ""),
                                                         dp_json_string(one, "setting", ""))));
        json_array_append_new(row, shown_string(names.data ? names.data : ""));
        json_array_append_new(rows, row);
        dp_text_free(&names);
    }
    return rows;
}

static void add_members(json_t *shown, const json_t *from, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const json_t *member = json_object_get(from, names[i]);
        if (member && !json_is_false(member)) {
            json_object_set_new(shown, names[i], dp_html_clean(member));
        }
    }
}

static void add_part(json_t *shown, const char *name, json_t *part)
{
    if (part) {
        json_object_set_new(shown, name, part);
    }
}

/* Of what may vary and was not seen to, too: who looks at the case asks for it. */
static json_t *remedies_of(const json_t *result, struct shared *shared)
{
    const char *status = dp_json_string(json_object_get(result, "guarantee"), "status", "");
    json_t *remedy = json_object_get(result, "remedy"), *applying = dp_advice_of(result);
    if (remedy && json_array_size(applying) == 0 && strcmp(status, "allows") == 0) {
        json_array_append_new(applying, json_pack("[sO]", "may vary", remedy));
    }
    json_t *rows = json_array_size(applying) > 0 ? json_array() : NULL;
    for (size_t i = 0; i < json_array_size(applying); i++) {
        const json_t *pair = json_array_get(applying, i);
        json_t *row = json_array();
        json_array_append_new(row, dp_html_clean(json_array_get(pair, 0)));
        json_array_append_new(row, share(shared, dp_html_clean(json_array_get(pair, 1))));
        json_array_append_new(rows, row);
    }
    json_decref(applying);
    return rows;
}

/* The id as a word of a shell, where it is another one than the id itself. */
static json_t *word_of(const char *id)
{
    char *word = dp_reproduce_case(id);
    json_t *shown = strcmp(word, id) == 0 ? NULL : shown_string(word);
    free(word);
    return shown;
}

static json_t *case_of(const struct dp_html_cases *page, const json_t *result, struct shared *shared)
{
    static const char *const of_result[] = {"chosen", "declared", "difference", "checked"};
    static const char *const of_entry[] = {
        "diagnosis", "mismatch", "worst", "first_call_differs", "error_over_bound", "retests", "confirmation",
        "threads",   "time",     "error"};
    const char *id = dp_json_string(result, "case", "");
    const json_t *entry = json_object_get(page->sheet.measured, id);
    const json_t *environment = json_object_get(result, "environment");
    const json_t *used_by = json_object_get(result, "used_by");
    const bool skipped = strcmp(dp_json_string(result, "observed", ""), "skipped") == 0;
    char *note = skipped ? dp_strdup("") : dp_evidence_note(&page->sheet, result);
    json_t *shown = json_object();
    json_object_set_new(shown, "guarantee", share(shared, guarantee_of(result)));
    add_part(shown, "remedies", remedies_of(result, shared));
    add_part(shown, "used_by", used_by ? share(shared, dp_html_clean(used_by)) : NULL);
    add_part(shown, "note", note[0] ? shown_string(note) : NULL);
    add_part(shown, "classes", classes_of(entry));
    add_part(shown, "axes", skipped ? NULL : axes_of(page, result, entry, shared));
    add_part(shown, "outputs", outputs_of(result));
    add_part(shown, "kernels", kernels_of(entry));
    add_part(shown, "environment", environment ? shown_owned(dp_variables_text(environment)) : NULL);
    add_part(shown, "word", word_of(id));
    add_members(shown, result, of_result, sizeof(of_result) / sizeof(of_result[0]));
    add_members(shown, entry, of_entry, sizeof(of_entry) / sizeof(of_entry[0]));
    free(note);
    return shown;
}

json_t *dp_html_data_of(const struct dp_html_cases *page)
{
    struct shared shared = {.list = json_array(), .places = json_object()};
    json_t *cases = json_array(), *data = json_object();
    for (size_t i = 0; i < json_array_size(page->results); i++) {
        json_array_append_new(cases, case_of(page, json_array_get(page->results, i), &shared));
    }
    json_object_set_new(data, "shared", shared.list);
    json_object_set_new(data, "cases", cases);
    json_object_set_new(data, "before", shown_owned(dp_reproduce_before(page->report)));
    json_object_set_new(data, "after", shown_owned(dp_reproduce_after(page->report)));
    json_decref(shared.places);
    return data;
}
