/* SPDX-License-Identifier: Apache-2.0
 *
 * Pooling on oneDNN: maximum and average, forward and backward, NCHW. Backward of the maximum runs forward in
 * training mode first, as every user does: it makes the indices that backward reads.
 */
#include <stdlib.h>
#include <string.h>

#include "probes/cpu/onednn.h"
#include "probes/kit/pool.h"
#include "probes/kit/window.h"

struct state {
    struct kit_pool pool;
    struct onednn_tensors plain; /* logical layouts, for packing */
    struct onednn_call forward;  /* also of backward, where it makes the indices */
    struct onednn_call backward;
    bool is_plain, is_backward;
};

static int read_params(const struct kit_params *params, struct kit_pool *ret_pool, bool *ret_plain)
{
    int layout;
    if (kit_pool_read(params, KIT_F32, ret_pool) || kit_param_word(params, "layout", "plain|any", &layout)) {
        return KIT_FAILED;
    }
    *ret_plain = layout == 0;
    return KIT_OK;
}

static int describe_forward(const struct kit_params *params, struct kit_shape *ret)
{
    struct kit_pool pool;
    bool plain;
    if (read_params(params, &pool, &plain)) {
        return KIT_FAILED;
    }
    kit_pool_shape_forward(&pool, ret);
    for (int i = 0; i < ret->count; i++) {
        ret->operand[i].chosen = !plain;
    }
    return KIT_OK;
}

static int describe_backward(const struct kit_params *params, struct kit_shape *ret)
{
    struct kit_pool pool;
    bool plain;
    if (read_params(params, &pool, &plain)) {
        return KIT_FAILED;
    }
    kit_pool_shape_backward(&pool, pool.kind == KIT_POOL_MAX, ret);
    for (int i = 0; i < ret->count; i++) {
        ret->operand[i].chosen = !plain;
    }
    return KIT_OK;
}

/* ---- primitives ---- */

static int make_tensors(const struct kit_pool *g, bool plain, struct onednn_tensors *ret)
{
    struct kit_shape shape;
    kit_pool_shape_forward(g, &shape);
    /* `any` is not allowed for a pooling source: it takes what the layer before it made, NChw8c where
     * allowed. */
    ret->src = onednn_md_make(4, shape.operand[KIT_POOL_SRC].shape, KIT_F32, plain ? dnnl_nchw : dnnl_nChw8c);
    ret->dst = onednn_md_make(4, shape.operand[KIT_POOL_DST].shape, KIT_F32,
                              plain ? dnnl_nchw : dnnl_format_tag_any);
    return ret->src && ret->dst ? KIT_OK : kit_fail("oneDNN refused a tensor descriptor");
}

static int make_descriptors(struct state *state, const char *choice)
{
    static const dnnl_alg_kind_t algorithms[] = {dnnl_pooling_max, dnnl_pooling_avg_include_padding,
                                                 dnnl_pooling_avg_exclude_padding};
    const struct kit_pool *g = &state->pool;
    const int64_t after_h = window_pad_after(g->h, g->window, g->stride, g->pad),
                  after_w = window_pad_after(g->w, g->window, g->stride, g->pad);
    const struct onednn_window window = {.stride = {g->stride, g->stride},
                                         .kernel = {g->window, g->window},
                                         .pad_before = {g->pad, g->pad},
                                         .pad_after = {after_h, after_w}};
    struct onednn_tensors tensors = {0};
    onednn_walk walk;
    int rc = onednn_choose(choice);
    rc = rc ? rc : make_tensors(g, state->is_plain, &tensors);
    rc = rc ? rc : onednn_pooling(ONEDNN_FORWARD, algorithms[g->kind], &tensors, &window, NULL, &walk);
    rc = rc ? rc : onednn_take(walk, state->is_backward ? NULL : choice, &state->forward.descriptor);
    if (rc == KIT_OK && state->is_backward) {
        rc = onednn_pooling(ONEDNN_BACKWARD_DATA, algorithms[g->kind], &tensors, &window,
                            state->forward.descriptor, &walk);
        rc = rc ? rc : onednn_take(walk, choice, &state->backward.descriptor);
    }
    onednn_tensors_free(&tensors);
    return rc;
}

/* Forward writes into operand `dst`, or into the workspace when only its indices are wanted. */
static int bind_forward(struct state *state, int src, int dst, size_t indices, struct kit_prepared *ret)
{
    struct onednn_call *call = &state->forward;
    int rc = onednn_bind(call, DNNL_ARG_SRC, dnnl_query_src_md, src, ret);
    if (rc == KIT_OK && dst >= 0) {
        rc = onednn_bind(call, DNNL_ARG_DST, dnnl_query_dst_md, dst, ret);
    } else if (rc == KIT_OK) {
        const size_t bytes = onednn_query_bytes(call->descriptor, dnnl_query_dst_md);
        rc = onednn_bind_internal(call, DNNL_ARG_DST, dnnl_query_dst_md, onednn_reserve(ret, bytes));
    }
    if (rc == KIT_OK && state->pool.kind == KIT_POOL_MAX) {
        rc = onednn_bind_internal(call, DNNL_ARG_WORKSPACE, dnnl_query_workspace_md, indices);
    }
    return rc == KIT_OK ? onednn_finish(call, ret) : rc;
}

static int bind_backward(struct state *state, size_t indices, struct kit_prepared *ret)
{
    struct onednn_call *call = &state->backward;
    int rc = onednn_bind(call, DNNL_ARG_DIFF_DST, dnnl_query_diff_dst_md, KIT_POOL_DIFF_DST, ret);
    if (rc == KIT_OK) {
        rc = onednn_bind(call, DNNL_ARG_DIFF_SRC, dnnl_query_diff_src_md, KIT_POOL_DIFF_SRC, ret);
    }
    if (rc == KIT_OK && state->pool.kind == KIT_POOL_MAX) {
        rc = onednn_bind_internal(call, DNNL_ARG_WORKSPACE, dnnl_query_workspace_md, indices);
    }
    return rc == KIT_OK ? onednn_finish(call, ret) : rc;
}

static int prepare(struct kit_call *call, bool is_backward, struct kit_prepared *ret)
{
    struct state *state = calloc(1, sizeof(*state));
    call->state = state;
    if (!state) {
        return kit_fail("out of memory");
    }
    state->is_backward = is_backward;
    int rc = read_params(call->params, &state->pool, &state->is_plain);
    if (rc == KIT_OK) {
        rc = make_descriptors(state, call->choice);
    }
    if (rc == KIT_OK) {
        rc = make_tensors(&state->pool, true, &state->plain);
    }
    if (rc != KIT_OK) {
        return rc;
    }
    const bool max = state->pool.kind == KIT_POOL_MAX;
    const size_t bytes = max ? onednn_query_bytes(state->forward.descriptor, dnnl_query_workspace_md) : 0;
    const size_t indices = max ? onednn_reserve(ret, bytes) : 0;
    if (!is_backward) {
        return bind_forward(state, KIT_POOL_SRC, KIT_POOL_DST, indices, ret);
    }
    rc = max ? bind_forward(state, KIT_POOL_BACKWARD_SRC, -1, indices, ret) : KIT_OK;
    return rc == KIT_OK ? bind_backward(state, indices, ret) : rc;
}

static int prepare_forward(struct kit_call *call, struct kit_prepared *ret)
{
    return prepare(call, false, ret);
}

static int prepare_backward(struct kit_call *call, struct kit_prepared *ret)
{
    return prepare(call, true, ret);
}

static int run(struct kit_call *call, const struct kit_buffers *buffers)
{
    struct state *state = call->state;
    const int rc = state->forward.primitive ? onednn_execute(&state->forward, buffers) : KIT_OK;
    return rc == KIT_OK && state->is_backward ? onednn_execute(&state->backward, buffers) : rc;
}

static void release(struct kit_call *call)
{
    struct state *state = call->state;
    if (state) {
        onednn_release(&state->forward);
        onednn_release(&state->backward);
        onednn_tensors_free(&state->plain);
    }
    free(state);
    call->state = NULL;
}

static int permute(struct kit_call *call, int operand, const void *from, void *to, bool to_native)
{
    struct state *state = call->state;
    const bool source = strstr(call->shape->operand[operand].name, "src") != NULL;
    struct onednn_call *owner = state->is_backward && operand != 2 ? &state->backward : &state->forward;
    return onednn_permute(owner, operand, source ? state->plain.src : state->plain.dst, from, to, to_native);
}

static int pack(struct kit_call *call, int operand, const void *logical, void *native)
{
    return permute(call, operand, logical, native, true);
}

static int unpack(struct kit_call *call, int operand, const void *native, void *logical)
{
    return permute(call, operand, native, logical, false);
}

static int choices_forward(const struct kit_params *params, const char *const **ret_names, int *ret_count)
{
    return onednn_choices(prepare_forward, release, params, ret_names, ret_count);
}

static int choices_backward(const struct kit_params *params, const char *const **ret_names, int *ret_count)
{
    return onednn_choices(prepare_backward, release, params, ret_names, ret_count);
}

static const struct op pool_forward = {
    .name = "pool-forward",
    .describe = describe_forward,
    .choices = choices_forward,
    .prepare = prepare_forward,
    .pack = pack,
    .unpack = unpack,
    .run = run,
    .reference = kit_pool_reference_forward,
    .release = release,
};
static const struct op average_pool_backward = {
    .name = "average-pool-backward",
    .describe = describe_backward,
    .choices = choices_backward,
    .prepare = prepare_backward,
    .pack = pack,
    .unpack = unpack,
    .run = run,
    .reference = kit_pool_reference_backward,
    .release = release,
};
static const struct op max_pool_backward = {
    .name = "max-pool-backward",
    .describe = describe_backward,
    .choices = choices_backward,
    .prepare = prepare_backward,
    .pack = pack,
    .unpack = unpack,
    .run = run,
    .accepts = kit_pool_accepts_max_backward,
    .release = release,
};

int main(void)
{
    static const struct op *const ops[] = {&pool_forward, &average_pool_backward, &max_pool_backward, NULL};
    static const struct kit_program program = {.name = "pool",
                                               .backend = "cpu",
                                               .ops = ops,
                                               .open = onednn_open,
                                               .libraries = onednn_libraries,
                                               .concurrent = true};
    return kit_main(&program);
}
