/* SPDX-License-Identifier: Apache-2.0
 *
 * Scatter and index operations but for the loops and kernels that do them: parameters, operands, references.
 */
#include "probes/kit/scatter.h"

#include <stdlib.h>
#include <string.h>

#include "probes/kit/dtype.h"

int kit_scatter_read(const struct kit_params *params, struct kit_scatter *g)
{
    *g = (struct kit_scatter){.groups = 0};
    const struct {
        const char *name;
        int64_t *target;
        int64_t low;
    } needed[] = {{"groups", &g->groups, 1},
                  {"n", &g->n, 1},
                  {"rows", &g->rows, 1},
                  {"width", &g->width, 1},
                  {"multiplicity", &g->multiplicity, 0}};
    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
        if (kit_param_int(params, needed[i].name, needed[i].target) != KIT_OK) {
            return KIT_FAILED;
        }
        if (*needed[i].target < needed[i].low) {
            return kit_fail("parameter '%s' is too small", needed[i].name);
        }
    }
    if (kit_param_bool_or(params, "elementwise", false, &g->elementwise) != KIT_OK ||
        kit_param_int_or(params, "padding", -1, &g->padding) != KIT_OK) {
        return KIT_FAILED;
    }
    return g->padding >= -1 && g->padding < g->rows
               ? kit_param_dtype(params, "dtype", "f32|f64|f16|bf16|s32|s64", &g->dtype)
               : kit_fail("parameter 'padding' is no index: it must be below 'rows'");
}

int64_t kit_scatter_cell(const struct kit_scatter *g, const int64_t *indices, int64_t element)
{
    const int64_t source = element / g->width, column = element % g->width;
    const int64_t index = indices[g->elementwise ? element : source];
    return index == g->padding ? -1 : (source / g->n * g->rows + index) * g->width + column;
}

static int describe(const struct kit_params *params, struct kit_shape *ret, bool onto, bool count)
{
    struct kit_scatter g;
    if (kit_scatter_read(params, &g) != KIT_OK) {
        return KIT_FAILED;
    }
    if (count && g.width != 1) {
        return kit_fail("parameter 'width' must be 1: an index is counted once");
    }
    ret->operand[KIT_SCATTER_INDICES] =
        (struct kit_operand){.name = "indices",
                             .dtype = KIT_S64,
                             .ndim = g.elementwise ? 3 : 2,
                             .shape = {g.groups, g.n, g.elementwise ? g.width : 0},
                             .batch_dim = -1,
                             .fill = KIT_INDICES,
                             .below = g.rows,
                             .multiplicity = g.multiplicity};
    ret->operand[KIT_SCATTER_SOURCE] = (struct kit_operand){
        .name = "src", .dtype = g.dtype, .ndim = 3, .shape = {g.groups, g.n, g.width}, .batch_dim = -1};
    ret->operand[KIT_SCATTER_TARGET] = (struct kit_operand){.name = "dst",
                                                            .role = onto ? KIT_INOUT : KIT_OUT,
                                                            .dtype = g.dtype,
                                                            .ndim = 3,
                                                            .shape = {g.groups, g.rows, g.width},
                                                            .batch_dim = -1};
    if (count) {
        ret->operand[KIT_SCATTER_SOURCE] = ret->operand[KIT_SCATTER_TARGET];
    }
    ret->count = count ? 2 : 3;
    ret->flops = (double)(g.groups * g.n * g.width);
    return KIT_OK;
}

int kit_scatter_describe_add(const struct kit_params *params, struct kit_shape *ret)
{
    return describe(params, ret, false, false);
}

int kit_scatter_describe_onto(const struct kit_params *params, struct kit_shape *ret)
{
    return describe(params, ret, true, false);
}

int kit_scatter_describe_count(const struct kit_params *params, struct kit_shape *ret)
{
    return describe(params, ret, false, true);
}

/* Sums of every cell in long double: four times the digits that f32 keeps, 11 bits beyond f64. */
int kit_scatter_reference(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                          size_t count, struct kit_cell *ret)
{
    struct kit_scatter g;
    if (kit_scatter_read(call->params, &g) != KIT_OK) {
        return KIT_FAILED;
    }
    const int64_t total = g.groups * g.rows * g.width;
    const bool counts = output == KIT_SCATTER_SOURCE;
    const void *const before = call->shape->operand[output].role == KIT_INOUT ? in[output] : NULL;
    struct kit_cell *sums = calloc((size_t)total, sizeof(*sums));
    if (!sums) {
        return kit_fail("out of memory");
    }
    for (int64_t cell = 0; before && cell < total; cell++) {
        const long double value = kit_value(g.dtype, before, cell);
        sums[cell] = (struct kit_cell){.value = value, .scale = value < 0 ? -value : value, .k = 1};
    }
    for (int64_t element = 0; element < g.groups * g.n * g.width; element++) {
        const int64_t cell = kit_scatter_cell(&g, in[KIT_SCATTER_INDICES], element);
        if (cell >= 0) {
            const long double value = counts ? 1 : kit_value(g.dtype, in[KIT_SCATTER_SOURCE], element);
            sums[cell].value += value;
            sums[cell].scale += value < 0 ? -value : value;
            sums[cell].k++;
        }
    }
    for (size_t i = 0; i < count; i++) {
        ret[i] = sums[cells[i]];
        ret[i].k = ret[i].k > 0 ? ret[i].k : 1;
    }
    free(sums);
    return KIT_OK;
}

int kit_scatter_accepts(struct kit_call *call, int output, const void *const *in, const void *logical,
                        int64_t *ret_wrong)
{
    enum { NOBODY_WROTE, NOT_THEIRS, THEIRS };
    struct kit_scatter g;
    if (kit_scatter_read(call->params, &g) != KIT_OK) {
        return KIT_FAILED;
    }
    const size_t size = kit_dtype_size(g.dtype);
    const int64_t cells = g.groups * g.rows * g.width;
    const char *src = in[KIT_SCATTER_SOURCE], *before = in[output], *after = logical;
    char *const state = calloc((size_t)cells, 1);
    if (!state) {
        return kit_fail("out of memory");
    }
    for (int64_t element = 0; element < g.groups * g.n * g.width; element++) {
        const int64_t cell = kit_scatter_cell(&g, in[KIT_SCATTER_INDICES], element);
        if (cell >= 0 && state[cell] != THEIRS) {
            const bool equal = memcmp(after + (size_t)cell * size, src + (size_t)element * size, size) == 0;
            state[cell] = equal ? THEIRS : NOT_THEIRS;
        }
    }
    *ret_wrong = 0;
    for (int64_t cell = 0; cell < cells; cell++) {
        const bool kept = memcmp(after + (size_t)cell * size, before + (size_t)cell * size, size) == 0;
        *ret_wrong += state[cell] == NOT_THEIRS || (state[cell] == NOBODY_WROTE && !kept);
    }
    free(state);
    return KIT_OK;
}
