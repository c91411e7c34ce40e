/* SPDX-License-Identifier: Apache-2.0
 *
 * The worker: from start to end of one process, and what a failure costs.
 */
#include "suite/run/worker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "suite/base/clock.h"
#include "suite/base/host.h"
#include "suite/base/json.h"
#include "suite/plan/levels.h"
#include "suite/run/protocol.h"

#define SECOND_NS INT64_C(1000000000)
#define GRACE_NS (2 * SECOND_NS)
#define STUCK_NS (10 * SECOND_NS) /* after SIGKILL: a process in the kernel that cannot die is left alone */
#define FRUITLESS_MAX 3
#define DRAIN_MAX 64 /* reads from a dead program's pipes; a pipe holds less */

void dp_worker_init(struct dp_worker *worker, struct dp_session *session, const struct dp_program *program)
{
    *worker = (struct dp_worker){.session = session,
                                 .program = program,
                                 .process = {.pid = -1, .in_fd = -1, .out_fd = -1, .log_fd = -1},
                                 .lines = {.limit = DP_LINE_LIMIT},
                                 .out = DP_TEXT(4 * DP_LINE_LIMIT)};
}

void dp_worker_free(struct dp_worker *worker)
{
    dp_process_close(&worker->process);
    dp_lines_free(&worker->lines);
    dp_text_free(&worker->out);
    json_decref(worker->hello);
    json_decref(worker->answer);
    json_decref(worker->refusal);
    free(worker->queue);
}

bool dp_worker_active(const struct dp_worker *worker)
{
    return worker->state != DP_WORKER_IDLE && worker->state != DP_WORKER_FINISHED;
}

static void enter(struct dp_worker *worker, enum dp_worker_state state, int64_t time_ns)
{
    worker->state = state;
    worker->deadline = dp_now_ns() + time_ns;
}

static bool answered(const struct dp_worker *worker, size_t place)
{
    return worker->session->answers->items[worker->queue[place]] != NULL;
}

static bool same_process(const struct dp_worker *worker, size_t a, size_t b)
{
    const struct dp_request *one = &worker->session->plan->requests[worker->queue[a]];
    const struct dp_request *two = &worker->session->plan->requests[worker->queue[b]];
    return one->process == two->process && one->retest == two->retest;
}

/* Gives all that is left the same answer. */
static void answer_rest(struct dp_worker *worker, json_t *answer)
{
    dp_session_hello(worker->session, worker->program, answer);
    for (; worker->next < worker->count; worker->next++) {
        if (!answered(worker, worker->next)) {
            dp_session_answer(worker->session, worker->queue[worker->next], json_incref(answer));
        }
    }
    json_decref(answer);
    worker->state = DP_WORKER_FINISHED;
}

static const struct dp_request *next_request(const struct dp_worker *worker)
{
    return worker->next < worker->count ? &worker->session->plan->requests[worker->queue[worker->next]]
                                        : NULL;
}

/* The same, but what a process for one device, or at one cap, says holds for that alone. false: it was for
 * none. */
static bool answer_own(struct dp_worker *worker, json_t *answer)
{
    const size_t first = worker->next;
    const struct dp_request *request = next_request(worker);
    if (!request || (!request->device && !request->cap)) {
        return false;
    }
    for (; worker->next < worker->count && same_process(worker, first, worker->next); worker->next++) {
        if (!answered(worker, worker->next)) {
            dp_session_answer(worker->session, worker->queue[worker->next], json_incref(answer));
        }
    }
    json_decref(answer);
    return true;
}

/* SIGTERM now, SIGKILL after the grace. What it still says is not wanted; what it prints is. */
static void end_process(struct dp_worker *worker)
{
    if (worker->ended) {
        return;
    }
    dp_fd_close(&worker->process.in_fd);
    dp_fd_close(&worker->process.out_fd);
    dp_process_signal(&worker->process, SIGTERM);
    enter(worker, DP_WORKER_ENDING, GRACE_NS);
}

/* How long the request that is out has taken, preparation and reference included: what --costs reads. */
static void add_spent(const struct dp_worker *worker, json_t *answer)
{
    json_object_set_new(answer, "spent_ns", json_integer(dp_now_ns() - worker->asked_ns));
}

/* The program did something wrong: it costs the request that is out, if one is, and the process. */
static void fail(struct dp_worker *worker, const char *reason, const char *text)
{
    worker->failed = true;
    worker->cause_reason = reason;
    snprintf(worker->cause, sizeof(worker->cause), "%s", text);
    if (worker->state == DP_WORKER_BUSY) {
        dp_worker_printed(worker);
        char *log = dp_capture_text(&worker->log);
        json_t *error = dp_answer_error(reason, text, log);
        add_spent(worker, error);
        json_decref(worker->answer);
        worker->answer = NULL;
        worker->state = DP_WORKER_CLOSING;
        dp_session_answer(worker->session, worker->current, error);
        free(log);
    }
    worker->state = DP_WORKER_CLOSING; /* nothing more is heard, also from the pipe of a dead program */
    end_process(worker);
}

/* Does the program know the axis? `repeat` and `fresh` need nothing from it; a product needs all its parts.
 */
static bool knows_axis(const struct dp_worker *worker, const char *axis)
{
    const json_t *axes = json_object_get(worker->hello, "axes");
    char part[64];
    for (const char *at = axis; *at;) {
        size_t length = strcspn(at, "*");
        snprintf(part, sizeof(part), "%.*s", (int)length, at);
        if (strcmp(part, "repeat") != 0 && strcmp(part, "fresh") != 0 && !dp_json_array_has(axes, part)) {
            return false;
        }
        at += length + (at[length] == '*');
    }
    return true;
}

static void send_request(struct dp_worker *worker, size_t request)
{
    json_t *message = dp_request_message(worker->session->plan, request);
    char *text = json_dumps(message, JSON_COMPACT);
    worker->current = request;
    worker->id = dp_json_int(message, "id", -1);
    worker->out.length = 0;
    worker->sent = 0;
    worker->asked_ns = dp_now_ns();
    dp_text_put(&worker->out, text);
    dp_text_put(&worker->out, "\n");
    free(text);
    json_decref(message);
    enter(worker, DP_WORKER_BUSY, worker->session->options->timeout_ns);
    dp_worker_input(worker);
}

/* Sends this process's next request, or closes its input. */
static void send_next(struct dp_worker *worker)
{
    const size_t first = worker->next;
    if (worker->ended) {
        worker->state = DP_WORKER_CLOSING;
        return;
    }
    while (!worker->session->stopping && worker->next < worker->count &&
           same_process(worker, first, worker->next)) {
        size_t request = worker->queue[worker->next];
        const char *axis = worker->session->plan->requests[request].axis;
        if (answered(worker, worker->next)) {
            worker->next++;
        } else if (!dp_session_is_due(worker->session, request)) {
            worker->state = DP_WORKER_WAITING;
            worker->deadline = INT64_MAX;
            return;
        } else if (knows_axis(worker, axis)) {
            send_request(worker, request);
            return;
        } else {
            char text[128];
            snprintf(text, sizeof(text), "the program does not know axis '%s'", axis);
            dp_session_answer(worker->session, request, dp_answer_skip("unsupported", text));
        }
    }
    dp_fd_close(&worker->process.in_fd);
    enter(worker, DP_WORKER_CLOSING, GRACE_NS);
}

bool dp_worker_is_due(struct dp_worker *worker)
{
    while (worker->next < worker->count && answered(worker, worker->next)) {
        worker->next++;
    }
    return worker->next == worker->count || dp_session_is_due(worker->session, worker->queue[worker->next]);
}

void dp_worker_start(struct dp_worker *worker)
{
    if (worker->next == worker->count && !worker->hello_only) {
        worker->state = DP_WORKER_FINISHED;
        return;
    }
    if (worker->program->state == DP_PROGRAM_NOT_BUILT) {
        const char *reason = worker->program->reason;
        answer_rest(worker, dp_answer_skip("not_built", reason ? reason : "left out of this build"));
        return;
    }
    struct dp_err err;
    const struct dp_request *request = next_request(worker);
    if (request && request->process != worker->group && (request->device || request->cap)) {
        worker->fruitless = 0; /* what failed at one device or cap says nothing of the next */
    }
    worker->group = request ? request->process : 0;
    if (dp_process_start(worker->program, request, &worker->session->signals, &worker->process, &err)) {
        /* A machine without Python has no Python libraries to measure: no fault of the program's. */
        answer_rest(worker, worker->process.no_interpreter ? dp_answer_skip("library_missing", err.text)
                                                           : dp_answer_error("spawn", err.text, NULL));
        return;
    }
    worker->log.total = 0;
    worker->reached_end = worker->ended = worker->failed = false;
    worker->finished = 0;
    worker->last_id = -1;
    worker->isa[0] = '\0';
    enter(worker, DP_WORKER_STARTING, worker->session->options->timeout_ns);
}

/* Instead of hello: what it says holds for all that is left, once it has ended. */
static void on_refusal(struct dp_worker *worker, json_t *skip)
{
    worker->refusal = json_incref(skip);
    dp_fd_close(&worker->process.in_fd);
    enter(worker, DP_WORKER_CLOSING, GRACE_NS);
}

/* Does the program use the stack that was asked for? What the stack lacks is missing; what comes from
 * elsewhere though the stack has it is not what was asked for. */
static bool fits_stack(struct dp_worker *worker, const json_t *hello)
{
    const struct dp_stack *stack = worker->session->options->stack;
    struct dp_err err;
    switch (stack && !worker->program->controls_only ? dp_stack_check(stack, hello, &err) : DP_STACK_FITS) {
    case DP_STACK_LACKS: {
        json_t *skip = dp_answer_skip("library_missing", err.text);
        on_refusal(worker, skip);
        json_decref(skip);
        return false;
    }
    case DP_STACK_DIFFERS:
        fail(worker, "stack", err.text);
        worker->fruitless = FRUITLESS_MAX; /* the next process would take it too */
        return false;
    default:
        return true;
    }
}

/* Did the process take the cap that it was started with? One that did not has nothing new to say. */
static bool took_cap(struct dp_worker *worker, const json_t *hello)
{
    const struct dp_request *request = next_request(worker);
    if (!request || !request->cap) {
        return true;
    }
    const char *library = request->cap->library;
    const char *isa = dp_hello_isa(hello, library);
    const char *base =
        dp_hello_isa(json_object_get(worker->session->answers->hellos, worker->program->name), library);
    const bool other = !base || !isa || strcmp(isa, base) != 0;
    if (dp_cap_took(request->cap, isa, base)) {
        snprintf(worker->isa, sizeof(worker->isa), "%s", isa);
        return true;
    }
    json_t *variables = dp_cap_variables(request->cap);
    char *set = dp_variables_text(variables);
    char *text = dp_printf("ignored: with %.300s %s runs on '%s'%s", set, library,
                           isa ? isa : "nothing that it names", isa && other ? "" : " as without");
    json_t *skip = dp_answer_skip("unsupported", text);
    json_object_set_new(skip, "ignored", json_integer(1));
    on_refusal(worker, skip);
    json_decref(skip);
    free(text);
    free(set);
    json_decref(variables);
    return false;
}

static void on_hello(struct dp_worker *worker, json_t *hello)
{
    char text[160];
    if (worker->state != DP_WORKER_STARTING) {
        fail(worker, "protocol", "the program said hello a second time");
        return;
    }
    json_int_t protocol = dp_json_int(hello, "protocol", 0);
    if (protocol != DP_PROTOCOL) {
        snprintf(text, sizeof(text), "the program speaks protocol %lld, this suite speaks protocol %d",
                 (long long)protocol, DP_PROTOCOL);
        fail(worker, "protocol", text);
        worker->fruitless = FRUITLESS_MAX; /* another process would say the same */
        return;
    }
    struct dp_err err;
    if (!dp_session_same_libraries(worker->session, worker->program, hello, &err)) {
        fail(worker, "protocol", err.text);
        worker->fruitless = FRUITLESS_MAX; /* the next process would measure them too */
        return;
    }
    if (!fits_stack(worker, hello) || !took_cap(worker, hello)) {
        return;
    }
    json_decref(worker->hello);
    worker->hello = json_incref(hello);
    dp_session_hello(worker->session, worker->program, hello);
    send_next(worker);
}

static void on_done(struct dp_worker *worker, bool last)
{
    if (!worker->answer) {
        fail(worker, "protocol", "the program said done without an answer");
        return;
    }
    json_t *answer = worker->answer;
    worker->answer = NULL;
    add_spent(worker, answer);
    if (worker->isa[0]) {
        json_object_set_new(answer, "isa", json_string(worker->isa));
    }
    worker->finished++;
    worker->last_id = worker->id;
    worker->state = DP_WORKER_CLOSING; /* no request is out while the answer is taken */
    dp_session_answer(worker->session, worker->current, answer);
    if (dp_lines_rest(&worker->lines) > 0) {
        /* Nobody asked. The request is done, and the next one must not pay for it. */
        fail(worker, "protocol", "the program went on after done");
        return;
    }
    if (last) { /* it can do no more; another process gets the rest */
        dp_fd_close(&worker->process.in_fd);
        enter(worker, DP_WORKER_CLOSING, GRACE_NS);
        return;
    }
    send_next(worker);
}

/* Chatter about the request before: its answer stands, the one that is out is asked again. */
static void on_chatter(struct dp_worker *worker)
{
    worker->state = DP_WORKER_CLOSING;
    fail(worker, "protocol", "the program went on after done");
}

/* An order is only for who asked for it, and the only thing to see then. */
static bool is_kind_asked(const struct dp_worker *worker, enum dp_message_type type)
{
    const bool order = dp_axis_reveals(worker->session->plan->requests[worker->current].axis);
    return !(type == DP_MESSAGE_ORDER && !order) && !(type == DP_MESSAGE_OBSERVATION && order);
}

static void on_answer(struct dp_worker *worker, struct dp_message *message)
{
    if (worker->state == DP_WORKER_STARTING && message->type == DP_MESSAGE_SKIP && message->id < 0) {
        on_refusal(worker, message->body);
    } else if (worker->state == DP_WORKER_STARTING) {
        fail(worker, "protocol", "the program sent an answer before hello");
    } else if (message->id != worker->id) {
        fail(worker, "protocol", "the program sent an answer to another request than it was asked");
    } else if (message->type == DP_MESSAGE_DONE) {
        on_done(worker, message->last);
    } else if (worker->answer) {
        fail(worker, "protocol", "the program sent two answers to one request");
    } else if (!is_kind_asked(worker, message->type)) {
        fail(worker, "protocol", "the program sent an answer of another kind than it was asked for");
    } else {
        worker->answer = json_incref(message->body);
    }
}

static void on_line(struct dp_worker *worker, const char *line, size_t length)
{
    struct dp_message message;
    struct dp_err err;
    const struct dp_request *asked =
        worker->state == DP_WORKER_BUSY ? &worker->session->plan->requests[worker->current] : NULL;
    int runs = asked && !dp_axis_reveals(asked->axis) ? asked->runs : 0;
    int rc = dp_message_read(line, length, runs, &message, &err);
    if (message.id >= 0 && message.id == worker->last_id) { /* good or bad, nobody asked for it */
        on_chatter(worker);
    } else if (rc) {
        char text[800];
        snprintf(text, sizeof(text), "the program sent %s", err.text);
        fail(worker, "protocol", text);
    } else if (message.type == DP_MESSAGE_HELLO) {
        on_hello(worker, message.body);
    } else {
        on_answer(worker, &message);
    }
    json_decref(message.body);
}

static bool listening(const struct dp_worker *worker)
{
    return worker->state == DP_WORKER_STARTING || worker->state == DP_WORKER_BUSY;
}

/* One read and the lines it completed. Returns what the read returned. */
static ssize_t read_output(struct dp_worker *worker)
{
    ssize_t got = dp_lines_fill(&worker->lines, worker->process.out_fd);
    while (got > 0 && listening(worker)) {
        bool overlong;
        size_t length;
        char *line = dp_lines_next(&worker->lines, &length, &overlong);
        if (overlong) {
            fail(worker, "protocol", "the program sent a line of more than 1 MiB");
        } else if (line) {
            on_line(worker, line, length);
        } else {
            break;
        }
    }
    return got;
}

void dp_worker_output(struct dp_worker *worker)
{
    if (!listening(worker)) { /* closing: read and forget, so that a last word does not block it */
        dp_lines_free(&worker->lines);
    }
    if (read_output(worker) == 0) {
        /* It may be ending: its status says more. If it goes on living, that is a fault. */
        dp_fd_close(&worker->process.out_fd);
        worker->reached_end = true;
        int64_t soon = dp_now_ns() + GRACE_NS;
        worker->deadline = worker->deadline < soon ? worker->deadline : soon;
    }
}

void dp_worker_printed(struct dp_worker *worker)
{
    static char bytes[65536];
    ssize_t got;
    do {
        got = read(worker->process.log_fd, bytes, sizeof(bytes));
    } while (got < 0 && errno == EINTR);
    if (got > 0) {
        dp_capture_add(&worker->log, bytes, (size_t)got);
    } else if (got == 0) {
        dp_fd_close(&worker->process.log_fd);
    }
}

void dp_worker_input(struct dp_worker *worker)
{
    while (worker->sent < worker->out.length) {
        ssize_t put =
            write(worker->process.in_fd, worker->out.data + worker->sent, worker->out.length - worker->sent);
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put < 0 && errno != EAGAIN) {
            worker->sent = worker->out.length; /* EPIPE: its end tells the story */
        }
        if (put < 0) {
            return;
        }
        worker->sent += (size_t)put;
    }
}

/* Signals that end a process; glibc names them from 2.32 on only. */
static const char *signal_name(int number)
{
    static const char *const names[] = {
        [SIGHUP] = "SIGHUP",   [SIGINT] = "SIGINT",   [SIGQUIT] = "SIGQUIT", [SIGILL] = "SIGILL",
        [SIGTRAP] = "SIGTRAP", [SIGABRT] = "SIGABRT", [SIGBUS] = "SIGBUS",   [SIGFPE] = "SIGFPE",
        [SIGKILL] = "SIGKILL", [SIGUSR1] = "SIGUSR1", [SIGSEGV] = "SIGSEGV", [SIGUSR2] = "SIGUSR2",
        [SIGPIPE] = "SIGPIPE", [SIGALRM] = "SIGALRM", [SIGTERM] = "SIGTERM", [SIGXCPU] = "SIGXCPU",
        [SIGXFSZ] = "SIGXFSZ", [SIGIO] = "SIGIO",     [SIGPWR] = "SIGPWR",   [SIGSYS] = "SIGSYS",
    };
    const char *name = (size_t)number < sizeof(names) / sizeof(names[0]) ? names[number] : NULL;
    return name ? name : "SIG?";
}

/* How a process ended, in words that are the same each time. */
static void describe_status(int status, char *ret, size_t size)
{
    if (WIFSIGNALED(status)) {
        snprintf(ret, size, "was killed by signal %d (%s)", WTERMSIG(status), signal_name(WTERMSIG(status)));
    } else {
        snprintf(ret, size, "exited with status %d", WEXITSTATUS(status));
    }
}

/* The leader ended while it owed us something. Returns false if that stands for the whole program. */
static bool judge_end(struct dp_worker *worker, int status)
{
    char how[64], text[700];
    if (worker->refusal) {
        json_t *refusal = worker->refusal;
        worker->refusal = NULL;
        if (answer_own(worker, refusal)) {
            return true;
        }
        answer_rest(worker, refusal);
        return false;
    }
    describe_status(status, how, sizeof(how));
    if (worker->state == DP_WORKER_BUSY) {
        snprintf(text, sizeof(text), "the program %s before it was done with the request", how);
        fail(worker, "crash", text);
        return true;
    }
    if (worker->state != DP_WORKER_STARTING) {
        return true;
    }
    char *line = dp_capture_last_line(&worker->log);
    bool missing = WIFEXITED(status) && WEXITSTATUS(status) == 127;
    if (missing) {
        const char *said = *line ? line : "the program exited with status 127 and said nothing";
        json_t *answer = dp_answer_skip("library_missing", said);
        missing = !answer_own(worker, answer);
        if (missing) {
            answer_rest(worker, answer);
        }
    } else {
        snprintf(text, sizeof(text), "the program %s before hello%s%s", how, *line ? ": " : "", line);
        fail(worker, "crash", text);
    }
    free(line);
    return !missing;
}

/* Everything that belongs to the process that ended, apart from what it did. */
static int clear_process(struct dp_worker *worker, bool reap)
{
    struct dp_session *session = worker->session;
    pid_t leader = worker->process.pid;
    int status = reap ? dp_process_reap(&worker->process) : 0;
    worker->process.pid = -1;
    for (size_t i = 0; i < session->leaders.count; i++) {
        if (session->leaders.items[i] == leader) {
            session->leaders.items[i] = session->leaders.items[--session->leaders.count];
        }
    }
    return status;
}

/* Ends its children: with no other program at work, all that came to us; else those that carry its token. */
static void end_children(const struct dp_worker *worker)
{
    const struct dp_session *session = worker->session;
    struct dp_pids spared = {.items = NULL};
    spared.count = session->before.count + session->leaders.count;
    spared.items = dp_alloc(spared.count + 1, sizeof(*spared.items));
    for (size_t i = 0; i < spared.count; i++) {
        spared.items[i] = i < session->before.count ? session->before.items[i]
                                                    : session->leaders.items[i - session->before.count];
    }
    dp_orphans_end(&spared, session->leaders.count > 0 ? worker->process.token : NULL);
    dp_pids_free(&spared);
}

static void drain(struct dp_worker *worker)
{
    for (int i = 0; i < DRAIN_MAX && worker->process.log_fd >= 0; i++) {
        size_t before = worker->log.total;
        dp_worker_printed(worker);
        if (worker->log.total == before) {
            break;
        }
    }
    for (int i = 0; i < DRAIN_MAX && worker->process.out_fd >= 0 && listening(worker); i++) {
        if (read_output(worker) <= 0) {
            break;
        }
    }
}

/* After a failed process that finished nothing: is the program to be given up? */
static void count_fruitless(struct dp_worker *worker)
{
    char text[1000];
    worker->fruitless = worker->finished > 0 ? 0 : worker->fruitless + (worker->failed ? 1 : 0);
    if (worker->hello_only && worker->failed) {
        answer_rest(worker, dp_answer_error(worker->cause_reason, worker->cause, NULL));
    } else if (worker->fruitless >= FRUITLESS_MAX) {
        snprintf(text, sizeof(text), "given up after %d processes in a row that finished no request: %s",
                 FRUITLESS_MAX, worker->cause);
        const bool counted = worker->fruitless == FRUITLESS_MAX; /* else the next one would do the same */
        json_t *answer = counted ? dp_answer_error("gone", text, NULL)
                                 : dp_answer_error(worker->cause_reason, worker->cause, NULL);
        if (answer_own(worker, answer)) {
            worker->fruitless = 0;
        } else {
            answer_rest(worker, answer);
        }
    }
}

/* The process is over. */
static void leave(struct dp_worker *worker, bool reap)
{
    worker->ended = true;
    int status = clear_process(worker, reap);
    end_children(worker);
    drain(worker);
    if (judge_end(worker, status)) {
        worker->state = worker->hello_only ? DP_WORKER_FINISHED : DP_WORKER_IDLE;
        if (!worker->session->stopping) {
            count_fruitless(worker);
        } else {
            worker->state = DP_WORKER_FINISHED;
        }
    }
    dp_process_close(&worker->process);
    dp_lines_free(&worker->lines);
    json_decref(worker->answer);
    worker->answer = NULL;
}

void dp_worker_ended(struct dp_worker *worker)
{
    leave(worker, /* reap */ true);
}

void dp_worker_tick(struct dp_worker *worker, int64_t now)
{
    char text[160];
    if (worker->state == DP_WORKER_WAITING && (worker->session->stopping || dp_worker_is_due(worker))) {
        send_next(worker);
    }
    if (!dp_worker_active(worker) || now < worker->deadline) {
        return;
    }
    double seconds = (double)worker->session->options->timeout_ns / 1e9;
    switch (worker->state) {
    case DP_WORKER_STARTING:
    case DP_WORKER_BUSY:
        if (worker->reached_end) {
            fail(worker, "protocol", "the program closed its output and went on");
            break;
        }
        snprintf(text, sizeof(text), "the program did not %s within %g s",
                 worker->state == DP_WORKER_BUSY ? "finish the request" : "say hello", seconds);
        fail(worker, "timeout", text);
        break;
    case DP_WORKER_WAITING: /* it closed its output, and nobody asked for anything */
    case DP_WORKER_CLOSING:
        end_process(worker);
        break;
    case DP_WORKER_ENDING:
        dp_process_signal(&worker->process, SIGKILL);
        enter(worker, DP_WORKER_KILLING, STUCK_NS);
        break;
    default: /* killed and not dead: leave it to the kernel */
        leave(worker, /* reap */ false);
        break;
    }
}

void dp_worker_stop(struct dp_worker *worker, bool at_once)
{
    if (at_once && dp_worker_active(worker)) {
        dp_process_signal(&worker->process, SIGKILL);
        enter(worker, DP_WORKER_KILLING, STUCK_NS);
    } else if (worker->state == DP_WORKER_STARTING) {
        end_process(worker);
    } else if (worker->state == DP_WORKER_IDLE) {
        worker->state = DP_WORKER_FINISHED;
    }
}
