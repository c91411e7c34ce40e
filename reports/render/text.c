/* SPDX-License-Identifier: Apache-2.0
 *
 * Format text: what was measured, the table, what to do, what was left out, the controls, the digest, and in
 * the last line the verdict in words. Plain text at 100 columns; colour only repeats words.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/render/formats.h"
#include "reports/render/render.h"
#include "reports/render/sheet.h"
#include "reports/render/words.h"
#include "suite/base/json.h"

#define LABEL 10 /* columns of "measured  " */

static const struct {
    const char *word, *code;
} colours[] = {
    {"repeats", "\033[32m"}, {"kept", "\033[32m"},     {"varies", "\033[33m"},   {"wrong", "\033[1;31m"},
    {"error", "\033[31m"},   {"broken", "\033[1;31m"}, {"untested", "\033[35m"}, {"skipped", "\033[2m"},
};

void dp_sheet_word(const struct dp_sheet *sheet, const char *word, const char *shown, size_t width)
{
    const char *code = NULL;
    const size_t used = dp_words_width(shown);
    for (size_t i = 0; i < sizeof(colours) / sizeof(colours[0]) && sheet->colour; i++) {
        code = strcmp(colours[i].word, word) == 0 ? colours[i].code : code;
    }
    dp_text_put(sheet->out, code ? code : "");
    dp_words_put(sheet->out, shown);
    dp_text_put(sheet->out, code ? "\033[0m" : "");
    dp_words_blanks(sheet->out, used < width ? width - used : 0);
}

static void put_label(const struct dp_sheet *sheet, const char *label)
{
    dp_text_put(sheet->out, label);
    dp_words_blanks(sheet->out, LABEL - strlen(label));
}

static void put_labelled(const struct dp_sheet *sheet, const char *label, const char *text)
{
    if (sheet->line) {
        sheet->line(sheet, label, text);
        return;
    }
    put_label(sheet, label);
    dp_words_wrap(sheet->out, text, LABEL, LABEL, sheet->columns);
}

/* Where a whole path does not fit, its last two parts: ".../openblas-openmp/libblas.so.3" tells whose file it
 * is. */
static const char *path_end(const char *path)
{
    const char *end = path + strlen(path);
    for (int slashes = 0; end > path && slashes < 2; end--) {
        slashes += end[-1] == '/';
    }
    return end;
}

static char *library_item(const struct dp_sheet *sheet, const char *name, const char *path)
{
    char *whole = path[0] ? dp_printf("%s (%s)", name, path) : dp_strdup(name);
    if (LABEL + dp_words_width(whole) + 1 <= sheet->columns || path_end(path) == path) {
        return whole;
    }
    free(whole);
    return dp_printf("%s (...%s)", name, path_end(path));
}

static char *library_name(const json_t *library)
{
    const char *version = dp_json_string(library, "version", "");
    return dp_printf("%s %s", dp_json_string(library, "name", ""),
                     version[0] ? version : "(version unknown)");
}

/* Libraries each whole, broken between them only. */
static void put_measured(const struct dp_sheet *sheet)
{
    const json_t *libraries = json_object_get(json_object_get(sheet->body, "environment"), "libraries");
    const size_t count = json_array_size(libraries);
    size_t column = LABEL;
    put_label(sheet, "measured");
    for (size_t i = 0; i < count; i++) {
        const json_t *library = json_array_get(libraries, i);
        char *name = library_name(library);
        const char *path = dp_json_string(library, "path", "");
        char *item = library_item(sheet, name, path);
        const size_t width = dp_words_width(item) + (i + 1 < count);
        if (column > LABEL && column + 1 + width > sheet->columns) {
            dp_text_put(sheet->out, "\n");
            dp_words_blanks(sheet->out, LABEL);
            column = LABEL;
        } else if (column > LABEL) {
            dp_text_put(sheet->out, " ");
            column++;
        }
        dp_words_put(sheet->out, item);
        dp_text_put(sheet->out, i + 1 < count ? "," : "");
        column += width;
        free(name);
        free(item);
    }
    dp_text_put(sheet->out, count == 0 ? "no library\n" : "\n");
}

/* What a device is called and how it is proven. Owned. */
static char *device_key(const json_t *device)
{
    return dp_printf("%s\n%s", dp_json_string(device, "name", ""), dp_json_string(device, "proof", ""));
}

/* How many devices there are of each such kind. Owned. */
static json_t *device_counts(const json_t *devices)
{
    json_t *counts = json_object();
    for (size_t i = 0; i < json_array_size(devices); i++) {
        char *key = device_key(json_array_get(devices, i));
        dp_json_count(counts, key);
        free(key);
    }
    return counts;
}

/* How many are like this one; 0 if one before it was asked for. */
static size_t take_device(json_t *counts, const json_t *device)
{
    char *key = device_key(device);
    const size_t equal = (size_t)dp_json_int(counts, key, 0);
    json_object_set_new(counts, key, json_integer(0));
    free(key);
    return equal;
}

/* Before all else: whose libraries they are. */
static void put_stack(const struct dp_sheet *sheet)
{
    const json_t *stack = json_object_get(json_object_get(sheet->body, "environment"), "stack");
    if (stack) {
        char *line = dp_printf("%s %s", dp_json_string(stack, "kind", ""), dp_json_string(stack, "path", ""));
        put_labelled(sheet, "stack", line);
        free(line);
    }
}

static void put_machine(const struct dp_sheet *sheet)
{
    const json_t *environment = json_object_get(sheet->body, "environment");
    const json_t *host = json_object_get(environment, "host");
    const json_t *devices = json_object_get(environment, "devices");
    struct dp_text line = DP_TEXT(4096);
    const json_int_t online = dp_json_int(host, "cores_online", 0);
    const json_int_t allowed = dp_json_int(host, "cores_allowed", online);
    dp_text_put(&line, dp_json_string(host, "cpu_model", dp_json_string(host, "arch", "unknown machine")));
    if (allowed > 0 && allowed < online) {
        dp_text_printf(&line, ", %lld of %lld cores", (long long)allowed, (long long)online);
    } else if (allowed > 0) {
        dp_text_printf(&line, ", %lld %s", (long long)allowed, allowed == 1 ? "core" : "cores");
    }
    const char *threads = dp_json_string(json_object_get(environment, "variables"), "OMP_NUM_THREADS", NULL);
    if (threads) {
        dp_text_printf(&line, ", OMP_NUM_THREADS=%s", threads);
    }
    json_t *counts = device_counts(devices);
    for (size_t i = 0; i < json_array_size(devices); i++) {
        const size_t equal = take_device(counts, json_array_get(devices, i));
        if (equal > 0) {
            dp_words_join(&line, ", ", dp_json_string(json_array_get(devices, i), "name", "a device"));
            if (equal > 1) {
                dp_text_printf(&line, " (%zu of them)", equal);
            }
        }
    }
    json_decref(counts);
    put_labelled(sheet, "on", line.data);
    dp_text_free(&line);
}

/* What a sequential plan goes up to. */
static void add_stages(struct dp_text *line, const json_t *stages)
{
    const char *rate = dp_json_string(stages, "rate", NULL);
    if (rate) {
        dp_text_printf(line, ", in stages to see a rate of %s with probability %s", rate,
                       dp_json_string(stages, "confidence", ""));
    } else if (stages) {
        dp_text_put(line, ", in stages as long as the budget lasts");
    }
}

static void put_plan(const struct dp_sheet *sheet)
{
    const json_t *plan = json_object_get(sheet->body, "plan");
    const json_t *axes = json_object_get(plan, "axes");
    const json_int_t fresh = dp_json_int(plan, "fresh", 0);
    struct dp_text line = DP_TEXT(4096);
    dp_text_printf(&line, "level %s, seed %s, %lld seeds x %lld runs", dp_json_string(plan, "level", ""),
                   dp_json_string(plan, "seed", ""), (long long)dp_json_int(plan, "seeds", 0),
                   (long long)dp_json_int(plan, "runs", 0));
    add_stages(&line, json_object_get(plan, "stages"));
    if (fresh > 0) {
        dp_text_printf(&line, ", %lld new %s", (long long)fresh, fresh == 1 ? "process" : "processes");
    }
    for (size_t i = 0; i < json_array_size(axes); i++) {
        dp_text_put(&line, i == 0 ? ", axes " : " ");
        dp_text_put(&line, json_string_value(json_array_get(axes, i)));
    }
    put_labelled(sheet, "plan", line.data);
    dp_text_free(&line);
}

/* A library that changed how floating-point numbers behave changes bits of everything after it. */
static void put_float_environment(const struct dp_sheet *sheet)
{
    const json_t *environment = json_object_get(sheet->body, "environment");
    const json_t *changes = json_object_get(json_object_get(environment, "float_environment"), "changes");
    for (size_t i = 0; i < json_array_size(changes); i++) {
        const json_t *change = json_array_get(changes, i);
        char *line = dp_printf("the floating-point environment changed after %s in %s (control register %s)",
                               dp_json_string(change, "after", ""), dp_json_string(change, "program", ""),
                               dp_json_string(change, "control", ""));
        put_labelled(sheet, "note", line);
        free(line);
    }
}

/* Variable -> operations that set it themselves, to something else than the user did. Owned. */
static json_t *count_overriding(const struct dp_sheet *sheet, const json_t *variables)
{
    const json_t *results = json_object_get(sheet->body, "results");
    json_t *counts = json_object(), *own;
    for (size_t i = 0; i < json_array_size(results); i++) {
        const char *name;
        json_object_foreach(json_object_get(json_array_get(results, i), "environment"), name, own)
        {
            const json_t *value = json_object_get(variables, name);
            if (value && !json_equal(own, value)) {
                dp_json_count(counts, name);
            }
        }
    }
    return counts;
}

/* The user's variables stand for all operations but those that set their own. */
static void put_overridden(const struct dp_sheet *sheet)
{
    json_t *variables = json_object_get(json_object_get(sheet->body, "environment"), "variables");
    json_t *counts = count_overriding(sheet, variables);
    const char *name;
    json_t *value;
    json_object_foreach(variables, name, value)
    {
        const size_t count = (size_t)dp_json_int(counts, name, 0);
        if (count > 0) {
            char *operations = dp_words_count(count, "operation that sets", "operations that set");
            char *line = dp_printf("%s=%s does not hold for %s %s own", name, json_string_value(value),
                                   operations, count == 1 ? "its" : "their");
            put_labelled(sheet, "note", line);
            free(operations);
            free(line);
        }
    }
    json_decref(counts);
}

static void put_force(const struct dp_sheet *sheet)
{
    const json_t *variables = json_object_get(json_object_get(sheet->body, "environment"), "variables");
    if (strcmp(dp_json_string(variables, "DETPROBE_FORCE", ""), "1") == 0) {
        put_labelled(sheet, "note", "measured with --force: other processes may have used the devices");
    }
}

/* What is to be known before a device's results are believed. */
static void put_proof(const struct dp_sheet *sheet)
{
    const json_t *devices = json_object_get(json_object_get(sheet->body, "environment"), "devices");
    json_t *counts = device_counts(devices);
    for (size_t i = 0; i < json_array_size(devices); i++) {
        const json_t *device = json_array_get(devices, i);
        const char *proof = dp_json_string(device, "proof", NULL);
        if (proof && take_device(counts, device) > 0) {
            char *line = dp_printf("%s: %s", dp_json_string(device, "name", "a device"), proof);
            put_labelled(sheet, "note", line);
            free(line);
        }
    }
    json_decref(counts);
}

/* Axes that guarantees speak of and that were not varied. */
static void put_not_measured(const struct dp_sheet *sheet)
{
    const json_t *results = json_object_get(sheet->body, "results");
    json_t *counts = json_object();
    struct dp_text line = DP_TEXT(4096);
    const char *axis;
    json_t *number;
    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *axes = json_object_get(json_array_get(results, i), "not_measured");
        for (size_t k = 0; k < json_array_size(axes); k++) {
            dp_json_count(counts, json_string_value(json_array_get(axes, k)));
        }
    }
    json_object_foreach(counts, axis, number)
    {
        char *word = dp_printf("%s (%lld)", axis, (long long)json_integer_value(number));
        dp_words_join(&line, ", ", word);
        free(word);
    }
    if (line.length > 0) {
        char *text = dp_printf("%s: no result here speaks of it", line.data);
        put_labelled(sheet, "unvaried", text);
        free(text);
    }
    dp_text_free(&line);
    json_decref(counts);
}

/* "openblas/Haswell: ran on Haswell (cpu/blas, cpu/gemm)". Owned. */
static char *cap_line(const json_t *cap)
{
    const json_t *families = json_object_get(cap, "families");
    const char *setting = dp_json_string(cap, "setting", ""), *isa = dp_json_string(cap, "isa", NULL);
    const char *failed = dp_json_string(cap, "failed", NULL);
    struct dp_text line = DP_TEXT(65536);
    for (size_t k = 0; k < json_array_size(families); k++) {
        dp_words_join(&line, ", ", json_string_value(json_array_get(families, k)));
    }
    char *text = dp_printf("%s: %s%s%s%s (%s)", setting, isa ? "ran on " : "",
                           isa ? isa : dp_json_string(cap, "dropped", ""), failed && isa ? "; failed: " : "",
                           failed && isa ? failed : "", line.data);
    dp_text_free(&line);
    return text;
}

/* "ignored by the library: onednn/AVX, onednn/AVX2", of the rows that have this member. */
static void put_cap_names(const struct dp_sheet *sheet, const json_t *caps, const char *member,
                          const char *said)
{
    struct dp_text names = DP_TEXT(65536);
    for (size_t i = 0; i < json_array_size(caps); i++) {
        const json_t *cap = json_array_get(caps, i);
        if (json_object_get(cap, member)) {
            dp_words_join(&names, ", ", dp_json_string(cap, "setting", ""));
        }
    }
    if (names.length > 0) {
        char *text = dp_printf("%s: %s", said, names.data);
        put_labelled(sheet, "isa", text);
        free(text);
    }
    dp_text_free(&names);
}

/* What a capped library did with its cap; without --verbose only that it did nothing, or failed. */
static void put_caps(const struct dp_sheet *sheet)
{
    const json_t *caps = json_object_get(sheet->measurements, "isa");
    for (size_t i = 0; i < json_array_size(caps) && sheet->verbose; i++) {
        char *text = cap_line(json_array_get(caps, i));
        put_labelled(sheet, i == 0 ? "isa" : "", text);
        free(text);
    }
    if (!sheet->verbose) {
        put_cap_names(sheet, caps, "ignored", "ignored by the library");
        put_cap_names(sheet, caps, "failed", "failed, --verbose says how");
    }
}

static char *skip_key(const json_t *result)
{
    const char *text = dp_json_string(result, "text", "");
    return dp_printf("%s%s%s", dp_json_string(result, "reason", ""), text[0] ? ": " : "", text);
}

static bool is_skipped(const json_t *result)
{
    return strcmp(dp_json_string(result, "observed", ""), "skipped") == 0;
}

/* Reason -> families -> operations that were skipped for it. Owned. */
static json_t *skips_by_reason(const struct dp_sheet *sheet)
{
    const json_t *results = json_object_get(sheet->body, "results");
    json_t *reasons = json_object();
    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *result = json_array_get(results, i);
        if (is_skipped(result)) {
            char *key = skip_key(result);
            char *family = dp_printf("%s/%s", dp_json_string(result, "backend", ""),
                                     dp_json_string(result, "family", ""));
            if (!json_object_get(reasons, key)) {
                json_object_set_new(reasons, key, json_object());
            }
            dp_json_count(json_object_get(reasons, key), family);
            free(key);
            free(family);
        }
    }
    return reasons;
}

/* One line per reason: how many, why, and of which families. */
static void put_skip(const struct dp_sheet *sheet, const char *why, json_t *families, const char *label)
{
    struct dp_text line = DP_TEXT(65536);
    const char *family;
    json_t *number;
    json_int_t total = 0;
    json_object_foreach(families, family, number)
    {
        char *word = dp_printf("%s %lld", family, (long long)json_integer_value(number));
        dp_words_join(&line, ", ", word);
        total += json_integer_value(number);
        free(word);
    }
    char *text = dp_printf("%lld %s (%s)", (long long)total, why, line.data);
    put_labelled(sheet, label, text);
    free(text);
    dp_text_free(&line);
}

static void put_skipped(const struct dp_sheet *sheet)
{
    json_t *reasons = skips_by_reason(sheet), *families;
    const char *why, *label = "skipped";
    json_object_foreach(reasons, why, families)
    {
        put_skip(sheet, why, families, label);
        label = "";
    }
    json_decref(reasons);
}

static void put_left_out(const struct dp_sheet *sheet)
{
    const json_t *left_out = json_object_get(json_object_get(sheet->body, "plan"), "left_out");
    const size_t count = json_array_size(left_out);
    struct dp_text line = DP_TEXT(1 << 20);
    if (count == 0) {
        return;
    }
    for (size_t i = 0; i < count && (i < 3 || sheet->verbose); i++) {
        dp_words_join(&line, ", ", dp_json_string(json_array_get(left_out, i), "case", ""));
    }
    char *operations = dp_words_count(count, "operation", "operations");
    char *text =
        dp_printf("%s (%s): %s%s", operations, dp_json_string(json_array_get(left_out, 0), "reason", ""),
                  line.data, count > 3 && !sheet->verbose ? ", ..." : "");
    put_labelled(sheet, "left out", text);
    free(operations);
    free(text);
    dp_text_free(&line);
}

static void put_controls(const struct dp_sheet *sheet)
{
    const json_t *controls = json_object_get(sheet->body, "controls");
    const size_t count = json_array_size(controls);
    size_t behaved = 0;
    for (size_t i = 0; i < count; i++) {
        behaved += json_is_true(json_object_get(json_array_get(controls, i), "behaved"));
    }
    char *text = count > 0 ? dp_printf("%zu of %zu behaved", behaved, count) : dp_strdup("none ran");
    put_labelled(sheet, "controls", text);
    free(text);
    for (size_t i = 0; i < count; i++) {
        const json_t *control = json_array_get(controls, i);
        if (!json_is_true(json_object_get(control, "behaved"))) {
            text = dp_printf("'%s' ought to show '%s' along %s: %s", dp_json_string(control, "name", ""),
                             dp_json_string(control, "expected", ""), dp_json_string(control, "axis", ""),
                             dp_json_string(control, "reason", ""));
            put_labelled(sheet, "", text);
            free(text);
        }
    }
}

static void add_count(struct dp_text *line, const json_t *counts, const char *key, const char *many)
{
    const json_int_t count = dp_json_int(counts, key, 0);
    if (count > 0) {
        char *word = dp_printf("%lld %s", (long long)count, count == 1 ? key : many);
        dp_words_join(line, ", ", word);
        free(word);
    }
}

/* One line to paste into an issue: enough to ask the right question back. */
static void put_summary(const struct dp_sheet *sheet, const json_t *report)
{
    static const char *const words[][2] = {{"repeats", "repeat"},    {"varies", "vary"},
                                           {"wrong", "wrong"},       {"error", "errors"},
                                           {"untested", "untested"}, {"skipped", "skipped"}};
    const json_t *summary = json_object_get(sheet->body, "summary");
    const json_t *libraries = json_object_get(json_object_get(sheet->body, "environment"), "libraries");
    const json_t *plan = json_object_get(sheet->body, "plan");
    struct dp_text counts = DP_TEXT(1024), names = DP_TEXT(4096);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        add_count(&counts, json_object_get(summary, "counts"), words[i][0], words[i][1]);
    }
    for (size_t i = 0; i < json_array_size(libraries); i++) {
        char *name = library_name(json_array_get(libraries, i));
        if (!names.data || !strstr(names.data, name)) {
            dp_words_join(&names, ", ", name);
        }
        free(name);
    }
    char *line = dp_printf("detprobe %s %s seed %s: %s, %zu broken · %s · %.12s",
                           dp_json_string(json_object_get(report, "tool"), "version", ""),
                           dp_json_string(plan, "level", ""), dp_json_string(plan, "seed", ""),
                           counts.data ? counts.data : "nothing ran",
                           json_array_size(json_object_get(summary, "broken")),
                           names.data ? names.data : "no library", dp_json_string(report, "digest", ""));
    dp_words_put(sheet->out, line);
    dp_text_put(sheet->out, "\n");
    free(line);
    dp_text_free(&counts);
    dp_text_free(&names);
}

void dp_sheet_before(const struct dp_sheet *sheet)
{
    put_machine(sheet);
    put_plan(sheet);
    put_force(sheet);
    put_overridden(sheet);
    put_float_environment(sheet);
    put_proof(sheet);
}

static void put_orders(const struct dp_sheet *sheet)
{
    char *summary = dp_orders_summary(sheet);
    if (summary) {
        put_labelled(sheet, "order", summary);
    }
    free(summary);
}

static void put_strength(const struct dp_sheet *sheet)
{
    char *text = dp_report_strength(sheet->measurements);
    if (text) {
        put_labelled(sheet, "strength", text);
    }
    free(text);
}

void dp_sheet_after(const struct dp_sheet *sheet)
{
    put_orders(sheet);
    put_strength(sheet);
    put_skipped(sheet);
    put_left_out(sheet);
    put_not_measured(sheet);
    put_caps(sheet);
    put_controls(sheet);
}

void dp_render_text(const json_t *report, const struct dp_render_options *options, struct dp_text *out)
{
    const json_t *measurements = json_object_get(report, "measurements");
    const struct dp_sheet sheet = {.out = out,
                                   .body = json_object_get(report, "body"),
                                   .measurements = measurements,
                                   .measured = dp_json_index(json_object_get(measurements, "cases"), "case"),
                                   .colour = options->colour,
                                   .verbose = options->verbose,
                                   .columns = options->columns >= 60 ? (size_t)options->columns : 100};
    put_stack(&sheet);
    put_measured(&sheet);
    dp_sheet_before(&sheet);
    dp_text_put(out, "\n");
    dp_sheet_table(&sheet);
    dp_sheet_advice(&sheet);
    dp_sheet_prices(&sheet);
    dp_sheet_after(&sheet);
    dp_text_put(out, "report ");
    dp_words_put(out, dp_json_string(report, "digest", ""));
    dp_text_put(out, "\n\n");
    put_summary(&sheet, report);
    char *sentence = dp_report_sentence(report);
    dp_text_put(out, sentence);
    dp_text_put(out, "\n");
    free(sentence);
    json_decref(sheet.measured);
}
