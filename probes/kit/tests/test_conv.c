/* SPDX-License-Identifier: Apache-2.0
 *
 * References of convolution: a forward result small enough to follow, and the two backward ones as adjoints
 * of the forward one, on integers, with strides, padding, dilation and groups.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "probes/kit/conv.h"

enum { MOST = 4096 };

typedef int (*reference_function)(struct kit_call *call, int output, const void *const *in,
                                  const int64_t *cells, size_t count, struct kit_cell *ret);

static int64_t elements(const struct kit_operand *operand)
{
    int64_t count = 1;
    for (int d = 0; d < operand->ndim; d++) {
        count *= operand->shape[d];
    }
    return count;
}

/* All cells of a pass, as floats. */
static void compute(struct kit_conv *conv, enum kit_conv_pass pass, const float *first, const float *second,
                    float *ret)
{
    static const reference_function functions[] = {
        kit_conv_reference_forward, kit_conv_reference_backward_data, kit_conv_reference_backward_filter};
    static int64_t cells[MOST];
    static struct kit_cell values[MOST];
    struct kit_shape shape = {0};
    kit_conv_shape(conv, pass, &shape);
    struct kit_call call = {.state = conv, .shape = &shape};
    const void *const in[] = {first, second};
    const int64_t count = elements(&shape.operand[KIT_CONV_RESULT]);
    assert_true(count <= MOST);
    for (int64_t i = 0; i < count; i++) {
        cells[i] = i;
    }
    assert_int_equal(functions[pass](&call, KIT_CONV_RESULT, in, cells, (size_t)count, values), KIT_OK);
    for (int64_t i = 0; i < count; i++) {
        ret[i] = (float)values[i].value;
    }
}

static void fill(float *ret, unsigned seed)
{
    for (int i = 0; i < MOST; i++) {
        seed = seed * 1664525u + 1013904223u;
        ret[i] = (float)((int)(seed >> 28) - 8);
    }
}

static double product(const float *a, const float *b, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += (double)a[i] * (double)b[i];
    }
    return sum;
}

static const struct kit_conv geometries[] = {
    {.n = 2, .c = 3, .h = 7, .w = 6, .k = 4, .window = 3, .stride = 1, .pad = 1, .groups = 1, .dilation = 1},
    {.n = 2, .c = 4, .h = 8, .w = 9, .k = 6, .window = 3, .stride = 2, .pad = 0, .groups = 2, .dilation = 1},
    {.n = 1, .c = 4, .h = 9, .w = 9, .k = 4, .window = 3, .stride = 1, .pad = 2, .groups = 4, .dilation = 2},
    {.n = 3, .c = 2, .h = 11, .w = 8, .k = 2, .window = 2, .stride = 2, .pad = 1, .groups = 1, .dilation = 3},
    {.n = 2, .c = 5, .h = 4, .w = 4, .k = 3, .window = 1, .stride = 1, .pad = 0, .groups = 1, .dilation = 1},
};

static void gradients_are_adjoints(void **state)
{
    static float x[MOST], w[MOST], dy[MOST], y[MOST], dx[MOST], dw[MOST];
    fill(x, 1);
    fill(w, 2);
    fill(dy, 3);
    for (size_t i = 0; i < sizeof(geometries) / sizeof(geometries[0]); i++) {
        struct kit_conv g = geometries[i];
        g.oh = (g.h + 2 * g.pad - kit_conv_reach(&g)) / g.stride + 1;
        g.ow = (g.w + 2 * g.pad - kit_conv_reach(&g)) / g.stride + 1;
        compute(&g, KIT_CONV_FORWARD, x, w, y);
        compute(&g, KIT_CONV_BACKWARD_DATA, dy, w, dx);
        compute(&g, KIT_CONV_BACKWARD_FILTER, x, dy, dw);
        const double value = product(y, dy, g.n * g.k * g.oh * g.ow);
        assert_true(value != 0);
        assert_true(product(x, dx, g.n * g.c * g.h * g.w) == value);
        assert_true(product(w, dw, g.k * (g.c / g.groups) * g.window * g.window) == value);
    }
}

static void a_dilated_row_by_hand(void **state)
{
    struct kit_conv g = {.n = 1,
                         .c = 1,
                         .h = 1,
                         .w = 5,
                         .k = 1,
                         .oh = 1,
                         .ow = 5,
                         .window = 1,
                         .stride = 1,
                         .groups = 1,
                         .dilation = 1};
    const float x[] = {1, 2, 3, 4, 5}, scale[] = {10};
    float y[8];
    compute(&g, KIT_CONV_FORWARD, x, scale, y);
    assert_true(y[0] == 10 && y[4] == 50);
    /* taps at distance 2 over a padded 5 x 5 with one row of numbers in the middle: not flipped */
    g.h = 5;
    g.window = 3;
    g.dilation = 2;
    g.pad = 2;
    g.oh = 5;
    const float image[25] = {[10] = 1, 2, 3, 4, 5};
    const float taps[9] = {[3] = 1, 10, 100};
    float result[25];
    compute(&g, KIT_CONV_FORWARD, image, taps, result);
    assert_true(result[10] == 310 && result[12] == 531 && result[14] == 53 && result[0] == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_adjoints),
        cmocka_unit_test(a_dilated_row_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
