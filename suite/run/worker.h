/* SPDX-License-Identifier: Apache-2.0
 *
 * The worker: one probe program's requests, worked off by one process after another, one request at a time.
 * A state machine that the runner's loop drives; it never waits.
 */
#ifndef DP_RUN_WORKER_H
#define DP_RUN_WORKER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "suite/base/text.h"
#include "suite/run/capture.h"
#include "suite/run/lines.h"
#include "suite/run/process.h"
#include "suite/run/session.h"

enum dp_worker_state {
    DP_WORKER_IDLE,     /* no process; wants one */
    DP_WORKER_STARTING, /* waits for hello */
    DP_WORKER_BUSY,     /* a request is out */
    DP_WORKER_WAITING,  /* for its next request's turn */
    DP_WORKER_CLOSING,  /* its input is closed, it should end by itself */
    DP_WORKER_ENDING,   /* SIGTERM was sent */
    DP_WORKER_KILLING,  /* SIGKILL was sent */
    DP_WORKER_FINISHED
};

struct dp_worker {
    struct dp_session *session;
    const struct dp_program *program;
    size_t *queue; /* requests by retest and process, then in the plan's order; owned */
    size_t count, next;
    bool hello_only;

    enum dp_worker_state state;
    int64_t deadline; /* of the state */
    struct dp_process process;
    struct dp_lines lines;
    struct dp_capture log;
    struct dp_text out; /* the request's line */
    size_t sent;        /* bytes of it that are written */
    int64_t asked_ns;   /* when it was asked */
    bool reached_end;   /* the program closed its output */
    bool ended;         /* the leader is dead: nothing can be sent */
    json_t *hello;
    char isa[64];   /* the instruction set that its capped library says it runs on; "": no cap */
    size_t current; /* the request that is out */
    json_int_t id;
    json_int_t last_id; /* of the request before, -1: none */
    json_t *answer;     /* of the current request, until done */
    json_t *refusal;    /* a skip that came instead of hello, or NULL; owned */
    size_t finished;    /* requests done by this process */
    bool failed;        /* this process did something wrong */
    int fruitless;      /* processes in a row that failed and finished nothing */
    int group;          /* number of the process that the plan gave them */
    char cause[900];    /* what the last failed process did */
    const char *cause_reason;
};

void dp_worker_init(struct dp_worker *worker, struct dp_session *session, const struct dp_program *program);
void dp_worker_free(struct dp_worker *worker);
bool dp_worker_active(const struct dp_worker *worker);

/* Would a process that is started now have something to do? */
bool dp_worker_is_due(struct dp_worker *worker);
/* Starts the next process; with nothing left to ask the worker is finished. */
void dp_worker_start(struct dp_worker *worker);
/* Events. `now` is the monotonic clock. */
void dp_worker_output(struct dp_worker *worker);  /* out_fd is readable */
void dp_worker_printed(struct dp_worker *worker); /* log_fd is readable */
void dp_worker_input(struct dp_worker *worker);   /* in_fd takes more */
void dp_worker_tick(struct dp_worker *worker, int64_t now);
void dp_worker_ended(struct dp_worker *worker); /* the leader is a zombie */
/* The run is to end: after the request that is out, or at once. */
void dp_worker_stop(struct dp_worker *worker, bool at_once);

#endif
