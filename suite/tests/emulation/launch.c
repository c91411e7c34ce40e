/* SPDX-License-Identifier: Apache-2.0
 *
 * Own kernels on the CPU. Blocks go to workers, threads of a block are fibers that a worker runs one after
 * the other, each up to its end, a barrier or a wait. A worker whose block only waits takes up another block,
 * so that blocks may wait for each other; kernels that do so have no shared memory, which is the worker's.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "suite/tests/emulation/emulation.h"
/* the types and the functions that kernels see */
#include "probes/kit/kernel.h"

#define STACK_BYTES ((size_t)128 << 10)
#define RACERS 4

enum state { FRESH, READY, AT_BARRIER, AT_WARP_BARRIER, WAITING, DONE };

struct fiber {
    void *stack_pointer;
    struct stack *stack;
    enum state state;
};

/* A stack and, while unused, its place in the pool. */
struct stack {
    struct stack *next;
    char *bytes;
};

struct block {
    struct block *next;
    i32 index;
    struct fiber *fibers;
    u64 *slots; /* what threads give to a shuffle */
};

struct launch {
    emulate_kernel kernel;
    const void *packed;
    i32 blocks, threads, taken;
    i32 *block_order, *thread_order;
    i32 missing; /* racers that have not come yet */
    bool race;
};

struct worker {
    const struct launch *launch;
    struct block *block;
    struct fiber *fiber;
    void *stack_pointer; /* of the worker itself */
    struct stack *pool;
};

_Thread_local struct kit_twin_place kit_twin_place;
static _Thread_local struct worker *self;

#if defined(__x86_64__)
/* Saves the callee's registers on the stack and changes stacks. */
void emulation_switch(void **save, void *load);
__asm__(".text\n"
        ".globl emulation_switch\n"
        ".hidden emulation_switch\n"
        ".type emulation_switch,@function\n"
        "emulation_switch:\n"
        "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n    pushq %r13\n    pushq %r14\n    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n    popq %r14\n    popq %r13\n    popq %r12\n    popq %rbx\n    popq %rbp\n"
        "    ret\n"
        ".size emulation_switch,.-emulation_switch\n");

static void *first_frame(char *stack, void (*entry)(void))
{
    void **top = (void **)(void *)(stack + STACK_BYTES - 64);
    *--top = NULL; /* the entry never returns */
    *--top = (void *)(uintptr_t)entry;
    for (int i = 0; i < 6; i++) {
        *--top = NULL;
    }
    return top;
}
#else
#include <ucontext.h>
/* The portable way; a "stack pointer" is a context. */
static void emulation_switch(void **save, void *load)
{
    ucontext_t here;
    /* cppcheck-suppress autoVariables ; it lives until the fiber goes on */
    *save = &here;
    swapcontext(&here, load);
}

static void *first_frame(char *stack, void (*entry)(void))
{
    ucontext_t *const context = (void *)stack;
    getcontext(context);
    context->uc_stack.ss_sp = stack + sizeof(*context);
    context->uc_stack.ss_size = STACK_BYTES - sizeof(*context);
    makecontext(context, entry, 0);
    return context;
}
#endif

static struct stack *take_stack(struct worker *worker)
{
    struct stack *stack = worker->pool;
    if (stack) {
        worker->pool = stack->next;
        return stack;
    }
    stack = calloc(1, sizeof(*stack));
    void *const bytes = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!stack || bytes == MAP_FAILED) {
        abort();
    }
    stack->bytes = bytes;
    return stack;
}

static void leave(enum state state)
{
    struct fiber *const fiber = self->fiber;
    fiber->state = state;
    emulation_switch(&fiber->stack_pointer, self->stack_pointer);
}

static void enter(void)
{
    self->launch->kernel(self->launch->packed);
    leave(DONE);
    abort();
}

void kit_twin_barrier(void)
{
    leave(AT_BARRIER);
}

void kit_twin_warp_barrier(void)
{
    leave(AT_WARP_BARRIER);
}

void kit_twin_wait(void)
{
    leave(WAITING);
}

u64 kit_twin_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (u64)now.tv_sec * 1000000000u + (u64)now.tv_nsec;
}

u64 kit_twin_shuffle_down(u64 bits, i32 delta)
{
    const i32 thread = kit_twin_place.thread, lane = thread % 32;
    u64 *const slots = self->block->slots;
    slots[thread] = bits;
    kit_twin_warp_barrier();
    const u64 got =
        lane + delta < 32 && thread + delta < kit_twin_place.threads ? slots[thread + delta] : bits;
    kit_twin_warp_barrier();
    return got;
}

static void resume(struct worker *worker, struct block *block, i32 thread)
{
    struct fiber *const fiber = &block->fibers[thread];
    if (fiber->state == FRESH) {
        fiber->stack = take_stack(worker);
        fiber->stack_pointer = first_frame(fiber->stack->bytes, enter);
    }
    kit_twin_place =
        (struct kit_twin_place){thread, worker->launch->threads, block->index, worker->launch->blocks};
    fiber->state = READY;
    worker->block = block;
    worker->fiber = fiber;
    emulation_switch(&worker->stack_pointer, fiber->stack_pointer);
    if (worker->launch->race && thread % 16 == 0) {
        sched_yield(); /* on a busy machine racers would run one after the other */
    }
    if (fiber->state == DONE) {
        fiber->stack->next = worker->pool;
        worker->pool = fiber->stack;
    }
}

/* Lets the threads from `from` to `to` go on if all that live are at the barrier. */
static bool open_barrier(struct block *block, i32 from, i32 to, enum state barrier)
{
    bool any = false;
    for (i32 i = from; i < to; i++) {
        if (block->fibers[i].state != barrier && block->fibers[i].state != DONE) {
            return false;
        }
        any = any || block->fibers[i].state == barrier;
    }
    for (i32 i = from; i < to && any; i++) {
        if (block->fibers[i].state == barrier) {
            block->fibers[i].state = READY;
        }
    }
    return any;
}

/* Runs a block until it is done (true) or can only wait. */
static bool advance(struct worker *worker, struct block *block)
{
    const i32 threads = worker->launch->threads;
    for (;;) {
        bool done = true, opened = open_barrier(block, 0, threads, AT_BARRIER);
        for (i32 i = 0; i < threads; i++) {
            const i32 thread = worker->launch->thread_order[i];
            const enum state state = block->fibers[thread].state;
            if (state == FRESH || state == READY || state == WAITING) {
                resume(worker, block, thread);
            }
            done = done && block->fibers[thread].state == DONE;
        }
        for (i32 warp = 0; warp < threads; warp += 32) {
            opened = open_barrier(block, warp, warp + 32 < threads ? warp + 32 : threads, AT_WARP_BARRIER) ||
                     opened;
        }
        opened = open_barrier(block, 0, threads, AT_BARRIER) || opened;
        if (done || !opened) {
            return done;
        }
    }
}

static struct block *new_block(const struct launch *launch, i32 index)
{
    struct block *const block = calloc(1, sizeof(*block));
    block->index = index;
    block->fibers = calloc((size_t)launch->threads, sizeof(*block->fibers));
    block->slots = calloc((size_t)launch->threads, sizeof(*block->slots));
    return block;
}

static void free_block(struct block *block)
{
    free(block->fibers);
    free(block->slots);
    free(block);
}

static void *work(void *context)
{
    struct launch *const launch = context;
    struct worker worker = {.launch = launch};
    struct block *waiting = NULL;
    self = &worker;
    __atomic_fetch_sub(&launch->missing, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&launch->missing, __ATOMIC_SEQ_CST) > 0) {
        sched_yield();
    }
    for (;;) {
        const i32 place = __atomic_fetch_add(&launch->taken, 1, __ATOMIC_RELAXED);
        if (place >= launch->blocks && !waiting) {
            break;
        }
        if (place < launch->blocks) {
            struct block *const block = new_block(launch, launch->block_order[place]);
            block->next = waiting;
            waiting = block;
        }
        for (struct block **at = &waiting; *at;) {
            struct block *const block = *at;
            if (advance(&worker, block)) {
                *at = block->next;
                free_block(block);
            } else {
                at = &block->next;
            }
        }
    }
    while (worker.pool) {
        struct stack *const stack = worker.pool;
        worker.pool = stack->next;
        munmap(stack->bytes, STACK_BYTES);
        free(stack);
    }
    return NULL;
}

void emulate_launch(emulate_kernel kernel, unsigned blocks, unsigned threads, const void *packed)
{
    const char *const order = emulate_word("order", "seeded");
    const bool race = strcmp(order, "race") == 0, seeded = strcmp(order, "seeded") == 0;
    struct launch launch = {
        .kernel = kernel, .packed = packed, .blocks = (i32)blocks, .threads = (i32)threads};
    pthread_t racers[RACERS];
    launch.block_order = calloc(blocks, sizeof(*launch.block_order));
    launch.thread_order = calloc(threads, sizeof(*launch.thread_order));
    /* Racers on idle cores may fall into step, and on busy ones they run one after the other: that a race
     * shows does not hang on them. */
    emulate_order(launch.block_order, launch.blocks, seeded || race);
    emulate_order(launch.thread_order, launch.threads, seeded);
    launch.race = race;
    if (race) {
        launch.missing = RACERS;
        for (int i = 0; i < RACERS; i++) {
            pthread_create(&racers[i], NULL, work, &launch);
        }
        for (int i = 0; i < RACERS; i++) {
            pthread_join(racers[i], NULL);
        }
    } else {
        work(&launch);
    }
    free(launch.block_order);
    free(launch.thread_order);
}
