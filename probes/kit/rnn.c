/* SPDX-License-Identifier: Apache-2.0
 *
 * Recurrent layers: operands, and both passes in double with running error bounds.
 */
#include "probes/kit/rnn.h"

#include <stdlib.h>

#include "probes/kit/dtype.h"
#include "probes/kit/shape.h"
#include "suite/base/digest.h"
#include "suite/base/text.h"

/* ---- operands ---- */

enum form { SEQUENCE_IN, SEQUENCE_OUT, STATE, CELL_STATE, WEIGHTS_LAYER, WEIGHTS_ITER, BIAS };

static const struct {
    const char *name, *gradient;
    enum form form;
    bool is_input;
} tensors[KIT_RNN_TENSORS] = {
    [KIT_RNN_SRC_LAYER] = {"src_layer", "diff_src_layer", SEQUENCE_IN, true},
    [KIT_RNN_SRC_ITER] = {"src_iter", "diff_src_iter", STATE, true},
    [KIT_RNN_SRC_ITER_C] = {"src_iter_c", "diff_src_iter_c", CELL_STATE, true},
    [KIT_RNN_WEIGHTS_LAYER] = {"weights_layer", "diff_weights_layer", WEIGHTS_LAYER, true},
    [KIT_RNN_WEIGHTS_ITER] = {"weights_iter", "diff_weights_iter", WEIGHTS_ITER, true},
    [KIT_RNN_BIAS] = {"bias", "diff_bias", BIAS, true},
    [KIT_RNN_DST_LAYER] = {"dst_layer", "diff_dst_layer", SEQUENCE_OUT, false},
    [KIT_RNN_DST_ITER] = {"dst_iter", "diff_dst_iter", STATE, false},
    [KIT_RNN_DST_ITER_C] = {"dst_iter_c", "diff_dst_iter_c", CELL_STATE, false},
};

static const struct {
    int64_t gates, biases, from_state; /* gates that read the state as it is, not what a gate left of it */
} cells_of[] = {
    [KIT_RNN_TANH] = {1, 1, 1},
    [KIT_RNN_LSTM] = {4, 4, 4},
    [KIT_RNN_GRU] = {3, 3, 2},
    [KIT_RNN_LBR_GRU] = {3, 4, 2},
};

int kit_rnn_read(const struct kit_params *params, bool backward, struct kit_rnn *ret)
{
    int direction;
    *ret = (struct kit_rnn){.backward = backward};
    if (kit_param_word(params, "cell", "rnn|lstm|gru|lbr-gru", &ret->cell) ||
        kit_param_word(params, "direction", "left2right|bidirectional", &direction) ||
        kit_param_int(params, "layers", &ret->layers) || kit_param_int(params, "t", &ret->t) ||
        kit_param_int(params, "n", &ret->n) || kit_param_int(params, "c", &ret->c) ||
        kit_param_int(params, "h", &ret->h) || kit_param_dtype(params, "dtype", "f32|bf16", &ret->dtype)) {
        return KIT_FAILED;
    }
    ret->directions = direction + 1;
    return ret->layers > 1 && ret->c != ret->h
               ? kit_fail("bad parameter 'c': layers above the first read as many channels as 'h'")
               : KIT_OK;
}

bool kit_rnn_has(const struct kit_rnn *rnn, int tensor)
{
    return tensors[tensor % KIT_RNN_TENSORS].form != CELL_STATE || rnn->cell == KIT_RNN_LSTM;
}

int kit_rnn_operands(const struct kit_rnn *rnn, int ret[KIT_MAX_OPERANDS])
{
    int count = 0;
    for (int i = 0; i < (rnn->backward ? KIT_RNN_ALL : KIT_RNN_TENSORS); i++) {
        const bool is_inner = rnn->backward && i < KIT_RNN_TENSORS && !tensors[i].is_input;
        if (kit_rnn_has(rnn, i) && !is_inner) {
            ret[count++] = i;
        }
    }
    return count;
}

static enum kit_role role_of(int tensor)
{
    const int base = tensor % KIT_RNN_TENSORS;
    if (tensor < KIT_RNN_TENSORS) {
        return tensors[base].is_input ? KIT_IN : KIT_OUT;
    }
    const bool is_parameter = base >= KIT_RNN_WEIGHTS_LAYER && base <= KIT_RNN_BIAS;
    return !tensors[base].is_input ? KIT_IN : is_parameter ? KIT_INOUT : KIT_OUT;
}

/* Weights as frameworks initialise them, within 1 / sqrt(inputs): states then stay where gates are steep. */
static int exponent_of(int64_t inputs)
{
    return inputs > 1 ? -(int)ceil(log2((double)inputs) / 2) : 0;
}

struct kit_operand kit_rnn_operand(const struct kit_rnn *rnn, int tensor)
{
    const int base = tensor % KIT_RNN_TENSORS;
    const bool is_gradient = tensor >= KIT_RNN_TENSORS;
    const int64_t l = rnn->layers, d = rnn->directions, gates = cells_of[rnn->cell].gates;
    const bool is_wide = is_gradient || tensors[base].form == CELL_STATE || tensors[base].form == BIAS;
    struct kit_operand ret = {.name = is_gradient ? tensors[base].gradient : tensors[base].name,
                              .role = role_of(tensor),
                              .dtype = is_wide ? KIT_F32 : rnn->dtype,
                              .fill = KIT_BOUNDED};
    const struct {
        int ndim, batch_dim;
        int64_t shape[5];
        int exponent;
    } forms[] = {
        [SEQUENCE_IN] = {3, 1, {rnn->t, rnn->n, rnn->c}, 0},
        [SEQUENCE_OUT] = {3, 1, {rnn->t, rnn->n, d * rnn->h}, 0},
        [STATE] = {4, 2, {l, d, rnn->n, rnn->h}, 0},
        [CELL_STATE] = {4, 2, {l, d, rnn->n, rnn->h}, 0},
        [WEIGHTS_LAYER] = {5, -1, {l, d, rnn->c, gates, rnn->h}, exponent_of(rnn->c)},
        [WEIGHTS_ITER] = {5, -1, {l, d, rnn->h, gates, rnn->h}, exponent_of(rnn->h)},
        [BIAS] = {4, -1, {l, d, cells_of[rnn->cell].biases, rnn->h}, 0},
    };
    ret.ndim = forms[tensors[base].form].ndim;
    ret.batch_dim = forms[tensors[base].form].batch_dim;
    ret.exponent = is_gradient ? 0 : forms[tensors[base].form].exponent;
    for (int i = 0; i < ret.ndim; i++) {
        ret.shape[i] = forms[tensors[base].form].shape[i];
    }
    return ret;
}

double kit_rnn_flops(const struct kit_rnn *rnn)
{
    const double forward = (double)(rnn->layers * rnn->directions * rnn->t * rnn->n) *
                           (double)((rnn->c + rnn->h) * cells_of[rnn->cell].gates * rnn->h);
    return rnn->backward ? 3 * forward : forward;
}

/* ---- both passes ---- */

/* What the forward pass leaves for the backward one. A lane is a layer in a direction; its steps are counted
 * in its own direction. */
struct passes {
    const struct kit_rnn *rnn;
    struct kit_running *const *tensor;
    int64_t columns;                  /* of a row of weights: gates x h */
    double narrow;                    /* what a value loses where it is held in the layer's type */
    struct kit_running *gate;         /* lane x step x sample x columns, after the activation */
    struct kit_running *state, *cell; /* lane x (step + 1) x sample x h; the first is src_iter */
    struct kit_running *extra;        /* lane x step x sample x h: GRU r * h, LBR GRU U_o h + b_u' */
    struct kit_running *into;         /* lane x step x sample x max(c, h): gradient of what the lane read */
    struct kit_running_sum *sums;     /* scratch: columns + h */
};

enum lstm_gate { I, F, C, O };
enum gru_gate { U, R, N };

static struct kit_running held(const struct passes *p, struct kit_running value)
{
    return p->narrow > 0 ? kit_running_rounded(value, p->narrow) : value;
}

static int64_t time_of(const struct passes *p, int64_t lane, int64_t step)
{
    return lane % p->rnn->directions ? p->rnn->t - 1 - step : step;
}

static int64_t cell_at(const struct passes *p, int64_t lane, int64_t step, int64_t sample)
{
    return (lane * p->rnn->t + step) * p->rnn->n + sample;
}

static struct kit_running *state_at(const struct passes *p, struct kit_running *states, int64_t lane,
                                    int64_t step, int64_t sample)
{
    return states + ((lane * (p->rnn->t + 1) + step) * p->rnn->n + sample) * p->rnn->h;
}

/* What a lane reads: src, or the states of the layer below. */
static const struct kit_running *input_at(const struct passes *p, int64_t lane, int64_t step, int64_t sample)
{
    const struct kit_rnn *rnn = p->rnn;
    return lane < rnn->directions
               ? p->tensor[KIT_RNN_SRC_LAYER] + (time_of(p, lane, step) * rnn->n + sample) * rnn->c
               : state_at(p, p->state, lane - rnn->directions, step + 1, sample);
}

/* A lane's part of weights, bias or a gradient of these. */
static struct kit_running *part_of(const struct passes *p, int tensor, int64_t lane)
{
    const struct kit_operand operand = kit_rnn_operand(p->rnn, tensor);
    return p->tensor[tensor] + lane * (kit_elements(&operand) / (operand.shape[0] * operand.shape[1]));
}

/* sums[k] += x_i w_ik */
static void add_products(struct kit_running_sum *sums, const struct kit_running *x, int64_t inputs,
                         const struct kit_running *weights, int64_t stride, int64_t columns)
{
    for (int64_t i = 0; i < inputs; i++) {
        for (int64_t k = 0; k < columns; k++) {
            kit_running_sum_product(&sums[k], x[i], weights[i * stride + k]);
        }
    }
}

static void gate_lstm(const struct passes *p, struct kit_running *gate, const struct kit_running *cell,
                      struct kit_running *ret_cell, struct kit_running *ret_state)
{
    const int64_t h = p->rnn->h;
    for (int64_t j = 0; j < h; j++) {
        struct kit_running *const g[] = {&gate[j], &gate[h + j], &gate[2 * h + j], &gate[3 * h + j]};
        for (int k = 0; k < 4; k++) {
            const struct kit_running sum = kit_running_sum_end(&p->sums[k * h + j]);
            *g[k] = held(p, k == C ? kit_running_tanh(sum) : kit_running_sigmoid(sum));
        }
        ret_cell[j] =
            kit_running_add(kit_running_multiply(*g[F], cell[j]), kit_running_multiply(*g[I], *g[C]));
        ret_state[j] = held(p, kit_running_multiply(*g[O], kit_running_tanh(ret_cell[j])));
    }
}

static void gate_gru(const struct passes *p, int64_t lane, const struct kit_running *state,
                     struct kit_running *gate, struct kit_running *extra, struct kit_running *ret_state)
{
    const int64_t h = p->rnn->h;
    const bool is_lbr = p->rnn->cell == KIT_RNN_LBR_GRU;
    const struct kit_running *const weights = part_of(p, KIT_RNN_WEIGHTS_ITER, lane) + N * h;
    const struct kit_running *const bias = part_of(p, KIT_RNN_BIAS, lane) + 3 * h;
    struct kit_running_sum *const behind = is_lbr ? &p->sums[p->columns] : &p->sums[N * h];
    for (int64_t j = 0; j < 2 * h; j++) {
        gate[j] = held(p, kit_running_sigmoid(kit_running_sum_end(&p->sums[j])));
    }
    for (int64_t j = 0; j < h; j++) {
        if (is_lbr) {
            behind[j] = (struct kit_running_sum){0};
            kit_running_sum_term(&behind[j], bias[j]);
        } else {
            extra[j] = held(p, kit_running_multiply(gate[R * h + j], state[j]));
        }
    }
    add_products(behind, is_lbr ? state : extra, h, weights, p->columns, h);
    for (int64_t j = 0; j < h; j++) {
        struct kit_running sum = kit_running_sum_end(&p->sums[N * h + j]);
        if (is_lbr) {
            extra[j] = held(p, kit_running_sum_end(&behind[j]));
            sum = kit_running_add(sum, kit_running_multiply(gate[R * h + j], extra[j]));
        }
        struct kit_running *const o = &gate[N * h + j], u = gate[j];
        *o = held(p, kit_running_tanh(sum));
        ret_state[j] = held(p, kit_running_add(kit_running_multiply(u, state[j]),
                                               kit_running_multiply(kit_running_rest(u), *o)));
    }
}

static void step_forward(const struct passes *p, int64_t lane, int64_t step, int64_t sample)
{
    const struct kit_rnn *rnn = p->rnn;
    const int64_t h = rnn->h, at = cell_at(p, lane, step, sample);
    const struct kit_running *const state = state_at(p, p->state, lane, step, sample);
    struct kit_running *const gate = p->gate + at * p->columns;
    struct kit_running *const next = state_at(p, p->state, lane, step + 1, sample);
    const struct kit_running *const bias = part_of(p, KIT_RNN_BIAS, lane);
    for (int64_t k = 0; k < p->columns; k++) {
        p->sums[k] = (struct kit_running_sum){0};
        kit_running_sum_term(&p->sums[k], bias[k]);
    }
    add_products(p->sums, input_at(p, lane, step, sample), rnn->c, part_of(p, KIT_RNN_WEIGHTS_LAYER, lane),
                 p->columns, p->columns);
    add_products(p->sums, state, h, part_of(p, KIT_RNN_WEIGHTS_ITER, lane), p->columns,
                 cells_of[rnn->cell].from_state * h);
    if (rnn->cell == KIT_RNN_LSTM) {
        gate_lstm(p, gate, state_at(p, p->cell, lane, step, sample),
                  state_at(p, p->cell, lane, step + 1, sample), next);
    } else if (rnn->cell != KIT_RNN_TANH) {
        gate_gru(p, lane, state, gate, p->extra + at * h, next);
    }
    for (int64_t j = 0; rnn->cell == KIT_RNN_TANH && j < h; j++) {
        gate[j] = next[j] = held(p, kit_running_tanh(kit_running_sum_end(&p->sums[j])));
    }
}

/* Gradients of one step of one sample, h or columns long. */
struct slopes {
    struct kit_running *state, *cell; /* in: of what the step gave; out: of what it took */
    /* of the sums before the activations, by way of the input and by way of the state */
    struct kit_running *gate, *hidden;
};

static struct kit_running times(struct kit_running a, struct kit_running b)
{
    return kit_running_multiply(a, b);
}

/* Slopes at a sigmoid or tanh that gave y. */
static struct kit_running sigmoid_slope(struct kit_running y)
{
    return times(y, kit_running_rest(y));
}

static struct kit_running tanh_slope(struct kit_running y)
{
    return kit_running_rest(times(y, y));
}

static void back_lstm(const struct passes *p, const struct kit_running *gate,
                      const struct kit_running *cell_before, const struct kit_running *cell, struct slopes *s)
{
    const int64_t h = p->rnn->h;
    for (int64_t j = 0; j < h; j++) {
        const struct kit_running i = gate[j], f = gate[F * h + j], c = gate[C * h + j], o = gate[O * h + j];
        const struct kit_running out = kit_running_tanh(cell[j]), above = s->state[j];
        const struct kit_running d = kit_running_add(s->cell[j], times(times(above, o), tanh_slope(out)));
        s->gate[j] = times(times(d, c), sigmoid_slope(i));
        s->gate[F * h + j] = times(times(d, cell_before[j]), sigmoid_slope(f));
        s->gate[C * h + j] = times(times(d, i), tanh_slope(c));
        s->gate[O * h + j] = times(times(above, out), sigmoid_slope(o));
        s->cell[j] = times(d, f);
        s->state[j] = (struct kit_running){0, 0};
    }
}

static void back_gru(const struct passes *p, int64_t lane, const struct kit_running *gate,
                     const struct kit_running *state, const struct kit_running *extra, struct slopes *s)
{
    const int64_t h = p->rnn->h;
    const bool is_lbr = p->rnn->cell == KIT_RNN_LBR_GRU;
    const struct kit_running *const weights = part_of(p, KIT_RNN_WEIGHTS_ITER, lane) + N * h;
    for (int64_t j = 0; j < h; j++) {
        const struct kit_running u = gate[j], r = gate[R * h + j], o = gate[N * h + j], above = s->state[j];
        const struct kit_running minus_o = {-o.value, o.error};
        s->gate[j] = times(times(above, kit_running_add(state[j], minus_o)), sigmoid_slope(u));
        s->gate[N * h + j] = held(p, times(times(above, kit_running_rest(u)), tanh_slope(o)));
        s->state[j] = times(above, u);
        if (is_lbr) {
            s->gate[R * h + j] = times(times(s->gate[N * h + j], extra[j]), sigmoid_slope(r));
            s->hidden[N * h + j] = times(s->gate[N * h + j], r);
        }
    }
    for (int64_t i = 0; !is_lbr && i < h; i++) {
        struct kit_running_sum sum = {0};
        for (int64_t j = 0; j < h; j++) {
            kit_running_sum_product(&sum, weights[i * p->columns + j], s->gate[N * h + j]);
        }
        const struct kit_running d = kit_running_sum_end(&sum), r = gate[R * h + i];
        s->gate[R * h + i] = times(times(d, state[i]), sigmoid_slope(r));
        s->state[i] = kit_running_add(s->state[i], times(d, r));
    }
}

/* ret[i] = sum over k of w_ik d_k, and what `ret` held before. */
static void through_weights(const struct kit_running *weights, int64_t inputs, int64_t stride,
                            const struct kit_running *d, int64_t columns, struct kit_running *ret)
{
    for (int64_t i = 0; i < inputs; i++) {
        struct kit_running_sum sum = {0};
        kit_running_sum_term(&sum, ret[i]);
        for (int64_t k = 0; k < columns; k++) {
            kit_running_sum_product(&sum, weights[i * stride + k], d[k]);
        }
        ret[i] = kit_running_sum_end(&sum);
    }
}

/* Sums of a lane's gradients of weights and bias, over all steps and samples. */
struct parameters {
    struct kit_running_sum *layer, *iter, *bias;
};

static void add_outer(struct kit_running_sum *sums, const struct kit_running *x, int64_t inputs,
                      int64_t stride, const struct kit_running *d, int64_t columns)
{
    for (int64_t i = 0; i < inputs; i++) {
        for (int64_t k = 0; k < columns; k++) {
            kit_running_sum_product(&sums[i * stride + k], x[i], d[k]);
        }
    }
}

static void step_backward(const struct passes *p, int64_t lane, int64_t step, int64_t sample,
                          struct slopes *s, const struct parameters *parameters)
{
    const struct kit_rnn *rnn = p->rnn;
    const int64_t h = rnn->h, at = cell_at(p, lane, step, sample),
                  from_state = cells_of[rnn->cell].from_state * h;
    const struct kit_running *const gate = p->gate + at * p->columns, *const extra = p->extra + at * h;
    const struct kit_running *const state = state_at(p, p->state, lane, step, sample);
    if (rnn->cell == KIT_RNN_LSTM) {
        back_lstm(p, gate, state_at(p, p->cell, lane, step, sample),
                  state_at(p, p->cell, lane, step + 1, sample), s);
    } else if (rnn->cell != KIT_RNN_TANH) {
        back_gru(p, lane, gate, state, extra, s);
    }
    for (int64_t j = 0; rnn->cell == KIT_RNN_TANH && j < h; j++) {
        s->gate[j] = times(s->state[j], tanh_slope(gate[j]));
        s->state[j] = (struct kit_running){0, 0};
    }
    for (int64_t k = 0; k < p->columns; k++) {
        s->gate[k] = held(p, s->gate[k]);
        const bool is_behind = rnn->cell == KIT_RNN_LBR_GRU && k >= N * h;
        s->hidden[k] = is_behind ? held(p, s->hidden[k]) : s->gate[k];
        kit_running_sum_term(&parameters->bias[k], s->gate[k]);
        if (is_behind) {
            kit_running_sum_term(&parameters->bias[k + h], s->hidden[k]);
        }
    }
    const int64_t hidden = rnn->cell == KIT_RNN_GRU ? from_state : p->columns;
    struct kit_running *const into = p->into + at * (rnn->c > h ? rnn->c : h);
    through_weights(part_of(p, KIT_RNN_WEIGHTS_LAYER, lane), rnn->c, p->columns, s->gate, p->columns, into);
    through_weights(part_of(p, KIT_RNN_WEIGHTS_ITER, lane), h, p->columns, s->hidden, hidden, s->state);
    add_outer(parameters->layer, input_at(p, lane, step, sample), rnn->c, p->columns, s->gate, p->columns);
    add_outer(parameters->iter, state, h, p->columns, s->hidden, hidden);
    if (rnn->cell == KIT_RNN_GRU) {
        add_outer(parameters->iter + N * h, extra, h, p->columns, s->gate + N * h, h);
    }
}

/* The gradient of a state that a lane gave: from above (the next layer, or diff_dst) and from the next step.
 */
static void gather_state(const struct passes *p, int64_t lane, int64_t step, int64_t sample,
                         struct kit_running *state)
{
    const struct kit_rnn *rnn = p->rnn;
    const int64_t h = rnn->h, d = rnn->directions;
    const bool is_top = lane / d == rnn->layers - 1;
    const struct kit_running *const above =
        is_top ? p->tensor[KIT_RNN_TENSORS + KIT_RNN_DST_LAYER] +
                     ((time_of(p, lane, step) * rnn->n + sample) * d + lane % d) * h
               : p->into + cell_at(p, lane + d, step, sample) * (rnn->c > h ? rnn->c : h);
    for (int64_t j = 0; j < h; j++) {
        state[j] = kit_running_add(above[j], state[j]);
    }
}

static void copy(struct kit_running *to, const struct kit_running *from, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        to[i] = from[i];
    }
}

static struct kit_running *gradient_of(const struct passes *p, int tensor)
{
    return p->tensor[KIT_RNN_TENSORS + tensor];
}

static void end_parameters(const struct passes *p, int tensor, int64_t lane,
                           const struct kit_running_sum *sums, int64_t count)
{
    struct kit_running *const gradient = part_of(p, KIT_RNN_TENSORS + tensor, lane);
    for (int64_t i = 0; i < count; i++) {
        struct kit_running_sum sum = sums[i];
        kit_running_sum_term(&sum, gradient[i]);
        gradient[i] = kit_running_sum_end(&sum);
    }
}

static void lane_backward(const struct passes *p, int64_t lane)
{
    const struct kit_rnn *rnn = p->rnn;
    const int64_t h = rnn->h, biases = cells_of[rnn->cell].biases * h;
    const struct parameters parameters = {
        dp_alloc((size_t)(rnn->c * p->columns), sizeof(struct kit_running_sum)),
        dp_alloc((size_t)(h * p->columns), sizeof(struct kit_running_sum)),
        dp_alloc((size_t)biases, sizeof(struct kit_running_sum))};
    struct slopes s = {.gate = dp_alloc((size_t)p->columns, sizeof(struct kit_running)),
                       .hidden = dp_alloc((size_t)p->columns, sizeof(struct kit_running)),
                       .state = dp_alloc((size_t)h, sizeof(struct kit_running)),
                       .cell = dp_alloc((size_t)h, sizeof(struct kit_running))};
    for (int64_t sample = 0; sample < rnn->n; sample++) {
        const int64_t at = (lane * rnn->n + sample) * h;
        copy(s.state, gradient_of(p, KIT_RNN_DST_ITER) + at, h);
        if (rnn->cell == KIT_RNN_LSTM) {
            copy(s.cell, gradient_of(p, KIT_RNN_DST_ITER_C) + at, h);
        }
        for (int64_t step = rnn->t - 1; step >= 0; step--) {
            gather_state(p, lane, step, sample, s.state);
            step_backward(p, lane, step, sample, &s, &parameters);
        }
        copy(gradient_of(p, KIT_RNN_SRC_ITER) + at, s.state, h);
        if (rnn->cell == KIT_RNN_LSTM) {
            copy(gradient_of(p, KIT_RNN_SRC_ITER_C) + at, s.cell, h);
        }
    }
    end_parameters(p, KIT_RNN_WEIGHTS_LAYER, lane, parameters.layer, rnn->c * p->columns);
    end_parameters(p, KIT_RNN_WEIGHTS_ITER, lane, parameters.iter, h * p->columns);
    end_parameters(p, KIT_RNN_BIAS, lane, parameters.bias, biases);
    free(parameters.layer);
    free(parameters.iter);
    free(parameters.bias);
    free(s.gate);
    free(s.hidden);
    free(s.state);
    free(s.cell);
}

static void all_backward(const struct passes *p)
{
    const struct kit_rnn *rnn = p->rnn;
    const int64_t width = rnn->c > rnn->h ? rnn->c : rnn->h;
    for (int64_t lane = rnn->layers * rnn->directions - 1; lane >= 0; lane--) {
        lane_backward(p, lane);
    }
    for (int64_t i = 0; i < rnn->t * rnn->n; i++) {
        for (int64_t channel = 0; channel < rnn->c; channel++) {
            const int64_t sample = i % rnn->n, time = i / rnn->n;
            struct kit_running sum = p->into[cell_at(p, 0, time, sample) * width + channel];
            if (rnn->directions == 2) {
                sum = kit_running_add(sum,
                                      p->into[cell_at(p, 1, time_of(p, 1, time), sample) * width + channel]);
            }
            gradient_of(p, KIT_RNN_SRC_LAYER)[i * rnn->c + channel] = sum;
        }
    }
}

static void begin_lane(const struct passes *p, int64_t lane)
{
    const struct kit_rnn *rnn = p->rnn;
    const int64_t count = rnn->n * rnn->h;
    copy(state_at(p, p->state, lane, 0, 0), p->tensor[KIT_RNN_SRC_ITER] + lane * count, count);
    if (rnn->cell == KIT_RNN_LSTM) {
        copy(state_at(p, p->cell, lane, 0, 0), p->tensor[KIT_RNN_SRC_ITER_C] + lane * count, count);
    }
}

/* dst_iter, dst_iter_c and, of the last layer, dst_layer. */
static void end_lane(const struct passes *p, int64_t lane)
{
    const struct kit_rnn *rnn = p->rnn;
    const int64_t h = rnn->h, d = rnn->directions, count = rnn->n * h;
    if (p->tensor[KIT_RNN_DST_ITER]) {
        copy(p->tensor[KIT_RNN_DST_ITER] + lane * count, state_at(p, p->state, lane, rnn->t, 0), count);
    }
    if (rnn->cell == KIT_RNN_LSTM && p->tensor[KIT_RNN_DST_ITER_C]) {
        copy(p->tensor[KIT_RNN_DST_ITER_C] + lane * count, state_at(p, p->cell, lane, rnn->t, 0), count);
    }
    if (!p->tensor[KIT_RNN_DST_LAYER] || lane / d < rnn->layers - 1) {
        return;
    }
    for (int64_t step = 0; step < rnn->t; step++) {
        for (int64_t sample = 0; sample < rnn->n; sample++) {
            copy(p->tensor[KIT_RNN_DST_LAYER] +
                     ((time_of(p, lane, step) * rnn->n + sample) * d + lane % d) * h,
                 state_at(p, p->state, lane, step + 1, sample), h);
        }
    }
}

void kit_rnn_compute(const struct kit_rnn *rnn, struct kit_running *const tensor[KIT_RNN_ALL])
{
    const int64_t lanes = rnn->layers * rnn->directions, h = rnn->h, columns = cells_of[rnn->cell].gates * h;
    const size_t steps = (size_t)(lanes * rnn->t * rnn->n),
                 states = (size_t)(lanes * (rnn->t + 1) * rnn->n * h);
    struct passes p = {
        .rnn = rnn,
        .tensor = tensor,
        .columns = columns,
        .narrow = rnn->dtype == KIT_F32 ? 0 : (double)kit_dtype_roundoff(rnn->dtype),
        .gate = dp_alloc(steps * (size_t)columns, sizeof(struct kit_running)),
        .state = dp_alloc(states, sizeof(struct kit_running)),
        .cell = dp_alloc(states, sizeof(struct kit_running)),
        .extra = dp_alloc(steps * (size_t)h, sizeof(struct kit_running)),
        .into = dp_alloc(steps * (size_t)(rnn->c > h ? rnn->c : h), sizeof(struct kit_running)),
        .sums = dp_alloc((size_t)(columns + h), sizeof(struct kit_running_sum)),
    };
    for (int64_t lane = 0; lane < lanes; lane++) {
        begin_lane(&p, lane);
        for (int64_t i = 0; i < rnn->t * rnn->n; i++) {
            step_forward(&p, lane, i / rnn->n, i % rnn->n);
        }
        end_lane(&p, lane);
    }
    if (rnn->backward) {
        all_backward(&p);
    }
    free(p.gate);
    free(p.state);
    free(p.cell);
    free(p.extra);
    free(p.into);
    free(p.sums);
}

void kit_rnn_results_free(struct kit_rnn_results *results)
{
    for (int i = 0; i < KIT_RNN_ALL; i++) {
        free(results->tensor[i]);
    }
    *results = (struct kit_rnn_results){0};
}

static uint64_t digest_of(const struct kit_rnn *rnn, const int *which, int operands, const void *const *in)
{
    uint64_t digest = 1;
    for (int o = 0; o < operands; o++) {
        const struct kit_operand operand = kit_rnn_operand(rnn, which[o]);
        if (kit_is_input(&operand)) {
            digest = digest * 31 + dp_xxh3_64(in[o], kit_dense_bytes(&operand));
        }
    }
    return digest ? digest : 1;
}

static void compute_from(const struct kit_rnn *rnn, const int *which, int operands, const void *const *in,
                         struct kit_rnn_results *results)
{
    for (int o = 0; o < operands; o++) {
        const struct kit_operand operand = kit_rnn_operand(rnn, which[o]);
        const int64_t elements = kit_elements(&operand);
        struct kit_running *const values = dp_alloc((size_t)elements, sizeof(*values));
        results->tensor[which[o]] = values;
        for (int64_t i = 0; kit_is_input(&operand) && i < elements; i++) {
            values[i] = (struct kit_running){.value = (double)kit_value(operand.dtype, in[o], i)};
        }
    }
    kit_rnn_compute(rnn, results->tensor);
}

int kit_rnn_reference(const struct kit_rnn *rnn, struct kit_rnn_results *results, int output,
                      const void *const *in, const int64_t *cells, size_t count, struct kit_cell *ret)
{
    int which[KIT_MAX_OPERANDS];
    const int operands = kit_rnn_operands(rnn, which);
    const uint64_t digest = digest_of(rnn, which, operands, in);
    if (results->inputs != digest) {
        kit_rnn_results_free(results);
        compute_from(rnn, which, operands, in, results);
        results->inputs = digest;
    }
    const struct kit_operand operand = kit_rnn_operand(rnn, which[output]);
    const long double u = kit_dtype_roundoff(operand.dtype);
    for (size_t i = 0; i < count; i++) {
        const struct kit_running value = results->tensor[which[output]][cells[i]];
        ret[i] = (struct kit_cell){.value = value.value, .scale = value.error / u, .k = 1};
    }
    return KIT_OK;
}
