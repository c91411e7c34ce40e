/* SPDX-License-Identifier: Apache-2.0
 *
 * The gradient of the maximum of windows: of random planes, and of planes in which three gradients of known
 * bits meet, so that every bit of the result is known but for the order of three.
 */
#include <stdlib.h>
#include <string.h>

#include "probes/cuda/resample.h"
#include "probes/kit/dtype.h"
#include "probes/kit/pool.h"

struct pooling {
    struct kit_pool pool; /* first: the kit's references look for it here */
    int form;
    CUfunction first, kernel; /* first: makes what the gradient's kernel reads */
};

static struct pool_args pool_args(const struct kit_pool *pool, const struct kit_buffers *buffers)
{
    return (struct pool_args){.dy = buffers->data[RESAMPLE_DY],
                              .dx = buffers->data[RESAMPLE_DX],
                              .winners = buffers->workspace,
                              .type = kit_cuda_kernel_type(pool->dtype),
                              .planes = (i32)(pool->n * pool->c),
                              .height = (i32)pool->h,
                              .width = (i32)pool->w,
                              .out_height = (i32)pool->oh,
                              .out_width = (i32)pool->ow,
                              .window = (i32)pool->window,
                              .stride = (i32)pool->stride,
                              .pad = (i32)pool->pad};
}

static int64_t pool_outputs(const struct kit_pool *pool)
{
    return pool->n * pool->c * pool->oh * pool->ow;
}

static int pool_gradient(const struct pooling *p, const struct pool_args *args)
{
    const int64_t cells = (int64_t)args->planes * args->height * args->width;
    if (p->form == RESAMPLE_GATHER) {
        return resample_launch(p->kernel, cells, args);
    }
    const int rc = kit_cuda_zero(args->dx, (size_t)cells * kit_dtype_size(p->pool.dtype));
    return rc ? rc : resample_launch(p->kernel, pool_outputs(&p->pool), args);
}

static int pooling_read(const struct kit_params *params, struct pooling *ret)
{
    enum kit_dtype dtype;
    *ret = (struct pooling){.form = RESAMPLE_ATOMIC};
    if (resample_read_type(params, &dtype) || kit_param_word(params, "form", "atomic|gather", &ret->form) ||
        kit_pool_read(params, dtype, &ret->pool)) {
        return KIT_FAILED;
    }
    if (ret->pool.kind != KIT_POOL_MAX) {
        return kit_fail("bad params: 'kind' must be max");
    }
    const double planes = (double)ret->pool.n * (double)ret->pool.c;
    const double outputs = planes * (double)ret->pool.oh * (double)ret->pool.ow;
    const int rc = resample_check_count(planes * (double)ret->pool.h * (double)ret->pool.w);
    return rc ? rc : resample_check_count(outputs * (double)(ret->pool.stride + ret->pool.window));
}

static int pooling_describe(const struct kit_params *params, struct kit_shape *ret)
{
    struct pooling p;
    if (pooling_read(params, &p)) {
        return KIT_FAILED;
    }
    kit_pool_shape_backward(&p.pool, true, ret);
    return KIT_OK;
}

static int pooling_prepare(struct kit_call *call, struct kit_prepared *ret)
{
    struct pooling *const p = calloc(1, sizeof(*p));
    call->state = p;
    int rc = p ? pooling_read(call->params, p) : kit_fail("out of memory");
    if (rc) {
        return rc;
    }
    ret->workspace_bytes = (size_t)pool_outputs(&p->pool) * sizeof(i32);
    rc = kit_cuda_kernel_for("pool_winners", p->pool.dtype, &p->first);
    return rc ? rc
              : kit_cuda_kernel_for(p->form == RESAMPLE_GATHER ? "pool_gather" : "pool_atomic", p->pool.dtype,
                                    &p->kernel);
}

/* The winners belong to the forward pass; they are made anew because the workspace is poisoned. */
static int pooling_run(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct pooling *p = call->state;
    struct pool_args args = pool_args(&p->pool, buffers);
    args.x = buffers->data[KIT_POOL_BACKWARD_SRC];
    const int rc = resample_launch(p->first, pool_outputs(&p->pool), &args);
    return rc ? rc : pool_gradient(p, &args);
}

/* --- three addends: 3 x 3 windows at stride 2 over 18 x 18, where three gradients of known bits meet --- */

enum { SIDE = 18, WINDOWS = 8, GROUPS = 16 };
static const float addends[3] = {-0.00055786536540836f, 0.00075417151674628f, -0.00029314149287529f};
static const float lone = 1; /* the gradient of the fourth window of a group, which goes elsewhere */

enum { TURNS, ADDENDS_DX };

static int addends_read(const struct kit_params *params, struct pooling *ret)
{
    int64_t planes;
    *ret = (struct pooling){.form = RESAMPLE_ATOMIC};
    if (kit_param_word(params, "form", "atomic|gather", &ret->form) ||
        resample_read_extent(params, "planes", 1, &planes)) {
        return KIT_FAILED;
    }
    ret->pool = (struct kit_pool){.n = planes,
                                  .c = 1,
                                  .h = SIDE,
                                  .w = SIDE,
                                  .oh = WINDOWS,
                                  .ow = WINDOWS,
                                  .window = 3,
                                  .stride = 2,
                                  .dtype = KIT_F32};
    return KIT_OK;
}

static int addends_describe(const struct kit_params *params, struct kit_shape *ret)
{
    struct pooling p;
    if (addends_read(params, &p)) {
        return KIT_FAILED;
    }
    ret->count = 2;
    ret->operand[TURNS] = (struct kit_operand){.name = "turns",
                                               .role = KIT_IN,
                                               .dtype = KIT_S32,
                                               .ndim = 2,
                                               .shape = {p.pool.n, GROUPS},
                                               .batch_dim = 0,
                                               .fill = KIT_INDICES,
                                               .below = 4};
    ret->operand[ADDENDS_DX] = (struct kit_operand){.name = "dx",
                                                    .role = KIT_OUT,
                                                    .dtype = KIT_F32,
                                                    .ndim = 3,
                                                    .shape = {p.pool.n, SIDE, SIDE},
                                                    .batch_dim = 0};
    ret->flops = (double)pool_outputs(&p.pool);
    return KIT_OK;
}

static int addends_prepare(struct kit_call *call, struct kit_prepared *ret)
{
    struct pooling *const p = calloc(1, sizeof(*p));
    call->state = p;
    int rc = p ? addends_read(call->params, p) : kit_fail("out of memory");
    if (rc) {
        return rc;
    }
    ret->workspace_bytes = (size_t)pool_outputs(&p->pool) * (sizeof(i32) + sizeof(float));
    rc = kit_cuda_kernel("pool_addends", &p->first);
    return rc ? rc
              : kit_cuda_kernel(p->form == RESAMPLE_GATHER ? "pool_gather_single" : "pool_atomic_single",
                                &p->kernel);
}

static int addends_run(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct pooling *p = call->state;
    struct pool_args args = pool_args(&p->pool, buffers);
    struct addends_args make = {.turns = buffers->data[TURNS],
                                .dy = (float *)(void *)(args.winners + pool_outputs(&p->pool)),
                                .winners = args.winners,
                                .planes = (i32)p->pool.n,
                                .other = lone};
    memcpy(make.addend, addends, sizeof(addends));
    args.dy = make.dy;
    args.dx = buffers->data[ADDENDS_DX];
    const int rc = resample_launch(p->first, pool_outputs(&p->pool), &make);
    return rc ? rc : pool_gradient(p, &args);
}

/* Any of the orders of three; two of them, beginning with the pair, give the same sum. */
static bool is_sum_of_three(float value)
{
    bool found = false;
    for (int last = 0; last < 3; last++) {
        const volatile float pair = addends[(last + 1) % 3] + addends[(last + 2) % 3];
        const volatile float sum = pair + addends[last];
        found = found || value == sum;
    }
    return found;
}

/* Bits are known: a sum of three in some order where a group of windows meets, the lone gradient in the
 * middle of the window that the group's turn names, zero elsewhere. */
static int addends_accepts(struct kit_call *call, int output, const void *const *in, const void *logical,
                           int64_t *ret_wrong)
{
    const int64_t planes = call->shape->operand[ADDENDS_DX].shape[0];
    const int32_t *const turns = in[TURNS];
    *ret_wrong = 0;
    for (int64_t cell = 0; cell < planes * SIDE * SIDE; cell++) {
        const int64_t row = cell / SIDE % SIDE, column = cell % SIDE, plane = cell / SIDE / SIDE;
        const int64_t y = (row - 1) / 2, x = (column - 1) / 2; /* of the window whose middle it is */
        const float value = ((const float *)logical)[cell];
        const bool middle = row % 2 && column % 2 && y < WINDOWS && x < WINDOWS;
        const int64_t group = middle ? plane * GROUPS + y / 2 * 4 + x / 2 : 0;
        const bool elsewhere = middle && (y % 2 * 2 + x % 2 + turns[group]) % 4 == 3;
        const bool meeting = row % 4 == 2 && column % 4 == 2 && row < SIDE - 2 && column < SIDE - 2;
        *ret_wrong += !(meeting ? is_sum_of_three(value) : value == (elsewhere ? lone : 0));
    }
    return KIT_OK;
}

const struct op resample_max_pool = {
    .name = "max-pool",
    .describe = pooling_describe,
    .prepare = pooling_prepare,
    .run = pooling_run,
    .accepts = kit_pool_accepts_max_backward,
    .release = kit_free_state,
};
const struct op resample_three_addends = {
    .name = "three-addends",
    .describe = addends_describe,
    .prepare = addends_prepare,
    .run = addends_run,
    .accepts = addends_accepts,
    .release = kit_free_state,
};
