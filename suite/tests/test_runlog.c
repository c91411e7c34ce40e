/* SPDX-License-Identifier: Apache-2.0
 *
 * The run log: what a killed run leaves makes it resumable to the same answers; what nobody can have written
 * is refused with the line's number.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/run/runlog.h"
#include "suite/tests/rig.h"

#define SELECTORS                                                                                            \
    "fake/good/repeats fake/varies/one-in-64 fake/varies/restart fake/harm/segv fake/harm/segv.good"

static char path[] = "/tmp/detprobe-runlog-XXXXXX";

static void open_rig(struct rig *rig)
{
    rig_open(rig, ".:harm", SELECTORS, "repeat fresh threads");
    struct dp_err err;
    rig->run.log = dp_runlog_create(path, &rig->plan, NULL, &err);
    if (!rig->run.log) {
        fail_msg("%s", err.text);
    }
}

static void close_rig(struct rig *rig)
{
    struct dp_err err;
    if (dp_runlog_close(rig->run.log, &err)) {
        fail_msg("%s", err.text);
    }
    rig_close(rig);
}

static char *slurp(void)
{
    FILE *file = fopen(path, "re");
    struct dp_text text = DP_TEXT(1 << 26);
    char bytes[4096];
    for (size_t got; (got = fread(bytes, 1, sizeof(bytes), file)) > 0;) {
        dp_text_add(&text, bytes, got);
    }
    fclose(file);
    return text.data;
}

static void spit(const char *text, size_t length)
{
    FILE *file = fopen(path, "we");
    assert_int_equal(fwrite(text, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

/* Opens a rig on the log as it lies there; the error's text if it does not fit. */
static bool resume(struct rig *rig, struct dp_err *err)
{
    rig_open(rig, ".:harm", SELECTORS, "repeat fresh threads");
    rig->run.log = dp_runlog_resume(path, &rig->plan, &rig->answers, err);
    return rig->run.log != NULL;
}

static void whole_log(void **state)
{
    struct rig rig, back;
    struct dp_err err;
    open_rig(&rig);
    rig_run(&rig);
    assert_int_equal(dp_runlog_close(rig.run.log, &err), 0);
    assert_true(resume(&back, &err));
    for (size_t i = 0; i < rig.plan.request_count; i++) {
        assert_true(json_equal(rig.answers.items[i], back.answers.items[i]));
    }
    assert_true(json_equal(rig.answers.hellos, back.answers.hellos));
    char *before = slurp();
    rig_run(&back); /* there is nothing left to do */
    char *after = slurp();
    assert_string_equal(before, after);
    free(before);
    free(after);
    rig_close(&rig);
    close_rig(&back);
}

static void options_come_back(void **state)
{
    struct rig rig;
    struct dp_err err;
    char sha256[65];
    open_rig(&rig);
    char expected[65];
    dp_catalogue_sha256(&rig.catalogue, expected);
    json_t *wanted = dp_plan_options_to_json(&rig.plan.options);
    close_rig(&rig);
    json_t *options = dp_runlog_options(path, sha256, &err);
    assert_true(json_equal(options, wanted));
    assert_string_equal(sha256, expected);
    json_decref(options);
    json_decref(wanted);
}

static void kill_after(void *context, const struct dp_plan *plan, size_t request, size_t answered,
                       size_t total)
{
    if (answered == *(size_t *)context) {
        raise(SIGKILL);
    }
}

/* Killed at several places, with a torn line at the end: the resumed run has the answers of a whole one. */
static void killed_and_resumed(void **state)
{
    struct rig whole;
    rig_open(&whole, ".:harm", SELECTORS, "repeat fresh threads");
    rig_run(&whole);
    size_t total = whole.plan.request_count;
    for (size_t at = 1; at < total; at += 7) {
        pid_t suite = fork();
        if (suite == 0) {
            struct rig rig;
            open_rig(&rig);
            rig.run.progress = kill_after;
            rig.run.context = &at;
            rig_run(&rig);
            _exit(0);
        }
        int status;
        waitpid(suite, &status, 0);
        assert_true(WIFSIGNALED(status));
        FILE *file = fopen(path, "ae");
        fputs("{\"request\":3,\"key\":\"fake/go", file);
        fclose(file);
        struct rig back;
        struct dp_err err;
        assert_true(resume(&back, &err));
        assert_int_equal(rig_answered(&back), at);
        rig_run(&back);
        for (size_t i = 0; i < total; i++) {
            if (!same_answer(whole.answers.items[i], back.answers.items[i])) {
                fail_msg("request %zu differs after a kill at %zu", i, at);
            }
        }
        close_rig(&back);
        assert_true(resume(&back, &err)); /* the log is whole now */
        assert_int_equal(rig_answered(&back), total);
        close_rig(&back);
    }
    rig_close(&whole);
}

/* Retests are planned late; a resumed log gives their answers all the same. */
static void retests(void **state)
{
    struct rig rig, back;
    struct dp_err err;
    open_rig(&rig);
    rig_run(&rig);
    size_t suspect = 0;
    size_t first = rig.plan.request_count;
    dp_plan_add_retest(&rig.plan, &suspect, 1, 1);
    assert_true(rig.plan.request_count > first);
    rig_run(&rig);
    assert_int_equal(rig_answered(&rig), rig.plan.request_count);
    dp_runlog_close(rig.run.log, NULL);
    assert_true(resume(&back, &err));
    assert_int_equal(rig_answered(&back), first);
    dp_plan_add_retest(&back.plan, &suspect, 1, 1);
    char *before = slurp();
    rig_run(&back);
    char *after = slurp();
    assert_string_equal(before, after);
    for (size_t i = 0; i < rig.plan.request_count; i++) {
        assert_true(json_equal(rig.answers.items[i], back.answers.items[i]));
    }
    free(before);
    free(after);
    rig_close(&rig);
    close_rig(&back);
}

static void refuse(const char *text, const char *fault)
{
    struct rig rig;
    struct dp_err err = {0};
    spit(text, strlen(text));
    if (resume(&rig, &err)) {
        fail_msg("expected '%s', but the log was taken", fault);
    }
    assert_int_equal(err.code, DP_EXIT_DATA);
    if (!strstr(err.text, fault)) {
        fail_msg("expected '%s', got '%s'", fault, err.text);
    }
    assert_int_equal(rig_answered(&rig), 0);
    rig_close(&rig);
}

/* `text` with `from` replaced once by `to`, or cut there if `to` is NULL. Owned. */
static char *edited(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    assert_non_null(at);
    return to ? dp_printf("%.*s%s%s", (int)(at - text), text, to, at + strlen(from))
              : dp_printf("%.*s", (int)(at - text), text);
}

static void malformed(void **state)
{
    struct rig rig;
    open_rig(&rig);
    rig_run(&rig);
    close_rig(&rig);
    char *good = slurp();
    const struct {
        const char *from, *to, *fault;
    } edits[] = {
        {"\"version\":\"", "\"version\":\"9", "line 1: another version of detprobe wrote it"},
        {"\"catalogue_sha256\":\"", "\"catalogue_sha256\":\"z", "line 1: not the plan of a run"},
        {"\"seed\":\"", "\"seed\":\"1", "line 1: the options are not those of that run"},
        {"\"cores_allowed\":", "\"cores_allowed\":9",
         "line 1: the environment is not that of the run, 'cores_"},
        {"\"variables\":", "\"variables\":{\"MKL_CBWR\":\"x\"},\"more\":",
         "line 1: the environment is not that of the run"},
        {"\"environment\":", "\"environments\":", "line 1: the environment is not that of the run"},
        {"{\"plan\"", "{\"plans\"", "line 1: not the plan of a run"},
        {"{\"hello\"", "{\"hallo\"", "line 2: an answer to no request of this run"},
        {"\"program\":\"", "\"program\":\"un", "line 2: a hello of no program"},
        {"\"protocol\":1", "\"protocol\":\"1\"", "line 2: a hello that no program can have sent"},
        {"{\"request\":0", "{\"request\":1", "line 3: an answer to no request of this run"},
        {"{\"request\":0", "{\"request\":-1", "line 3: an answer to no request of this run"},
        {"{\"request\":0", "{\"request\":90000000", "line 3: an answer to no request of this run"},
        {"|0\",\"answer\"", "|1\",\"answer\"", "line 3: an answer to no request of this run"},
        {"\"type\":\"observation\"", "\"type\":\"opinion\"", "line 3: an answer that no program can have"},
        {"\"runs\":8", "\"runs\":7", "line 3: an answer that no program can have given"},
        {"{\"request\":0", "{\"request\":", "line 3: not JSON, and not the last line"},
        {"{\"request\":0", "[]\n{\"request\":0", "line 3: an answer to no request of this run"},
        {"{\"request\":0", "7\n{\"request\":0", "line 3: not JSON, and not the last line"},
        {"{\"request\":0", "\n{\"request\":0", "line 3: not JSON, and not the last line"},
        {"{\"plan\"", NULL, "line 1: not the plan of a run"},
        {"}\n", NULL, "line 1: not the plan of a run"},
    };
    for (size_t i = 0; i < sizeof(edits) / sizeof(edits[0]); i++) {
        char *text = edited(good, edits[i].from, edits[i].to);
        refuse(text, edits[i].fault);
        free(text);
    }
    /* A line twice: the answer to a request counts once, a hello too. */
    const char *second = strchr(good, '\n') + 1, *third = strchr(second, '\n') + 1;
    char *text = dp_printf("%.*s%s", (int)(third - good), good, second);
    refuse(text, "line 3: a hello of no program of this run, or the second of one");
    free(text);
    const char *fourth = strchr(third, '\n') + 1;
    text = dp_printf("%.*s%s", (int)(fourth - good), good, third);
    refuse(text, "line 4: a second answer to one request");
    free(text);
    free(good);
}

static void other_catalogue(void **state)
{
    struct rig rig;
    open_rig(&rig);
    char sha256[65];
    dp_catalogue_sha256(&rig.catalogue, sha256);
    char *from = dp_printf("\"catalogue_sha256\":\"%.1s", sha256);
    char *to = dp_printf("\"catalogue_sha256\":\"%c", sha256[0] == '0' ? '1' : '0');
    close_rig(&rig);
    char *good = slurp();
    char *text = edited(good, from, to);
    refuse(text, "line 1: the catalogue is not the one of that run");
    free(text);
    free(good);
    free(from);
    free(to);
}

/* One broken line at the end is what a kill leaves, with or without its newline; it is cut off. */
static void torn_end(void **state)
{
    static const char *const ends[] = {"{", "{\n", "\"", "{\"request\":0,\"key\":\"x\",\"answer\":{}}",
                                       "\xff\xfe"};
    struct rig rig;
    open_rig(&rig);
    rig_run(&rig);
    size_t total = rig.plan.request_count;
    close_rig(&rig);
    char *good = slurp();
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        struct dp_err err;
        char *text = dp_printf("%s%s", good, ends[i]);
        spit(text, strlen(text));
        free(text);
        assert_true(resume(&rig, &err));
        assert_int_equal(rig_answered(&rig), total);
        close_rig(&rig);
        text = slurp();
        assert_string_equal(text, good);
        free(text);
    }
    free(good);
}

/* A line without end is refused, not stored. */
static void endless_line(void **state)
{
    struct rig rig;
    struct dp_err err;
    open_rig(&rig);
    close_rig(&rig);
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    assert_int_equal(ftruncate(fd, (off_t)1 << 30), 0); /* a hole of zeros */
    close(fd);
    assert_false(resume(&rig, &err));
    assert_non_null(strstr(err.text, "line 2: the line is too long"));
    rig_close(&rig);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    assert_in_range(usage.ru_maxrss, 0, 1 << 19);
}

/* The run goes on when the disk is full; the close says so. The log stays resumable. */
static void full_disk(void **state)
{
    struct rig rig;
    struct dp_err err = {0};
    const struct rlimit small = {.rlim_cur = 4000, .rlim_max = RLIM_INFINITY};
    struct rlimit before;
    getrlimit(RLIMIT_FSIZE, &before);
    open_rig(&rig);
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    rig_run(&rig);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(rig.end, DP_RUN_DONE);
    assert_int_equal(rig_answered(&rig), rig.plan.request_count);
    assert_int_equal(dp_runlog_close(rig.run.log, &err), -1);
    assert_int_equal(err.code, DP_EXIT_NO_VERDICT);
    assert_non_null(strstr(err.text, "cannot write run log"));
    rig_close(&rig);
    char *text = slurp();
    assert_in_range(strlen(text), 1, 4000);
    assert_int_equal(text[strlen(text) - 1], '\n');
    free(text);
    assert_true(resume(&rig, &err));
    assert_in_range(rig_answered(&rig), 1, rig.plan.request_count - 1);
    close_rig(&rig);
}

static void cannot_open(void **state)
{
    struct rig rig;
    struct dp_err err;
    rig_open(&rig, ".", "fake/good/repeats", "repeat");
    static const struct {
        const char *path;
        const char *create, *resume; /* the errors; NULL: none */
    } table[] = {
        {"/nowhere/x.jsonl", "no such file or directory", "no such file or directory"},
        {"/tmp", "directory", "directory"},
        {"/dev/full", "no space left on device", "not a regular file"},
        {"/dev/null", NULL, "not a regular file"},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        const char *wanted = table[i].create;
        struct dp_runlog *log = dp_runlog_create(table[i].path, &rig.plan, NULL, &err);
        if (log) {
            assert_null(wanted);
            assert_int_equal(dp_runlog_close(log, &err), 0);
        } else {
            assert_int_equal(err.code, DP_EXIT_NO_VERDICT);
            assert_true(wanted && strstr(err.text, wanted));
        }
        assert_null(dp_runlog_resume(table[i].path, &rig.plan, &rig.answers, &err));
        assert_int_equal(err.code, DP_EXIT_DATA);
        assert_non_null(strstr(err.text, table[i].resume));
    }
    rig_close(&rig);
}

/* Two runs do not write one log. */
static void locked(void **state)
{
    struct rig rig, second;
    struct dp_err err;
    open_rig(&rig);
    assert_false(resume(&second, &err));
    assert_int_equal(err.code, DP_EXIT_NO_VERDICT);
    assert_non_null(strstr(err.text, "another run writes it"));
    rig_close(&second);
    close_rig(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_log),
        cmocka_unit_test(options_come_back),
        cmocka_unit_test(killed_and_resumed),
        cmocka_unit_test(retests),
        cmocka_unit_test(malformed),
        cmocka_unit_test(other_catalogue),
        cmocka_unit_test(torn_end),
        cmocka_unit_test(endless_line),
        cmocka_unit_test(full_disk),
        cmocka_unit_test(cannot_open),
        cmocka_unit_test(locked),
    };
    int fd = mkstemp(path);
    close(fd);
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return rc;
}
