/* SPDX-License-Identifier: Apache-2.0
 *
 * What a setting changes: the cases that it names, run by 'detprobe run' in a process of its own with the
 * variable and without, and the two reports compared.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "suite/audit/readers.h"
#include "suite/base/json.h"
#include "suite/command/auditing.h"

#define REPORT_MOST ((size_t)64 << 20)

static volatile sig_atomic_t running; /* the run that a signal is for, 0: none */
static volatile sig_atomic_t stopped; /* the first signal that came, 0: none */

static void pass_on(int number)
{
    stopped = stopped ? stopped : number;
    if (running) {
        kill((pid_t)running, number);
    }
}

/* From now on a signal ends the run, and no other is started. */
static void hand_on_signals(void)
{
    const struct sigaction action = {.sa_handler = pass_on};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* In a group of its own: a signal of the terminal comes from us, and once. */
static pid_t spawn(char **words, char **environment, int pipe_end)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t usual;
    pid_t pid = -1;
    sigemptyset(&usual);
    sigaddset(&usual, SIGINT);
    sigaddset(&usual, SIGTERM);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe_end, STDOUT_FILENO);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    const int rc = posix_spawn(&pid, "/proc/self/exe", &actions, &attributes, words, environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    errno = rc;
    return rc == 0 ? pid : -1;
}

/* The command that runs the cases of a proof. Owned, with its words. */
static char **make_command(const struct audit *audit, const json_t *rule)
{
    const json_t *cases = json_object_get(rule, "cases");
    const size_t count = json_array_size(cases);
    char **words = dp_alloc(count + 10, sizeof(*words));
    size_t used = 0;
    words[used++] = dp_strdup("detprobe");
    words[used++] = dp_strdup("run");
    words[used++] = dp_strdup("--level=quick");
    words[used++] = dp_printf("--axis=%s", dp_json_string(rule, "axes", "fresh"));
    words[used++] = dp_strdup("--json");
    words[used++] = dp_strdup("--fail-on=never");
    if (audit->stack) {
        words[used++] = dp_printf("--stack=%s", audit->stack);
    }
    words[used++] = dp_strdup("--");
    for (size_t i = 0; i < count; i++) {
        words[used++] = dp_strdup(json_string_value(json_array_get(cases, i)));
    }
    return words;
}

/* Starts this program again, its standard output into the pipe. */
static pid_t start(const struct audit *audit, const json_t *rule, char **environment, int pipe_end)
{
    char **words = make_command(audit, rule);
    const pid_t pid = spawn(words, environment, pipe_end);
    const int reason = errno;
    for (size_t i = 0; words[i]; i++) {
        free(words[i]);
    }
    free(words);
    errno = reason;
    return pid;
}

static json_t *read_report(int fd, struct dp_err *err)
{
    struct dp_text text = DP_TEXT(REPORT_MOST);
    char bytes[1 << 16];
    ssize_t got;
    while ((got = read(fd, bytes, sizeof(bytes))) > 0 || (got < 0 && errno == EINTR)) {
        dp_text_add(&text, bytes, got > 0 ? (size_t)got : 0);
    }
    json_t *report = dp_json_parse(text.data ? text.data : "", text.length, "the report", err);
    dp_text_free(&text);
    return report;
}

/* The report of one run with this value, or without the variable; owned, NULL with *err. *ret_code is the
 * run's exit code. */
static json_t *run_cases(const struct audit *audit, const struct audit_row *row, const char *value,
                         int *ret_code, struct dp_err *err)
{
    const json_t *rule = json_object_get(row->setting, "prove");
    char *own;
    char **environment =
        audit_with(audit->environment, dp_json_string(row->setting, "name", ""), value, &own);
    int ends[2], status = 0;
    json_t *report = NULL;
    *ret_code = DP_EXIT_NO_VERDICT;
    if (pipe2(ends, O_CLOEXEC) == 0) {
        const pid_t pid = start(audit, rule, environment, ends[1]);
        close(ends[1]);
        if (pid > 0) {
            running = pid;
            if (stopped) { /* it came before there was anybody to pass it on to */
                kill(pid, stopped);
            }
            report = read_report(ends[0], err);
            while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
            }
            running = 0;
            *ret_code = WIFEXITED(status) ? WEXITSTATUS(status) : DP_EXIT_SIGNAL + WTERMSIG(status);
            if (!report) { /* its own message went where ours do */
                dp_err_set(err, DP_EXIT_NO_VERDICT, "'detprobe run' wrote no report and ended with %d",
                           *ret_code);
            }
        } else {
            dp_err_set(err, DP_EXIT_NO_VERDICT, "cannot start 'detprobe run': %s", dp_reason(errno));
        }
        close(ends[0]);
    } else {
        dp_err_set(err, DP_EXIT_NO_VERDICT, "cannot make a pipe: %s", dp_reason(errno));
    }
    free(environment);
    free(own);
    return report;
}

/* --- comparing --- */

static bool has_bits(const json_t *result)
{
    return dp_word_among(dp_json_string(result, "observed", ""), "repeats|varies|wrong");
}

static const char *why_not(const json_t *result)
{
    return dp_json_string(result, "text", dp_json_string(result, "reason", "it did not run"));
}

/* What the two runs of a setting say together. */
struct comparison {
    json_t *cases, *not_run; /* of the proof */
    bool verdicts, bits;
};

static void add_not_run(const json_t *result, const char *reason, struct comparison *ret)
{
    char *shown = dp_printable(reason, strlen(reason));
    json_array_append_new(ret->not_run, json_pack("{ss ss}", "case", dp_json_string(result, "case", ""),
                                                  "reason", shown[0] ? shown : "it did not run"));
    free(shown);
}

/* A case that ran on another library than the one that reads the setting says nothing of it: the reason,
 * owned; NULL: it does say something. */
static char *other_library(const json_t *setting, const json_t *report, const json_t *result)
{
    const json_t *environment = json_object_get(json_object_get(report, "body"), "environment");
    const json_t *libraries = json_object_get(environment, "libraries");
    json_t *own = json_array();
    struct dp_readers readers;
    const char *version;
    char *family =
             dp_printf("%s/%s", dp_json_string(result, "backend", ""), dp_json_string(result, "family", "")),
         *ret = NULL;
    for (size_t i = 0; i < json_array_size(libraries); i++) {
        json_t *library = json_array_get(libraries, i);
        if (dp_json_array_has(json_object_get(library, "families"), family)) {
            json_array_append(own, library);
        }
    }
    dp_readers_open(&readers);
    dp_readers_add_libraries(&readers, own);
    if (dp_readers_find(&readers, setting, true, &version) == DP_AUDIT_ABSENT) {
        ret = dp_printf("%s runs on a library that does not read it", family);
    }
    dp_readers_free(&readers);
    json_decref(own);
    free(family);
    return ret;
}

/* With and without must both have run: the one that did not says why. */
static void compare_case(const json_t *without, const json_t *with, struct comparison *ret)
{
    const char *before = dp_json_string(without, "observed", ""),
               *after = dp_json_string(with, "observed", "");
    if (!has_bits(without) || !has_bits(with)) {
        add_not_run(without, why_not(has_bits(without) ? with : without), ret);
        return;
    }
    json_t *item =
        json_pack("{ss ss ss}", "case", dp_json_string(with, "case", ""), "without", before, "with", after);
    const json_t *one = json_object_get(without, "outputs"), *other = json_object_get(with, "outputs");
    if (one && other) { /* what varies has no bits to compare */
        const bool same = json_equal(one, other);
        json_object_set_new(item, "same_bits", json_boolean(same));
        ret->bits = ret->bits || !same;
    }
    ret->verdicts = ret->verdicts || strcmp(before, after) != 0;
    json_array_append_new(ret->cases, item);
}

static void compare(const json_t *setting, const json_t *without, const json_t *with, struct comparison *ret)
{
    json_t *index = dp_json_index(json_object_get(json_object_get(with, "body"), "results"), "case");
    const json_t *results = json_object_get(json_object_get(without, "body"), "results");
    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *one = json_array_get(results, i);
        char *other = has_bits(one) ? other_library(setting, without, one) : NULL;
        if (other) {
            add_not_run(one, other, ret);
        } else {
            compare_case(one, json_object_get(index, dp_json_string(one, "case", "")), ret);
        }
        free(other);
    }
    json_decref(index);
}

static json_t *not_proven(const char *reason)
{
    char *shown = dp_printable(reason, strlen(reason));
    json_t *ret = json_pack("{ss ss so}", "outcome", "not_proven", "reason", shown, "cases", json_array());
    free(shown);
    return ret;
}

/* Two runs are compared only if both prove their own measurement. */
static json_t *judge(const json_t *setting, const json_t *without, const json_t *with, int code,
                     const char *value)
{
    struct comparison comparison = {.cases = json_array(), .not_run = json_array()};
    json_t *proof;
    compare(setting, without, with, &comparison);
    const json_t *first = json_array_get(comparison.not_run, 0);
    if (code != DP_EXIT_OK && code != DP_EXIT_NOTHING_RAN) {
        proof = not_proven("a run had no valid verdict, its controls misbehaved or a case failed");
    } else if (json_array_size(comparison.cases) == 0) {
        proof = not_proven(dp_json_string(first, "reason", "no case ran"));
    } else {
        const char *outcome = comparison.verdicts ? "changes_verdict"
                              : comparison.bits   ? "changes_bits"
                                                  : "no_effect";
        char *shown = dp_printable(value, strlen(value));
        proof = json_pack("{ss ss sO}", "outcome", outcome, "value", shown, "cases", comparison.cases);
        free(shown);
    }
    if (first) {
        json_object_set(proof, "not_run", comparison.not_run);
    }
    json_decref(comparison.cases);
    json_decref(comparison.not_run);
    return proof;
}

static void prove(const struct audit *audit, struct audit_row *row)
{
    const json_t *rule = json_object_get(row->setting, "prove");
    const bool useful = row->value && row->verdict.status != DP_AUDIT_UNKNOWN;
    const char *value = useful ? row->value : dp_json_string(rule, "value", "");
    struct dp_err err = {0};
    int first = DP_EXIT_OK, second = DP_EXIT_OK;
    json_t *without = stopped ? NULL : run_cases(audit, row, NULL, &first, &err);
    json_t *with = without && !stopped ? run_cases(audit, row, value, &second, &err) : NULL;
    if (stopped) {
        row->proof = not_proven("stopped");
    } else if (without && with) {
        row->proof = judge(row->setting, without, with, first != DP_EXIT_OK ? first : second, value);
    } else {
        row->proof = not_proven(err.text);
    }
    json_decref(without);
    json_decref(with);
}

int audit_prove(struct audit *audit)
{
    const bool talk = isatty(STDERR_FILENO);
    hand_on_signals();
    for (size_t i = 0; i < audit->count; i++) {
        struct audit_row *row = &audit->rows[i];
        const char *why = dp_json_string(row->setting, "unproven", NULL);
        if (why) {
            row->proof = not_proven(why);
        } else if (json_object_get(row->setting, "prove")) {
            if (talk) {
                fprintf(stderr, "proving %s\n", dp_json_string(row->setting, "name", ""));
            }
            prove(audit, row);
        }
    }
    return stopped;
}
