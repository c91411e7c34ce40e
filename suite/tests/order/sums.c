/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums whose order is known by construction, for the tests of 'detprobe order': y = X w, row by row, each
 * added up by the loop that param `loop` names; with param `bias`, b is added to that.
 */
#include <math.h>

#include "probes/kit/op.h"
#include "probes/kit/tests/sums.h"

#define LOOPS                                                                                                \
    "forward|backward|pairwise|blocks|lanes|strided|fused|double|mixed|kahan|neumaier|exact|racing|rows|"    \
    "magnitudes|squares|whole|batched|widened"
#define MOST 4096

enum operand { X, W, B, Y };

static float blocks_of_64(const float *t, int n)
{
    return blocks(t, n, 64);
}

static float lanes_of_8(const float *t, int n)
{
    return lanes(t, n, 8);
}

static float fused_4_and_1(const float *t, int n)
{
    return fused(t, n, 4);
}

/* One after another, in steps. */
static float strided(const float *t, int n)
{
    float sum = 0;
    for (int first = 0; first < 3; first++) {
        for (int i = first; i < n; i += 3) {
            sum += t[i];
        }
    }
    return sum;
}

static float in_double(const float *t, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        sum += t[i];
    }
    return (float)sum;
}

/* The end in double, as a library may do where its vectors do not fit. */
static float mixed(const float *t, int n)
{
    double sum = forward(t, n / 2);
    for (int i = n / 2; i < n; i++) {
        sum += t[i];
    }
    return (float)sum;
}

static float kahan(const float *t, int n)
{
    volatile float sum = 0, rest = 0;
    for (int i = 0; i < n; i++) {
        const volatile float next = t[i] - rest, total = sum + next, added = total - sum;
        rest = added - next;
        sum = total;
    }
    return sum;
}

static float magnitudes(const float *t, int n)
{
    float sum = 0;
    for (int i = 0; i < n; i++) {
        sum += fabsf(t[i]);
    }
    return sum;
}

static float squares(const float *t, int n)
{
    float sum = 0;
    for (int i = 0; i < n; i++) {
        sum += t[i] * t[i];
    }
    return sum;
}

/* No number where a summand is not whole. */
static float whole(const float *t, int n)
{
    float sum = 0;
    for (int i = 0; i < n; i++) {
        sum += t[i] == truncf(t[i]) ? t[i] : NAN;
    }
    return sum;
}

/* In the order of LOOPS; `rows`: every third row backward; `batched`: one row alone forward, several in
 * lanes; `widened`: one row alone in float. */
static float (*const loops[])(const float *t, int n) = {
    forward,  backward, pairwise, blocks_of_64, lanes_of_8, strided, fused_4_and_1, in_double, mixed,   kahan,
    neumaier, exact,    racing,   forward,      magnitudes, squares, whole,         forward,   forward,
};
enum { ROWS = 13, MAGNITUDES = 14, SQUARES = 15, BATCHED = 17, WIDENED = 18 };

static float (*loop_for(int loop, int64_t rows, int64_t row))(const float *t, int n)
{
    return loop == ROWS && row % 3 == 1  ? backward
           : loop == BATCHED && rows > 1 ? lanes_of_8
           : loop == WIDENED && rows > 1 ? in_double
                                         : loops[loop];
}

static int describe(const struct kit_params *params, struct kit_shape *ret)
{
    int64_t rows, n;
    int loop;
    bool bias;
    if (kit_param_int(params, "rows", &rows) || kit_param_int(params, "n", &n) ||
        kit_param_word(params, "loop", LOOPS, &loop) || kit_param_bool_or(params, "bias", false, &bias)) {
        return KIT_FAILED;
    }
    if (n < 1 || n > MOST) {
        return kit_fail("bad n");
    }
    const struct kit_operand vector = {.dtype = KIT_F32, .ndim = 1, .shape = {n}, .batch_dim = -1};
    ret->count = 4;
    ret->operand[X] =
        (struct kit_operand){.name = "x", .dtype = KIT_F32, .ndim = 2, .shape = {rows, n}, .batch_dim = 0};
    ret->operand[W] = vector;
    ret->operand[W].name = "w";
    ret->operand[B] = vector;
    ret->operand[B].name = "b";
    ret->operand[B].shape[0] = rows;
    ret->operand[B].batch_dim = 0;
    ret->operand[Y] = ret->operand[B];
    ret->operand[Y].name = "y";
    ret->operand[Y].role = KIT_OUT;
    ret->flops = (double)rows * (double)n;
    return KIT_OK;
}

static int run(struct kit_call *call, const struct kit_buffers *buffers)
{
    const int64_t *shape = call->shape->operand[X].shape;
    const float *x = buffers->data[X], *w = buffers->data[W], *b = buffers->data[B];
    const int n = (int)shape[1];
    float *y = buffers->data[Y], terms[MOST];
    int loop;
    bool bias;
    if (kit_param_word(call->params, "loop", LOOPS, &loop) ||
        kit_param_bool_or(call->params, "bias", false, &bias)) {
        return KIT_FAILED;
    }
    for (int64_t row = 0; row < shape[0]; row++) {
        for (int i = 0; i < n; i++) {
            terms[i] = x[row * n + i] * w[i];
        }
        y[row] = loop_for(loop, shape[0], row)(terms, n) + (bias ? b[row] : 0);
    }
    return KIT_OK;
}

static int reference(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                     size_t count, struct kit_cell *ret)
{
    const int64_t n = call->shape->operand[X].shape[1];
    const float *x = in[X], *w = in[W], *b = in[B];
    int loop;
    bool bias;
    if (kit_param_word(call->params, "loop", LOOPS, &loop) ||
        kit_param_bool_or(call->params, "bias", false, &bias)) {
        return KIT_FAILED;
    }
    for (size_t c = 0; c < count; c++) {
        const float last = bias ? b[cells[c]] : 0;
        ret[c] = (struct kit_cell){.value = last, .scale = fabsf(last), .k = n + 1};
        for (int64_t i = 0; i < n; i++) {
            const long double term = (long double)x[cells[c] * n + i] * w[i];
            ret[c].value += loop == MAGNITUDES ? fabsl(term) : loop == SQUARES ? term * term : term;
            ret[c].scale += fabsl(term);
        }
    }
    return KIT_OK;
}

static const struct op sum = {.name = "sum", .describe = describe, .run = run, .reference = reference};

int main(void)
{
    static const struct op *const ops[] = {&sum, NULL};
    static const struct kit_program program = {.name = "sums", .backend = "cpu", .ops = ops};
    return kit_main(&program);
}
