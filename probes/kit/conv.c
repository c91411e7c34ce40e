/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolution but for the call of the library: what it takes, its operands, its reference. Products of two
 * floats are exact in double, so double sums carry the higher precision.
 */
#include "probes/kit/conv.h"

#include <stdlib.h>

#include "probes/kit/dtype.h"
#include "probes/kit/window.h"
#include "suite/base/text.h"

int kit_conv_read(const struct kit_params *params, enum kit_dtype dtype, struct kit_conv *g)
{
    const struct {
        const char *name;
        int64_t *target;
    } needed[] = {{"n", &g->n},           {"c", &g->c},     {"h", &g->h},
                  {"w", &g->w},           {"k", &g->k},     {"window", &g->window},
                  {"stride", &g->stride}, {"pad", &g->pad}, {"groups", &g->groups}};
    *g = (struct kit_conv){.dtype = dtype};
    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
        if (kit_param_int(params, needed[i].name, needed[i].target) != KIT_OK) {
            return KIT_FAILED;
        }
        if (*needed[i].target < (needed[i].target == &g->pad ? 0 : 1) || *needed[i].target > INT32_MAX) {
            return kit_fail("parameter '%s' is out of range", needed[i].name);
        }
    }
    if (kit_param_int_or(params, "dilation", 1, &g->dilation) != KIT_OK) {
        return KIT_FAILED;
    }
    if (g->dilation < 1 || g->dilation > INT32_MAX) {
        return kit_fail("parameter 'dilation' is out of range");
    }
    if (g->c % g->groups != 0 || g->k % g->groups != 0) {
        return kit_fail("'groups' must divide 'c' and 'k'");
    }
    g->oh = window_count(g->h, kit_conv_reach(g), g->stride, g->pad);
    g->ow = window_count(g->w, kit_conv_reach(g), g->stride, g->pad);
    if (g->oh == 0 || g->ow == 0) {
        return kit_fail("'window' is larger than the padded input");
    }
    return KIT_OK;
}

int64_t kit_conv_reach(const struct kit_conv *g)
{
    return g->dilation * (g->window - 1) + 1;
}

bool kit_conv_is_filter(enum kit_conv_pass pass, int operand)
{
    return operand == (pass == KIT_CONV_BACKWARD_FILTER ? KIT_CONV_RESULT : KIT_CONV_SECOND);
}

bool kit_conv_is_input(enum kit_conv_pass pass, int operand)
{
    return operand == (pass == KIT_CONV_BACKWARD_DATA ? KIT_CONV_RESULT : KIT_CONV_FIRST);
}

void kit_conv_shape(const struct kit_conv *g, enum kit_conv_pass pass, struct kit_shape *ret)
{
    static const char *const names[][3] = {
        [KIT_CONV_FORWARD] = {"src", "weights", "dst"},
        [KIT_CONV_BACKWARD_DATA] = {"diff_dst", "weights", "diff_src"},
        [KIT_CONV_BACKWARD_FILTER] = {"src", "diff_dst", "diff_weights"},
    };
    for (int i = 0; i < 3; i++) {
        struct kit_operand *const operand = &ret->operand[i];
        *operand = (struct kit_operand){.name = names[pass][i],
                                        .role = i == KIT_CONV_RESULT ? KIT_OUT : KIT_IN,
                                        .dtype = g->dtype,
                                        .ndim = 4,
                                        .shape = {g->n, g->k, g->oh, g->ow}};
        if (kit_conv_is_filter(pass, i)) {
            operand->batch_dim = -1;
            operand->shape[0] = g->k;
            operand->shape[1] = g->c / g->groups;
            operand->shape[2] = operand->shape[3] = g->window;
        } else if (kit_conv_is_input(pass, i)) {
            operand->shape[1] = g->c;
            operand->shape[2] = g->h;
            operand->shape[3] = g->w;
        }
    }
    ret->count = 3;
    ret->flops = (double)g->n * (double)g->k * (double)g->oh * (double)g->ow * (double)(g->c / g->groups) *
                 (double)g->window * (double)g->window;
}

/* --- references --- */

struct sum {
    double value, scale;
    int64_t k;
};

static void add_product(struct sum *sum, float a, float b)
{
    const double product = (double)a * (double)b;
    sum->value += product;
    sum->scale += product < 0 ? -product : product;
    sum->k++;
}

static float input_at(const struct kit_conv *g, const float *src, int64_t n, int64_t c, int64_t y, int64_t x)
{
    return src[((n * g->c + c) * g->h + y) * g->w + x];
}

static float output_at(const struct kit_conv *g, const float *dst, int64_t n, int64_t o, int64_t y, int64_t x)
{
    return dst[((n * g->k + o) * g->oh + y) * g->ow + x];
}

/* Weight of output channel o and the i-th input channel of its group. */
static float weight_at(const struct kit_conv *g, const float *weights, int64_t o, int64_t i, int64_t r,
                       int64_t s)
{
    return weights[((o * (g->c / g->groups) + i) * g->window + r) * g->window + s];
}

static bool inside(const struct kit_conv *g, int64_t y, int64_t x)
{
    return y >= 0 && y < g->h && x >= 0 && x < g->w;
}

/* Row or column of the input that tap `tap` of output position `at` reads; may be outside. */
static int64_t read_by(const struct kit_conv *g, int64_t at, int64_t tap)
{
    return at * g->stride - g->pad + tap * g->dilation;
}

static struct sum forward_cell(const struct kit_conv *g, const float *src, const float *weights,
                               int64_t offset)
{
    const int64_t x = offset % g->ow, y = offset / g->ow % g->oh, o = offset / (g->ow * g->oh) % g->k,
                  n = offset / (g->ow * g->oh * g->k), per_group = g->c / g->groups,
                  first = o / (g->k / g->groups) * per_group;
    struct sum sum = {0};
    for (int64_t i = 0; i < per_group; i++) {
        for (int64_t r = 0; r < g->window; r++) {
            for (int64_t s = 0; s < g->window; s++) {
                const int64_t iy = read_by(g, y, r), ix = read_by(g, x, s);
                if (inside(g, iy, ix)) {
                    add_product(&sum, input_at(g, src, n, first + i, iy, ix),
                                weight_at(g, weights, o, i, r, s));
                }
            }
        }
    }
    return sum;
}

static struct sum backward_data_cell(const struct kit_conv *g, const float *diff_dst, const float *weights,
                                     int64_t offset)
{
    const int64_t x = offset % g->w, y = offset / g->w % g->h, c = offset / (g->w * g->h) % g->c,
                  n = offset / (g->w * g->h * g->c), inputs = g->c / g->groups, outputs = g->k / g->groups,
                  first = c / inputs * outputs;
    struct sum sum = {0};
    for (int64_t o = first; o < first + outputs; o++) {
        for (int64_t r = 0; r < g->window; r++) {
            for (int64_t s = 0; s < g->window; s++) {
                const int64_t oy = window_reading(y, r * g->dilation, g->stride, g->pad, g->oh),
                              ox = window_reading(x, s * g->dilation, g->stride, g->pad, g->ow);
                if (oy >= 0 && ox >= 0) {
                    add_product(&sum, output_at(g, diff_dst, n, o, oy, ox),
                                weight_at(g, weights, o, c % inputs, r, s));
                }
            }
        }
    }
    return sum;
}

static struct sum backward_filter_cell(const struct kit_conv *g, const float *src, const float *diff_dst,
                                       int64_t offset)
{
    const int64_t s = offset % g->window, r = offset / g->window % g->window, per_group = g->c / g->groups,
                  i = offset / (g->window * g->window) % per_group,
                  o = offset / (g->window * g->window * per_group),
                  c = o / (g->k / g->groups) * per_group + i;
    struct sum sum = {0};
    for (int64_t n = 0; n < g->n; n++) {
        for (int64_t y = 0; y < g->oh; y++) {
            for (int64_t x = 0; x < g->ow; x++) {
                const int64_t iy = read_by(g, y, r), ix = read_by(g, x, s);
                if (inside(g, iy, ix)) {
                    add_product(&sum, input_at(g, src, n, c, iy, ix), output_at(g, diff_dst, n, o, y, x));
                }
            }
        }
    }
    return sum;
}

/* The contents of an input as floats; what is owned has to be freed. */
static const float *as_floats(const struct kit_operand *operand, const void *content, float **ret_owned)
{
    int64_t count = 1;
    *ret_owned = NULL;
    if (operand->dtype == KIT_F32) {
        return content;
    }
    for (int d = 0; d < operand->ndim; d++) {
        count *= operand->shape[d];
    }
    *ret_owned = dp_alloc((size_t)count, sizeof(float));
    for (int64_t i = 0; i < count; i++) {
        (*ret_owned)[i] = (float)kit_value(operand->dtype, content, i);
    }
    return *ret_owned;
}

typedef struct sum (*cell_function)(const struct kit_conv *g, const float *first, const float *second,
                                    int64_t offset);

static int reference(struct kit_call *call, cell_function function, const void *const *in,
                     const int64_t *cells, size_t count, struct kit_cell *ret)
{
    const struct kit_conv *g = call->state;
    float *owned[2];
    const float *const first =
        as_floats(&call->shape->operand[KIT_CONV_FIRST], in[KIT_CONV_FIRST], &owned[0]);
    const float *const second =
        as_floats(&call->shape->operand[KIT_CONV_SECOND], in[KIT_CONV_SECOND], &owned[1]);
    for (size_t i = 0; i < count; i++) {
        const struct sum sum = function(g, first, second, cells[i]);
        const int64_t addends = sum.k > 0 ? sum.k : 1;
        ret[i] = (struct kit_cell){
            .value = sum.value, .scale = sum.scale, .k = (g->roundings ? g->roundings : addends) + g->lost};
    }
    free(owned[0]);
    free(owned[1]);
    return KIT_OK;
}

int kit_conv_reference_forward(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                               size_t count, struct kit_cell *ret)
{
    return reference(call, forward_cell, in, cells, count, ret);
}

int kit_conv_reference_backward_data(struct kit_call *call, int output, const void *const *in,
                                     const int64_t *cells, size_t count, struct kit_cell *ret)
{
    return reference(call, backward_data_cell, in, cells, count, ret);
}

int kit_conv_reference_backward_filter(struct kit_call *call, int output, const void *const *in,
                                       const int64_t *cells, size_t count, struct kit_cell *ret)
{
    return reference(call, backward_filter_cell, in, cells, count, ret);
}
