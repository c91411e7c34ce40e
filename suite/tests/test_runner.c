/* SPDX-License-Identifier: Apache-2.0
 *
 * The real runner over fake programs: each kind of damage costs what the design says and never anything else.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/run/orphans.h"
#include "suite/tests/rig.h"

#define MS INT64_C(1000000)

/* What the peak may grow by in a test of memory. AddressSanitizer holds freed memory back, but not as much as
 * a flood would be. */
#if defined(__SANITIZE_ADDRESS__)
#define SLACK_KIB 49152
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SLACK_KIB 49152
#endif
#endif
#ifndef SLACK_KIB
#define SLACK_KIB 2048
#endif

/* What the answers of a case must be. */
struct expected {
    const char *name;   /* after "fake/harm/" */
    const char *reason; /* of the error; NULL: every request is observed all the same */
    const char *text;   /* part of the error's text */
    const char *axis;   /* where alone the error is; NULL: everywhere */
    const char *setting;
};

static const char *word(const json_t *answer, const char *key)
{
    return dp_json_string(answer, key, "");
}

static const struct expected *expected_of(const struct expected *table, size_t count, const char *id)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(table[i].name, strrchr(id, '/') + 1) == 0) {
            return &table[i];
        }
    }
    return NULL;
}

static void check_answer(const struct rig *rig, size_t place, const struct expected *row)
{
    const struct dp_request *request = &rig->plan.requests[place];
    const json_t *answer = rig->answers.items[place];
    const char *id = rig->plan.cases[request->case_index]->id;
    bool error = row && row->reason &&
                 (!row->axis ||
                  (strcmp(row->axis, request->axis) == 0 && strcmp(row->setting, request->setting) == 0));
    const char *type = error ? "error" : "observation";
    if (strcmp(word(answer, "type"), type) != 0 ||
        (error &&
         (strcmp(word(answer, "reason"), row->reason) != 0 || !strstr(word(answer, "text"), row->text)))) {
        char *text = json_dumps(answer, JSON_ENCODE_ANY);
        fail_msg("%s %s %s: expected %s, got %s", id, request->axis, request->setting, type,
                 text ? text : "nothing");
    }
}

/* Runs the rows' cases, each followed by a good one, and checks every answer. */
static void check_harm(const struct expected *table, size_t count, const char *axes, int64_t timeout_ns)
{
    struct dp_text selectors = DP_TEXT(10000);
    for (size_t i = 0; i < count; i++) {
        dp_text_printf(&selectors, "fake/harm/%s fake/harm/%s.good ", table[i].name, table[i].name);
    }
    size_t descriptors = open_descriptors();
    struct rig rig;
    rig_open(&rig, "harm", selectors.data, axes);
    dp_text_free(&selectors);
    rig.run.timeout_ns = timeout_ns;
    rig_run(&rig);
    assert_int_equal(rig.end, DP_RUN_DONE);
    assert_int_equal(rig.plan.case_count, 2 * count);
    for (size_t i = 0; i < rig.plan.request_count; i++) {
        const char *id = rig.plan.cases[rig.plan.requests[i].case_index]->id;
        check_answer(&rig, i, expected_of(table, count, id));
    }
    rig_close(&rig);
    assert_int_equal(open_descriptors(), descriptors);
    assert_int_equal(processes_of(getpid()), 0);
}

static void deaths(void **state)
{
    static const struct expected table[] = {
        {"abort", "crash", "signal 6 (SIGABRT)", NULL, NULL},
        {"segv", "crash", "signal 11 (SIGSEGV)", NULL, NULL},
        {"sigill", "crash", "signal 4 (SIGILL)", NULL, NULL},
        {"sigkill", "crash", "signal 9 (SIGKILL)", NULL, NULL},
        {"exit-0", "crash", "exited with status 0 before it was done", NULL, NULL},
        {"exit-3", "crash", "exited with status 3 before it was done", NULL, NULL},
        {"crash-at-threads-2", "crash", "SIGSEGV", "threads", "2"},
        {"crash-at-restart", "crash", "SIGSEGV", "fresh", "1"},
    };
    check_harm(table, sizeof(table) / sizeof(table[0]), "threads fresh poison", 60000 * MS);
}

static void bad_messages(void **state)
{
    static const struct expected table[] = {
        {"bad-json", "protocol", "bad JSON", NULL, NULL},
        {"no-object", "protocol", "not a JSON object", NULL, NULL},
        {"unknown-type", "protocol", "unknown type 'opinion'", NULL, NULL},
        {"second-hello", "protocol", "hello a second time", NULL, NULL},
        {"no-id", "protocol", "without an integer 'id'", NULL, NULL},
        {"deep", "protocol", "bad JSON", NULL, NULL},
        {"bytes", "protocol", "bad JSON", NULL, NULL},
        {"no-answer", "protocol", "done without an answer", NULL, NULL},
        {"two-answers", "protocol", "two answers", NULL, NULL},
        {"other-id", "protocol", "another request", NULL, NULL},
        {"chatter", NULL, NULL, NULL, NULL},
        {"chatter-late", NULL, NULL, NULL, NULL},
        {"long-line", "protocol", "more than 1 MiB", NULL, NULL},
    };
    check_harm(table, sizeof(table) / sizeof(table[0]), "repeat", 60000 * MS);
}

static void lies(void **state)
{
    static const struct expected table[] = {
        {"lie-sum", "protocol", "do not add up", NULL, NULL},
        {"lie-short-sum", "protocol", "do not add up", NULL, NULL},
        {"lie-sha256", "protocol", "64 lower-case hex digits", NULL, NULL},
        {"lie-distinct", "protocol", "counts other classes", NULL, NULL},
        {"lie-negative", "protocol", "out of range", NULL, NULL},
        {"lie-name-twice", "protocol", "named twice", NULL, NULL},
        {"lie-no-outputs", "protocol", "without 'outputs'", NULL, NULL},
        {"lie-control", "protocol", "control characters", NULL, NULL},
        {"lie-mismatch", "protocol", "do not show", NULL, NULL},
    };
    check_harm(table, sizeof(table) / sizeof(table[0]), "repeat", 60000 * MS);
}

static void endless(void **state)
{
    static const struct expected table[] = {
        {"hang", "timeout", "did not finish the request within 2 s", NULL, NULL},
        {"hang-deaf", "timeout", "did not finish the request within 2 s", NULL, NULL},
        {"flood-forever", "timeout", "did not finish the request within 2 s", NULL, NULL},
        {"close-output", "protocol", "closed its output", NULL, NULL},
        {"hang-at-poison", "timeout", "did not finish the request within 2 s", "poison", "nan"},
    };
    check_harm(table, sizeof(table) / sizeof(table[0]), "repeat poison", 2000 * MS);
}

/* An error at the base setting is quoted with the program's last words, once. */
static void error_quotes_log(void **state)
{
    struct rig rig;
    rig_open(&rig, "harm", "fake/harm/segv", "fresh");
    rig_run(&rig);
    assert_string_equal(word(rig.answers.items[0], "log"), "fakes: about to end by segv\n");
    for (size_t i = 1; i < rig.plan.request_count; i++) {
        assert_string_equal(word(rig.answers.items[i], "text"), word(rig.answers.items[0], "text"));
        assert_null(json_object_get(rig.answers.items[i], "log"));
    }
    rig_close(&rig);
}

static void polite(void **state)
{
    struct rig rig;
    rig_open(&rig, ".", "fake/good/* fake/skip/* fake/rude/leaves*", "threads batch poison fresh");
    rig_run(&rig);
    assert_int_equal(rig.end, DP_RUN_DONE);
    assert_int_equal(rig_answered(&rig), rig.plan.request_count);
    for (size_t i = 0; i < rig.plan.request_count; i++) {
        const struct dp_request *request = &rig.plan.requests[i];
        const struct dp_case *item = rig.plan.cases[request->case_index];
        const char *type = word(rig.answers.items[i], "type"), *reason = strrchr(item->id, '/') + 1;
        if (strcmp(item->family, "skip") != 0) {
            assert_string_equal(type, "observation");
        } else if (strcmp(reason, "base-failure") == 0) {
            assert_string_equal(type, "failure");
        } else if (strcmp(reason, "one-setting") == 0) {
            bool there = strcmp(request->axis, "threads") == 0 && strcmp(request->setting, "4") == 0;
            assert_string_equal(type, there ? "skip" : "observation");
        } else {
            assert_string_equal(type, "skip");
            assert_string_equal(word(rig.answers.items[i], "reason"), reason);
        }
    }
    assert_string_equal(word(json_object_get(rig.answers.hellos, rig.plan.cases[0]->program->name), "type"),
                        "hello");
    rig_close(&rig);
    assert_int_equal(processes_of(getpid()), 0);
}

/* Programs that fail before their first answer: every request of theirs gets the same, others nothing. */
static void starts(void **state)
{
    static const struct {
        const char *name, *type, *reason, *text;
    } table[] = {
        {"dies", "error", "gone", "exited with status 3 before hello: dies: cannot set up the fake device"},
        {"garbage", "error", "gone", "bad JSON"},
        {"hello-twice", "error", "protocol", "hello a second time"},
        {"missing", "skip", "library_missing", "libfake.so.1: cannot open shared object file"},
        {"protocol-2", "error", "protocol", "speaks protocol 2, this suite speaks protocol 1"},
        {"silent", "error", "gone", "did not say hello within 1 s"},
        {"unstartable", "error", "spawn", "unstartable': no such file or directory"},
        {"refuses", "skip", "no_device", "refuses: there is no fake device"},
        {"one-each", "observation", "", ""}, /* each process answers once, exits with 3, and costs nothing */
        {"repeat-only", "observation", "", ""},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct rig rig;
        char *selector = dp_printf("fake/start-%s/* fake/start-repeat-only/*", table[i].name);
        rig_open(&rig, "starts", selector, "repeat");
        free(selector);
        rig.run.timeout_ns = strcmp(table[i].name, "silent") == 0 ? 1000 * MS : 60000 * MS;
        rig_run(&rig);
        for (size_t j = 0; j < rig.plan.request_count; j++) {
            const json_t *answer = rig.answers.items[j];
            const struct dp_case *item = rig.plan.cases[rig.plan.requests[j].case_index];
            bool other = strstr(item->id, table[i].name) == NULL;
            if (strcmp(word(answer, "type"), other ? "observation" : table[i].type) != 0 ||
                (!other && (strcmp(word(answer, "reason"), table[i].reason) != 0 ||
                            !strstr(word(answer, "text"), table[i].text)))) {
                fail_msg("%s: got %s %s '%s'", item->id, word(answer, "type"), word(answer, "reason"),
                         word(answer, "text"));
            }
        }
        rig_close(&rig);
    }
}

/* Three processes in a row without one finished request end a program; two do not. */
static void given_up(void **state)
{
    struct rig rig;
    rig_open(&rig, "starts", "fake/start-never/*", "repeat");
    rig_run(&rig);
    for (size_t i = 0; i < rig.plan.request_count; i++) { /* each death costs one case, there are two */
        assert_string_equal(word(rig.answers.items[i], "reason"), "crash");
    }
    rig_close(&rig);

    rig_open(&rig, "harm", "fake/harm/abort fake/harm/exit-0 fake/harm/exit-3 fake/harm/segv", "repeat");
    rig_run(&rig);
    for (size_t i = 0; i < rig.plan.request_count; i++) {
        bool last = strstr(rig.plan.cases[rig.plan.requests[i].case_index]->id, "segv") != NULL;
        assert_string_equal(word(rig.answers.items[i], "reason"), last ? "gone" : "crash");
    }
    rig_close(&rig);

    rig_open(&rig, "harm", "fake/harm/abort fake/harm/exit-0 fake/harm/exit-0.good fake/harm/exit-3",
             "repeat");
    rig_run(&rig);
    for (size_t i = 0; i < rig.plan.request_count; i++) {
        assert_string_not_equal(word(rig.answers.items[i], "reason"), "gone");
    }
    rig_close(&rig);
}

static void not_built(void **state)
{
    struct rig rig;
    rig_open(&rig, ".", "fake/good/repeats", "repeat");
    struct dp_program *program = rig.plan.cases[0]->program;
    program->state = DP_PROGRAM_NOT_BUILT;
    program->reason = dp_strdup("fake headers were not found");
    rig_run(&rig);
    for (size_t i = 0; i < rig.plan.request_count; i++) {
        assert_string_equal(word(rig.answers.items[i], "reason"), "not_built");
        assert_string_equal(word(rig.answers.items[i], "text"), "fake headers were not found");
    }
    rig_close(&rig);
}

/* A program is not asked for an axis that it does not name. */
static void unknown_axes(void **state)
{
    struct rig rig;
    rig_open(&rig, "starts", "fake/start-repeat-only/*", "repeat threads poison fresh threads*repeat");
    rig_run(&rig);
    size_t skipped = 0;
    for (size_t i = 0; i < rig.plan.request_count; i++) {
        const char *axis = rig.plan.requests[i].axis;
        bool known = strcmp(axis, "repeat") == 0 || strcmp(axis, "fresh") == 0;
        assert_string_equal(word(rig.answers.items[i], "type"), known ? "observation" : "skip");
        skipped += !known;
    }
    assert_true(skipped > 0);
    rig_close(&rig);
}

static void environment(void **state)
{
    setenv("DETPROBE_LIB_FAKE", "/opt/libfake.so", 1);
    setenv("MALLOC_PERTURB_", "85", 1);
    assert_int_equal(dup2(1, 77), 77); /* not close-on-exec */
    struct rig rig;
    rig_open(&rig, "starts", "fake/start-tells/one", "repeat");
    rig_run(&rig);
    close(77);
    unsetenv("DETPROBE_LIB_FAKE");
    assert_non_null(
        strstr(word(rig.answers.items[0], "text"), "lib=/opt/libfake.so perturb=85 stray=no stdin=none"));
    rig_close(&rig);
}

/* Which process answered the request, and in which variables. */
static json_int_t process_of(const struct rig *rig, const char *id, int process, const char *variables)
{
    for (size_t i = 0; i < rig->plan.request_count; i++) {
        const struct dp_request *request = &rig->plan.requests[i];
        if (strcmp(rig->plan.cases[request->case_index]->id, id) == 0 && request->process == process) {
            assert_string_equal(word(rig->answers.items[i], "chosen"), variables);
            return dp_json_int(rig->answers.items[i], "threads", 0);
        }
    }
    fail_msg("no request of %s in process %d", id, process);
    return 0;
}

/* Answers of one setting of axis isa, in the plan's order, and how many of them there are. */
static size_t capped(const struct rig *rig, const char *id, const char *setting, const json_t **ret,
                     size_t most)
{
    size_t count = 0;
    for (size_t i = 0; i < rig->plan.request_count; i++) {
        const struct dp_request *request = &rig->plan.requests[i];
        if (strcmp(request->axis, "isa") == 0 && strcmp(request->setting, setting) == 0 &&
            strcmp(rig->plan.cases[request->case_index]->id, id) == 0 && count < most) {
            ret[count++] = rig->answers.items[i];
        }
    }
    return count;
}

/* Runs the fakes whose library can be capped, on a processor that knows two levels of it. */
static void run_capped(struct rig *rig, const char *mode)
{
    json_t *host = json_pack("{s:[s, s]}", "cpu_flags", "pni", "ssse3");
    setenv("FAKE_ISA", mode, 1);
    unsetenv("OPENBLAS_CORETYPE"); /* of whoever runs this test */
    rig_open_sized(rig, "caps", "fake/caps/*", "isa", 2, 0);
    rig_run(rig);
    dp_plan_add_later(&rig->plan, rig->answers.hellos, host);
    dp_answers_grow(&rig->answers, rig->plan.request_count);
    rig_run(rig);
    unsetenv("FAKE_ISA");
    assert_int_equal(rig_answered(rig), rig->plan.request_count);
    json_decref(host);
}

/* What each way to deal with a cap costs: never more than the setting. */
static void caps(void **state)
{
    static const struct {
        const char *mode, *type, *text; /* of what is capped; NULL: an observation with its level */
    } rows[] = {
        {"takes", NULL, NULL},
        {"ignores", "skip", "ignored: with OPENBLAS_CORETYPE=Core2 OpenBLAS runs on 'Zen' as without"},
        {"mute", "skip", "ignored: with OPENBLAS_CORETYPE=Core2 OpenBLAS runs on 'nothing that it names'"},
        {"dies", "error", "was killed by signal 4 (SIGILL) before hello"},
    };
    const json_t *answers[8];
    for (size_t i = 0; dp_caps()->setting && i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct rig rig;
        run_capped(&rig, rows[i].mode);
        for (size_t k = 0; k < rig.plan.request_count; k++) { /* the base is as ever */
            const bool base = strcmp(rig.plan.requests[k].axis, "repeat") == 0;
            assert_true(!base || strcmp(word(rig.answers.items[k], "type"), "observation") == 0);
        }
        assert_int_equal(capped(&rig, "fake/caps/same", "openblas/Core2", answers, 8),
                         3); /* 2 wide, 1 unit */
        for (size_t k = 0; k < 3; k++) {
            assert_string_equal(word(answers[k], "type"), rows[i].type ? rows[i].type : "observation");
            assert_string_equal(word(answers[k], "isa"), rows[i].type ? "" : "Core2");
            assert_true(!rows[i].text || strstr(word(answers[k], "text"), rows[i].text));
        }
        assert_int_equal(capped(&rig, "fake/caps/same", "openblas/Nehalem", answers, 8), 1);
        assert_string_equal(word(answers[0], "text"), "this processor has no 'sse4_2'");
        rig_close(&rig);
    }
}

/* SIGILL at one cap of one case: that request, and neither its neighbours nor the next cap. */
static void cap_that_crashes(void **state)
{
    const json_t *answers[8];
    struct rig rig;
    if (!dp_caps()->setting) {
        skip();
    }
    run_capped(&rig, "takes");
    assert_int_equal(capped(&rig, "fake/caps/ill", "openblas/Prescott", answers, 8), 3);
    for (size_t k = 0; k < 3; k++) {
        assert_string_equal(word(answers[k], "type"), "error");
    }
    assert_true(strstr(word(answers[0], "text"), "SIGILL"));
    static const char *const others[][2] = {{"fake/caps/ill", "openblas/Core2"},
                                            {"fake/caps/ill", "openblas/Atom"},
                                            {"fake/caps/moves", "openblas/Prescott"},
                                            {"fake/caps/same", "openblas/Prescott"}};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        assert_int_equal(capped(&rig, others[i][0], others[i][1], answers, 8), 3);
        for (size_t k = 0; k < 3; k++) {
            assert_string_equal(word(answers[k], "type"), "observation");
        }
    }
    rig_close(&rig);
}

/* Cases that set variables: one process for all that set the same, in the base pass and in each fresh one,
 * and none of them sees what the user has set. */
static void settings(void **state)
{
    static const struct {
        const char *one, *other, *variables;
    } rows[] = {
        {"fake/settings/plain", "fake/settings/plain-too",
         "NVIDIA_TF32_OVERRIDE=7 CUBLAS_WORKSPACE_CONFIG unset"},
        {"fake/settings/off", "fake/settings/off-too",
         "NVIDIA_TF32_OVERRIDE=0 CUBLAS_WORKSPACE_CONFIG unset"},
        {"fake/settings/both", "fake/settings/both-too",
         "NVIDIA_TF32_OVERRIDE=1 CUBLAS_WORKSPACE_CONFIG=:16:8"},
        {"fake/settings/unset", "fake/settings/unset",
         "NVIDIA_TF32_OVERRIDE unset CUBLAS_WORKSPACE_CONFIG unset"},
    };
    const size_t count = sizeof(rows) / sizeof(rows[0]);
    json_int_t seen[8];
    struct rig rig;
    setenv("NVIDIA_TF32_OVERRIDE", "7", 1);
    rig_open_sized(&rig, "settings", "fake/settings/*", "repeat fresh", 2, 1);
    rig_run(&rig);
    unsetenv("NVIDIA_TF32_OVERRIDE");
    for (size_t i = 0; i < 2 * count; i++) {
        const int process = (int)(i % 2);
        seen[i] = process_of(&rig, rows[i / 2].one, process, rows[i / 2].variables);
        assert_int_equal(process_of(&rig, rows[i / 2].other, process, rows[i / 2].variables), seen[i]);
        for (size_t k = 0; k < i; k++) {
            assert_int_not_equal(seen[k], seen[i]);
        }
    }
    size_t errors = 0; /* the crash costs its own case alone */
    for (size_t i = 0; i < rig.plan.request_count; i++) {
        const char *id = rig.plan.cases[rig.plan.requests[i].case_index]->id;
        const bool error = strcmp(word(rig.answers.items[i], "type"), "error") == 0;
        assert_int_equal(error, strcmp(id, "fake/settings/crash") == 0);
        errors += error;
    }
    assert_int_not_equal(errors, 0);
    rig_close(&rig);
}

static long peak_kib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

/* The peak grows neither with the number of runs nor with what a program prints or sends. */
static void memory(void **state)
{
    static const struct {
        const char *folder, *selector;
        int runs;
    } table[] = {
        {".", "fake/good/repeats fake/varies/always", 10},
        {"harm", "fake/harm/bad-json fake/harm/long-line.good", 0}, /* the buffer's first size */
        {".", "fake/good/repeats fake/varies/always", 10000},
        {".", "fake/rude/flood", 0},
    };
    long before = 0;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct rig rig;
        rig_open_sized(&rig, table[i].folder, table[i].selector, "repeat", table[i].runs, 0);
        rig_run(&rig);
        assert_int_equal(rig_answered(&rig), rig.plan.request_count);
        rig_close(&rig);
        before = i == 1 ? peak_kib() : before;
    }
    assert_in_range(peak_kib(), 0, before + SLACK_KIB);
    struct rig rig;
    rig_open(&rig, "harm", "fake/harm/long-line", "repeat"); /* 100 MB, of which 1 MiB is looked at */
    rig_run(&rig);
    rig_close(&rig);
    assert_in_range(peak_kib(), 0, before + SLACK_KIB + 4096);
}

static void thousand_processes(void **state)
{
    size_t descriptors = open_descriptors();
    struct rig rig;
    rig_open_sized(&rig, ".", "fake/rude/leaves-child fake/good/repeats-promised", "fresh", 2, 300);
    rig_run(&rig);
    for (size_t i = 0; i < rig.plan.request_count; i++) {
        assert_string_equal(word(rig.answers.items[i], "type"), "observation");
    }
    rig_close(&rig);
    assert_int_equal(open_descriptors(), descriptors);
    assert_int_equal(processes_of(getpid()), 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child, no zombie */
}

/* Children that were ours before the run stay. */
static void children_of_others(void **state)
{
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    struct rig rig;
    rig_open(&rig, ".", "fake/rude/leaves-daemon", "repeat");
    rig_run(&rig);
    rig_close(&rig);
    assert_int_equal(processes_of(getpid()), 0);
    assert_int_equal(waitpid(child, NULL, WNOHANG), 0);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static void most_children(void *context, const struct dp_plan *plan, size_t request, size_t answered,
                          size_t total)
{
    size_t *most = context;
    struct dp_pids children = dp_children();
    *most = children.count > *most ? children.count : *most;
    dp_pids_free(&children);
}

/* Several jobs give the answers of one, and really run at once. */
static void jobs(void **state)
{
    static const char selectors[] = "fake/good/slow fake/good/repeats fake/varies/always fake/harm/segv "
                                    "fake/harm/lie-* fake/start-missing/* fake/start-repeat-only/*";
    struct rig one, four;
    size_t most_one = 0, most_four = 0;
    rig_open(&one, ".:harm:starts", selectors, "repeat fresh");
    rig_open(&four, ".:harm:starts", selectors, "repeat fresh");
    four.run.jobs = 4;
    one.run.progress = four.run.progress = most_children;
    one.run.context = &most_one;
    four.run.context = &most_four;
    rig_run(&one);
    rig_run(&four);
    assert_int_equal(one.plan.request_count, four.plan.request_count);
    for (size_t i = 0; i < one.plan.request_count; i++) {
        assert_true(same_answer(one.answers.items[i], four.answers.items[i]));
    }
    assert_int_equal(most_one, 1);
    assert_true(most_four > 1);
    rig_close(&one);
    rig_close(&four);
}

struct stop {
    size_t after;
    int signal;
};

static void stop_after(void *context, const struct dp_plan *plan, size_t request, size_t answered,
                       size_t total)
{
    const struct stop *stop = context;
    if (answered == stop->after) {
        kill(getpid(), stop->signal);
    }
}

/* The first signal ends the run after the request that is out. */
static void interrupted(void **state)
{
    static const int signals[] = {SIGINT, SIGTERM};
    for (size_t i = 0; i < 2; i++) {
        struct rig rig;
        struct stop stop = {.after = 5, .signal = signals[i]};
        struct sigaction before, after;
        sigaction(signals[i], NULL, &before);
        rig_open(&rig, ".", "fake/good/*", "threads fresh");
        rig.run.progress = stop_after;
        rig.run.context = &stop;
        rig_run(&rig);
        sigaction(signals[i], NULL, &after);
        assert_int_equal(rig.end, DP_RUN_INTERRUPTED);
        assert_int_equal(rig.signal, signals[i]);
        assert_in_range(rig_answered(&rig), 5, 6);
        assert_true(before.sa_handler == after.sa_handler);
        assert_int_equal(processes_of(getpid()), 0);
        stop.after = 0; /* what is left can be run */
        rig_run(&rig);
        assert_int_equal(rig.end, DP_RUN_DONE);
        assert_int_equal(rig_answered(&rig), rig.plan.request_count);
        rig_close(&rig);
    }
}

static void send_term(int signal)
{
    kill(getpid(), SIGTERM);
}

/* The second one ends it at once, whatever a program does. */
static void interrupted_twice(void **state)
{
    struct rig rig;
    rig_open(&rig, "harm", "fake/harm/hang-deaf fake/harm/segv", "repeat");
    rig.run.timeout_ns = 600000 * MS;
    signal(SIGALRM, send_term);
    const struct itimerval twice = {{0, 300000}, {0, 300000}}, off = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &twice, NULL);
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_BLOCK, &term, NULL); /* a third one may come before the timer is off */
    rig_run(&rig);
    setitimer(ITIMER_REAL, &off, NULL);
    sigtimedwait(&term, NULL, &(struct timespec){0});
    sigprocmask(SIG_UNBLOCK, &term, NULL);
    signal(SIGALRM, SIG_DFL);
    assert_int_equal(rig.end, DP_RUN_INTERRUPTED);
    assert_int_equal(rig.signal, SIGTERM);
    assert_int_equal(rig_answered(&rig), 0);
    assert_int_equal(processes_of(getpid()), 0);
    rig_close(&rig);
}

/* When the suite is killed its programs end too: one that waits, and one that hangs. */
static void suite_killed(void **state)
{
    static const char *const selectors[] = {"fake/good/slow", "fake/harm/hang"};
    for (size_t i = 0; i < 2; i++) {
        pid_t suite = fork();
        if (suite == 0) {
            struct rig rig;
            rig_open(&rig, ".:harm", selectors[i], "repeat");
            rig_run(&rig);
            _exit(0);
        }
        int running = 0; /* for a moment also one that makes room for the next */
        for (int wait = 0; wait < 1000 && running != 1; wait++) {
            usleep(10000);
            running = (int)processes_of(suite);
        }
        assert_int_equal(running, 1);
        kill(suite, SIGKILL);
        waitpid(suite, NULL, 0);
        for (int wait = 0; wait < 1000 && processes_of(suite) > 0; wait++) {
            usleep(10000);
        }
        assert_int_equal(processes_of(suite), 0);
    }
}

static void hello_only(void **state)
{
    static const struct {
        const char *id, *type, *reason;
    } table[] = {
        {"fake/good/repeats", "hello", ""},
        {"fake/start-missing/one", "skip", "library_missing"},
        {"fake/start-dies/one", "error", "crash"},
        {"fake/start-silent/one", "error", "timeout"},
        {"fake/start-unstartable/one", "error", "spawn"},
        {"fake/start-garbage/one", "error", "protocol"},
        {"fake/start-protocol-2/one", "error", "protocol"},
    };
    struct rig rig;
    rig_open(&rig, ".:starts", "fake/*", "repeat");
    size_t descriptors = open_descriptors();
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        const struct dp_case *item = dp_catalogue_find(&rig.catalogue, table[i].id);
        json_t *answer = dp_run_hello(item->program, NULL, 2000 * MS);
        assert_string_equal(word(answer, "type"), table[i].type);
        assert_string_equal(word(answer, "reason"), table[i].reason);
        json_decref(answer);
    }
    assert_int_equal(open_descriptors(), descriptors);
    assert_int_equal(processes_of(getpid()), 0);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory), /* first: it looks at the peak of this process */
        cmocka_unit_test(deaths),
        cmocka_unit_test(bad_messages),
        cmocka_unit_test(lies),
        cmocka_unit_test(endless),
        cmocka_unit_test(error_quotes_log),
        cmocka_unit_test(polite),
        cmocka_unit_test(starts),
        cmocka_unit_test(given_up),
        cmocka_unit_test(not_built),
        cmocka_unit_test(unknown_axes),
        cmocka_unit_test(environment),
        cmocka_unit_test(settings),
        cmocka_unit_test(caps),
        cmocka_unit_test(cap_that_crashes),
        cmocka_unit_test(thousand_processes),
        cmocka_unit_test(children_of_others),
        cmocka_unit_test(jobs),
        cmocka_unit_test(interrupted),
        cmocka_unit_test(interrupted_twice),
        cmocka_unit_test(suite_killed),
        cmocka_unit_test(hello_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
