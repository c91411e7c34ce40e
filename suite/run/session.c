/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers of a run.
 */
#include "suite/run/session.h"

#include <stdlib.h>
#include <string.h>

#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/run/runlog.h"

void dp_answers_grow(struct dp_answers *answers, size_t count)
{
    if (count > answers->count) {
        answers->items = dp_realloc(answers->items, count, sizeof(json_t *));
        memset(answers->items + answers->count, 0, (count - answers->count) * sizeof(json_t *));
        answers->count = count;
    }
    if (!answers->hellos) {
        answers->hellos = json_object();
    }
}

void dp_answers_free(struct dp_answers *answers)
{
    for (size_t i = 0; i < answers->count; i++) {
        json_decref(answers->items[i]);
    }
    free(answers->items);
    json_decref(answers->hellos);
    *answers = (struct dp_answers){0};
}

char *dp_request_key(const struct dp_plan *plan, size_t request)
{
    const struct dp_request *item = &plan->requests[request];
    return dp_printf("%s|%s|%s|%d|%s|%d|%d", plan->cases[item->case_index]->id, item->axis, item->setting,
                     item->seed_index, item->set, item->process, item->retest);
}

static void take(struct dp_session *session, size_t request, json_t *answer)
{
    const struct dp_run_options *options = session->options;
    json_decref(session->answers->items[request]);
    session->answers->items[request] = answer;
    session->answered++;
    if (options->log) {
        dp_runlog_answer(options->log, session->plan, request, answer);
    }
    if (options->progress) {
        options->progress(options->context, session->plan, request, session->answered,
                          session->plan->request_count);
    }
}

/* Does the answer of this request cost more: at the base setting its case, at a cap what the case has there?
 */
static bool costs_more(const struct dp_session *session, size_t request)
{
    const struct dp_request *item = &session->plan->requests[request];
    return (strcmp(item->axis, "repeat") == 0 || item->cap) &&
           strcmp(dp_json_string(session->answers->items[request], "type", ""), "error") == 0;
}

static void spread(struct dp_session *session, size_t request)
{
    const struct dp_plan *plan = session->plan;
    const struct dp_request *base = &plan->requests[request];
    json_t *copy = json_copy(session->answers->items[request]);
    json_object_del(copy, "log");
    json_object_del(copy, "spent_ns");
    for (size_t i = 0; i < plan->request_count; i++) {
        const struct dp_request *item = &plan->requests[i];
        if (item->case_index == base->case_index && item->retest == base->retest &&
            (!base->cap || item->cap == base->cap) && !session->answers->items[i]) {
            take(session, i, json_incref(copy));
        }
    }
    json_decref(copy);
}

void dp_session_answer(struct dp_session *session, size_t request, json_t *answer)
{
    take(session, request, answer);
    if (costs_more(session, request)) {
        spread(session, request);
    }
}

bool dp_session_is_due(struct dp_session *session, size_t request)
{
    const struct dp_answers *answers = session->answers;
    while (session->turn < answers->count && answers->items[session->turn]) {
        session->turn++;
    }
    return !session->options->in_turns || session->turn == request;
}

void dp_session_settle(struct dp_session *session)
{
    for (size_t i = 0; i < session->plan->request_count; i++) {
        if (session->answers->items[i] && costs_more(session, i)) {
            spread(session, i);
        }
    }
}

void dp_session_hello(struct dp_session *session, const struct dp_program *program, const json_t *message)
{
    json_t *hellos = session->answers->hellos;
    if (json_object_get(hellos, program->name)) {
        return;
    }
    json_object_set_new(hellos, program->name, json_deep_copy(message));
    if (session->options->log) {
        dp_runlog_hello(session->options->log, program->name, message);
    }
}

static bool same_library(const json_t *a, const json_t *b)
{
    static const char *const members[] = {"role", "name", "version", "path"};
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        if (strcmp(dp_json_string(a, members[i], ""), dp_json_string(b, members[i], "")) != 0) {
            return false;
        }
    }
    return true;
}

static char *library_text(const json_t *library)
{
    return library ? dp_printf("'%s %s' (%s)", dp_json_string(library, "name", ""),
                               dp_json_string(library, "version", ""), dp_json_string(library, "path", ""))
                   : dp_strdup("no more libraries");
}

bool dp_session_same_libraries(const struct dp_session *session, const struct dp_program *program,
                               const json_t *hello, struct dp_err *err)
{
    const json_t *first = json_object_get(session->answers->hellos, program->name);
    const json_t *old = json_object_get(first, "libraries"), *new = json_object_get(hello, "libraries");
    if (strcmp(dp_json_string(first, "type", ""), "hello") != 0) {
        return true;
    }
    for (size_t i = 0; i < json_array_size(old) || i < json_array_size(new); i++) {
        const json_t *before = json_array_get(old, i), *now = json_array_get(new, i);
        if (!before || !now || !same_library(before, now)) {
            char *had = library_text(before), *has = library_text(now);
            dp_err_set(err, DP_EXIT_NO_VERDICT, "the program uses %.300s, its first process had %.300s", has,
                       had);
            free(had);
            free(has);
            return false;
        }
    }
    return true;
}
