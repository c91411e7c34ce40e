/* SPDX-License-Identifier: Apache-2.0
 *
 * What reductions over ranks have in common: parameters, operands, what is right.
 */
#include "probes/mpi/reduction.h"

#include <stdlib.h>
#include <string.h>

#include "probes/kit/dtype.h"
#include "probes/mpi/shared.h"

static const enum board_type board_types[KIT_DTYPE_MAX] = {
    [KIT_F32] = BOARD_F32, [KIT_F64] = BOARD_F64, [KIT_S32] = BOARD_S32};

int reduction_read(const struct kit_params *params, struct reduction *ret)
{
    return kit_param_string(params, "library", &ret->library) ||
                   kit_param_int(params, "ranks", &ret->ranks) ||
                   kit_param_dtype(params, "dtype", "f32|f64|s32", &ret->dtype) ||
                   kit_param_word(params, "reduction", "sum|max", &ret->reduction) ||
                   kit_param_int(params, "tensors", &ret->tensors) ||
                   kit_param_int(params, "width", &ret->width) ||
                   kit_param_word_or(params, "placement", "kept|shuffled", &ret->shuffled)
               ? KIT_FAILED
               : KIT_OK;
}

void reduction_describe_values(const struct reduction *r, struct kit_shape *ret)
{
    ret->count = 2;
    ret->operand[REDUCTION_VALUES] = (struct kit_operand){.name = "values",
                                                          .role = KIT_IN,
                                                          .dtype = r->dtype,
                                                          .ndim = 3,
                                                          .shape = {r->ranks, r->tensors, r->width},
                                                          .batch_dim = 1};
    ret->flops = (double)r->ranks * (double)r->tensors * (double)r->width;
}

void reduction_describe_everywhere(const struct reduction *r, struct kit_shape *ret)
{
    ret->count = 3;
    ret->operand[REDUCTION_RESULT] = ret->operand[REDUCTION_VALUES];
    ret->operand[REDUCTION_RESULT].name = "result";
    ret->operand[REDUCTION_RESULT].role = KIT_OUT;
    ret->operand[REDUCTION_DISAGREEING] = (struct kit_operand){.name = "disagreeing",
                                                               .role = KIT_OUT,
                                                               .dtype = KIT_S32,
                                                               .ndim = 1,
                                                               .shape = {r->ranks},
                                                               .batch_dim = -1};
    ret->flops *= (double)r->ranks;
}

int reduction_describe_all(const struct kit_params *params, struct kit_shape *ret)
{
    struct reduction r;
    const int rc = reduction_read(params, &r);
    if (rc == KIT_OK) {
        reduction_describe_values(&r, ret);
        reduction_describe_everywhere(&r, ret);
    }
    return rc;
}

int reduction_describe_one(const struct kit_params *params, struct kit_shape *ret)
{
    struct reduction r;
    const int rc = reduction_read(params, &r);
    if (rc == KIT_OK) {
        reduction_describe_values(&r, ret);
        ret->operand[REDUCTION_RESULT] = (struct kit_operand){.name = "result",
                                                              .role = KIT_OUT,
                                                              .dtype = r.dtype,
                                                              .ndim = 2,
                                                              .shape = {r.tensors, r.width},
                                                              .batch_dim = 0};
    }
    return rc;
}

int reduction_prepare(struct kit_call *call, struct kit_prepared *ret)
{
    struct reduction *const r = calloc(1, sizeof(*r));
    call->state = r;
    if (!r) {
        return kit_fail("out of memory");
    }
    const int rc = reduction_read(call->params, r);
    return rc ? rc : world_of(r->library, r->ranks, &r->world);
}

struct board_step reduction_step(const struct reduction *r, const void *from, const void *to)
{
    const int64_t count = r->tensors * r->width, bytes = count * (int64_t)kit_dtype_size(r->dtype);
    return (struct board_step){.type = board_types[r->dtype],
                               .reduction = r->reduction ? BOARD_MAX : BOARD_SUM,
                               .count = count,
                               .from = shared_place(from),
                               .from_stride = bytes,
                               .to = shared_place(to),
                               .to_stride = bytes};
}

/* How many elements of each rank's result differ from rank 0's by their bits. */
void reduction_disagreeing(const char *result, int64_t ranks, int64_t count, size_t size, int32_t *ret)
{
    const size_t bytes = (size_t)count * size;
    for (int64_t rank = 0; rank < ranks; rank++) {
        const char *const own = result + (size_t)rank * bytes;
        ret[rank] = 0;
        for (size_t at = 0; at < bytes && memcmp(own, result, bytes) != 0; at += size) {
            ret[rank] += memcmp(own + at, result + at, size) != 0;
        }
    }
}

int reduction_run(struct kit_call *call, enum board_call what, const struct board_step *steps, int count)
{
    struct reduction *const r = call->state;
    const int64_t placement = r->shuffled ? ++r->runs : 0;
    return world_do(r->world, what, call->choice, placement, steps, count);
}

int reduction_reference(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                        size_t count, struct kit_cell *ret)
{
    const struct kit_operand *const values = &call->shape->operand[REDUCTION_VALUES];
    const struct reduction *const r = call->state;
    const int64_t each = values->shape[1] * values->shape[2];
    for (size_t c = 0; c < count; c++) {
        ret[c] = (struct kit_cell){.k = r->ranks};
        for (int64_t rank = 0; rank < r->ranks && output == REDUCTION_RESULT; rank++) { /* none disagrees */
            const long double value =
                kit_value(r->dtype, in[REDUCTION_VALUES], rank * each + cells[c] % each);
            const bool is_largest = rank == 0 || value > ret[c].value;
            ret[c].scale += value < 0 ? -value : value;
            ret[c].value = !r->reduction ? ret[c].value + value : is_largest ? value : ret[c].value;
        }
    }
    return KIT_OK;
}
