/* SPDX-License-Identifier: Apache-2.0
 *
 * What every fuzz target is driven by, and what they share.
 */
#include "suite/tests/fuzz/fuzz.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reports/model.h"
#include "suite/base/digest.h"
#include "suite/base/json.h"
#include "suite/base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* A copy of exactly this size, so that a read behind it is seen. */
    char *text = dp_alloc(size + 1, 1);
    if (size > 0) {
        memcpy(text, data, size);
    }
    fuzz_one(text, size);
    free(text);
    return 0;
}

void fuzz_expect(bool good, const char *words)
{
    if (!good) {
        fprintf(stderr, "fuzz: %s\n", words);
        abort();
    }
}

void fuzz_expect_printable(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)text[i];
        fuzz_expect(c == '\n' || (c >= 0x20 && c != 0x7f), "a control character in what is printed");
    }
}

void fuzz_expect_refusal(const struct dp_err *err, int other)
{
    fuzz_expect(err->code == DP_EXIT_DATA || (other != 0 && err->code == other), "a refusal of another code");
    fuzz_expect(err->text[0] && !strchr(err->text, '\n'), "a refusal that is no line");
    fuzz_expect_printable(err->text, strlen(err->text));
}

static char folder[] = "/tmp/detprobe-fuzz-XXXXXX";
static bool made;

static void remove_folder(void)
{
    static const char *const names[] = {"probe", "input.json"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char *path = dp_printf("%s/%s", folder, names[i]);
        unlink(path);
        free(path);
    }
    rmdir(folder);
}

const char *fuzz_folder(void)
{
    if (!made) {
        fuzz_expect(mkdtemp(folder) != NULL, "no folder for the input");
        made = true;
        atexit(remove_folder);
    }
    return folder;
}

void fuzz_write(const char *name, const char *text, size_t length, bool executable)
{
    char *path = dp_printf("%s/%s", fuzz_folder(), name);
    FILE *file = fopen(path, "we");
    const bool whole = file && fwrite(text, 1, length, file) == length;
    const bool closed = file && fclose(file) == 0;
    fuzz_expect(whole && closed, "the input is not kept");
    fuzz_expect(!executable || chmod(path, 0755) == 0, "no program beside the input");
    free(path);
}

void fuzz_reseal(json_t *report)
{
    json_t *body = json_object_get(report, "body");
    const struct dp_report_parts parts = {.environment = json_object_get(body, "environment"),
                                          .plan = json_object_get(body, "plan"),
                                          .results = json_object_get(body, "results"),
                                          .controls = json_object_get(body, "controls"),
                                          .measurements = json_object_get(report, "measurements")};
    if (!parts.environment || !parts.plan || !parts.results || !parts.controls || !parts.measurements) {
        return;
    }
    json_t *made_anew = dp_report_make(&parts, NULL);
    json_t *summary = json_object_get(json_object_get(made_anew, "body"), "summary");
    if (summary) {
        json_object_set(body, "summary", summary);
    }
    json_decref(made_anew);
    size_t length = 0;
    char *bytes = dp_json_canonical(body, &length, NULL);
    if (bytes) {
        char digest[DP_SHA256_HEX];
        dp_sha256_hex(bytes, length, digest);
        json_object_set_new(report, "digest", json_string(digest));
        free(bytes);
    }
}

json_t *fuzz_report(const char *text, size_t length)
{
    struct dp_err err = {0};
    json_t *report = dp_json_parse(text, length, "input", &err);
    int rc = report ? dp_report_accept(report, &err) : -1;
    if (rc != 0) {
        fuzz_expect_refusal(&err, 0);
        fuzz_reseal(report);
        rc = report ? dp_report_accept(report, &err) : -1;
    }
    if (rc != 0) {
        json_decref(report);
        return NULL;
    }
    return report;
}

const json_t *fuzz_other_report(void)
{
    static json_t *other;
    if (!other) {
        struct dp_err err = {0};
        other = dp_report_load(DP_FUZZ_CORPUS "/report/good-findings.json", &err);
        fuzz_expect(other != NULL, err.text);
    }
    return other;
}

static void render_as(enum dp_document document, const char *format, const json_t *json)
{
    static const struct dp_render_options ways[] = {{.columns = 0, .source = "report.json"},
                                                    {.columns = 61, .verbose = true},
                                                    {.columns = 100, .colour = true}};
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        struct dp_text out = DP_TEXT((size_t)1 << 28);
        struct dp_err err = {0};
        fuzz_expect(dp_render(document, format, json, &ways[i], &out, &err) == 0, err.text);
        if (!ways[i].colour) {
            fuzz_expect_printable(out.data, out.length);
        }
        dp_text_free(&out);
    }
}

void fuzz_render(enum dp_document document, const json_t *json)
{
    char *names = dp_strdup(dp_format_names(document)), *rest = names;
    for (const char *format; (format = strsep(&rest, "|"));) {
        render_as(document, format, json);
    }
    free(names);
}
