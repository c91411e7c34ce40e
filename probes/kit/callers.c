/* SPDX-License-Identifier: Apache-2.0
 *
 * The threads, their turns and their gate.
 */
#include "probes/kit/callers.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "probes/kit/backend.h"
#include "probes/kit/op.h"
#include "probes/kit/outcome.h"
#include "probes/kit/threads.h"
#include "suite/base/clock.h"

#define LIMIT_NS INT64_C(5000000000) /* of tries of one run that are not at once with another */

struct crew {
    const struct kit_callers *what;
    atomic_int turn, arrived, done; /* callers that were alone, wait at the gate, have made their runs */
    atomic_int inside;              /* calls under way */
    atomic_uint entered;            /* calls begun so far */
    atomic_bool given_up;
};

struct caller {
    struct crew *crew;
    int number;
    pthread_t thread;
    int rc;
    struct kit_outcome outcome; /* what a failure said, in this thread */
};

static int alone(struct caller *caller)
{
    struct crew *const crew = caller->crew;
    while (crew->turn != caller->number) {
        sched_yield();
    }
    const bool due = !crew->given_up;
    int rc = due ? kit_threads_here() : KIT_OK; /* OpenMP keeps a count for each thread of the program's */
    rc = rc || !due ? rc : crew->what->alone(crew->what->context, caller->number);
    crew->given_up = crew->given_up || rc;
    crew->turn++;
    return rc;
}

/* *ret_at_once: another call was under way at some time during this one. */
static int call_once(struct caller *caller, bool *ret_at_once)
{
    struct crew *const crew = caller->crew;
    int rc = crew->what->before(crew->what->context, caller->number);
    if (rc) {
        return rc;
    }
    const unsigned own = atomic_fetch_add(&crew->entered, 1) + 1;
    const int others = atomic_fetch_add(&crew->inside, 1);
    rc = crew->what->run(crew->what->context, caller->number);
    *ret_at_once = others > 0 || crew->entered != own;
    crew->inside--;
    return rc;
}

static int make_runs(struct caller *caller)
{
    struct crew *const crew = caller->crew;
    const int runs = (crew->what->runs - 1 - caller->number) / crew->what->count;
    int64_t since = dp_now_ns();
    int rc = KIT_OK;
    for (int run = 1; run <= runs && !rc && !crew->given_up;) {
        bool at_once = false;
        rc = call_once(caller, &at_once);
        if (!rc && at_once) {
            rc = crew->what->after(crew->what->context, caller->number, run++);
            since = dp_now_ns();
        } else if (!rc && dp_now_ns() - since > LIMIT_NS) {
            rc = kit_skip("unsupported", "no call of another thread was under way during one");
        }
    }
    return rc;
}

static int keep_company(struct caller *caller)
{
    struct crew *const crew = caller->crew;
    bool at_once;
    int rc = KIT_OK;
    while (crew->done < crew->what->count && !crew->given_up && !rc) {
        rc = call_once(caller, &at_once);
    }
    return rc;
}

static void *caller_main(void *context)
{
    struct caller *const caller = context;
    struct crew *const crew = caller->crew;
    int rc = alone(caller);
    crew->arrived++;
    while (crew->arrived < crew->what->count && !crew->given_up) {
        sched_yield();
    }
    rc = rc ? rc : make_runs(caller);
    crew->done++;
    rc = rc ? rc : keep_company(caller);
    crew->given_up = crew->given_up || rc;
    caller->rc = rc;
    caller->outcome = *kit_outcome();
    return NULL;
}

static int start(struct caller *callers, int count, int *ret_started)
{
    sigset_t all, before;
    int rc = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the main thread's */
    for (*ret_started = 0; *ret_started < count && !rc; *ret_started += !rc) {
        struct caller *const caller = &callers[*ret_started];
        rc = pthread_create(&caller->thread, NULL, caller_main, caller);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc ? kit_skip("unsupported", "cannot start a thread: %s", strerror(rc)) : KIT_OK;
}

int kit_callers_do(const struct kit_callers *what)
{
    struct crew crew = {.what = what};
    struct caller callers[KIT_MAX_LANES];
    int started;
    for (int i = 0; i < what->count; i++) {
        callers[i] = (struct caller){.crew = &crew, .number = i};
    }
    int rc = start(callers, what->count, &started);
    crew.given_up = crew.given_up || rc;
    for (int i = 0; i < started; i++) {
        pthread_join(callers[i].thread, NULL);
    }
    for (int i = 0; i < started && !rc; i++) {
        rc = callers[i].rc;
        if (rc) {
            kit_outcome_restore(&callers[i].outcome);
        }
    }
    return rc;
}
