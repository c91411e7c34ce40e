/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations with a fault that only several host threads at once bring about: y = 2 x by way of a buffer.
 * Param `fault` names what is wrong; neighbours do almost the same.
 */
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "probes/kit/op.h"

#define FAULTS "none|crossing|disturbed"
enum fault { NONE, CROSSING /* one buffer for all */, DISTURBED /* another last bit beside others */ };
enum operand { X, Y };
enum { LENGTH = 256 };

static int describe(const struct kit_params *params, struct kit_shape *ret)
{
    int fault;
    if (kit_param_word(params, "fault", FAULTS, &fault)) {
        return KIT_FAILED;
    }
    ret->count = 2;
    ret->operand[X] =
        (struct kit_operand){.name = "x", .dtype = KIT_F32, .ndim = 1, .shape = {LENGTH}, .batch_dim = -1};
    ret->operand[Y] = (struct kit_operand){
        .name = "y", .role = KIT_OUT, .dtype = KIT_F32, .ndim = 1, .shape = {LENGTH}, .batch_dim = -1};
    ret->flops = LENGTH;
    return KIT_OK;
}

static int run(struct kit_call *call, const struct kit_buffers *buffers)
{
    static float shared[LENGTH];
    static _Thread_local float own[LENGTH];
    static atomic_int inside;
    const struct timespec moment = {.tv_nsec = 100000};
    float *const y = buffers->data[Y];
    int fault;
    if (kit_param_word(call->params, "fault", FAULTS, &fault)) {
        return KIT_FAILED;
    }
    float *const by_way = fault == CROSSING ? shared : own;
    bool others = atomic_fetch_add(&inside, 1) > 0;
    memcpy(by_way, buffers->data[X], sizeof(own));
    nanosleep(&moment, NULL);
    others = others || inside > 1;
    for (int i = 0; i < LENGTH; i++) {
        y[i] = 2 * by_way[i];
    }
    if (others && fault == DISTURBED) {
        y[5] *= 1 + 0x1p-20f;
    }
    inside--;
    return KIT_OK;
}

static int reference(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                     size_t count, struct kit_cell *ret)
{
    for (size_t c = 0; c < count; c++) {
        const long double value = 2 * (long double)((const float *)in[X])[cells[c]];
        ret[c] = (struct kit_cell){.value = value, .scale = value < 0 ? -value : value, .k = 1};
    }
    return KIT_OK;
}

static const struct op twice = {.name = "twice", .describe = describe, .run = run, .reference = reference};

int main(void)
{
    static const struct op *const ops[] = {&twice, NULL};
    static const struct kit_program program = {
        .name = "callers", .backend = "cpu", .ops = ops, .concurrent = true};
    return kit_main(&program);
}
