/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums whose order is known by construction, for the tests of 'detprobe order': y = X w, row by row, each
 * added up by the loop that param `loop` names; with param `bias`, b is added to that. Params `f16` and
 * `bf16` make operands of these types, which are added up in f32, with param `own` in the type itself.
 */
#include <math.h>

#include "probes/kit/dtype.h"
#include "probes/kit/op.h"
#include "probes/kit/tests/sums.h"

#define LOOPS                                                                                                \
    "forward|backward|pairwise|blocks|lanes|strided|fused|double|mixed|kahan|neumaier|exact|racing|rows|"    \
    "magnitudes|squares|whole|batched|widened|uneven|half"
#define MOST 4096

enum operand { X, W, B, Y };

struct types {
    enum kit_dtype of, in; /* operands, and their sums */
};

static int types_of(const struct kit_params *params, struct types *ret)
{
    bool f16, bf16, own;
    if (kit_param_bool_or(params, "f16", false, &f16) || kit_param_bool_or(params, "bf16", false, &bf16) ||
        kit_param_bool_or(params, "own", false, &own)) {
        return KIT_FAILED;
    }
    ret->of = f16 ? KIT_F16 : bf16 ? KIT_BF16 : KIT_F32;
    ret->in = own ? ret->of : KIT_F32;
    return KIT_OK;
}

/* To the nearest number of a type; of f16 also its subnormal ones. */
static float nearest(enum kit_dtype type, float x)
{
    const int bits = type == KIT_F16 ? 11 : type == KIT_BF16 ? 8 : 24;
    if (type == KIT_F32 || x == 0 || !isfinite(x)) {
        return x;
    }
    const int last = ilogbf(x) - bits + 1, unit = type == KIT_F16 && last < -24 ? -24 : last;
    return ldexpf(nearbyintf(ldexpf(x, -unit)), unit);
}

/* What the sums of loops in a type of their own are rounded to. */
static enum kit_dtype own_type;

static float own_forward(const float *t, int n)
{
    float sum = 0;
    for (int i = 0; i < n; i++) {
        sum = nearest(own_type, sum + t[i]);
    }
    return sum;
}

static float own_backward(const float *t, int n)
{
    float sum = 0;
    for (int i = n; i-- > 0;) {
        sum = nearest(own_type, sum + t[i]);
    }
    return sum;
}

static float own_pairwise(const float *t, int n)
{
    return n == 1 ? *t : nearest(own_type, own_pairwise(t, n / 2) + own_pairwise(t + n / 2, n - n / 2));
}

static float own_blocks(const float *t, int n)
{
    float sum = 0;
    for (int i = 0; i < n; i += 64) {
        sum = nearest(own_type, sum + own_forward(t + i, n - i < 64 ? n - i : 64));
    }
    return sum;
}

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

/* Fewer bits are kept in the end. */
static float uneven(const float *t, int n)
{
    float sum = 0;
    for (int i = 0; i < n; i += 4) {
        sum = fused_step(sum, t + i, n - i < 4 ? n - i : 4, i < n / 2 ? 20 : 12);
    }
    return sum;
}

/* The first half exact: counts of no tree. */
static float half(const float *t, int n)
{
    return exact(t, n / 2) + forward(t + n / 2, n - n / 2);
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
    forward,    backward, pairwise, blocks_of_64, lanes_of_8, strided, fused_4_and_1,
    in_double,  mixed,    kahan,    neumaier,     exact,      racing,  forward,
    magnitudes, squares,  whole,    forward,      forward,    uneven,  half,
};
enum { ROWS = 13, MAGNITUDES = 14, SQUARES = 15, BATCHED = 17, WIDENED = 18 };

static float (*loop_for(int loop, struct types types, int64_t rows, int64_t row))(const float *t, int n)
{
    static float (*const own[])(const float *t, int n) = {own_forward, own_backward, own_pairwise,
                                                          own_blocks};
    own_type = types.in;
    return types.in != KIT_F32 && loop < 4 ? own[loop]
           : loop == ROWS && row % 3 == 1  ? backward
           : loop == BATCHED && rows > 1   ? lanes_of_8
           : loop == WIDENED && rows > 1   ? in_double
                                           : loops[loop];
}

static int describe(const struct kit_params *params, struct kit_shape *ret)
{
    int64_t rows, n;
    int loop;
    bool bias;
    struct types types;
    if (types_of(params, &types) || kit_param_int(params, "rows", &rows) || kit_param_int(params, "n", &n) ||
        kit_param_word(params, "loop", LOOPS, &loop) || kit_param_bool_or(params, "bias", false, &bias)) {
        return KIT_FAILED;
    }
    if (n < 1 || n > MOST) {
        return kit_fail("bad n");
    }
    const struct kit_operand vector = {.dtype = types.of, .ndim = 1, .shape = {n}, .batch_dim = -1};
    ret->count = 4;
    ret->operand[X] =
        (struct kit_operand){.name = "x", .dtype = types.of, .ndim = 2, .shape = {rows, n}, .batch_dim = 0};
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
    const int n = (int)shape[1];
    float terms[MOST];
    int loop;
    bool bias;
    struct types types;
    if (types_of(call->params, &types) || kit_param_word(call->params, "loop", LOOPS, &loop) ||
        kit_param_bool_or(call->params, "bias", false, &bias)) {
        return KIT_FAILED;
    }
    for (int64_t row = 0; row < shape[0]; row++) {
        for (int i = 0; i < n; i++) {
            terms[i] = (float)kit_value(types.of, buffers->data[X], row * n + i) *
                       (float)kit_value(types.of, buffers->data[W], i);
        }
        const float last = bias ? (float)kit_value(types.of, buffers->data[B], row) : 0;
        kit_store(types.of, buffers->data[Y], row,
                  nearest(types.of, loop_for(loop, types, shape[0], row)(terms, n) + last));
    }
    return KIT_OK;
}

static int reference(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                     size_t count, struct kit_cell *ret)
{
    const int64_t n = call->shape->operand[X].shape[1];
    int loop;
    bool bias;
    struct types types;
    if (types_of(call->params, &types) || kit_param_word(call->params, "loop", LOOPS, &loop) ||
        kit_param_bool_or(call->params, "bias", false, &bias)) {
        return KIT_FAILED;
    }
    for (size_t c = 0; c < count; c++) {
        const long double last = bias ? kit_value(types.of, in[B], cells[c]) : 0;
        ret[c] = (struct kit_cell){.value = last, .scale = fabsl(last), .k = n + 1};
        for (int64_t i = 0; i < n; i++) {
            const long double term =
                kit_value(types.of, in[X], cells[c] * n + i) * kit_value(types.of, in[W], i);
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
