/* SPDX-License-Identifier: Apache-2.0
 *
 * The evidence of one case in a few words, from its measurements: how often it differed, how far, and why.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/model.h"
#include "reports/render/sheet.h"
#include "reports/render/words.h"
#include "suite/base/json.h"

#define COUNTED 1024 /* as far as distinct results are counted */

static const json_t *entry_of(const struct dp_sheet *sheet, const json_t *result)
{
    return json_object_get(sheet->measured, dp_json_string(result, "case", ""));
}

static const json_t *tally_of(const json_t *entry, const char *axis)
{
    return json_object_get(json_object_get(entry, "axes"), axis);
}

static void add_line(struct dp_text *out, const char *line)
{
    dp_words_join(out, "\n", line);
}

/* "distinct 7 of 8", "3 of 3 seeds" */
static bool add_tally(struct dp_text *out, const json_t *tally, const char *unit)
{
    const json_int_t distinct = dp_json_int(tally, "distinct", 0);
    if (distinct < 2) {
        return false;
    }
    char *line = dp_printf("distinct %s%lld of %lld%s", distinct >= COUNTED ? ">= " : "", (long long)distinct,
                           (long long)dp_json_int(tally, "of", 0), unit);
    add_line(out, line);
    free(line);
    line = dp_printf("%lld of %lld seeds", (long long)dp_json_int(tally, "seeds_varied", 0),
                     (long long)dp_json_int(tally, "seeds", 0));
    add_line(out, line);
    free(line);
    return true;
}

static void add_strength(struct dp_text *out, const json_t *entry)
{
    const json_t *worst = json_object_get(entry, "worst");
    if (add_tally(out, tally_of(entry, "repeat"), "")) {
        if (json_is_true(json_object_get(entry, "first_call_differs"))) {
            add_line(out, "only the first call differs");
        }
    } else if (!add_tally(out, tally_of(entry, "fresh"), " processes") && worst) {
        char *line = dp_printf("varies at %s %s", dp_json_string(worst, "axis", ""),
                               dp_json_string(worst, "setting", ""));
        add_line(out, line);
        free(line);
    }
}

/* Rounded so that only all of them are all. */
static void add_share(struct dp_text *line, double share)
{
    const double percent = 100.0 * share;
    if (share >= 1.0) {
        dp_text_put(line, "all elements");
    } else {
        dp_text_printf(line, percent >= 10.0 ? "%.0f %% of elements" : "%.2g %% of elements",
                       percent > 99.0 ? 99.0 : percent);
    }
}

/* "3 ulp in 12 % of elements": beyond a million ulp the number says nothing more. */
static void add_magnitude(struct dp_text *out, const json_t *mismatch)
{
    const double elements = dp_json_number(mismatch, "elements", 0.0);
    const double of = dp_json_number(mismatch, "of", 0.0);
    const char *ulp = dp_json_string(mismatch, "max_ulp", NULL);
    const bool permuted = strcmp(dp_json_string(mismatch, "kind", ""), "permutation") == 0;
    struct dp_text line = DP_TEXT(512);
    if (permuted) {
        dp_text_put(&line, "permuted");
    } else if (ulp) {
        dp_text_printf(&line, "%s ulp", strlen(ulp) > 6 && ulp[0] != '-' ? "over 1e6" : ulp);
    }
    if (elements > 0.0 && of > 0.0 && strcmp(dp_json_string(mismatch, "region", ""), "element") != 0) {
        dp_text_put(&line, line.length > 0 ? " in " : "");
        add_share(&line, elements / of);
    }
    if (line.length > 0) {
        add_line(out, line.data);
    }
    dp_text_free(&line);
}

/* "4, 5" of the numbers, with this between them. */
static void put_numbers(struct dp_text *out, const json_t *numbers, const char *between)
{
    for (size_t i = 0; i < json_array_size(numbers); i++) {
        dp_text_printf(out, "%s%lld", i ? between : "",
                       (long long)json_integer_value(json_array_get(numbers, i)));
    }
}

/* "a tile of 64 x 64 at [128, 0]", "the last 7"; where all of it differs, or anything here and there, a place
 * says nothing. */
static void add_region(struct dp_text *out, const json_t *mismatch)
{
    static const char *const words[][2] = {
        {"element", "one element"}, {"row", "in one row"}, {"column", "in one column"}, {"tile", "a tile"}};
    const char *region = dp_json_string(mismatch, "region", "");
    const json_t *box = json_object_get(mismatch, "box"), *at = json_object_get(mismatch, "box_at");
    struct dp_text line = DP_TEXT(1024);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(region, words[i][0]) == 0) {
            dp_text_put(&line, words[i][1]);
        }
    }
    if (line.length > 0 && json_array_size(at) > 0) {
        if (strcmp(region, "tile") == 0) {
            dp_text_put(&line, " of ");
            put_numbers(&line, box, " x ");
        }
        dp_text_put(&line, " at [");
        put_numbers(&line, at, ", ");
        dp_text_put(&line, "]");
    }
    if (strcmp(region, "tail") == 0) {
        dp_text_printf(&line, "the last %lld", (long long)dp_json_int(mismatch, "elements", 0));
    }
    if (line.length > 0) {
        add_line(out, line.data);
    }
    dp_text_free(&line);
}

/* Kinds of differences that are faults, which nothing else here tells. */
#define FAULTS "race_sized|corruption|cross_talk|uninitialised_read"

static const char *kind_of(const json_t *entry)
{
    return dp_json_string(json_object_get(entry, "diagnosis"), "kind", "");
}

/* "race_sized: why" added to a note, which is taken over. Owned. */
static char *with_fault(const json_t *entry, char *note)
{
    const char *kind = kind_of(entry);
    if (!dp_word_among(kind, FAULTS) || strncmp(note, kind, strlen(kind)) == 0) {
        return note;
    }
    char *ret = dp_printf("%s%s%s: %s", note, note[0] ? "; " : "", kind,
                          dp_json_string(json_object_get(entry, "diagnosis"), "reason", ""));
    free(note);
    return ret;
}

static void add_names(struct dp_text *out, const char *label, const json_t *names)
{
    struct dp_text line = DP_TEXT(1024);
    for (size_t i = 0; i < json_array_size(names); i++) {
        dp_words_join(&line, ", ", json_string_value(json_array_get(names, i)));
    }
    if (line.length > 0) {
        char *text = dp_printf("%s %s", label, line.data);
        add_line(out, text);
        free(text);
    }
    dp_text_free(&line);
}

/* Runs of one process and new processes apart: either may hide what the other shows. */
static void add_bounds(struct dp_text *out, const json_t *entry)
{
    static const char *const axes[][2] = {{"repeat", ""}, {"fresh", " new processes"}};
    for (size_t i = 0; i < sizeof(axes) / sizeof(axes[0]); i++) {
        const json_t *tally = tally_of(entry, axes[i][0]);
        if (tally && json_object_get(tally, "bound")) {
            char *line =
                dp_printf("0 of %lld%s, rate below %.2g %%", (long long)dp_json_int(tally, "comparisons", 0),
                          axes[i][1], 100.0 * dp_json_number(tally, "bound", 1.0));
            add_line(out, line);
            free(line);
        }
    }
}

size_t dp_evidence_runs(const struct dp_sheet *sheet, const json_t *result)
{
    return (size_t)dp_json_int(tally_of(entry_of(sheet, result), "repeat"), "runs", 0);
}

char *dp_evidence(const struct dp_sheet *sheet, const json_t *result)
{
    const json_t *entry = entry_of(sheet, result);
    const char *observed = dp_json_string(result, "observed", "");
    struct dp_text out = DP_TEXT(65536);
    if (strcmp(observed, "varies") == 0) {
        add_strength(&out, entry);
        add_magnitude(&out, json_object_get(entry, "mismatch"));
        add_region(&out, json_object_get(entry, "mismatch"));
        if (strcmp(kind_of(entry), "reordering") == 0) {
            add_line(&out, "reordering");
        }
        const char *finding = dp_json_string(json_object_get(entry, "confirmation"), "finding", NULL);
        if (finding) {
            add_line(&out, finding);
        }
    }
    if (strcmp(observed, "repeats") == 0) {
        add_names(&out, "sensitive to", json_object_get(result, "sensitive_to"));
        add_bounds(&out, entry);
    }
    add_names(&out, "wrong under", json_object_get(result, "wrong_under"));
    return dp_text_take(&out);
}

#define NAME_SHOWN 48 /* of a kernel's name, which templates make long */

/* The first kernel of the first set that the second does not have, or the first. */
static const char *other_kernel(const json_t *launched, const json_t *than)
{
    for (size_t i = 0; i < json_array_size(launched); i++) {
        const char *name = dp_json_string(json_array_get(launched, i), "name", "");
        bool there = false;
        for (size_t k = 0; k < json_array_size(than); k++) {
            there = there || strcmp(name, dp_json_string(json_array_get(than, k), "name", "")) == 0;
        }
        if (!there) {
            return name;
        }
    }
    return dp_json_string(json_array_get(launched, 0), "name", "");
}

/* ", kernel A, then B" where two processes launched different kernels. Owned. */
static char *kernels_text(const json_t *entry)
{
    const json_t *rows = json_object_get(entry, "kernels");
    const json_t *one = json_object_get(json_array_get(rows, 0), "launched");
    const char *axis = dp_json_string(json_array_get(rows, 1), "axis", "");
    const json_t *two =
        strcmp(axis, "fresh") == 0 ? json_object_get(json_array_get(rows, 1), "launched") : NULL;
    return two ? dp_printf(": kernel %.*s, then %.*s", NAME_SHOWN, other_kernel(one, two), NAME_SHOWN,
                           other_kernel(two, one))
               : dp_strdup("");
}

/* How a difference showed where the base setting repeats in one process. */
static const char *way_of(const json_t *entry, const json_t *result)
{
    const bool selection = strcmp(dp_json_string(result, "difference", ""), "selection") == 0;
    if (dp_json_int(tally_of(entry, "repeat"), "distinct", 1) > 1) {
        return "";
    }
    if (dp_json_int(tally_of(entry, "fresh"), "distinct", 1) > 1) {
        return selection ? "one process repeats its bits, a new one chose another algorithm and gives others"
                         : "one process repeats its bits, a new one gives others";
    }
    const char *axis = dp_json_string(json_object_get(entry, "worst"), "axis", "");
    if (json_is_true(json_object_get(tally_of(entry, "device"), "moved"))) {
        return "one device repeats its bits, another one of its class gives others";
    }
    return strcmp(axis, "busy") == 0          ? "alone it repeats, beside other work it does not"
           : strcmp(axis, "concurrency") == 0 ? "one at a time it repeats, several at once do not"
                                              : "the base setting repeats, another setting does not";
}

/* Where the library's own words and what was seen do not go together; "" elsewhere. The words are those on
 * the choice of the base setting: they say nothing of another algorithm. */
static const char *declared_text(const json_t *entry, const json_t *result)
{
    const char *axis = dp_json_string(json_object_get(entry, "worst"), "axis", "");
    const char *declared = dp_json_string(result, "declared", "");
    const bool varies = strcmp(dp_json_string(result, "observed", ""), "varies") == 0;
    if (varies && strcmp(declared, "deterministic") == 0) {
        return strcmp(axis, "algorithm") == 0 ? "" : "the library declares it deterministic";
    }
    return !varies && strcmp(declared, "nondeterministic") == 0 ? "the library declares it nondeterministic"
                                                                : "";
}

/* "... at isa openblas/Prescott" of the first setting of axis isa with wrong results; NULL: none. */
static const char *capped_text(const json_t *entry, const json_t *result)
{
    const json_t *settings = json_object_get(tally_of(entry, "isa"), "settings");
    for (size_t i = 0; dp_result_wrong_under(result) && i < json_array_size(settings); i++) {
        const json_t *setting = json_array_get(settings, i);
        const char *wrong = dp_json_string(setting, "wrong", NULL);
        if (wrong && dp_json_array_has(json_object_get(result, "wrong_under"),
                                       dp_json_string(setting, "setting", ""))) {
            return wrong;
        }
    }
    return NULL;
}

/* The note of what varies, or, where its runs did not, what its order did. Takes over `note`. Owned. */
static char *with_changed(const json_t *entry, char *note)
{
    const bool seen =
        json_object_get(entry, "worst") || dp_json_int(tally_of(entry, "fresh"), "distinct", 1) > 1;
    char *changed = dp_orders_changed(entry);
    char *both = !changed ? NULL : seen && note[0] ? dp_printf("%s; %s", note, changed) : dp_strdup(changed);
    free(changed);
    if (both) {
        free(note);
    }
    return both ? both : note;
}

/* Adds a part to a note, of which each may be empty. Takes over both. Owned. */
static char *with_part(char *note, char *part)
{
    char *both = dp_printf("%s%s%s", note, note[0] && part[0] ? "; " : "", part);
    free(note);
    free(part);
    return both;
}

static char *note_of(const json_t *entry, const json_t *result)
{
    const char *observed = dp_json_string(result, "observed", "");
    const char *reason = dp_json_string(result, "reason", "");
    const char *text =
        dp_json_string(result, "text", dp_json_string(json_object_get(entry, "error"), "text", ""));
    if (strcmp(observed, "varies") == 0) {
        const bool selection = strcmp(dp_json_string(result, "difference", ""), "selection") == 0;
        char *kernels = selection ? kernels_text(entry) : dp_strdup("");
        const char *way = way_of(entry, result), *declared = declared_text(entry, result);
        char *note = dp_printf("%s%s%s%s", way, kernels, way[0] && declared[0] ? "; " : "", declared);
        free(kernels);
        return with_changed(entry, note);
    }
    if (strcmp(observed, "repeats") == 0) {
        const char *capped = capped_text(entry, result);
        const char *status = dp_json_string(json_object_get(result, "guarantee"), "status", "");
        const char *said = capped                          ? capped
                           : strcmp(status, "broken") == 0 ? "the guarantee says that these bits do not move"
                                                           : declared_text(entry, result);
        return with_part(dp_strdup(said), dp_orders_note(result, entry));
    }
    return dp_printf("%s%s%s", reason, text[0] ? ": " : "", text);
}

char *dp_evidence_note(const struct dp_sheet *sheet, const json_t *result)
{
    const json_t *entry = entry_of(sheet, result);
    char *note = with_fault(entry, note_of(entry, result));
    return sheet->verbose ? with_part(note, dp_algorithms_note(entry)) : note;
}
