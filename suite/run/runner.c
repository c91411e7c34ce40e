/* SPDX-License-Identifier: Apache-2.0
 *
 * The runner: one poll loop over the workers of all programs.
 */
#include "suite/run/runner.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "suite/base/clock.h"
#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/run/protocol.h"
#include "suite/run/runlog_kept.h"
#include "suite/run/session.h"
#include "suite/run/worker.h"

/* What one poll watches: the signals, then up to three descriptors of each active worker. */
struct watch {
    struct pollfd *items;
    struct watched {
        struct dp_worker *worker;
        void (*event)(struct dp_worker *worker);
        const int *fd; /* -1 when an earlier event of the round closed it */
    } * targets;
    nfds_t count;
};

struct crew {
    struct dp_worker *workers;
    size_t count;
    int jobs;
    int signal; /* the first that asked us to end */
    bool at_once;
};

static void watch_add(struct watch *watch, const int *fd, short events, struct dp_worker *worker,
                      void (*event)(struct dp_worker *worker))
{
    if (*fd >= 0) {
        watch->items[watch->count] = (struct pollfd){.fd = *fd, .events = events};
        watch->targets[watch->count] = (struct watched){worker, event, fd};
        watch->count++;
    }
}

/* Starts what may start. Returns how many workers are active. */
static int start_workers(struct crew *crew, struct dp_session *session)
{
    int active = 0;
    for (size_t i = 0; i < crew->count; i++) {
        active += dp_worker_active(&crew->workers[i]);
    }
    for (size_t i = 0; i < crew->count && !session->stopping; i++) {
        struct dp_worker *worker = &crew->workers[i];
        if (worker->state == DP_WORKER_IDLE && dp_worker_is_due(worker) &&
            (active < crew->jobs || session->options->in_turns)) {
            dp_worker_start(worker);
            if (dp_worker_active(worker)) {
                active++;
                struct dp_pids *leaders = &session->leaders;
                leaders->items = dp_realloc(leaders->items, leaders->count + 1, sizeof(*leaders->items));
                leaders->items[leaders->count++] = worker->process.pid;
            }
        }
    }
    return active;
}

/* The milliseconds until the next deadline. */
static int time_left(const struct crew *crew)
{
    int64_t now = dp_now_ns(), next = INT64_MAX;
    for (size_t i = 0; i < crew->count; i++) {
        if (dp_worker_active(&crew->workers[i]) && crew->workers[i].deadline < next) {
            next = crew->workers[i].deadline;
        }
    }
    int64_t left = next > now ? (next - now) / 1000000 + 1 : 0;
    return left > 60000 ? 60000 : (int)left;
}

/* Every child that ended: a leader's worker deals with it, an orphan is only reaped. */
static void take_children(struct crew *crew)
{
    for (;;) {
        siginfo_t info = {.si_pid = 0};
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid == 0) {
            return;
        }
        struct dp_worker *worker = NULL;
        for (size_t i = 0; i < crew->count; i++) {
            if (crew->workers[i].process.pid == info.si_pid) {
                worker = &crew->workers[i];
            }
        }
        if (worker) {
            dp_worker_ended(worker);
        } else {
            waitpid(info.si_pid, NULL, WNOHANG);
        }
    }
}

static void take_signals(struct crew *crew, struct dp_session *session)
{
    bool children = false;
    for (int signal; (signal = dp_signals_take(&session->signals)) != 0;) {
        if (signal == SIGCHLD) {
            children = true;
            continue;
        }
        crew->at_once = session->stopping;
        session->stopping = true;
        crew->signal = crew->signal ? crew->signal : signal;
        for (size_t i = 0; i < crew->count; i++) {
            dp_worker_stop(&crew->workers[i], crew->at_once);
        }
    }
    if (children) {
        take_children(crew);
    }
}

static void loop(struct crew *crew, struct dp_session *session, struct watch *watch)
{
    while (start_workers(crew, session) > 0) {
        watch->count = 0;
        watch_add(watch, &session->signals.fd, POLLIN, NULL, NULL);
        for (size_t i = 0; i < crew->count; i++) {
            struct dp_worker *worker = &crew->workers[i];
            if (dp_worker_active(worker)) {
                watch_add(watch, &worker->process.out_fd, POLLIN, worker, dp_worker_output);
                watch_add(watch, &worker->process.log_fd, POLLIN, worker, dp_worker_printed);
            }
            if (worker->state == DP_WORKER_BUSY && worker->sent < worker->out.length) {
                watch_add(watch, &worker->process.in_fd, POLLOUT, worker, dp_worker_input);
            }
        }
        poll(watch->items, watch->count, time_left(crew));
        for (nfds_t i = 1; i < watch->count; i++) {
            if (watch->items[i].revents && *watch->targets[i].fd == watch->items[i].fd) {
                watch->targets[i].event(watch->targets[i].worker);
            }
        }
        take_signals(crew, session);
        for (size_t i = 0; i < crew->count; i++) {
            dp_worker_tick(&crew->workers[i], dp_now_ns());
        }
    }
}

/* Runs the workers to their end. */
static int work(struct crew *crew, struct dp_session *session, bool stops, struct dp_err *err)
{
    if (dp_signals_open(&session->signals, stops, err)) {
        return -1;
    }
    session->before = dp_children();
    struct watch watch = {.items = dp_alloc(1 + 3 * crew->count, sizeof(*watch.items)),
                          .targets = dp_alloc(1 + 3 * crew->count, sizeof(*watch.targets))};
    loop(crew, session, &watch);
    free(watch.items);
    free(watch.targets);
    dp_pids_free(&session->before);
    dp_pids_free(&session->leaders);
    dp_signals_close(&session->signals);
    return 0;
}

/* By retest and process, else as in the plan. */
static int by_process(const void *a, const void *b, void *context)
{
    const struct dp_plan *plan = context;
    size_t one = *(const size_t *)a, two = *(const size_t *)b;
    const struct dp_request *x = &plan->requests[one], *y = &plan->requests[two];
    if (x->retest != y->retest) {
        return x->retest < y->retest ? -1 : 1;
    }
    if (x->process != y->process) {
        return x->process < y->process ? -1 : 1;
    }
    return one < two ? -1 : one > two;
}

static struct dp_worker *worker_of(struct crew *crew, struct dp_session *session,
                                   const struct dp_program *program)
{
    for (size_t i = crew->count; i-- > 0;) {
        if (crew->workers[i].program == program) {
            return &crew->workers[i];
        }
    }
    crew->workers = dp_realloc(crew->workers, crew->count + 1, sizeof(*crew->workers));
    dp_worker_init(&crew->workers[crew->count], session, program);
    return &crew->workers[crew->count++];
}

/* One worker for each program that has something to be asked. */
static void hire(struct crew *crew, struct dp_session *session)
{
    struct dp_plan context = *session->plan;
    for (size_t i = 0; i < context.request_count; i++) {
        if (session->answers->items[i]) {
            continue;
        }
        struct dp_worker *worker =
            worker_of(crew, session, context.cases[context.requests[i].case_index]->program);
        if ((worker->count & (worker->count - 1)) == 0) { /* grows at the powers of two */
            worker->queue = dp_realloc(worker->queue, 2 * worker->count + 1, sizeof(*worker->queue));
        }
        worker->queue[worker->count++] = i;
    }
    for (size_t i = 0; i < crew->count; i++) {
        qsort_r(crew->workers[i].queue, crew->workers[i].count, sizeof(size_t), by_process, &context);
    }
}

static void dismiss(struct crew *crew)
{
    for (size_t i = 0; i < crew->count; i++) {
        dp_worker_free(&crew->workers[i]);
    }
    free(crew->workers);
}

/* Answers that a resumed log holds for requests which were planned only now (retests, devices). */
static void take_kept(struct dp_session *session)
{
    for (size_t i = 0; i < session->plan->request_count; i++) {
        if (!session->answers->items[i] && session->options->log) {
            session->answers->items[i] = dp_runlog_kept(session->options->log, session->plan, i);
        }
        session->answered += session->answers->items[i] != NULL;
    }
}

static void answer_dropped(struct dp_session *session)
{
    for (size_t i = 0; i < session->plan->request_count; i++) {
        const char *dropped = session->plan->requests[i].dropped;
        if (dropped && !session->answers->items[i]) {
            dp_session_answer(session, i, dp_answer_skip("unsupported", dropped));
        }
    }
}

int dp_run(const struct dp_plan *plan, struct dp_answers *answers, const struct dp_run_options *options,
           enum dp_run_end *ret_end, int *ret_signal, struct dp_err *err)
{
    struct dp_session session = {.plan = plan, .answers = answers, .options = options};
    struct crew crew = {.jobs = options->jobs > 0 ? options->jobs : 1};
    dp_answers_grow(answers, plan->request_count);
    take_kept(&session);
    dp_session_settle(&session);
    answer_dropped(&session);
    hire(&crew, &session);
    int rc = work(&crew, &session, /* stops */ true, err);
    dismiss(&crew);
    if (rc == 0) {
        *ret_end = session.stopping ? DP_RUN_INTERRUPTED : DP_RUN_DONE;
        *ret_signal = crew.signal;
    }
    return rc;
}

json_t *dp_run_hello(const struct dp_program *program, const struct dp_stack *stack, int64_t timeout_ns)
{
    const struct dp_plan plan = {.request_count = 0};
    const struct dp_run_options options = {.jobs = 1, .timeout_ns = timeout_ns, .stack = stack};
    struct dp_answers answers = {0};
    struct dp_session session = {.plan = &plan, .answers = &answers, .options = &options};
    struct crew crew = {.jobs = 1};
    struct dp_err err;
    dp_answers_grow(&answers, 0);
    worker_of(&crew, &session, program)->hello_only = true;
    int rc = work(&crew, &session, /* stops */ false, &err);
    json_t *hello = json_incref(json_object_get(answers.hellos, program->name));
    dismiss(&crew);
    dp_answers_free(&answers);
    return hello ? hello : dp_answer_error("gone", rc ? err.text : "the program did not say hello", NULL);
}
