/* SPDX-License-Identifier: Apache-2.0
 *
 * Pooling on oneDNN: maximum and average, forward and backward, NCHW. Windows that overlap (stride below
 * window) make several outputs fall on one input element in the backward pass; only then can an order of
 * additions show. Backward of the maximum runs forward in training mode first, as every user does: it makes
 * the indices that backward reads.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "probes/cpu/onednn.h"
#include "probes/cpu/window.h"

enum kind { MAX, AVERAGE_INCLUDE, AVERAGE_EXCLUDE };

struct geometry {
    int64_t n, c, h, w, oh, ow, window, stride, pad;
    int64_t levels; /* distinct input values; 0: as many as the set gives */
    int kind;
    bool plain;
};

struct state {
    struct geometry geometry;
    struct onednn_tensors plain; /* logical layouts, for packing */
    struct onednn_call forward;  /* also of backward, where it makes the indices */
    struct onednn_call backward;
    bool is_backward;
};

static int read_geometry(const struct kit_params *params, struct geometry *g)
{
    const struct {
        const char *name;
        int64_t *target;
        int64_t low;
    } needed[] = {{"n", &g->n, 1},     {"c", &g->c, 1},           {"h", &g->h, 1},
                  {"w", &g->w, 1},     {"window", &g->window, 1}, {"stride", &g->stride, 1},
                  {"pad", &g->pad, 0}, {"levels", &g->levels, 0}};
    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
        if (kit_param_int(params, needed[i].name, needed[i].target) != KIT_OK) {
            return KIT_FAILED;
        }
        if (*needed[i].target < needed[i].low || *needed[i].target > INT32_MAX) {
            return kit_fail("parameter '%s' is out of range", needed[i].name);
        }
    }
    int layout;
    if (kit_param_word(params, "layout", "plain|any", &layout) != KIT_OK ||
        kit_param_word(params, "kind", "max|average-include|average-exclude", &g->kind) != KIT_OK) {
        return KIT_FAILED;
    }
    g->plain = layout == 0;
    g->oh = window_count(g->h, g->window, g->stride, g->pad);
    g->ow = window_count(g->w, g->window, g->stride, g->pad);
    if (g->oh == 0 || g->ow == 0) {
        return kit_fail("'window' is larger than the padded input");
    }
    return KIT_OK;
}

static struct kit_operand tensor(const char *name, enum kit_role role, const struct geometry *g, bool output)
{
    const bool tied = g->levels > 0 && strcmp(name, "src") == 0;
    return (struct kit_operand){
        .name = name,
        .role = role,
        .dtype = KIT_F32,
        .chosen = !g->plain,
        .ndim = 4,
        .shape = {g->n, g->c, output ? g->oh : g->h, output ? g->ow : g->w},
        .fill = tied ? KIT_TIES : KIT_VALUES,
        .below = g->levels,
    };
}

static double window_sum_flops(const struct geometry *g)
{
    return (double)g->n * (double)g->c * (double)g->oh * (double)g->ow * (double)g->window *
           (double)g->window;
}

static int describe_forward(const struct kit_params *params, struct kit_shape *ret)
{
    struct geometry g;
    if (read_geometry(params, &g) != KIT_OK) {
        return KIT_FAILED;
    }
    ret->operand[0] = tensor("src", KIT_IN, &g, false);
    ret->operand[1] = tensor("dst", KIT_OUT, &g, true);
    ret->count = 2;
    ret->flops = window_sum_flops(&g);
    return KIT_OK;
}

static int describe_backward(const struct kit_params *params, struct kit_shape *ret)
{
    struct geometry g;
    if (read_geometry(params, &g) != KIT_OK) {
        return KIT_FAILED;
    }
    ret->operand[0] = tensor("diff_dst", KIT_IN, &g, true);
    ret->operand[1] = tensor("diff_src", KIT_OUT, &g, false);
    ret->operand[2] = tensor("src", KIT_IN, &g, false); /* the maximum's alone */
    ret->count = g.kind == MAX ? 3 : 2;
    ret->flops = window_sum_flops(&g);
    return KIT_OK;
}

/* ---- primitives ---- */

static int make_tensors(const struct geometry *g, bool plain, struct onednn_tensors *ret)
{
    const struct kit_operand src = tensor("src", KIT_IN, g, false), dst = tensor("dst", KIT_OUT, g, true);
    /* `any` is not allowed for a pooling source: it takes what the layer before it made, NChw8c where
     * allowed. */
    ret->src = onednn_md_make(4, src.shape, KIT_F32, plain ? dnnl_nchw : dnnl_nChw8c);
    ret->dst = onednn_md_make(4, dst.shape, KIT_F32, plain ? dnnl_nchw : dnnl_format_tag_any);
    return ret->src && ret->dst ? KIT_OK : kit_fail("oneDNN refused a tensor descriptor");
}

static int make_descriptors(struct state *state)
{
    static const dnnl_alg_kind_t algorithms[] = {dnnl_pooling_max, dnnl_pooling_avg_include_padding,
                                                 dnnl_pooling_avg_exclude_padding};
    const struct geometry *g = &state->geometry;
    const int64_t after_h = window_pad_after(g->h, g->window, g->stride, g->pad),
                  after_w = window_pad_after(g->w, g->window, g->stride, g->pad);
    const struct onednn_window window = {.stride = {g->stride, g->stride},
                                         .kernel = {g->window, g->window},
                                         .pad_before = {g->pad, g->pad},
                                         .pad_after = {after_h, after_w}};
    struct onednn_tensors tensors = {0};
    int rc = make_tensors(g, g->plain, &tensors);
    if (rc == KIT_OK) {
        rc = onednn_pooling(ONEDNN_FORWARD, algorithms[g->kind], &tensors, &window, NULL,
                            &state->forward.descriptor);
    }
    if (rc == KIT_OK && state->is_backward) {
        rc = onednn_pooling(ONEDNN_BACKWARD_DATA, algorithms[g->kind], &tensors, &window,
                            state->forward.descriptor, &state->backward.descriptor);
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
    if (rc == KIT_OK && state->geometry.kind == MAX) {
        rc = onednn_bind_internal(call, DNNL_ARG_WORKSPACE, dnnl_query_workspace_md, indices);
    }
    return rc == KIT_OK ? onednn_finish(call, ret) : rc;
}

static int bind_backward(struct state *state, size_t indices, struct kit_prepared *ret)
{
    struct onednn_call *call = &state->backward;
    int rc = onednn_bind(call, DNNL_ARG_DIFF_DST, dnnl_query_diff_dst_md, 0, ret);
    if (rc == KIT_OK) {
        rc = onednn_bind(call, DNNL_ARG_DIFF_SRC, dnnl_query_diff_src_md, 1, ret);
    }
    if (rc == KIT_OK && state->geometry.kind == MAX) {
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
    int rc = read_geometry(call->params, &state->geometry);
    if (rc == KIT_OK) {
        rc = make_descriptors(state);
    }
    if (rc == KIT_OK) {
        rc = make_tensors(&state->geometry, true, &state->plain);
    }
    if (rc != KIT_OK) {
        return rc;
    }
    const bool max = state->geometry.kind == MAX;
    const size_t bytes = max ? onednn_query_bytes(state->forward.descriptor, dnnl_query_workspace_md) : 0;
    const size_t indices = max ? onednn_reserve(ret, bytes) : 0;
    if (!is_backward) {
        return bind_forward(state, 0, 1, indices, ret);
    }
    rc = max ? bind_forward(state, 2, -1, indices, ret) : KIT_OK;
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

/* ---- reference ---- */

/* The part of a window that lies inside the input. */
struct span {
    int64_t y0, y1, x0, x1;
};

static struct span span_of(const struct geometry *g, int64_t oy, int64_t ox)
{
    const int64_t y = oy * g->stride - g->pad, x = ox * g->stride - g->pad;
    return (struct span){.y0 = y < 0 ? 0 : y,
                         .y1 = y + g->window > g->h ? g->h : y + g->window,
                         .x0 = x < 0 ? 0 : x,
                         .x1 = x + g->window > g->w ? g->w : x + g->window};
}

static double divisor(const struct geometry *g, const struct span *span)
{
    return g->kind == AVERAGE_INCLUDE ? (double)(g->window * g->window)
                                      : (double)((span->y1 - span->y0) * (span->x1 - span->x0));
}

static float maximum(const struct geometry *g, const float *plane, const struct span *span)
{
    float best = -INFINITY;
    for (int64_t y = span->y0; y < span->y1; y++) {
        for (int64_t x = span->x0; x < span->x1; x++) {
            best = fmaxf(best, plane[y * g->w + x]);
        }
    }
    return best;
}

static struct kit_cell average(const struct geometry *g, const float *plane, const struct span *span)
{
    double sum = 0, scale = 0;
    for (int64_t y = span->y0; y < span->y1; y++) {
        for (int64_t x = span->x0; x < span->x1; x++) {
            sum += plane[y * g->w + x];
            scale += fabs((double)plane[y * g->w + x]);
        }
    }
    const double by = divisor(g, span);
    return (struct kit_cell){.value = sum / by, .scale = scale / by, .k = g->window * g->window + 1};
}

static int reference_forward(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                             size_t count, struct kit_cell *ret)
{
    const struct geometry *g = &((const struct state *)call->state)->geometry;
    const float *src = in[0];
    (void)output;
    for (size_t i = 0; i < count; i++) {
        const int64_t x = cells[i] % g->ow, y = cells[i] / g->ow % g->oh, plane = cells[i] / (g->ow * g->oh);
        const struct span span = span_of(g, y, x);
        const float *values = src + plane * g->h * g->w;
        if (g->kind == MAX) {
            ret[i] = (struct kit_cell){.value = maximum(g, values, &span)};
        } else {
            ret[i] = average(g, values, &span);
        }
    }
    return KIT_OK;
}

/* Backward of the average: every window that holds the element gives it an equal share. */
static int reference_backward(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                              size_t count, struct kit_cell *ret)
{
    const struct geometry *g = &((const struct state *)call->state)->geometry;
    const float *diff_dst = in[0];
    (void)output;
    for (size_t i = 0; i < count; i++) {
        const int64_t x = cells[i] % g->w, y = cells[i] / g->w % g->h, plane = cells[i] / (g->w * g->h);
        double sum = 0, scale = 0;
        for (int64_t tap = 0; tap < g->window * g->window; tap++) {
            const int64_t oy = window_reading(y, tap / g->window, g->stride, g->pad, g->oh),
                          ox = window_reading(x, tap % g->window, g->stride, g->pad, g->ow);
            if (oy >= 0 && ox >= 0) {
                const struct span span = span_of(g, oy, ox);
                const double share = diff_dst[(plane * g->oh + oy) * g->ow + ox] / divisor(g, &span);
                sum += share;
                scale += fabs(share);
            }
        }
        ret[i] = (struct kit_cell){.value = sum, .scale = scale, .k = 2 * g->window * g->window};
    }
    return KIT_OK;
}

/* What an element may receive: the gradients of windows in which it alone is the maximum, and any part of
 * those in which it ties. */
struct range {
    double low, high, scale;
};

static void add_window(struct range *range, double gradient, bool tied)
{
    range->low += tied ? fmin(gradient, 0) : gradient;
    range->high += tied ? fmax(gradient, 0) : gradient;
    range->scale += fabs(gradient);
}

static void add_plane_window(const struct geometry *g, const float *src, double gradient,
                             const struct span *span, struct range *ranges)
{
    const float best = maximum(g, src, span);
    int64_t winners = 0;
    for (int64_t y = span->y0; y < span->y1; y++) {
        for (int64_t x = span->x0; x < span->x1; x++) {
            winners += src[y * g->w + x] == best;
        }
    }
    for (int64_t y = span->y0; y < span->y1; y++) {
        for (int64_t x = span->x0; x < span->x1; x++) {
            if (src[y * g->w + x] == best) {
                add_window(&ranges[y * g->w + x], gradient, winners > 1);
            }
        }
    }
}

/* Cells of one plane that are outside their range, and one more if the plane's gradients do not add up. */
static int64_t wrong_in_plane(const struct geometry *g, const float *src, const float *diff_dst,
                              const float *diff_src, struct range *ranges)
{
    const double unit = (double)(4 * g->window * g->window) * 0x1p-24;
    double given = 0, received = 0, scale = 0;
    int64_t wrong = 0;
    memset(ranges, 0, (size_t)(g->h * g->w) * sizeof(*ranges));
    for (int64_t i = 0; i < g->oh * g->ow; i++) {
        const struct span span = span_of(g, i / g->ow, i % g->ow);
        given += diff_dst[i];
        add_plane_window(g, src, diff_dst[i], &span, ranges);
    }
    for (int64_t i = 0; i < g->h * g->w; i++) {
        const double slack = unit * ranges[i].scale, value = diff_src[i];
        wrong += !(value >= ranges[i].low - slack && value <= ranges[i].high + slack);
        received += value;
        scale += ranges[i].scale;
    }
    return wrong + !(fabs(given - received) <= unit * scale);
}

static int accepts_max_backward(struct kit_call *call, int output, const void *const *in, const void *logical,
                                int64_t *ret_wrong)
{
    const struct geometry *g = &((const struct state *)call->state)->geometry;
    const float *diff_dst = in[0], *src = in[2], *diff_src = logical;
    struct range *ranges = malloc((size_t)(g->h * g->w) * sizeof(*ranges));
    (void)output;
    if (!ranges) {
        return kit_fail("out of memory");
    }
    *ret_wrong = 0;
    for (int64_t plane = 0; plane < g->n * g->c; plane++) {
        *ret_wrong += wrong_in_plane(g, src + plane * g->h * g->w, diff_dst + plane * g->oh * g->ow,
                                     diff_src + plane * g->h * g->w, ranges);
    }
    free(ranges);
    return KIT_OK;
}

static const struct op pool_forward = {
    .name = "pool-forward",
    .describe = describe_forward,
    .prepare = prepare_forward,
    .pack = pack,
    .unpack = unpack,
    .run = run,
    .reference = reference_forward,
    .release = release,
};
static const struct op average_pool_backward = {
    .name = "average-pool-backward",
    .describe = describe_backward,
    .prepare = prepare_backward,
    .pack = pack,
    .unpack = unpack,
    .run = run,
    .reference = reference_backward,
    .release = release,
};
static const struct op max_pool_backward = {
    .name = "max-pool-backward",
    .describe = describe_backward,
    .prepare = prepare_backward,
    .pack = pack,
    .unpack = unpack,
    .run = run,
    .accepts = accepts_max_backward,
    .release = release,
};

int main(void)
{
    static const struct op *const ops[] = {&pool_forward, &average_pool_backward, &max_pool_backward, NULL};
    static const struct kit_program program = {
        .name = "pool", .backend = "cpu", .ops = ops, .open = onednn_open, .libraries = onednn_libraries};
    return kit_main(&program);
}
