/* SPDX-License-Identifier: Apache-2.0
 *
 * Reductions on oneDNN along the rows or the columns of a matrix: sum, mean, maximum, product and Euclidean
 * norm.
 */
#include <math.h>
#include <stdlib.h>

#include "probes/cpu/onednn_layer.h"
#include "probes/kit/dtype.h"

enum { SRC, DST };

/* In the order of the words below. */
static const struct kind {
    dnnl_alg_kind_t algorithm;
    float p;
} kinds[] = {{dnnl_reduction_sum, 0},
             {dnnl_reduction_mean, 0},
             {dnnl_reduction_max, 0},
             {dnnl_reduction_norm_lp_sum, 2}};
enum { SUM, MEAN, MAXIMUM, NORM };

struct state {
    struct onednn_layer layer;
    int64_t rows, columns;
    int kind;
    bool along_rows; /* each row becomes one value */
};

static int read_params(const struct kit_params *params, struct state *ret)
{
    int along;
    if (kit_param_int(params, "rows", &ret->rows) || kit_param_int(params, "columns", &ret->columns) ||
        kit_param_word(params, "kind", "sum|mean|max|norm", &ret->kind) ||
        kit_param_word(params, "along", "rows|columns", &along)) {
        return KIT_FAILED;
    }
    ret->along_rows = along == 0;
    return KIT_OK;
}

static void tensors_of(const struct state *s, struct onednn_tensor ret[2])
{
    const int batch_dim = s->along_rows ? 0 : -1;
    ret[SRC] = (struct onednn_tensor){.name = "src",
                                      .dtype = KIT_F32,
                                      .ndim = 2,
                                      .shape = {s->rows, s->columns},
                                      .batch_dim = batch_dim,
                                      .arg = DNNL_ARG_SRC};
    ret[DST] = (struct onednn_tensor){.name = "dst",
                                      .role = KIT_OUT,
                                      .dtype = KIT_F32,
                                      .ndim = 2,
                                      .shape = {s->along_rows ? s->rows : 1, s->along_rows ? 1 : s->columns},
                                      .batch_dim = batch_dim,
                                      .arg = DNNL_ARG_DST};
}

static int describe(const struct kit_params *params, struct kit_shape *ret)
{
    struct state s;
    struct onednn_tensor tensors[2];
    if (read_params(params, &s)) {
        return KIT_FAILED;
    }
    tensors_of(&s, tensors);
    onednn_layer_shape(tensors, 2, ret);
    ret->flops = (double)s.rows * (double)s.columns;
    return KIT_OK;
}

static int describe_primitive(const struct onednn_layer *layer, bool backward, dnnl_primitive_desc_t hint,
                              onednn_walk *ret)
{
    const struct kind *kind = &kinds[((const struct state *)layer)->kind];
    return onednn_reduction(kind->algorithm, layer->native[SRC], layer->native[DST], kind->p, ret);
}

static int prepare(struct kit_call *call, struct kit_prepared *ret)
{
    struct state *s = calloc(1, sizeof(*s));
    struct onednn_tensor tensors[2];
    call->state = s;
    if (!s || read_params(call->params, s)) {
        return s ? KIT_FAILED : kit_fail("out of memory");
    }
    tensors_of(s, tensors);
    return onednn_layer_prepare(&s->layer, call->choice, tensors, 2, false, describe_primitive, ret);
}

static int reference(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                     size_t count, struct kit_cell *ret)
{
    const struct state *s = call->state;
    const int64_t terms = s->along_rows ? s->columns : s->rows, step = s->along_rows ? 1 : s->columns;
    for (size_t c = 0; c < count; c++) {
        const int64_t first = s->along_rows ? cells[c] * s->columns : cells[c];
        long double sum = 0, size = 0, square = 0, most = kit_value(KIT_F32, in[SRC], first);
        for (int64_t i = 0; i < terms; i++) {
            const long double x = kit_value(KIT_F32, in[SRC], first + i * step);
            sum += x;
            size += fabsl(x);
            square += x * x;
            most = fmaxl(most, x);
        }
        const struct kit_cell values[] = {
            [SUM] = {sum, size, terms},
            [MEAN] = {sum / (long double)terms, size / (long double)terms, terms},
            [MAXIMUM] = {most, 0, 1},
            [NORM] = {sqrtl(square), sqrtl(square), terms},
        };
        ret[c] = values[s->kind];
    }
    return KIT_OK;
}

static int choices(const struct kit_params *params, const char *const **ret_names, int *ret_count)
{
    return onednn_choices(prepare, onednn_layer_release, params, ret_names, ret_count);
}

static const struct op reduction = {.name = "reduction",
                                    .describe = describe,
                                    .choices = choices,
                                    .prepare = prepare,
                                    .run = onednn_layer_run,
                                    .reference = reference,
                                    .release = onednn_layer_release};

int main(void)
{
    static const struct op *const ops[] = {&reduction, NULL};
    static const struct kit_program program = {.name = "onednn-reduce",
                                               .backend = "cpu",
                                               .ops = ops,
                                               .open = onednn_open,
                                               .libraries = onednn_libraries,
                                               .concurrent = true};
    return kit_main(&program);
}
