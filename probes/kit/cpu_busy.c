/* SPDX-License-Identifier: Apache-2.0
 *
 * One worker on each core that this process may use, at most as many as its quota is worth: a thread that
 * computes or streams through memory, or a process that does both by turns. Workers count the pieces that
 * they have done, so that it is seen whether they run. They end when told to, by themselves when nobody has
 * asked for them for a while, and with this program, however it ends. A process is made without the handlers
 * that libraries register for fork (an OpenBLAS ends its threads in one), holds no descriptor and calls
 * nothing but the kernel.
 */
#include "probes/kit/cpu_busy.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "probes/kit/op.h"
#include "suite/base/cgroup.h"
#include "suite/base/clock.h"
#include "suite/base/host.h"

#define S INT64_C(1000000000)
#define LIMIT_NS (60 * S) /* without being asked for */
#define START_NS (5 * S)  /* a worker that has done nothing by then is not running */
#define PIECE_STEPS 512
#define PIECE_BYTES ((size_t)32 << 10)
#define LEAST_BYTES ((size_t)64 << 20) /* all workers together: more than caches hold ... */
#define MOST_BYTES ((size_t)1 << 30)
#define CACHES 4 /* ... and so many times the last level of this machine */

struct worker {
    _Alignas(64) atomic_ulong pieces;
    unsigned long seen; /* pieces when it was last looked */
    int core;           /* that it stays on; -1: any */
    enum kit_busy work;
    unsigned char *memory;
    size_t bytes;
    pthread_t thread;
    pid_t process; /* 0: it is a thread */
};

/* Shared with the processes. */
struct crew {
    atomic_bool end;
    _Atomic int64_t until;
    struct worker worker[];
};

static struct {
    struct crew
        *crew; /* NULL: nothing was asked for yet. It stays, with the memory that is streamed through */
    size_t most, count; /* workers there is room for, and at work */
    unsigned char *memory;
    size_t bytes;
    enum kit_busy work;
} busy;

/* ---- what a worker does ---- */

static void compute(void)
{
    volatile float kept[8] = {0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 0.6f, 0.7f, 0.8f};
    float x[8];
    for (int i = 0; i < 8; i++) {
        x[i] = kept[i];
    }
    for (int step = 0; step < PIECE_STEPS; step++) {
        for (int i = 0; i < 8; i++) {
            x[i] = x[i] * 0.999f + 0.001f;
        }
    }
    for (int i = 0; i < 8; i++) {
        kept[i] = x[i];
    }
}

static void stream(struct worker *worker, size_t *at)
{
    uint64_t *const words = (uint64_t *)(void *)(worker->memory + *at);
    for (size_t i = 0; i < PIECE_BYTES / sizeof(*words); i++) {
        words[i] += i;
    }
    *at += PIECE_BYTES;
    *at = *at + PIECE_BYTES > worker->bytes ? 0 : *at;
}

static void do_work(struct worker *worker)
{
    size_t at = 0;
    if (worker->core >= 0) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(worker->core, &set);
        sched_setaffinity(0, sizeof(set), &set);
    }
    for (unsigned long i = 0; !busy.crew->end && dp_now_ns() < busy.crew->until; i++) {
        if (worker->work == KIT_BUSY_COMPUTE || (worker->work == KIT_BUSY_PROCESS && i % 2)) {
            compute();
        } else {
            stream(worker, &at);
        }
        worker->pieces++;
    }
}

static void *thread_main(void *worker)
{
    do_work(worker);
    return NULL;
}

static void close_descriptors(void)
{
#ifdef SYS_close_range
    if (syscall(SYS_close_range, 0U, ~0U, 0U) == 0) {
        return;
    }
#endif
    for (int fd = 0; fd < 65536; fd++) {
        close(fd);
    }
}

__attribute__((noreturn)) static void process_main(struct worker *worker, pid_t parent)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent) { /* else it has ended already */
        close_descriptors();
        do_work(worker);
    }
    _exit(0);
}

/* ---- who does it ---- */

static int start_thread(struct worker *worker)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the program's */
    const int rc = pthread_create(&worker->thread, NULL, thread_main, worker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc ? kit_skip("unsupported", "cannot start a thread beside: %s", strerror(rc)) : KIT_OK;
}

static int start_process(struct worker *worker)
{
    const pid_t parent = getpid(), pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (pid == 0) {
        process_main(worker, parent);
    }
    worker->process = pid; /* the worker sees these pages too, so not before it is known who is who */
    return pid < 0 ? kit_skip("unsupported", "cannot start a process beside: %s", strerror(errno)) : KIT_OK;
}

static int start(struct worker *worker)
{
    worker->pieces = 0;
    worker->seen = 0;
    worker->process = 0;
    const int rc = busy.work == KIT_BUSY_PROCESS ? start_process(worker) : start_thread(worker);
    busy.count += rc == KIT_OK;
    return rc;
}

static void end(void)
{
    if (!busy.crew) {
        return;
    }
    busy.crew->end = true;
    for (size_t i = 0; i < busy.count; i++) {
        struct worker *const worker = &busy.crew->worker[i];
        if (!worker->process) {
            pthread_join(worker->thread, NULL);
        } else {
            kill(worker->process, SIGKILL);
            waitpid(worker->process, NULL, 0);
        }
    }
    busy.count = 0;
    busy.work = KIT_IDLE;
}

/* ---- what they get ---- */

/* A core for each worker, unless a quota is worth fewer than there are: then they go where the kernel puts
 * them. */
static size_t count_workers(cpu_set_t *ret_cores, bool *ret_held)
{
    struct dp_cgroup cgroup;
    dp_cgroup_read("", &cgroup);
    const size_t cores = (size_t)dp_host_cores_allowed();
    const size_t quota = cgroup.cpu_hundredths == DP_CGROUP_UNLIMITED ? cores
                         : cgroup.cpu_hundredths < 200                ? 1
                                                                      : (size_t)(cgroup.cpu_hundredths / 100);
    *ret_held = quota >= cores && sched_getaffinity(0, sizeof(*ret_cores), ret_cores) == 0 &&
                (size_t)CPU_COUNT(ret_cores) == cores;
    return quota < cores ? quota : cores;
}

static size_t memory_bytes(void)
{
    const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    const size_t wanted = cache > 0 ? (size_t)cache * CACHES : 0;
    return wanted < LEAST_BYTES ? LEAST_BYTES : wanted > MOST_BYTES ? MOST_BYTES : wanted;
}

static void *shared_pages(size_t bytes)
{
    void *const pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

static int open_once(void)
{
    cpu_set_t cores;
    bool held;
    if (busy.crew) {
        return KIT_OK;
    }
    busy.most = count_workers(&cores, &held);
    busy.crew = shared_pages(sizeof(*busy.crew) + busy.most * sizeof(struct worker));
    if (!busy.crew) {
        return kit_skip("memory", "no memory for other work");
    }
    for (size_t i = 0, core = 0; i < busy.most; i++, core++) {
        while (held && !CPU_ISSET(core, &cores)) {
            core++;
        }
        busy.crew->worker[i].core = held ? (int)core : -1;
    }
    return KIT_OK;
}

static int take_memory(enum kit_busy work)
{
    if (work == KIT_BUSY_COMPUTE || busy.memory) {
        return KIT_OK;
    }
    const size_t part = memory_bytes() / busy.most / PIECE_BYTES * PIECE_BYTES + PIECE_BYTES;
    busy.bytes = part * busy.most;
    busy.memory = (int64_t)busy.bytes < dp_host_memory_available() / 2 ? shared_pages(busy.bytes) : NULL;
    for (size_t i = 0; busy.memory && i < busy.most; i++) {
        busy.crew->worker[i].memory = busy.memory + i * part;
        busy.crew->worker[i].bytes = part;
    }
    return busy.memory ? KIT_OK : kit_skip("memory", "no memory for other work");
}

static int start_all(enum kit_busy work)
{
    int rc = take_memory(work);
    if (rc) {
        return rc;
    }
    busy.work = work;
    busy.crew->end = false;
    for (size_t i = 0; i < busy.most && !rc; i++) {
        busy.crew->worker[i].work = work;
        rc = start(&busy.crew->worker[i]);
    }
    return rc;
}

/* ---- whether it is done ---- */

static size_t count_moved(void)
{
    size_t moved = 0;
    for (size_t i = 0; i < busy.count; i++) {
        moved += busy.crew->worker[i].pieces != busy.crew->worker[i].seen;
    }
    return moved;
}

/* Until each of them has gone on since it was last looked. */
static int await_all(void)
{
    const struct timespec moment = {.tv_nsec = 20000};
    const int64_t since = dp_now_ns();
    while (count_moved() < busy.count) {
        if (dp_now_ns() - since > START_NS) {
            return kit_skip("unsupported", "%zu of %zu workers on the cores did nothing for %lld s",
                            busy.count - count_moved(), busy.count, (long long)(START_NS / S));
        }
        nanosleep(&moment, NULL);
    }
    return KIT_OK;
}

/* On one core nothing goes on during a short run: there the work has its turn before each. */
static bool by_turns(void)
{
    return busy.most == 1;
}

int kit_cpu_busy(enum kit_busy work)
{
    if (work != busy.work) {
        end();
    }
    if (work == KIT_IDLE) {
        return KIT_OK;
    }
    int rc = open_once();
    if (rc) {
        return rc;
    }
    busy.crew->until = dp_now_ns() + LIMIT_NS;
    const bool starts = busy.count == 0;
    rc = starts ? start_all(work) : KIT_OK;
    rc = rc || !(starts || by_turns()) ? rc : await_all();
    if (rc) {
        end();
    }
    for (size_t i = 0; i < busy.count; i++) {
        busy.crew->worker[i].seen = busy.crew->worker[i].pieces;
    }
    return rc;
}

bool kit_cpu_beside(void)
{
    return by_turns() || count_moved() > 0;
}
