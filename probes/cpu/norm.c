/* SPDX-License-Identifier: Apache-2.0
 *
 * Normalisation on oneDNN: batch normalisation over N x H x W of each channel, layer normalisation over each
 * row, both with scale and shift, forward in training (statistics too) and backward. Means, variances and the
 * gradients of scale and shift are sums that threads share; a backward pass runs the forward one first, for
 * its statistics.
 */
#include <math.h>
#include <stdlib.h>

#include "probes/cpu/onednn_layer.h"
#include "probes/kit/dtype.h"

enum { SRC, SCALE, SHIFT, DST, MEAN, VARIANCE };
enum { BACK_SRC, BACK_SCALE, BACK_SHIFT, DIFF_DST, DIFF_SRC, DIFF_SCALE, DIFF_SHIFT, BACK_COUNT };

/* Elements are grouped: what is normalised together. Batch: a group is a channel, of n x h x w elements;
 * layer: a group is a row, of c elements. Scale and shift are by channel either way. */
struct state {
    struct onednn_layer layer;
    bool is_layer, backward;
    int64_t n, c, h, w; /* layer: h = w = 1 */
    dnnl_format_tag_t tag;
};

static int read_params(const struct kit_params *params, bool is_layer, bool backward, struct state *ret)
{
    *ret = (struct state){.is_layer = is_layer, .backward = backward, .h = 1, .w = 1};
    if (kit_param_int(params, "n", &ret->n) || kit_param_int(params, "c", &ret->c)) {
        return KIT_FAILED;
    }
    return is_layer ? KIT_OK
           : kit_param_int(params, "h", &ret->h) || kit_param_int(params, "w", &ret->w) ||
                   onednn_layer_layout(params, &ret->tag)
               ? KIT_FAILED
               : KIT_OK;
}

static struct onednn_tensor data_tensor(const struct state *s, const char *name, enum kit_role role, int arg)
{
    struct onednn_tensor tensor = {.name = name,
                                   .role = role,
                                   .dtype = KIT_F32,
                                   .ndim = s->is_layer ? 2 : 4,
                                   .shape = {s->n, s->c, s->h, s->w},
                                   .batch_dim = s->is_layer ? 0 : -1,
                                   .arg = arg,
                                   .tag = s->tag};
    return tensor;
}

static struct onednn_tensor vector_tensor(const char *name, enum kit_role role, int64_t extent, int batch_dim,
                                          int arg)
{
    return (struct onednn_tensor){.name = name,
                                  .role = role,
                                  .dtype = KIT_F32,
                                  .ndim = 1,
                                  .shape = {extent},
                                  .batch_dim = batch_dim,
                                  .arg = arg};
}

static int64_t groups_of(const struct state *s)
{
    return s->is_layer ? s->n : s->c;
}

static int tensors_of(const struct state *s, struct onednn_tensor ret[BACK_COUNT])
{
    const int by_group = s->is_layer ? 0 : -1; /* rows are samples, channels go through all of them */
    ret[SRC] = data_tensor(s, "src", KIT_IN, DNNL_ARG_SRC);
    ret[SCALE] = vector_tensor("scale", KIT_IN, s->c, -1, DNNL_ARG_SCALE);
    ret[SHIFT] = vector_tensor("shift", KIT_IN, s->c, -1, s->backward ? 0 : DNNL_ARG_SHIFT);
    if (!s->backward) {
        ret[DST] = data_tensor(s, "dst", KIT_OUT, DNNL_ARG_DST);
        ret[MEAN] = vector_tensor("mean", KIT_OUT, groups_of(s), by_group, DNNL_ARG_MEAN);
        ret[VARIANCE] = vector_tensor("variance", KIT_OUT, groups_of(s), by_group, DNNL_ARG_VARIANCE);
        return VARIANCE + 1;
    }
    ret[DIFF_DST] = data_tensor(s, "diff_dst", KIT_IN, DNNL_ARG_DIFF_DST);
    ret[DIFF_SRC] = data_tensor(s, "diff_src", KIT_OUT, DNNL_ARG_DIFF_SRC);
    ret[DIFF_SCALE] = vector_tensor("diff_scale", KIT_OUT, s->c, -1, DNNL_ARG_DIFF_SCALE);
    ret[DIFF_SHIFT] = vector_tensor("diff_shift", KIT_OUT, s->c, -1, DNNL_ARG_DIFF_SHIFT);
    return BACK_COUNT;
}

static int describe(const struct kit_params *params, bool is_layer, bool backward, struct kit_shape *ret)
{
    struct state s;
    struct onednn_tensor tensors[BACK_COUNT];
    if (read_params(params, is_layer, backward, &s)) {
        return KIT_FAILED;
    }
    onednn_layer_shape(tensors, tensors_of(&s, tensors), ret);
    ret->flops = (double)(s.n * s.c * s.h * s.w);
    return KIT_OK;
}

/* ---- primitives ---- */

/* The layer's own pass by its choice, the forward one before it as the library has it. */
static int describe_primitive(const struct state *s, bool backward, onednn_const_md statistics,
                              dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *ret)
{
    const onednn_md data = s->layer.native[SRC];
    onednn_walk walk;
    const int rc = s->is_layer ? onednn_layer_norm(backward, data, statistics, hint, &walk)
                               : onednn_batch_norm(backward, data, hint, &walk);
    return rc ? rc : onednn_take(walk, backward == s->backward ? s->layer.choice : NULL, ret);
}

/* Forward into the workspace, for the statistics that backward reads. */
static int bind_forward(struct state *s, onednn_const_md statistics, const size_t places[2],
                        struct kit_prepared *ret)
{
    struct onednn_call *call = &s->layer.forward;
    const onednn_md *native = s->layer.native;
    const size_t dst = onednn_reserve(ret, dnnl_memory_desc_get_size(native[SRC]));
    int rc = onednn_bind_as(call, DNNL_ARG_SRC, native[BACK_SRC], BACK_SRC, ret);
    rc = rc ? rc : onednn_bind_as(call, DNNL_ARG_SCALE, native[BACK_SCALE], BACK_SCALE, ret);
    rc = rc ? rc : onednn_bind_as(call, DNNL_ARG_SHIFT, native[BACK_SHIFT], BACK_SHIFT, ret);
    rc = rc ? rc : onednn_bind_internal_as(call, DNNL_ARG_DST, native[SRC], dst);
    rc = rc ? rc : onednn_bind_internal_as(call, DNNL_ARG_MEAN, statistics, places[0]);
    rc = rc ? rc : onednn_bind_internal_as(call, DNNL_ARG_VARIANCE, statistics, places[1]);
    return rc ? rc : onednn_finish(call, ret);
}

/* Nothing in a backward pass follows from the shift, so some versions and layers refuse it; others want it.
 */
static int bind_shift(struct state *s, struct kit_prepared *ret)
{
    enum { WITHOUT = 5 }; /* src, diff_dst, mean, variance, scale */
    return onednn_query_inputs(s->layer.call.descriptor) > WITHOUT
               ? onednn_bind_as(&s->layer.call, DNNL_ARG_SHIFT, s->layer.native[BACK_SHIFT], BACK_SHIFT, ret)
               : KIT_OK;
}

static int prepare_passes(struct state *s, const struct onednn_tensor *tensors, int count,
                          struct kit_prepared *ret)
{
    const int64_t groups = groups_of(s);
    const size_t bytes = (size_t)groups * sizeof(float);
    onednn_md statistics = onednn_md_make(1, &groups, KIT_F32, dnnl_a);
    size_t places[2] = {0};
    int rc = statistics ? KIT_OK : kit_fail("oneDNN refused a descriptor of the statistics");
    if (rc == KIT_OK && !s->backward) {
        rc = describe_primitive(s, false, statistics, NULL, &s->layer.call.descriptor);
    } else if (rc == KIT_OK) {
        places[0] = onednn_reserve(ret, bytes);
        places[1] = onednn_reserve(ret, bytes);
        rc = describe_primitive(s, false, statistics, NULL, &s->layer.forward.descriptor);
        rc = rc ? rc : bind_forward(s, statistics, places, ret);
        rc = rc ? rc
                : describe_primitive(s, true, statistics, s->layer.forward.descriptor,
                                     &s->layer.call.descriptor);
        rc = rc ? rc : bind_shift(s, ret);
        rc = rc ? rc : onednn_bind_internal_as(&s->layer.call, DNNL_ARG_MEAN, statistics, places[0]);
        rc = rc ? rc : onednn_bind_internal_as(&s->layer.call, DNNL_ARG_VARIANCE, statistics, places[1]);
    }
    rc = rc ? rc : onednn_layer_bind(&s->layer, tensors, count, ret);
    onednn_md_free(statistics);
    return rc;
}

static int prepare(struct kit_call *call, bool is_layer, bool backward, struct kit_prepared *ret)
{
    struct state *s = calloc(1, sizeof(*s));
    struct onednn_tensor tensors[BACK_COUNT];
    call->state = s;
    if (!s) {
        return kit_fail("out of memory");
    }
    int rc = read_params(call->params, is_layer, backward, s);
    const int count = rc == KIT_OK ? tensors_of(s, tensors) : 0;
    rc = rc ? rc : onednn_layer_open(&s->layer, call->choice, tensors, count);
    return rc ? rc : prepare_passes(s, tensors, count, ret);
}

/* ---- reference: formulas of the developer guide's pages on batch and layer normalisation ---- */

struct group {
    int64_t count;
    long double mean, variance, size, square; /* means of x, (x - mean)^2, |x|, x^2 */
    long double dy, dy_size, dyx, dyx_size;   /* means of the weighted gradient g, |g|, g xhat, |g xhat| */
};

/* The i-th element of a group, as an offset. */
static int64_t element(const struct state *s, int64_t group, int64_t i)
{
    const int64_t plane = s->h * s->w;
    return s->is_layer ? group * s->c + i : (i / plane * s->c + group) * plane + i % plane;
}

static int64_t channel_of(const struct state *s, int64_t offset)
{
    return offset / (s->h * s->w) % s->c;
}

static int64_t group_of(const struct state *s, int64_t offset)
{
    return s->is_layer ? offset / s->c : channel_of(s, offset);
}

static long double normal(const struct group *g, long double x)
{
    return (x - g->mean) / sqrtl(g->variance + (long double)ONEDNN_EPSILON);
}

static struct group statistics_of(const struct state *s, const void *const *in, int64_t group)
{
    struct group g = {.count = s->is_layer ? s->c : s->n * s->h * s->w};
    const long double share = 1.0L / (long double)g.count;
    for (int64_t i = 0; i < g.count; i++) {
        const long double x = kit_value(KIT_F32, in[SRC], element(s, group, i));
        g.mean += x * share;
        g.size += fabsl(x) * share;
        g.square += x * x * share;
    }
    for (int64_t i = 0; i < g.count; i++) {
        const long double off = kit_value(KIT_F32, in[SRC], element(s, group, i)) - g.mean;
        g.variance += off * off * share;
    }
    for (int64_t i = 0; s->backward && i < g.count; i++) {
        const int64_t at = element(s, group, i);
        const long double weighted =
            kit_value(KIT_F32, in[DIFF_DST], at) * kit_value(KIT_F32, in[BACK_SCALE], channel_of(s, at));
        const long double product = weighted * normal(&g, kit_value(KIT_F32, in[SRC], at));
        g.dy += weighted * share;
        g.dy_size += fabsl(weighted) * share;
        g.dyx += product * share;
        g.dyx_size += fabsl(product) * share;
    }
    return g;
}

static struct kit_cell forward_cell(const struct state *s, const void *const *in, const struct group *groups,
                                    int output, int64_t cell)
{
    const struct group *g = &groups[output == DST ? group_of(s, cell) : cell];
    if (output == MEAN) {
        return (struct kit_cell){g->mean, g->size, g->count};
    }
    if (output == VARIANCE) {
        return (struct kit_cell){g->variance, g->square, g->count};
    }
    const long double x = kit_value(KIT_F32, in[SRC], cell);
    const long double scale = kit_value(KIT_F32, in[SCALE], channel_of(s, cell)),
                      shift = kit_value(KIT_F32, in[SHIFT], channel_of(s, cell));
    const long double reach = (fabsl(x) + g->size) / sqrtl(g->variance + (long double)ONEDNN_EPSILON);
    return (struct kit_cell){scale * normal(g, x) + shift,
                             fabsl(scale) * reach * (1 + g->square) + fabsl(shift), g->count};
}

static struct kit_cell diff_src_cell(const struct state *s, const void *const *in, const struct group *groups,
                                     int64_t cell)
{
    const struct group *g = &groups[group_of(s, cell)];
    const long double x = normal(g, kit_value(KIT_F32, in[BACK_SRC], cell));
    const long double weighted =
        kit_value(KIT_F32, in[DIFF_DST], cell) * kit_value(KIT_F32, in[BACK_SCALE], channel_of(s, cell));
    const long double by = 1 / sqrtl(g->variance + (long double)ONEDNN_EPSILON);
    return (struct kit_cell){by * (weighted - g->dy - x * g->dyx),
                             by * (fabsl(weighted) + g->dy_size + fabsl(x) * g->dyx_size), g->count};
}

/* Gradients of scale and shift: sums over all elements of a channel. */
static struct kit_cell parameter_cell(const struct state *s, const void *const *in,
                                      const struct group *groups, int output, int64_t channel)
{
    const int64_t plane = s->h * s->w;
    struct kit_cell cell = {.k = s->n * plane + (s->is_layer ? s->c : 0)};
    for (int64_t i = 0; i < s->n * plane; i++) {
        const int64_t at = (i / plane * s->c + channel) * plane + i % plane;
        long double term = kit_value(KIT_F32, in[DIFF_DST], at);
        if (output == DIFF_SCALE) {
            term *= normal(&groups[group_of(s, at)], kit_value(KIT_F32, in[BACK_SRC], at));
        }
        cell.value += term;
        cell.scale += fabsl(term);
    }
    return cell;
}

static int reference(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                     size_t count, struct kit_cell *ret)
{
    const struct state *s = call->state;
    const int64_t groups = groups_of(s);
    struct group *statistics = calloc((size_t)groups, sizeof(*statistics));
    if (!statistics) {
        return kit_fail("out of memory");
    }
    for (int64_t g = 0; g < groups; g++) {
        statistics[g] = statistics_of(s, in, g);
    }
    for (size_t c = 0; c < count; c++) {
        ret[c] = !s->backward         ? forward_cell(s, in, statistics, output, cells[c])
                 : output == DIFF_SRC ? diff_src_cell(s, in, statistics, cells[c])
                                      : parameter_cell(s, in, statistics, output, cells[c]);
    }
    free(statistics);
    return KIT_OK;
}

ONEDNN_LAYER_OP(batch_forward, "batch-norm-forward", false, false);
ONEDNN_LAYER_OP(batch_backward, "batch-norm-backward", false, true);
ONEDNN_LAYER_OP(layer_forward, "layer-norm-forward", true, false);
ONEDNN_LAYER_OP(layer_backward, "layer-norm-backward", true, true);

int main(void)
{
    static const struct op *const ops[] = {&batch_forward, &batch_backward, &layer_forward, &layer_backward,
                                           NULL};
    static const struct kit_program program = {.name = "norm",
                                               .backend = "cpu",
                                               .ops = ops,
                                               .open = onednn_open,
                                               .libraries = onednn_libraries,
                                               .concurrent = true};
    return kit_main(&program);
}
