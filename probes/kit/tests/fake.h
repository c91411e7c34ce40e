/* SPDX-License-Identifier: Apache-2.0
 *
 * A fake operation whose faults are chosen by the param `mode`, served through the kit's session as a request
 * would be: c = 2 a, rows x columns, with padded rows of c where `pad` says so.
 */
#ifndef KIT_TESTS_FAKE_H
#define KIT_TESTS_FAKE_H

#include <stdlib.h>
#include <string.h>

#include "probes/kit/op.h"
#include "probes/kit/outcome.h"
#include "probes/kit/request.h"
#include "probes/kit/session.h"

#define FAKE_MODES                                                                                           \
    "good|overrun|underrun|touch-input|touch-padding|touch-outside|unwritten|reads-output|reads-workspace|"  \
    "vary|late|permute|bit|nan|wrong|scratch-overrun|accumulate|skips|fails|padding-varies|strays-late|"     \
    "consumes|row|by-address|by-neighbour|by-leading|by-heap"
enum fake_mode {
    GOOD,
    OVERRUN,
    UNDERRUN,
    TOUCH_INPUT,
    TOUCH_PADDING,
    TOUCH_OUTSIDE,
    UNWRITTEN,
    READS_OUTPUT,
    READS_WORKSPACE,
    VARY,
    LATE,
    PERMUTE,
    BIT,
    NOT_A_NUMBER,
    WRONG,
    SCRATCH_OVERRUN,
    ACCUMULATE,
    SKIPS,
    FAILS,
    PADDING_VARIES,
    STRAYS_LATE,
    CONSUMES,
    ROW,
    BY_ADDRESS,   /* another way where the output is not at a multiple of 16 bytes */
    BY_NEIGHBOUR, /* where input and output are not alike there */
    BY_LEADING,   /* where its rows are an odd number of elements apart */
    BY_HEAP       /* by where its own allocation landed */
};

struct fake {
    int mode;
    int64_t rows, columns, pad;
    bool chosen;
    int64_t runs, row; /* elements from one row of c to the next */
    void *own;
};

static int fake_prepares, fake_releases; /* counted over the program's life */
static int fake_lanes;                   /* of the last preparation */

static int fake_read(const struct kit_params *params, struct fake *ret)
{
    return kit_param_word(params, "mode", FAKE_MODES, &ret->mode) ||
                   kit_param_int(params, "rows", &ret->rows) ||
                   kit_param_int(params, "columns", &ret->columns) ||
                   kit_param_int_or(params, "pad", 0, &ret->pad) ||
                   kit_param_bool_or(params, "chosen", false, &ret->chosen)
               ? KIT_FAILED
               : KIT_OK;
}

static int fake_describe(const struct kit_params *params, struct kit_shape *ret)
{
    struct fake f = {0};
    int written;
    if (fake_read(params, &f) || kit_param_word(params, "written", "full|upper|lower|list", &written)) {
        return KIT_FAILED;
    }
    ret->count = 3;
    ret->operand[0] = (struct kit_operand){.name = "a",
                                           .role = f.mode == CONSUMES ? KIT_CONSUMED : KIT_IN,
                                           .dtype = KIT_F32,
                                           .ndim = 2,
                                           .shape = {f.rows, f.columns},
                                           .batch_dim = 0};
    ret->operand[1] = (struct kit_operand){.name = "list",
                                           .role = KIT_IN,
                                           .dtype = KIT_S32,
                                           .ndim = 1,
                                           .shape = {2},
                                           .batch_dim = -1,
                                           .fill = KIT_INDICES,
                                           .below = f.rows};
    ret->operand[2] = (struct kit_operand){.name = "c",
                                           .role = f.mode == ACCUMULATE ? KIT_INOUT : KIT_OUT,
                                           .dtype = KIT_F32,
                                           .ndim = 2,
                                           .shape = {f.rows, f.columns},
                                           .batch_dim = 0,
                                           .chosen = f.chosen,
                                           .leading = !f.chosen,
                                           .written = (enum kit_written)written,
                                           .list = 1};
    if (f.pad) {
        ret->operand[2].stride[0] = f.columns + f.pad;
        ret->operand[2].stride[1] = 1;
    }
    ret->flops = (double)(f.rows * f.columns);
    return KIT_OK;
}

static int fake_prepare(struct kit_call *call, struct kit_prepared *ret)
{
    struct fake *const f = calloc(1, sizeof(*f));
    fake_prepares++;
    fake_lanes = call->lanes;
    call->state = f;
    ret->workspace_bytes = 256;
    strcpy(ret->chosen, "fake");
    if (!f || fake_read(call->params, f)) {
        return KIT_FAILED;
    }
    f->row = kit_leading(call, 2);
    f->own = malloc(1000);
    ret->native_bytes[2] = (size_t)(f->rows * f->columns) * sizeof(float);
    return f->mode == SKIPS ? kit_skip("unsupported", "the fake library refuses") : KIT_OK;
}

static bool fake_writes(const struct kit_call *call, const struct kit_buffers *buffers, int64_t i, int64_t j)
{
    const int32_t *list = buffers->data[1];
    switch (call->shape->operand[2].written) {
    case KIT_UPPER:
        return j >= i;
    case KIT_LOWER:
        return j <= i;
    case KIT_LIST:
        return i == list[0] || i == list[1];
    default:
        return true;
    }
}

/* A library's own layout: columns first, from the last row on. */
static int64_t fake_at(const struct fake *f, int64_t i, int64_t j)
{
    return f->chosen ? j * f->rows + (f->rows - 1 - i) : i * f->row + j;
}

static void fake_mix(float *value, uint32_t with)
{
    uint32_t bits;
    memcpy(&bits, value, sizeof(bits));
    bits ^= with;
    memcpy(value, &bits, sizeof(bits));
}

static void fake_flip(float *value)
{
    fake_mix(value, 1);
}

/* Faults that happen after the honest work. */
static void fake_misbehave(struct fake *f, const struct kit_buffers *buffers, int64_t run)
{
    float *const a = buffers->data[0];
    float *const c = buffers->data[2];
    const int64_t end = (f->rows - 1) * f->row + f->columns;
    float kept;
    switch (f->mode) {
    case OVERRUN:
        c[end] = 1;
        break;
    case UNDERRUN:
        c[-1] = 1;
        break;
    case TOUCH_INPUT:
    case CONSUMES:
        a[0] = 17;
        break;
    case TOUCH_PADDING:
        c[f->columns] = 17;
        break;
    case PADDING_VARIES:
        c[f->columns] = (float)run;
        break;
    case STRAYS_LATE: /* in a run whose result is another one as well */
        if (run == 5) {
            c[1] += 1;
            c[f->columns] = 17;
        }
        break;
    case TOUCH_OUTSIDE:
        c[fake_at(f, f->rows - 1, 0)] = 17; /* the lower left corner */
        break;
    case VARY:
        c[1] += (float)run * 0x1p10f;
        break;
    case LATE:
        if (run >= 5) {
            fake_flip(&c[2]);
        }
        break;
    case BIT:
        if (run % 3 == 1) {
            fake_flip(&c[3]);
        }
        break;
    case ROW: /* the third, as another order of its sums might leave it */
        for (int64_t j = 0; j < f->columns && run % 2; j++) {
            fake_flip(&c[fake_at(f, 2, j)]);
        }
        break;
    case PERMUTE:
        if (run % 2) {
            kept = c[0];
            c[0] = c[4];
            c[4] = kept;
        }
        break;
    case NOT_A_NUMBER:
        c[0] = __builtin_nanf("");
        break;
    case WRONG:
        c[0] *= 1.001f;
        break;
    case READS_WORKSPACE:
        memcpy(&c[0], buffers->workspace, sizeof(*c));
        break;
    case SCRATCH_OVERRUN:
        ((char *)buffers->workspace)[256] = 1;
        break;
    case BY_ADDRESS:
        fake_mix(&c[0], (uintptr_t)c % 16 != 0);
        break;
    case BY_NEIGHBOUR:
        fake_mix(&c[0], ((uintptr_t)a - (uintptr_t)c) % 16 != 0);
        break;
    case BY_LEADING:
        fake_mix(&c[0], f->row % 2);
        break;
    case BY_HEAP:
        fake_mix(&c[0], (uint32_t)((uintptr_t)f->own / 16 % 4096));
        break;
    default:
        break;
    }
}

static int fake_run(struct kit_call *call, const struct kit_buffers *buffers)
{
    struct fake *const f = call->state;
    const float *const a = buffers->data[0];
    float *const c = buffers->data[2];
    const int64_t run = f->runs++;
    float before;
    memcpy(&before, &c[0], sizeof(before));
    for (int64_t i = 0; i < f->rows; i++) {
        for (int64_t j = 0; j < f->columns; j++) {
            float *const cell = &c[fake_at(f, i, j)];
            if (fake_writes(call, buffers, i, j) && !(f->mode == UNWRITTEN && i == 1 && j < 3)) {
                *cell = 2 * a[i * f->columns + j] + (f->mode == ACCUMULATE ? *cell : 0);
            }
        }
    }
    if (f->mode == READS_OUTPUT) {
        memcpy(&c[0], &before, sizeof(before));
        fake_flip(&c[0]);
    }
    fake_misbehave(f, buffers, run);
    return f->mode == FAILS && run >= 2 ? kit_fail("the fake library failed in run %lld", (long long)run)
                                        : KIT_OK;
}

static int fake_unpack(struct kit_call *call, int operand, const void *native, void *logical)
{
    const struct fake *f = call->state;
    for (int64_t i = 0; i < f->rows; i++) {
        for (int64_t j = 0; j < f->columns; j++) {
            memcpy((float *)logical + i * f->columns + j, (const float *)native + fake_at(f, i, j),
                   sizeof(float));
        }
    }
    return KIT_OK;
}

static int fake_reference(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                          size_t count, struct kit_cell *ret)
{
    const struct fake *f = call->state;
    const float *const a = in[0];
    const float *const c = f->mode == ACCUMULATE ? in[2] : NULL;
    for (size_t i = 0; i < count; i++) {
        const long double value = 2 * (long double)a[cells[i]] + (c ? c[cells[i]] : 0);
        ret[i] = (struct kit_cell){.value = value, .scale = value < 0 ? -value : value, .k = 2};
    }
    return KIT_OK;
}

static void fake_release(struct kit_call *call)
{
    struct fake *const f = call->state;
    fake_releases++;
    free(f ? f->own : NULL);
    free(f);
    call->state = NULL;
}

static int fake_thread_count = 3;
static int fake_set_threads(int threads)
{
    fake_thread_count = threads > 4 ? 4 : threads > 0 ? threads : fake_thread_count;
    return fake_thread_count;
}

static const struct op fake_op = {
    .name = "fake",
    .describe = fake_describe,
    .prepare = fake_prepare,
    .unpack = fake_unpack,
    .run = fake_run,
    .reference = fake_reference,
    .release = fake_release,
};
static const struct op *const fake_ops[] = {&fake_op, NULL};
static const struct kit_program fake_program = {
    .name = "fake", .backend = "cpu", .ops = fake_ops, .set_threads = fake_set_threads};

/* What varies between the tests' requests. */
struct ask {
    const char *mode;
    const char *written; /* NULL: full */
    int pad, rows;       /* rows 0: 6 */
    bool chosen;
    const char *set, *axis, *setting; /* NULL: wide, repeat, "" */
    int runs;                         /* 0: 8 */
    const char *arithmetic;           /* NULL: direct */
    const char *seed;                 /* NULL: 1/0 */
};

static json_t *ask_message(const struct ask *ask)
{
    return json_pack(
        "{s:i, s:s, s:s, s:{s:s, s:s, s:i, s:i, s:i, s:b}, s:n, s:s, s:s, s:f, s:s, s:s, s:s, s:s, "
        "s:s, s:i}",
        "id", 7, "case", "cpu/fake/x", "op", "fake", "params", "mode", ask->mode, "written",
        ask->written ? ask->written : "full", "rows", ask->rows ? ask->rows : 6, "columns", 5, "pad",
        ask->pad, "chosen", ask->chosen, "choice", "problem", "fake/x", "arithmetic",
        ask->arithmetic ? ask->arithmetic : "direct", "bound", 1.0, "batch", "rows", "seed",
        ask->seed ? ask->seed : "1/0", "set", ask->set ? ask->set : "wide", "axis",
        ask->axis ? ask->axis : "repeat", "setting", ask->setting ? ask->setting : "", "runs",
        ask->runs ? ask->runs : 8);
}

/* Serves one request in a session; the observation is owned, NULL with *ret_rc on failure. */
static json_t *ask_in(struct kit_session *session, const struct ask *ask, int *ret_rc)
{
    json_t *const message = ask_message(ask);
    struct kit_request request;
    json_t *observation = NULL;
    kit_outcome_clear();
    *ret_rc = kit_request_parse(message, &request);
    *ret_rc = *ret_rc ? *ret_rc : kit_session_serve(session, &request, &observation);
    json_decref(message);
    return observation;
}

static inline json_t *ask_once(const struct ask *ask)
{
    struct kit_session session;
    int rc;
    kit_session_init(&session, &fake_program, &kit_cpu);
    json_t *const observation = ask_in(&session, ask, &rc);
    kit_session_drop(&session);
    return observation;
}

static inline const json_t *output_of(const json_t *observation)
{
    return json_array_get(json_object_get(observation, "outputs"), 0);
}

static inline const char *string_of(const json_t *object, const char *member)
{
    return json_string_value(json_object_get(object, member));
}

static inline int int_of(const json_t *object, const char *member)
{
    return (int)json_integer_value(json_object_get(object, member));
}

static inline const json_t *class_of(const json_t *observation, size_t index)
{
    return json_array_get(json_object_get(output_of(observation), "classes"), index);
}

static inline const char *sha_of(const json_t *observation)
{
    return string_of(class_of(observation, 0), "sha256");
}

#endif
