/* SPDX-License-Identifier: Apache-2.0
 *
 * Softmax and its logarithm on oneDNN over rows or columns of a matrix, forward and backward. The sum of a
 * row is an order of additions; over columns (axis 0) one pass goes through the whole tensor.
 */
#include <math.h>
#include <stdlib.h>

#include "probes/cpu/onednn_layer.h"
#include "probes/kit/dtype.h"

enum { FORWARD_SRC, FORWARD_DST };
enum { BACKWARD_DST, BACKWARD_DIFF_DST, BACKWARD_DIFF_SRC };

struct state {
    struct onednn_layer layer;
    int64_t n, c;
    int axis;
    bool log, backward;
};

static int read_params(const struct kit_params *params, bool backward, struct state *ret)
{
    int kind, along;
    if (kit_param_int(params, "n", &ret->n) || kit_param_int(params, "c", &ret->c) ||
        kit_param_word(params, "kind", "softmax|log-softmax", &kind) ||
        kit_param_word(params, "along", "rows|columns", &along)) {
        return KIT_FAILED;
    }
    ret->backward = backward;
    ret->log = kind == 1;
    ret->axis = along == 0;
    return KIT_OK;
}

static int tensors_of(const struct state *s, struct onednn_tensor ret[3])
{
    /* A column goes through all samples: then none of them is computed alone. */
    const struct onednn_tensor data = {
        .dtype = KIT_F32, .ndim = 2, .shape = {s->n, s->c}, .batch_dim = s->axis == 1 ? 0 : -1};
    ret[0] = ret[1] = ret[2] = data;
    if (!s->backward) {
        ret[FORWARD_SRC].name = "src";
        ret[FORWARD_SRC].arg = DNNL_ARG_SRC;
        ret[FORWARD_DST].name = "dst";
        ret[FORWARD_DST].arg = DNNL_ARG_DST;
        ret[FORWARD_DST].role = KIT_OUT;
        return 2;
    }
    ret[BACKWARD_DST].name = "dst";
    ret[BACKWARD_DST].arg = DNNL_ARG_DST;
    ret[BACKWARD_DIFF_DST].name = "diff_dst";
    ret[BACKWARD_DIFF_DST].arg = DNNL_ARG_DIFF_DST;
    ret[BACKWARD_DIFF_SRC].name = "diff_src";
    ret[BACKWARD_DIFF_SRC].arg = DNNL_ARG_DIFF_SRC;
    ret[BACKWARD_DIFF_SRC].role = KIT_OUT;
    return 3;
}

static int describe(const struct kit_params *params, bool backward, struct kit_shape *ret)
{
    struct state s;
    struct onednn_tensor tensors[3];
    if (read_params(params, backward, &s)) {
        return KIT_FAILED;
    }
    onednn_layer_shape(tensors, tensors_of(&s, tensors), ret);
    ret->flops = (double)s.n * (double)s.c;
    return KIT_OK;
}

static int describe_primitive(const struct onednn_layer *layer, bool backward, dnnl_primitive_desc_t hint,
                              onednn_walk *ret)
{
    const struct state *s = (const struct state *)layer;
    return onednn_softmax(backward, s->log ? dnnl_softmax_log : dnnl_softmax_accurate, layer->native[0],
                          s->axis, hint, ret);
}

static int prepare(struct kit_call *call, bool backward, struct kit_prepared *ret)
{
    struct state *s = calloc(1, sizeof(*s));
    struct onednn_tensor tensors[3];
    call->state = s;
    if (!s || read_params(call->params, backward, s)) {
        return s ? KIT_FAILED : kit_fail("out of memory");
    }
    return onednn_layer_prepare(&s->layer, call->choice, tensors, tensors_of(s, tensors), backward,
                                describe_primitive, ret);
}

/* The line through a cell along the axis: where it begins, how far its elements are apart, how many there
 * are. */
struct line {
    int64_t first, step, count;
};

static struct line line_of(const struct state *s, int64_t cell)
{
    return s->axis == 1 ? (struct line){cell / s->c * s->c, 1, s->c} : (struct line){cell % s->c, s->c, s->n};
}

/* What all cells of a line have in common. */
struct sums {
    bool known;
    long double most, sum, size;
};

static struct sums forward_sums(const struct line *line, const void *src)
{
    struct sums s = {.known = true, .most = kit_value(KIT_F32, src, line->first)};
    for (int64_t i = 1; i < line->count; i++) {
        s.most = fmaxl(s.most, kit_value(KIT_F32, src, line->first + i * line->step));
    }
    for (int64_t i = 0; i < line->count; i++) {
        s.sum += expl(kit_value(KIT_F32, src, line->first + i * line->step) - s.most);
    }
    return s;
}

static struct kit_cell forward_cell(const struct state *s, const struct line *line, const struct sums *sums,
                                    long double x)
{
    const long double of_sum = logl(fmaxl(sums->sum, 1)); /* the largest addend is 1 */
    const long double log = x - sums->most - of_sum;
    return s->log ? (struct kit_cell){log, fabsl(x) + fabsl(sums->most) + of_sum + 1, line->count}
                  : (struct kit_cell){expl(log), expl(log) * (1 + fabsl(x - sums->most)), line->count};
}

static struct sums backward_sums(const struct state *s, const struct line *line, const void *const *in)
{
    struct sums ret = {.known = true};
    for (int64_t i = 0; i < line->count; i++) {
        const long double yi = kit_value(KIT_F32, in[BACKWARD_DST], line->first + i * line->step),
                          gi = kit_value(KIT_F32, in[BACKWARD_DIFF_DST], line->first + i * line->step);
        ret.sum += s->log ? gi : yi * gi;
        ret.size += fabsl(s->log ? gi : yi * gi);
    }
    return ret;
}

/* softmax: d = y (g - sum of y g); its logarithm: d = g - exp(y) sum of g. Source: developer guide, softmax.
 */
static struct kit_cell backward_cell(const struct state *s, const struct line *line, const struct sums *sums,
                                     long double y, long double g)
{
    return s->log ? (struct kit_cell){g - expl(y) * sums->sum, fabsl(g) + expl(y) * sums->size, line->count}
                  : (struct kit_cell){y * (g - sums->sum), fabsl(y) * (fabsl(g) + sums->size), line->count};
}

static int reference(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                     size_t count, struct kit_cell *ret)
{
    const struct state *s = call->state;
    struct sums *const all = calloc((size_t)(s->axis == 1 ? s->n : s->c), sizeof(*all));
    if (!all) {
        return kit_fail("out of memory");
    }
    for (size_t c = 0; c < count; c++) {
        const struct line line = line_of(s, cells[c]);
        struct sums *const sums = &all[s->axis == 1 ? cells[c] / s->c : cells[c] % s->c];
        if (!sums->known) {
            *sums = s->backward ? backward_sums(s, &line, in) : forward_sums(&line, in[FORWARD_SRC]);
        }
        ret[c] = s->backward ? backward_cell(s, &line, sums, kit_value(KIT_F32, in[BACKWARD_DST], cells[c]),
                                             kit_value(KIT_F32, in[BACKWARD_DIFF_DST], cells[c]))
                             : forward_cell(s, &line, sums, kit_value(KIT_F32, in[FORWARD_SRC], cells[c]));
    }
    free(all);
    return KIT_OK;
}

ONEDNN_LAYER_OP(softmax_forward, "softmax-forward", false);
ONEDNN_LAYER_OP(softmax_backward, "softmax-backward", true);

int main(void)
{
    static const struct op *const ops[] = {&softmax_forward, &softmax_backward, NULL};
    static const struct kit_program program = {.name = "softmax",
                                               .backend = "cpu",
                                               .ops = ops,
                                               .open = onednn_open,
                                               .libraries = onednn_libraries,
                                               .concurrent = true};
    return kit_main(&program);
}
