/* SPDX-License-Identifier: Apache-2.0
 *
 * Histograms for controls: parameters `bins` and `n`, operands, reference.
 */
#include "probes/kit/control.h"

#include <stdlib.h>

#include "probes/kit/dtype.h"

static int describe(const struct kit_params *params, struct kit_shape *ret, enum kit_dtype dtype,
                    enum kit_fill fill)
{
    int64_t bins, n;
    if (kit_param_int(params, "bins", &bins) || kit_param_int(params, "n", &n)) {
        return KIT_FAILED;
    }
    ret->count = 3;
    ret->operand[KIT_CONTROL_INDICES] = (struct kit_operand){.name = "indices",
                                                             .role = KIT_IN,
                                                             .dtype = KIT_S32,
                                                             .ndim = 1,
                                                             .shape = {n},
                                                             .batch_dim = -1,
                                                             .fill = KIT_INDICES,
                                                             .below = bins};
    ret->operand[KIT_CONTROL_VALUES] = (struct kit_operand){.name = "values",
                                                            .role = KIT_IN,
                                                            .dtype = dtype,
                                                            .ndim = 1,
                                                            .shape = {n},
                                                            .batch_dim = -1,
                                                            .fill = fill,
                                                            .below = 17};
    ret->operand[KIT_CONTROL_BINS] = (struct kit_operand){
        .name = "bins", .role = KIT_OUT, .dtype = dtype, .ndim = 1, .shape = {bins}, .batch_dim = -1};
    ret->flops = (double)n;
    return KIT_OK;
}

int kit_control_describe_float(const struct kit_params *params, struct kit_shape *ret)
{
    return describe(params, ret, KIT_F32, KIT_VALUES);
}

int kit_control_describe_integer(const struct kit_params *params, struct kit_shape *ret)
{
    return describe(params, ret, KIT_S32, KIT_VALUES);
}

/* Integers between -8 and 8 in every set. */
int kit_control_describe_exact(const struct kit_params *params, struct kit_shape *ret)
{
    return describe(params, ret, KIT_F32, KIT_TIES);
}

int kit_control_reference(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                          size_t count, struct kit_cell *ret)
{
    const struct kit_operand *const values = &call->shape->operand[KIT_CONTROL_VALUES];
    const int32_t *const indices = in[KIT_CONTROL_INDICES];
    struct kit_cell *const bins =
        calloc((size_t)call->shape->operand[KIT_CONTROL_BINS].shape[0], sizeof(*bins));
    if (!bins) {
        return kit_fail("out of memory");
    }
    for (int64_t i = 0; i < values->shape[0]; i++) {
        const long double value = kit_value(values->dtype, in[KIT_CONTROL_VALUES], i);
        struct kit_cell *const bin = &bins[indices[i]];
        bin->value += value;
        bin->scale += value < 0 ? -value : value;
        bin->k++;
    }
    for (size_t i = 0; i < count; i++) {
        ret[i] = bins[cells[i]];
    }
    free(bins);
    return KIT_OK;
}
