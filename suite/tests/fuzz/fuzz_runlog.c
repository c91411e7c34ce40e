/* SPDX-License-Identifier: Apache-2.0
 *
 * A run log, or what programs answered: an input whose first line is the plan of a log is resumed by its own
 * options. Any other is a list of lines that are put behind the plan of a small catalogue: answers become
 * those of the requests that they fit, in turns, everything else goes into the log as it is. What the log's
 * reader lets pass is judged, and must give a report that the report's reader lets pass.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "reports/model.h"
#include "reports/render/render.h"
#include "suite/base/json.h"
#include "suite/judge/judge.h"
#include "suite/run/environment.h"
#include "suite/run/protocol.h"
#include "suite/run/runlog.h"
#include "suite/run/runlog_kept.h"
#include "suite/run/session.h"
#include "suite/tests/fuzz/fuzz.h"

enum { LINES_MAX = 400 };

static struct dp_catalogue catalogue;
static const char *axes[] = {"repeat", "fresh", "poison", "threads", "batch", "device"};
static const struct dp_plan_options options = {
    .level = "quick", .seed = 1, .seeds = 2, .runs = 4, .fresh = 1, .axes = {axes, 6}};

static void open_catalogue(void)
{
    static const char cases[] =
        "{\"schema_version\":\"1.0\",\"program\":\"probe\",\"defaults\":{\"op\":\"x\",\"cost\":1,"
        "\"arithmetic\":\"direct\"},\"sources\":{\"s\":\"a source\"},\"cases\":["
        "{\"id\":\"cpu/a/promised\",\"guarantee\":{\"level\":\"run_to_run\",\"source\":\"s\","
        "\"invariant\":[\"threads\"]},\"remedy\":{\"text\":\"do\"}},"
        "{\"id\":\"cpu/b/allowed\",\"batch\":\"n\",\"params\":{\"n\":16},"
        "\"guarantee\":{\"level\":\"not_guaranteed\",\"source\":\"s\"}},"
        "{\"id\":\"cpu/control/moves\",\"tags\":[\"control\"],\"expected\":{\"observed\":\"varies\","
        "\"axis\":\"repeat\"}}]}";
    struct dp_err err = {0};
    if (catalogue.case_count == 0) {
        fuzz_write("probe", "#!/bin/sh\n", 10, /* executable= */ true);
        fuzz_write("input.json", cases, strlen(cases), /* executable= */ false);
        fuzz_expect(dp_catalogue_load_from(NULL, fuzz_folder(), &catalogue, &err) == 0, err.text);
    }
}

static void add_line(FILE *log, const char *line, size_t length)
{
    fwrite(line, 1, length, log);
    fputc('\n', log);
}

/* The answer among the lines that comes next after line *at and could be one to a request of so many runs.
 * NULL: there is none. */
static const json_t *next_answer(json_t *const *answers, size_t count, int runs, size_t *at)
{
    for (size_t i = 0; i < count; i++) {
        const json_t *answer = answers[(*at)++ % count];
        json_t *checked = answer ? dp_answer_check(answer, runs, NULL) : NULL;
        json_decref(checked);
        if (checked) {
            return answer;
        }
    }
    return NULL;
}

static void answer_all(FILE *log, const struct dp_plan *plan, json_t *const *answers, size_t count)
{
    size_t at = 0;
    for (size_t i = 0; i < plan->request_count; i++) {
        const json_t *answer = next_answer(answers, count, plan->requests[i].runs, &at);
        if (answer) {
            char *text = json_dumps(answer, JSON_COMPACT), *key = dp_request_key(plan, i);
            fprintf(log, "{\"request\":%zu,\"key\":\"%s\",\"answer\":%s}\n", i, key, text);
            free(key);
            free(text);
        }
    }
}

static void add_hello(FILE *log, const json_t *message)
{
    char *text = json_dumps(message, JSON_COMPACT);
    fprintf(log, "{\"hello\":{\"program\":\"%s\",\"message\":%s}}\n", catalogue.programs[0]->name, text);
    free(text);
}

/* Everything that may ever be asked: on the devices that a hello tells of, and of each case once more. */
static void plan_later(struct dp_plan *plan, const json_t *hello)
{
    static const size_t cases[] = {0, 1, 2};
    json_t *checked = dp_hello_check(hello, NULL), *hellos = json_object();
    if (checked) {
        json_object_set(hellos, catalogue.programs[0]->name, checked);
    }
    dp_plan_add_later(plan, hellos, NULL);
    dp_plan_add_retest(plan, cases, plan->case_count, 1);
    json_decref(hellos);
    json_decref(checked);
}

static void write_lines(FILE *log, const char *text)
{
    json_t *answers[LINES_MAX] = {NULL}, *hello = NULL;
    struct dp_plan plan;
    struct dp_err err = {0};
    size_t count = 0;
    for (const char *line = text; *line && count < LINES_MAX; count++) {
        const size_t length = strcspn(line, "\n");
        json_t *value = dp_json_parse(line, length, "line", NULL);
        const char *type = dp_json_string(value, "type", NULL);
        if (type && strcmp(type, "hello") == 0 && !hello) {
            hello = value;
            add_hello(log, hello);
        } else if (type) {
            answers[count] = value;
        } else {
            json_decref(value);
            add_line(log, line, length);
        }
        line += length + (line[length] == '\n');
    }
    fuzz_expect(dp_plan_make(&catalogue, &options, &plan, &err) == 0, err.text);
    plan_later(&plan, hello);
    answer_all(log, &plan, answers, count);
    dp_plan_free(&plan);
    for (size_t i = 0; i < count; i++) {
        json_decref(answers[i]);
    }
    json_decref(hello);
}

static void check_report(const struct dp_plan *plan, const struct dp_answers *answers,
                         const struct dp_judged *judged)
{
    json_t *environment = dp_environment(plan, answers, NULL), *described = dp_plan_describe(plan);
    json_t *measurements = json_pack("{ss ss sf ss s{si ss} sb si sO so*}", "started", "2026-11-30T00:00:00Z",
                                     "finished", "2026-11-30T00:00:01Z", "seconds", 1.0, "host_name", "host",
                                     "exit", "code", 0, "reason", "ok", "interrupted", 0, "jobs", 1, "cases",
                                     judged->measurements, "devices", dp_environment_device_state(answers));
    const struct dp_report_parts parts = {.environment = environment,
                                          .plan = described,
                                          .results = judged->results,
                                          .controls = judged->controls,
                                          .measurements = measurements};
    const struct dp_render_options wide = {.columns = 100, .verbose = true};
    struct dp_err err = {0};
    struct dp_text out = DP_TEXT((size_t)1 << 26);
    json_t *report = dp_report_make(&parts, &err);
    fuzz_expect(report != NULL && dp_report_check(report, &err) == 0, err.text);
    fuzz_expect(dp_render(DP_DOCUMENT_REPORT, "text", report, &wide, &out, &err) == 0, err.text);
    fuzz_expect_printable(out.data, out.length);
    dp_text_free(&out);
    json_decref(report);
    json_decref(environment);
    json_decref(described);
    json_decref(measurements);
}

/* Answers to requests that were not planned when the log was read. */
static void take_kept(const struct dp_plan *plan, struct dp_answers *answers, struct dp_runlog *log)
{
    const size_t known = answers->count;
    dp_answers_grow(answers, plan->request_count);
    for (size_t i = known; i < plan->request_count; i++) {
        answers->items[i] = dp_runlog_kept(log, plan, i);
    }
}

/* As a run does it, when nothing is left to do. */
static void judge(struct dp_plan *plan, struct dp_answers *answers, struct dp_runlog *log)
{
    struct dp_judged judged;
    dp_plan_add_later(plan, answers->hellos, NULL);
    take_kept(plan, answers, log);
    dp_judge(plan, answers, 0, &judged);
    for (int round = 1; round <= DP_RETEST_ROUNDS && judged.suspect_count > 0; round++) {
        dp_plan_add_retest(plan, judged.suspects, judged.suspect_count, round);
        take_kept(plan, answers, log);
        dp_judged_free(&judged);
        dp_judge(plan, answers, round, &judged);
    }
    check_report(plan, answers, &judged);
    dp_judged_free(&judged);
}

static void resume(const char *path, struct dp_plan *plan)
{
    struct dp_answers answers = {0};
    struct dp_err err = {0};
    struct dp_runlog *log = dp_runlog_resume(path, plan, &answers, &err);
    if (log) {
        judge(plan, &answers, log);
        fuzz_expect(dp_runlog_close(log, &err) == 0, err.text);
    } else {
        fuzz_expect_refusal(&err, 0);
        fuzz_expect(strstr(err.text, ", line ") != NULL, "a refusal that does not name the line");
    }
    dp_answers_free(&answers);
}

static void read_own_options(const char *path)
{
    char sha256[65];
    struct dp_err err = {0};
    struct dp_plan_options own;
    json_t *object = dp_runlog_options(path, sha256, &err);
    if (!object || dp_plan_options_from_json(object, &own, &err) != 0) {
        fuzz_expect_refusal(&err, 0);
        json_decref(object);
        return;
    }
    struct dp_plan plan;
    if (dp_plan_make(&catalogue, &own, &plan, &err) == 0) {
        dp_plan_free(&plan);
    } else {
        fuzz_expect_refusal(&err, DP_EXIT_USAGE);
    }
    free(own.axes.items);
    free(own.include.items);
    free(own.exclude.items);
    json_decref(object);
}

static int log_file(char *ret_path, size_t size)
{
    const int fd = memfd_create("log", MFD_CLOEXEC);
    fuzz_expect(fd >= 0, "no file for the log");
    snprintf(ret_path, size, "/proc/self/fd/%d", fd);
    return fd;
}

static void with_own_plan(const char *text, size_t length)
{
    char path[64];
    const int fd = log_file(path, sizeof(path));
    fuzz_expect(write(fd, text, length) == (ssize_t)length, "the log is not kept");
    read_own_options(path);
    close(fd);
}

static void with_our_plan(const char *text)
{
    char path[64];
    const int fd = log_file(path, sizeof(path));
    struct dp_plan plan;
    struct dp_err err = {0};
    fuzz_expect(dp_plan_make(&catalogue, &options, &plan, &err) == 0, err.text);
    struct dp_runlog *begun = dp_runlog_create(path, &plan, NULL, &err);
    fuzz_expect(begun && dp_runlog_close(begun, &err) == 0, err.text);
    FILE *log = fopen(path, "ae");
    fuzz_expect(log != NULL, "the log is not kept");
    write_lines(log, text);
    fclose(log);
    resume(path, &plan);
    dp_plan_free(&plan);
    close(fd);
}

void fuzz_one(const char *text, size_t length)
{
    open_catalogue();
    if (strncmp(text, "{\"plan\"", 7) == 0) {
        with_own_plan(text, length);
    } else {
        with_our_plan(text);
    }
}
