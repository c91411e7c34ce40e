/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes manual pages and shell completion, at build time, from the tables that the program itself reads. Not
 * installed.
 *
 * usage: document FOLDER TOP FILE...
 *
 * TOP is the top of the source tree, FOLDER where the FILEs go that the build expects: a command without its
 * page, or a page without its command, is an error.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "suite/base/json.h"
#include "suite/docs/completion.h"
#include "suite/docs/manual.h"

enum { PAGE_MOST = 4 << 20 };

struct expected {
    const char *folder;
    char **names;
    size_t count;
};

static int write_page(struct expected *expected, const char *name, const struct dp_text *page,
                      struct dp_err *err)
{
    for (size_t i = 0; i < expected->count; i++) {
        if (expected->names[i] && strcmp(expected->names[i], name) == 0) {
            char *path = dp_printf("%s/%s", expected->folder, name);
            const int rc = dp_file_write(path, page->data, page->length, err);
            free(path);
            expected->names[i] = NULL;
            return rc;
        }
    }
    return dp_err_set(err, DP_EXIT_DATA, "no file '%s' is expected, name it in suite/docs/meson.build", name);
}

static const struct {
    const char *name;
    int (*make)(const struct dp_manual *manual, struct dp_text *out, struct dp_err *err);
} pages[] = {
    {"detprobe.1", dp_manual_program},
    {"detprobe-report.5", dp_manual_report},
    {"detprobe-probe.7", dp_manual_probe},
};

static int write_pages(const struct dp_manual *manual, struct expected *expected, struct dp_err *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof(pages) / sizeof(pages[0]); i++) {
        struct dp_text page = DP_TEXT(PAGE_MOST);
        rc = pages[i].make(manual, &page, err);
        rc = rc == 0 ? write_page(expected, pages[i].name, &page, err)
                     : dp_err_prefix(err, "'%s'", pages[i].name);
        dp_text_free(&page);
    }
    return rc;
}

static int write_commands(const struct dp_manual *manual, struct expected *expected, struct dp_err *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < dp_command_count; i++) {
        struct dp_text page = DP_TEXT(PAGE_MOST);
        char *name = dp_printf("detprobe-%s.1", dp_commands[i]->name);
        rc = dp_manual_command(manual, dp_commands[i], &page, err);
        rc = rc == 0 ? write_page(expected, name, &page, err) : dp_err_prefix(err, "'%s'", name);
        free(name);
        dp_text_free(&page);
    }
    return rc;
}

/* The whole of a text file; owned. */
static char *read_text(const char *path, struct dp_err *err)
{
    struct dp_text text = DP_TEXT(PAGE_MOST);
    char bytes[4096];
    FILE *file = fopen(path, "r");
    for (size_t got; file && (got = fread(bytes, 1, sizeof(bytes), file)) > 0;) {
        dp_text_add(&text, bytes, got);
    }
    if (file) {
        fclose(file);
    }
    if (!text.data) {
        dp_err_set(err, DP_EXIT_DATA, "cannot read '%s'", path);
    }
    return text.data;
}

static const struct {
    const char *frame, *name;
    void (*make)(const char *frame, struct dp_text *out);
} scripts[] = {
    {"completion.bash", "detprobe", dp_completion_bash},
    {"completion.zsh", "_detprobe", dp_completion_zsh},
    {"completion.fish", "detprobe.fish", dp_completion_fish},
};

static int write_scripts(const char *top, struct expected *expected, struct dp_err *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof(scripts) / sizeof(scripts[0]); i++) {
        struct dp_text script = DP_TEXT(PAGE_MOST);
        char *path = dp_printf("%s/suite/docs/%s", top, scripts[i].frame);
        char *frame = read_text(path, err);
        rc = frame ? 0 : -1;
        if (frame) {
            scripts[i].make(frame, &script);
            rc = write_page(expected, scripts[i].name, &script, err);
        }
        free(frame);
        free(path);
        dp_text_free(&script);
    }
    return rc;
}

static int check_all_written(const struct expected *expected, struct dp_err *err)
{
    for (size_t i = 0; i < expected->count; i++) {
        if (expected->names[i]) {
            return dp_err_set(err, DP_EXIT_DATA, "nothing makes '%s', which suite/docs/meson.build names",
                              expected->names[i]);
        }
    }
    return 0;
}

/* The day that a package says it was made of; a build of its own has none, and is the same every day. */
static void set_date(char ret[16])
{
    const char *epoch = getenv("SOURCE_DATE_EPOCH");
    const time_t seconds = epoch ? (time_t)strtoll(epoch, NULL, 10) : 0;
    struct tm day;
    ret[0] = '\0';
    if (seconds > 0 && gmtime_r(&seconds, &day)) {
        strftime(ret, 16, "%Y-%m-%d", &day);
    }
}

static int write_all(const char *top, struct expected *expected, struct dp_err *err)
{
    char date[16];
    set_date(date);
    char *paths[] = {dp_printf("%s/README.md", top), dp_printf("%s/probes/README.md", top)};
    char *readme = read_text(paths[0], err);
    char *probes = readme ? read_text(paths[1], err) : NULL;
    const struct dp_manual manual = {date, readme, probes};
    int rc = probes ? write_pages(&manual, expected, err) : -1;
    rc = rc == 0 ? write_commands(&manual, expected, err) : rc;
    rc = rc == 0 ? write_scripts(top, expected, err) : rc;
    rc = rc == 0 ? check_all_written(expected, err) : rc;
    free(readme);
    free(probes);
    free(paths[0]);
    free(paths[1]);
    return rc;
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fputs("usage: document FOLDER TOP FILE...\n", stderr);
        return DP_EXIT_USAGE;
    }
    struct dp_err err = {0};
    struct expected expected = {argv[1], argv + 3, (size_t)argc - 3};
    if (write_all(argv[2], &expected, &err) != 0) {
        fprintf(stderr, "document: %s\n", err.text);
        return err.code;
    }
    return DP_EXIT_OK;
}
