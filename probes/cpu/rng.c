/* SPDX-License-Identifier: Apache-2.0
 *
 * Random numbers drawn by several threads. The streams are fixed by their keys; what moves is who draws which
 * number. A counter-based generator gives each place its number whoever asks, one generator that threads
 * share gives its numbers out in arrival order, generators of the threads' own follow the number of threads,
 * and a state that is saved and restored in mid-stream must go on as if nothing had happened. Philox4x32-10:
 * Salmon and others, Parallel random numbers: as easy as 1, 2, 3, SC 2011. xoshiro256**:
 * Blackman and Vigna, Scrambled linear pseudorandom number generators, ACM TOMS 2021.
 */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "probes/cpu/splitmix.h"
#include "probes/kit/input.h"
#include "probes/kit/op.h"

#define CHUNK 16 /* numbers dealt at once: neighbours go to different threads */

enum { KEYS, NUMBERS };

struct streams {
    int64_t rows, n; /* a stream of n numbers for each key */
};

static int read_streams(const struct kit_params *params, struct streams *ret)
{
    return kit_param_int(params, "rows", &ret->rows) || kit_param_int(params, "n", &ret->n) ? KIT_FAILED
                                                                                            : KIT_OK;
}

static int describe(const struct kit_params *params, struct kit_shape *ret)
{
    struct streams s;
    if (read_streams(params, &s)) {
        return KIT_FAILED;
    }
    ret->operand[KEYS] = (struct kit_operand){.name = "keys",
                                              .role = KIT_IN,
                                              .dtype = KIT_S64,
                                              .ndim = 2,
                                              .shape = {s.rows, 1},
                                              .batch_dim = 0,
                                              .fill = KIT_INDICES,
                                              .below = INT64_C(1) << 40};
    ret->operand[NUMBERS] = (struct kit_operand){.name = "numbers",
                                                 .role = KIT_OUT,
                                                 .dtype = KIT_S64,
                                                 .ndim = 2,
                                                 .shape = {s.rows, s.n},
                                                 .batch_dim = 0};
    ret->count = 2;
    ret->flops = (double)s.rows * (double)s.n;
    return KIT_OK;
}

static int prepare(struct kit_call *call, struct kit_prepared *ret)
{
    struct streams *s = calloc(1, sizeof(*s));
    call->state = s;
    return s ? read_streams(call->params, s) : kit_fail("out of memory");
}

/* ---- generators ---- */

/* 63 bits, so that numbers are the same as signed ones. */
static int64_t philox(uint64_t key, uint64_t counter)
{
    uint32_t c[4] = {(uint32_t)counter, (uint32_t)(counter >> 32), 0, 0};
    uint32_t k[2] = {(uint32_t)key, (uint32_t)(key >> 32)};
    for (int round = 0; round < 10; round++) {
        const uint64_t a = (uint64_t)c[0] * 0xD2511F53u, b = (uint64_t)c[2] * 0xCD9E8D57u;
        const uint32_t next[4] = {(uint32_t)(b >> 32) ^ c[1] ^ k[0], (uint32_t)b,
                                  (uint32_t)(a >> 32) ^ c[3] ^ k[1], (uint32_t)a};
        memcpy(c, next, sizeof(c));
        k[0] += 0x9E3779B9u;
        k[1] += 0xBB67AE85u;
    }
    return (int64_t)(((uint64_t)c[1] << 32 | c[0]) >> 1);
}

struct xoshiro {
    uint64_t s[4];
};

static struct xoshiro xoshiro_of(uint64_t key)
{
    struct xoshiro state;
    for (int i = 0; i < 4; i++) {
        state.s[i] = splitmix64(key += SPLITMIX64_STEP);
    }
    return state;
}

static uint64_t rotated(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static int64_t xoshiro(struct xoshiro *state)
{
    uint64_t *s = state->s;
    const uint64_t result = rotated(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotated(s[3], 45);
    return (int64_t)(result >> 1);
}

/* ---- who draws what ---- */

static int run_counter(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct streams *s = call->state;
    const int64_t rows = call->shape->operand[KEYS].shape[0], *keys = buffers->data[KEYS];
#pragma omp parallel for schedule(dynamic, CHUNK) num_threads(call->threads)
    for (int64_t i = 0; i < rows * s->n; i++) {
        ((int64_t *)buffers->data[NUMBERS])[i] = philox((uint64_t)keys[i / s->n], (uint64_t)(i % s->n));
    }
    return KIT_OK;
}

static int run_shared(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct streams *s = call->state;
    const int64_t rows = call->shape->operand[KEYS].shape[0], *keys = buffers->data[KEYS];
    for (int64_t row = 0; row < rows; row++) {
        int64_t *numbers = (int64_t *)buffers->data[NUMBERS] + row * s->n;
        struct xoshiro state = xoshiro_of((uint64_t)keys[row]);
#pragma omp parallel for schedule(static, CHUNK) num_threads(call->threads)
        for (int64_t i = 0; i < s->n; i++) {
#pragma omp critical
            numbers[i] = xoshiro(&state);
        }
    }
    return KIT_OK;
}

static int run_own(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct streams *s = call->state;
    const int64_t rows = call->shape->operand[KEYS].shape[0], *keys = buffers->data[KEYS];
    for (int64_t row = 0; row < rows; row++) {
        int64_t *numbers = (int64_t *)buffers->data[NUMBERS] + row * s->n;
#pragma omp parallel num_threads(call->threads)
        {
            struct xoshiro state = xoshiro_of((uint64_t)keys[row] + ((uint64_t)omp_get_thread_num() << 48));
#pragma omp for schedule(static)
            for (int64_t i = 0; i < s->n; i++) {
                numbers[i] = xoshiro(&state);
            }
        }
    }
    return KIT_OK;
}

/* A third of the stream, then the state goes through bytes, and another state is used in between. */
static int run_restored(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct streams *s = call->state;
    const int64_t rows = call->shape->operand[KEYS].shape[0], *keys = buffers->data[KEYS];
    for (int64_t row = 0; row < rows; row++) {
        int64_t *numbers = (int64_t *)buffers->data[NUMBERS] + row * s->n;
        struct xoshiro state = xoshiro_of((uint64_t)keys[row]);
        unsigned char *saved = buffers->workspace;
        for (int64_t i = 0; i < s->n; i++) {
            if (i == s->n / 3) {
                memcpy(saved, &state, sizeof(state));
                state = xoshiro_of(~(uint64_t)keys[row]);
                xoshiro(&state);
                memcpy(&state, saved, sizeof(state));
            }
            numbers[i] = xoshiro(&state);
        }
    }
    return KIT_OK;
}

static int prepare_restored(struct kit_call *call, struct kit_prepared *ret)
{
    ret->workspace_bytes = sizeof(struct xoshiro);
    return prepare(call, ret);
}

/* The C library's own generator, its state array saved, used for another stream and restored. */
#define RANDOM_STATE 128

static void random_start(struct random_data *data, char *state, unsigned seed)
{
    memset(data, 0, sizeof(*data));
    memset(state, 0, RANDOM_STATE);
    initstate_r(seed, state, RANDOM_STATE, data);
}

static int run_random_r(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct streams *s = call->state;
    const int64_t rows = call->shape->operand[KEYS].shape[0], *keys = buffers->data[KEYS];
    char *state = buffers->workspace, *other = state + RANDOM_STATE;
    for (int64_t row = 0; row < rows; row++) {
        struct random_data data;
        random_start(&data, state, (unsigned)keys[row]);
        for (int64_t i = 0; i < s->n; i++) {
            int32_t number;
            if (i == s->n / 3) {
                random_start(&(struct random_data){0}, other, ~(unsigned)keys[row]);
                setstate_r(other, &data);
                random_r(&data, &number);
                setstate_r(state, &data);
            }
            random_r(&data, &number);
            ((int64_t *)buffers->data[NUMBERS])[row * s->n + i] = number;
        }
    }
    return KIT_OK;
}

static int prepare_random_r(struct kit_call *call, struct kit_prepared *ret)
{
    ret->workspace_bytes = 2 * RANDOM_STATE;
    return prepare(call, ret);
}

/* ---- what is right ---- */

/* From the kit's own Philox, which is another one than that above. */
static int reference_counter(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                             size_t count, struct kit_cell *ret)
{
    const struct streams *s = call->state;
    const int64_t *keys = in[KEYS];
    struct kit_words *words = aligned_alloc(_Alignof(struct kit_words), sizeof(*words));
    if (!words) {
        return kit_fail("out of memory");
    }
    for (size_t c = 0; c < count; c++) {
        memset(words, 0, sizeof(*words));
        words->word[0][0] = (uint32_t)(cells[c] % s->n);
        kit_philox(words, (uint64_t)keys[cells[c] / s->n]);
        const uint64_t number = (uint64_t)words->word[1][0] << 32 | words->word[0][0];
        ret[c] = (struct kit_cell){.value = (long double)(number >> 1), .k = 1};
    }
    free(words);
    return KIT_OK;
}

/* The uninterrupted stream of a key. */
static void stream_xoshiro(int64_t key, int64_t n, int64_t *ret)
{
    struct xoshiro state = xoshiro_of((uint64_t)key);
    for (int64_t i = 0; i < n; i++) {
        ret[i] = xoshiro(&state);
    }
}

static void stream_random_r(int64_t key, int64_t n, int64_t *ret)
{
    char state[RANDOM_STATE];
    struct random_data data;
    random_start(&data, state, (unsigned)key);
    for (int64_t i = 0; i < n; i++) {
        int32_t number;
        random_r(&data, &number);
        ret[i] = number;
    }
}

static int ascending(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* Compares each row with its stream, `in_any_order` as a bag of numbers. */
static int accepts(struct kit_call *call, const void *const *in, const void *logical,
                   void (*stream)(int64_t key, int64_t n, int64_t *ret), bool in_any_order,
                   int64_t *ret_wrong)
{
    const struct streams *s = call->state;
    const int64_t rows = call->shape->operand[KEYS].shape[0], *keys = in[KEYS];
    int64_t *right = calloc((size_t)s->n, 2 * sizeof(*right));
    *ret_wrong = 0;
    if (!right) {
        return kit_fail("out of memory");
    }
    int64_t *found = right + s->n;
    for (int64_t row = 0; row < rows; row++) {
        stream(keys[row], s->n, right);
        memcpy(found, (const int64_t *)logical + row * s->n, (size_t)s->n * sizeof(*found));
        if (in_any_order) {
            qsort(right, (size_t)s->n, sizeof(*right), ascending);
            qsort(found, (size_t)s->n, sizeof(*found), ascending);
        }
        for (int64_t i = 0; i < s->n; i++) {
            *ret_wrong += right[i] != found[i];
        }
    }
    free(right);
    return KIT_OK;
}

static int accepts_shared(struct kit_call *call, int output, const void *const *in, const void *logical,
                          int64_t *ret_wrong)
{
    return accepts(call, in, logical, stream_xoshiro, true, ret_wrong);
}

static int accepts_restored(struct kit_call *call, int output, const void *const *in, const void *logical,
                            int64_t *ret_wrong)
{
    return accepts(call, in, logical, stream_xoshiro, false, ret_wrong);
}

static int accepts_random_r(struct kit_call *call, int output, const void *const *in, const void *logical,
                            int64_t *ret_wrong)
{
    return accepts(call, in, logical, stream_random_r, false, ret_wrong);
}

/* Numbers of a thread's stream are in order; whose stream a place has follows from the number of threads. */
static int accepts_own(struct kit_call *call, int output, const void *const *in, const void *logical,
                       int64_t *ret_wrong)
{
    const struct streams *s = call->state;
    const int64_t rows = call->shape->operand[KEYS].shape[0], *keys = in[KEYS], *numbers = logical;
    *ret_wrong = 0;
    for (int64_t row = 0; row < rows; row++) {
        int thread = 0;
        struct xoshiro state = xoshiro_of((uint64_t)keys[row]);
        for (int64_t i = 0; i < s->n; i++) {
            struct xoshiro next = xoshiro_of((uint64_t)keys[row] + ((uint64_t)(thread + 1) << 48));
            const int64_t number = numbers[row * s->n + i];
            if (number == xoshiro(&state)) {
                continue;
            }
            *ret_wrong += number != xoshiro(&next);
            state = next;
            thread++;
        }
    }
    return KIT_OK;
}

static const struct op counter = {.name = "counter",
                                  .describe = describe,
                                  .prepare = prepare,
                                  .run = run_counter,
                                  .reference = reference_counter,
                                  .release = kit_free_state},
                       shared = {.name = "shared",
                                 .describe = describe,
                                 .prepare = prepare,
                                 .run = run_shared,
                                 .accepts = accepts_shared,
                                 .release = kit_free_state},
                       own = {.name = "thread-own",
                              .describe = describe,
                              .prepare = prepare,
                              .run = run_own,
                              .accepts = accepts_own,
                              .release = kit_free_state},
                       restored = {.name = "restored",
                                   .describe = describe,
                                   .prepare = prepare_restored,
                                   .run = run_restored,
                                   .accepts = accepts_restored,
                                   .release = kit_free_state},
                       library = {.name = "random_r",
                                  .describe = describe,
                                  .prepare = prepare_random_r,
                                  .run = run_random_r,
                                  .accepts = accepts_random_r,
                                  .release = kit_free_state};

int main(void)
{
    static const struct op *const ops[] = {&counter, &shared, &own, &restored, &library, NULL};
    static const struct kit_program program = {
        .name = "rng", .backend = "cpu", .ops = ops, .default_threads = 8};
    return kit_main(&program);
}
