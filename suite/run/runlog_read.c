/* SPDX-License-Identifier: Apache-2.0
 *
 * The run log: reading one back. A log is a file like any other: it may be torn, edited or hostile.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/run/lines.h"
#include "suite/run/members.h"
#include "suite/run/protocol.h"
#include "suite/run/runlog_internal.h"
#include "suite/run/runlog_kept.h"
#include "suite/run/session.h"

#define LOG_LINE_LIMIT (4 * DP_LINE_LIMIT) /* an answer and what stands around it */

/* Walks over the lines of a log. */
struct reader {
    struct dp_runlog *log;
    struct dp_lines lines;
    size_t number; /* of the line at hand, from 1 */
    off_t end;     /* where it ends */
};

static int malformed(const struct reader *reader, struct dp_err *err, const char *what)
{
    return dp_err_set(err, DP_EXIT_DATA, "run log '%s', line %zu: %s", reader->log->path, reader->number,
                      what);
}

static void reader_open(struct reader *reader, struct dp_runlog *log)
{
    *reader = (struct reader){.log = log, .lines = {.limit = LOG_LINE_LIMIT}};
    lseek(log->fd, 0, SEEK_SET);
}

/* The next line, NULL at the end (a rest without a newline is no line). -1 on a read error or a line without
 * end. */
static int reader_next(struct reader *reader, char **ret_line, size_t *ret_length, struct dp_err *err)
{
    reader->number++;
    for (;;) {
        bool overlong;
        *ret_line = dp_lines_next(&reader->lines, ret_length, &overlong);
        if (overlong) {
            return malformed(reader, err, "the line is too long");
        }
        if (*ret_line) {
            reader->end += (off_t)*ret_length + 1;
            return 0;
        }
        ssize_t got = dp_lines_fill(&reader->lines, reader->log->fd);
        if (got < 0) {
            return malformed(reader, err, dp_reason(errno));
        }
        if (got == 0) {
            return 0;
        }
    }
}

/* The object {options, catalogue_sha256, version} of the first line. Owned. */
static json_t *read_plan(struct reader *reader, struct dp_err *err)
{
    char *line;
    size_t length;
    if (reader_next(reader, &line, &length, err)) {
        return NULL;
    }
    json_t *object = line ? dp_json_parse(line, length, reader->log->path, NULL) : NULL;
    json_t *plan = json_object_get(object, "plan");
    const char *sha256 = dp_json_string(plan, "catalogue_sha256", "");
    json_t *ret = NULL;
    if (json_is_object(json_object_get(plan, "options")) && strlen(sha256) == 64 &&
        strspn(sha256, "0123456789abcdef") == 64 && *dp_json_string(plan, "version", "")) {
        ret = json_incref(plan);
    } else {
        malformed(reader, err, "not the plan of a run");
    }
    json_decref(object);
    return ret;
}

/* Owned. */
static json_t *plan_of(const char *path, struct dp_err *err)
{
    struct dp_runlog *log = dp_runlog_open(path, /* create */ false, err);
    struct reader reader;
    if (!log) {
        return NULL;
    }
    reader_open(&reader, log);
    json_t *plan = read_plan(&reader, err);
    dp_lines_free(&reader.lines);
    dp_runlog_discard(log);
    return plan;
}

json_t *dp_runlog_options(const char *path, char ret_catalogue_sha256[65], struct dp_err *err)
{
    json_t *plan = plan_of(path, err), *options = json_incref(json_object_get(plan, "options"));
    if (plan) {
        memcpy(ret_catalogue_sha256, dp_json_string(plan, "catalogue_sha256", ""), 65);
    }
    json_decref(plan);
    return options;
}

json_t *dp_runlog_ending(const char *path, struct dp_err *err)
{
    json_t *plan = plan_of(path, err), *ending = json_object_get(plan, "ending");
    ending = json_is_object(ending) ? json_incref(ending) : plan ? json_object() : NULL;
    json_decref(plan);
    return ending;
}

/* The first fact or variable that one has and the other has not, or with another value; NULL: none. */
static const char *changed_member(const json_t *old, const json_t *now)
{
    static const char *const groups[] = {"host", "variables"};
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        json_t *sides[] = {json_object_get(now, groups[i]), json_object_get(old, groups[i])};
        for (size_t side = 0; side < 2; side++) {
            const char *name;
            json_t *value;
            json_object_foreach(sides[side], name, value)
            {
                if (!json_equal(value, json_object_get(sides[1 - side], name))) {
                    return name;
                }
            }
        }
    }
    return NULL;
}

/* Is the log of this very plan, and of this machine? What two machines did is no result of one. */
static int check_plan(struct reader *reader, const struct dp_plan *plan, struct dp_err *err)
{
    json_t *kept = read_plan(reader, err);
    if (!kept) {
        return -1;
    }
    json_t *options = dp_plan_options_to_json(&plan->options), *now = dp_runlog_environment();
    const char *member = NULL;
    char *what = NULL, sha256[65];
    dp_catalogue_sha256(plan->catalogue, sha256);
    if (strcmp(dp_json_string(kept, "version", ""), DP_VERSION) != 0) {
        what = dp_strdup("another version of detprobe wrote it");
    } else if (strcmp(dp_json_string(kept, "catalogue_sha256", ""), sha256) != 0) {
        what = dp_strdup("the catalogue is not the one of that run");
    } else if (!json_equal(json_object_get(kept, "options"), options)) {
        what = dp_strdup("the options are not those of that run");
    } else if ((member = changed_member(json_object_get(kept, "environment"), now))) {
        what = dp_printf("the environment is not that of the run, '%s' differs", member);
    }
    const int rc = what ? malformed(reader, err, what) : 0;
    free(what);
    json_decref(now);
    json_decref(options);
    json_decref(kept);
    return rc;
}

static bool knows_program(const struct dp_plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->case_count; i++) {
        if (strcmp(plan->cases[i]->program->name, name) == 0) {
            return true;
        }
    }
    return false;
}

static int take_hello(struct reader *reader, const struct dp_plan *plan, struct dp_answers *answers,
                      const json_t *hello, struct dp_err *err)
{
    const char *program = dp_json_string(hello, "program", "");
    const json_t *message = json_object_get(hello, "message");
    if (!knows_program(plan, program) || json_object_get(answers->hellos, program)) {
        return malformed(reader, err, "a hello of no program of this run, or the second of one");
    }
    const char *type = dp_json_string(message, "type", "");
    json_t *checked = strcmp(type, "hello") == 0          ? dp_hello_check(message, NULL)
                      : dp_word_among(type, "skip|error") ? dp_answer_check(message, 0, NULL)
                                                          : NULL;
    if (!checked) {
        return malformed(reader, err, "a hello that no program can have sent");
    }
    json_object_set_new(answers->hellos, program, checked);
    return 0;
}

/* A key that ends in a retest's number above 0, of an axis that waits for what is known of the machine, for
 * what moved or for what ran, or of the stages of a sequential plan: the request is not planned when a log is
 * read. */
static bool is_later(const struct dp_plan *plan, const char *key)
{
    const char *last = strrchr(key, '|'), *axis = strchr(key, '|');
    const size_t length = last ? strcspn(axis + 1, "|") : 0;
    const bool order = length > 6 && strncmp(axis + 1 + length - 6, "*order", 6) == 0;
    return last && ((last[1] >= '1' && last[1] <= '9') || strncmp(axis, "|device|", 8) == 0 ||
                    strncmp(axis, "|isa|", 5) == 0 || order || strncmp(axis, "|" DP_AXIS_PRICE "|", 7) == 0 ||
                    (plan->comparisons > 0 && strncmp(axis, "|repeat|", 8) == 0));
}

static int take_answer(struct reader *reader, const struct dp_plan *plan, struct dp_answers *answers,
                       const json_t *line, struct dp_err *err)
{
    json_int_t request = dp_json_int(line, "request", -1);
    const char *key = dp_json_string(line, "key", "");
    const json_t *answer = json_object_get(line, "answer");
    bool planned = request >= 0 && request < (json_int_t)plan->request_count;
    char *expected = planned ? dp_request_key(plan, (size_t)request) : NULL;
    bool fits = planned ? strcmp(key, expected) == 0 : request >= 0 && is_later(plan, key);
    free(expected);
    if (!fits) {
        return malformed(reader, err, "an answer to no request of this run");
    }
    if (planned ? answers->items[request] != NULL : json_object_get(reader->log->kept, key) != NULL) {
        return malformed(reader, err, "a second answer to one request");
    }
    json_t *checked = dp_answer_check(answer, planned ? plan->requests[request].runs : 0, NULL);
    if (!checked) {
        return malformed(reader, err, "an answer that no program can have given");
    }
    if (planned) {
        answers->items[request] = checked;
    } else {
        json_object_set_new(reader->log->kept, key, checked);
    }
    return 0;
}

/* One line after the first. *ret_torn: it is no JSON, which only the last line may be. */
static int take_line(struct reader *reader, const struct dp_plan *plan, struct dp_answers *answers,
                     const char *text, size_t length, bool *ret_torn, struct dp_err *err)
{
    json_t *line = dp_json_parse(text, length, reader->log->path, NULL);
    const json_t *hello = json_object_get(line, "hello");
    *ret_torn = line == NULL;
    int rc = 0;
    if (json_is_object(hello)) {
        rc = take_hello(reader, plan, answers, hello, err);
    } else if (line) {
        rc = take_answer(reader, plan, answers, line, err);
    }
    json_decref(line);
    return rc;
}

static int read_all(struct reader *reader, const struct dp_plan *plan, struct dp_answers *answers,
                    struct dp_err *err)
{
    if (check_plan(reader, plan, err)) {
        return -1;
    }
    reader->log->good = reader->end;
    for (bool torn = false;;) {
        char *text;
        size_t length;
        if (reader_next(reader, &text, &length, err)) {
            return -1;
        }
        if (!text) {
            return 0;
        }
        if (torn) {
            reader->number--;
            return malformed(reader, err, "not JSON, and not the last line");
        }
        if (take_line(reader, plan, answers, text, length, &torn, err)) {
            return -1;
        }
        if (!torn) {
            reader->log->good = reader->end;
        }
    }
}

/* A caller's answers are filled only by a log that is good to its end. */
static void clear(struct dp_answers *answers)
{
    dp_answers_free(answers);
    dp_answers_grow(answers, 0);
}

struct dp_runlog *dp_runlog_resume(const char *path, const struct dp_plan *plan, struct dp_answers *answers,
                                   struct dp_err *err)
{
    struct dp_runlog *log = dp_runlog_open(path, /* create */ false, err);
    struct reader reader;
    if (!log) {
        return NULL;
    }
    log->kept = json_object();
    clear(answers);
    dp_answers_grow(answers, plan->request_count);
    reader_open(&reader, log);
    int rc = read_all(&reader, plan, answers, err);
    dp_lines_free(&reader.lines);
    if (rc == 0 && ftruncate(log->fd, log->good)) {
        rc = dp_err_set(err, DP_EXIT_NO_VERDICT, "cannot write run log '%s': %s", path, dp_reason(errno));
    }
    if (rc) {
        clear(answers);
        dp_runlog_discard(log);
        return NULL;
    }
    return log;
}

json_t *dp_runlog_kept(struct dp_runlog *log, const struct dp_plan *plan, size_t request)
{
    if (!log->kept) {
        return NULL;
    }
    char *key = dp_request_key(plan, request);
    json_t *ret = dp_answer_check(json_object_get(log->kept, key), plan->requests[request].runs, NULL);
    json_object_del(log->kept, key);
    free(key);
    return ret;
}
