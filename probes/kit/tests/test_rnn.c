/* SPDX-License-Identifier: Apache-2.0
 *
 * Recurrent layers: the formulas written out for one step, gradients against differences of the forward pass,
 * bounds against the same sums in float, and operands.
 */
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "probes/kit/outcome.h"
#include "probes/kit/params.h"
#include "probes/kit/rnn.h"
#include "probes/kit/shape.h"

enum { GRADIENT = KIT_RNN_TENSORS };

/* Tensors of both passes, filled with numbers that have no pattern. */
struct layer {
    struct kit_rnn rnn;
    struct kit_running *tensor[KIT_RNN_ALL];
    int64_t elements[KIT_RNN_ALL];
};

static struct layer layer_of(struct kit_rnn rnn)
{
    struct layer layer = {.rnn = rnn};
    uint32_t word = 12345;
    for (int i = 0; i < KIT_RNN_ALL; i++) {
        const struct kit_operand operand = kit_rnn_operand(&rnn, i);
        if (!kit_rnn_has(&rnn, i)) {
            continue;
        }
        layer.elements[i] = kit_elements(&operand);
        layer.tensor[i] = calloc((size_t)layer.elements[i], sizeof(struct kit_running));
        for (int64_t e = 0; e < layer.elements[i]; e++) {
            word = word * 1664525u + 1013904223u;
            layer.tensor[i][e].value = (double)(word >> 8) * 0x1p-23 - 1;
        }
    }
    return layer;
}

static void free_layer(struct layer *layer)
{
    for (int i = 0; i < KIT_RNN_ALL; i++) {
        free(layer->tensor[i]);
    }
}

static double value_of(const struct layer *layer, int tensor, int64_t element)
{
    return layer->tensor[tensor][element].value;
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* One step of one sample, all extents 1: the sum of a gate. */
static double gate_sum(const struct layer *l, int gate, double state)
{
    return value_of(l, KIT_RNN_WEIGHTS_LAYER, gate) * value_of(l, KIT_RNN_SRC_LAYER, 0) +
           value_of(l, KIT_RNN_WEIGHTS_ITER, gate) * state + value_of(l, KIT_RNN_BIAS, gate);
}

static void one_step_is_the_formula(void **state)
{
    for (int cell = KIT_RNN_TANH; cell <= KIT_RNN_LBR_GRU; cell++) {
        struct layer l = layer_of((struct kit_rnn){
            .cell = cell, .layers = 1, .directions = 1, .t = 1, .n = 1, .c = 1, .h = 1, .dtype = KIT_F32});
        const double h = value_of(&l, KIT_RNN_SRC_ITER, 0);
        const double u = sigmoid(gate_sum(&l, 0, h));
        double expected = tanh(gate_sum(&l, 0, h));
        if (cell == KIT_RNN_LSTM) {
            const double c = sigmoid(gate_sum(&l, 1, h)) * value_of(&l, KIT_RNN_SRC_ITER_C, 0) +
                             u * tanh(gate_sum(&l, 2, h));
            expected = sigmoid(gate_sum(&l, 3, h)) * tanh(c);
            kit_rnn_compute(&l.rnn, l.tensor);
            assert_true(fabs(value_of(&l, KIT_RNN_DST_ITER_C, 0) - c) < 1e-15);
        } else if (cell == KIT_RNN_GRU) {
            expected = u * h + (1 - u) * tanh(gate_sum(&l, 2, sigmoid(gate_sum(&l, 1, h)) * h));
        } else if (cell == KIT_RNN_LBR_GRU) {
            const double behind = value_of(&l, KIT_RNN_WEIGHTS_ITER, 2) * h + value_of(&l, KIT_RNN_BIAS, 3);
            expected = u * h + (1 - u) * tanh(gate_sum(&l, 2, 0) + sigmoid(gate_sum(&l, 1, h)) * behind);
        }
        kit_rnn_compute(&l.rnn, l.tensor);
        assert_true(fabs(value_of(&l, KIT_RNN_DST_LAYER, 0) - expected) < 1e-15);
        assert_true(value_of(&l, KIT_RNN_DST_LAYER, 0) == value_of(&l, KIT_RNN_DST_ITER, 0));
        free_layer(&l);
    }
}

/* sum of outputs times their gradients: its derivatives are what the backward pass gives. */
static double loss(struct layer *l)
{
    struct kit_rnn forward = l->rnn;
    double sum = 0;
    forward.backward = false;
    kit_rnn_compute(&forward, l->tensor);
    for (int i = KIT_RNN_DST_LAYER; i < KIT_RNN_TENSORS; i++) {
        for (int64_t e = 0; e < l->elements[i]; e++) {
            sum += value_of(l, i, e) * value_of(l, GRADIENT + i, e);
        }
    }
    return sum;
}

static void check_gradients(struct kit_rnn rnn)
{
    const double step = 1e-5;
    struct layer l = layer_of(rnn), before = layer_of(rnn);
    kit_rnn_compute(&l.rnn, l.tensor);
    for (int i = KIT_RNN_SRC_LAYER; i < KIT_RNN_DST_LAYER; i++) {
        const bool adds = i >= KIT_RNN_WEIGHTS_LAYER; /* to what the gradient held */
        for (int64_t e = 0; e < l.elements[i]; e++) {
            struct kit_running *const x = &l.tensor[i][e];
            const double kept = x->value;
            x->value = kept + step;
            const double above = loss(&l);
            x->value = kept - step;
            const double slope = (above - loss(&l)) / (2 * step);
            x->value = kept;
            const double gradient =
                value_of(&l, GRADIENT + i, e) - (adds ? value_of(&before, GRADIENT + i, e) : 0);
            assert_true(fabs(gradient - slope) < 1e-8);
        }
    }
    free_layer(&l);
    free_layer(&before);
}

static void gradients_are_differences_of_the_forward_pass(void **state)
{
    for (int cell = KIT_RNN_TANH; cell <= KIT_RNN_LBR_GRU; cell++) {
        struct kit_rnn rnn = {.cell = cell,
                              .layers = 1,
                              .directions = 1,
                              .t = 3,
                              .n = 2,
                              .c = 3,
                              .h = 2,
                              .dtype = KIT_F32,
                              .backward = true};
        check_gradients(rnn);
        rnn.directions = 2;
        check_gradients(rnn);
        rnn.c = 4; /* more than h, and with h = 5 fewer */
        rnn.h = 5;
        check_gradients(rnn);
        rnn.directions = 1;
        rnn.layers = 2;
        rnn.c = rnn.h = 3;
        check_gradients(rnn);
    }
}

/* The second direction reads from the end: turned in time, its outputs are those of the first. */
static void second_direction_goes_back_in_time(void **state)
{
    struct layer two = layer_of((struct kit_rnn){
        .cell = KIT_RNN_GRU, .layers = 1, .directions = 2, .t = 3, .n = 1, .c = 2, .h = 2, .dtype = KIT_F32});
    struct layer one = layer_of((struct kit_rnn){
        .cell = KIT_RNN_GRU, .layers = 1, .directions = 1, .t = 3, .n = 1, .c = 2, .h = 2, .dtype = KIT_F32});
    for (int i = KIT_RNN_SRC_ITER; i <= KIT_RNN_BIAS; i++) {
        if (kit_rnn_has(&one.rnn, i)) {
            memcpy(one.tensor[i], two.tensor[i] + one.elements[i],
                   (size_t)one.elements[i] * sizeof(struct kit_running));
        }
    }
    for (int64_t e = 0; e < 6; e++) {
        one.tensor[KIT_RNN_SRC_LAYER][e] = two.tensor[KIT_RNN_SRC_LAYER][(2 - e / 2) * 2 + e % 2];
    }
    kit_rnn_compute(&one.rnn, one.tensor);
    kit_rnn_compute(&two.rnn, two.tensor);
    for (int64_t e = 0; e < 6; e++) {
        assert_true(value_of(&two, KIT_RNN_DST_LAYER, (2 - e / 2) * 4 + 2 + e % 2) ==
                    value_of(&one, KIT_RNN_DST_LAYER, e));
    }
    free_layer(&one);
    free_layer(&two);
}

/* A sum and a function in float err by less than the bound; by a thousandth more than it they do not pass. */
static void bounds_hold_and_are_not_idle(void **state)
{
    enum { COUNT = 200 };
    struct kit_running_sum sum = {0};
    float forth = 0, back = 0;
    float a[COUNT], b[COUNT];
    uint32_t word = 1;
    for (int i = 0; i < COUNT; i++) {
        word = word * 1664525u + 1013904223u;
        a[i] = (float)(word >> 8) * 0x1p-23f - 1;
        word = word * 1664525u + 1013904223u;
        b[i] = (float)(word >> 8) * 0x1p-23f - 1;
        kit_running_sum_product(&sum, (struct kit_running){a[i], 0}, (struct kit_running){b[i], 0});
    }
    for (int i = 0; i < COUNT; i++) {
        forth += a[i] * b[i];
        back += a[COUNT - 1 - i] * b[COUNT - 1 - i];
    }
    const struct kit_running exact = kit_running_sum_end(&sum), after = kit_running_tanh(exact);
    assert_true(forth != back);
    assert_true(fabs(forth - exact.value) <= exact.error && fabs(back - exact.value) <= exact.error);
    assert_true(exact.error < 2e-3);
    assert_true(fabs((double)tanhf(forth) - after.value) <= after.error);
    assert_true(after.error <= exact.error + 8 * KIT_RUNNING_U);
}

static void errors_are_taken_on(void **state)
{
    const struct kit_running x = {3, 0.5}, y = {-2, 0.25};
    const double u = KIT_RUNNING_U;
    const struct kit_running sum = kit_running_add(x, y), product = kit_running_multiply(x, y);
    assert_true(sum.value == 1 && sum.error == 0.75 + u * 1.75);
    assert_true(product.value == -6 && product.error == 1.875 + u * 7.875);
    assert_true(kit_running_rest(x).value == -2 && kit_running_rest(x).error == 0.5 + u * 2.5);
    const struct kit_running flat = {20, 1e-3}, steep = {0, 1e-3}, far = {0, 100};
    assert_true(kit_running_sigmoid(flat).error < 1e-6 && kit_running_sigmoid(steep).error > 2.5e-4);
    assert_true(kit_running_tanh(flat).error < 1e-5 && kit_running_tanh(steep).error > 1e-3);
    assert_true(kit_running_sigmoid(far).error <= 25.1);
}

static void narrow_types_lose_more(void **state)
{
    struct kit_rnn rnn = {.cell = KIT_RNN_LSTM,
                          .layers = 1,
                          .directions = 1,
                          .t = 3,
                          .n = 2,
                          .c = 4,
                          .h = 4,
                          .dtype = KIT_F32,
                          .backward = true};
    struct layer wide = layer_of(rnn);
    rnn.dtype = KIT_BF16;
    struct layer narrow = layer_of(rnn);
    kit_rnn_compute(&wide.rnn, wide.tensor);
    kit_rnn_compute(&narrow.rnn, narrow.tensor);
    for (int i = KIT_RNN_DST_LAYER; i < GRADIENT + KIT_RNN_DST_LAYER; i++) {
        for (int64_t e = 0; e < wide.elements[i]; e++) {
            assert_true(value_of(&wide, i, e) == value_of(&narrow, i, e));
            assert_true(wide.tensor[i][e].error > 0 && wide.tensor[i][e].error < 1e-4);
            assert_true(narrow.tensor[i][e].error > 50 * wide.tensor[i][e].error);
        }
    }
    free_layer(&wide);
    free_layer(&narrow);
}

static void a_cell_of_the_reference_has_value_and_bound(void **state)
{
    struct layer l = layer_of((struct kit_rnn){.cell = KIT_RNN_TANH,
                                               .layers = 1,
                                               .directions = 1,
                                               .t = 1,
                                               .n = 1,
                                               .c = 1,
                                               .h = 1,
                                               .dtype = KIT_F32});
    float data[1] = {0.5f};
    const void *in[KIT_MAX_OPERANDS] = {NULL};
    int which[KIT_MAX_OPERANDS];
    const int count = kit_rnn_operands(&l.rnn, which);
    assert_int_equal(count, 6 + 1); /* src, state, weights, weights, bias; dst, state */
    for (int i = 0; i < 5; i++) {
        in[i] = data;
    }
    const int64_t cells[] = {0};
    struct kit_cell cell = {0};
    struct kit_rnn_results results = {0};
    assert_int_equal(kit_rnn_reference(&l.rnn, &results, 5, in, cells, 1, &cell), KIT_OK);
    assert_true(fabsl(cell.value - tanhl(1)) < 1e-15L && cell.k == 1);
    assert_true(cell.scale > 8 && cell.scale < 20); /* in units of 2^-24 */
    data[0] = 1;                                    /* what was kept is not taken for other inputs */
    assert_int_equal(kit_rnn_reference(&l.rnn, &results, 6, in, cells, 1, &cell), KIT_OK);
    assert_true(fabsl(cell.value - tanhl(3)) < 1e-15L);
    kit_rnn_results_free(&results);
    free_layer(&l);
}

static void operands_of(int cell, bool backward, int expected, int in_out)
{
    const struct kit_rnn rnn = {.cell = cell,
                                .layers = 2,
                                .directions = 1,
                                .t = 3,
                                .n = 5,
                                .c = 6,
                                .h = 6,
                                .dtype = KIT_BF16,
                                .backward = backward};
    int which[KIT_MAX_OPERANDS], seen = 0;
    const int count = kit_rnn_operands(&rnn, which);
    assert_int_equal(count, expected);
    for (int i = 0; i < count; i++) {
        const struct kit_operand operand = kit_rnn_operand(&rnn, which[i]);
        const bool is_parameter = strstr(operand.name, "weights") || strstr(operand.name, "bias");
        assert_true(is_parameter == (operand.batch_dim < 0));
        assert_true(is_parameter || operand.shape[operand.batch_dim] == 5);
        assert_true(!strncmp(operand.name, "diff_", 5) || strstr(operand.name, "_iter_c") ||
                            !strcmp(operand.name, "bias")
                        ? operand.dtype == KIT_F32
                        : operand.dtype == KIT_BF16);
        seen += operand.role == KIT_INOUT;
    }
    assert_int_equal(seen, in_out);
}

static void operands_follow_from_cell_and_pass(void **state)
{
    operands_of(KIT_RNN_LSTM, false, 9, 0);
    operands_of(KIT_RNN_GRU, false, 7, 0);
    operands_of(KIT_RNN_LSTM, true, 15, 3); /* gradients of weights and bias are added to */
    operands_of(KIT_RNN_LBR_GRU, true, 12, 3);
}

static void layers_above_must_fit(void **state)
{
    json_t *object = json_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:s}", "cell", "gru", "direction",
                               "bidirectional", "layers", 2, "t", 3, "n", 2, "c", 4, "h", 5, "dtype", "bf16");
    struct kit_params params;
    struct kit_rnn rnn;
    assert_int_equal(kit_params_init(&params, object), 0);
    assert_int_equal(kit_rnn_read(&params, true, &rnn), KIT_FAILED);
    assert_string_equal(kit_outcome()->text,
                        "bad parameter 'c': layers above the first read as many channels as 'h'");
    kit_params_free(&params);
    json_object_set_new(object, "c", json_integer(5));
    assert_int_equal(kit_params_init(&params, object), 0);
    assert_int_equal(kit_rnn_read(&params, true, &rnn), KIT_OK);
    assert_true(rnn.cell == KIT_RNN_GRU && rnn.directions == 2 && rnn.layers == 2 && rnn.backward);
    kit_params_free(&params);
    json_decref(object);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_step_is_the_formula),
        cmocka_unit_test(gradients_are_differences_of_the_forward_pass),
        cmocka_unit_test(second_direction_goes_back_in_time),
        cmocka_unit_test(bounds_hold_and_are_not_idle),
        cmocka_unit_test(errors_are_taken_on),
        cmocka_unit_test(narrow_types_lose_more),
        cmocka_unit_test(a_cell_of_the_reference_has_value_and_bound),
        cmocka_unit_test(operands_follow_from_cell_and_pass),
        cmocka_unit_test(layers_above_must_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
