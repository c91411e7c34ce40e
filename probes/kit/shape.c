/* SPDX-License-Identifier: Apache-2.0
 *
 * Shapes. An op's description is checked once here, so the rest of the kit may trust it.
 */
#include "probes/kit/shape.h"

#include <string.h>

#include "probes/kit/dtype.h"
#include "probes/kit/params.h"

#define MAX_ELEMENTS ((int64_t)1 << 40)

int64_t kit_elements(const struct kit_operand *operand)
{
    int64_t count = 1;
    for (int d = 0; d < operand->ndim; d++) {
        count *= operand->shape[d];
    }
    return count;
}

size_t kit_dense_bytes(const struct kit_operand *operand)
{
    return (size_t)kit_elements(operand) * kit_dtype_size(operand->dtype);
}

static bool has_strides(const struct kit_operand *operand)
{
    for (int d = 0; d < operand->ndim; d++) {
        if (operand->stride[d]) {
            return true;
        }
    }
    return false;
}

size_t kit_strided_bytes(const struct kit_operand *operand)
{
    if (!has_strides(operand)) {
        return kit_dense_bytes(operand);
    }
    int64_t last = 0;
    for (int d = 0; d < operand->ndim; d++) {
        last += (operand->shape[d] - 1) * operand->stride[d];
    }
    return (size_t)(last + 1) * kit_dtype_size(operand->dtype);
}

bool kit_is_dense(const struct kit_operand *operand)
{
    if (operand->chosen) {
        return false;
    }
    int64_t dense = 1;
    for (int d = operand->ndim - 1; has_strides(operand) && d >= 0; d--) {
        if (operand->shape[d] != 1 && operand->stride[d] != dense) {
            return false;
        }
        dense *= operand->shape[d];
    }
    return true;
}

size_t kit_operand_offset(const struct kit_operand *operand, size_t offset)
{
    const size_t element = kit_dtype_size(operand->dtype);
    return (offset + element - 1) / element * element;
}

int64_t kit_leading(const struct kit_call *call, int operand)
{
    const struct kit_operand *const matrix = &call->shape->operand[operand];
    const int64_t row = matrix->stride[matrix->ndim - 2], column = matrix->stride[matrix->ndim - 1];
    return !has_strides(matrix) ? matrix->shape[matrix->ndim - 1] : row > column ? row : column;
}

int kit_shape_widen(struct kit_shape *shape, int elements)
{
    bool any = false;
    for (int i = 0; i < shape->count; i++) {
        struct kit_operand *const matrix = &shape->operand[i];
        if (!matrix->leading) {
            continue;
        }
        if (!has_strides(matrix)) {
            matrix->stride[0] = matrix->shape[1];
            matrix->stride[1] = 1;
        }
        matrix->stride[matrix->stride[0] < matrix->stride[1]] += elements;
        any = true;
    }
    return any ? KIT_OK
               : kit_skip("unsupported", "no operand has a leading dimension that can be made longer");
}

bool kit_is_input(const struct kit_operand *operand)
{
    return operand->role != KIT_OUT;
}

bool kit_is_output(const struct kit_operand *operand)
{
    return operand->role == KIT_OUT || operand->role == KIT_INOUT;
}

bool kit_is_changed(const struct kit_operand *operand)
{
    return operand->role != KIT_IN;
}

/* Walks the rows (last dimension) of a tensor; native offsets in elements. */
struct walk {
    const struct kit_operand *operand;
    int64_t index[KIT_MAX_DIMS];
    int64_t row, offset; /* of the current row */
};

static bool next_row(struct walk *walk)
{
    const struct kit_operand *operand = walk->operand;
    for (int d = operand->ndim - 2; d >= 0; d--) {
        walk->offset += operand->stride[d];
        if (++walk->index[d] < operand->shape[d]) {
            walk->row++;
            return true;
        }
        walk->offset -= operand->stride[d] * operand->shape[d];
        walk->index[d] = 0;
    }
    return false;
}

static void copy_row(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t count,
                     size_t size)
{
    if (to_step == 1 && from_step == 1) {
        memcpy(to, from, (size_t)count * size);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        memcpy(to + (size_t)(i * to_step) * size, from + (size_t)(i * from_step) * size, size);
    }
}

void kit_strided_pack(const struct kit_operand *operand, const void *logical, void *native)
{
    if (kit_is_dense(operand)) {
        memcpy(native, logical, kit_dense_bytes(operand));
        return;
    }
    const size_t size = kit_dtype_size(operand->dtype);
    const int64_t count = operand->shape[operand->ndim - 1];
    const int64_t step = operand->stride[operand->ndim - 1];
    struct walk walk = {.operand = operand};
    do {
        copy_row((char *)native + (size_t)walk.offset * size, step,
                 (const char *)logical + (size_t)(walk.row * count) * size, 1, count, size);
    } while (next_row(&walk));
}

void kit_strided_unpack(const struct kit_operand *operand, const void *native, void *logical)
{
    if (kit_is_dense(operand)) {
        memcpy(logical, native, kit_dense_bytes(operand));
        return;
    }
    const size_t size = kit_dtype_size(operand->dtype);
    const int64_t count = operand->shape[operand->ndim - 1];
    const int64_t step = operand->stride[operand->ndim - 1];
    struct walk walk = {.operand = operand};
    do {
        copy_row((char *)logical + (size_t)(walk.row * count) * size, 1,
                 (const char *)native + (size_t)walk.offset * size, step, count, size);
    } while (next_row(&walk));
}

static void mask_triangle(const struct kit_operand *operand, uint8_t *mask)
{
    const int64_t columns = operand->shape[operand->ndim - 1];
    const int64_t rows = operand->shape[operand->ndim - 2];
    const int64_t matrices = kit_elements(operand) / (rows * columns);
    const bool upper = operand->written == KIT_UPPER;
    for (int64_t m = 0; m < matrices; m++) {
        for (int64_t i = 0; i < rows; i++) {
            for (int64_t j = 0; j < columns; j++) {
                *mask++ = upper ? j >= i : j <= i;
            }
        }
    }
}

static void mask_list(const struct kit_shape *shape, const struct kit_operand *operand, const void *list,
                      uint8_t *mask)
{
    const struct kit_operand *rows = &shape->operand[operand->list];
    const size_t row = (size_t)(kit_elements(operand) / operand->shape[0]);
    const int64_t count = kit_elements(rows);
    memset(mask, 0, row * (size_t)operand->shape[0]);
    for (int64_t i = 0; i < count; i++) {
        const int64_t index = (int64_t)kit_value(rows->dtype, list, i);
        if (index >= 0 && index < operand->shape[0]) {
            memset(mask + (size_t)index * row, 1, row);
        }
    }
}

bool kit_written_mask(const struct kit_shape *shape, int operand, const void *list, uint8_t *mask)
{
    const struct kit_operand *item = &shape->operand[operand];
    switch (item->written) {
    case KIT_UPPER:
    case KIT_LOWER:
        mask_triangle(item, mask);
        return true;
    case KIT_LIST:
        mask_list(shape, item, list, mask);
        return true;
    default:
        return false;
    }
}

void kit_slice_mask(const struct kit_operand *operand, int64_t place, uint8_t *mask)
{
    int64_t inner = 1;
    for (int d = operand->batch_dim + 1; d < operand->ndim; d++) {
        inner *= operand->shape[d];
    }
    const int64_t samples = operand->shape[operand->batch_dim];
    const int64_t outer = kit_elements(operand) / (inner * samples);
    for (int64_t o = 0; o < outer; o++) {
        for (int64_t s = 0; s < samples; s++, mask += inner) {
            if (s != place) {
                memset(mask, 0, (size_t)inner);
            }
        }
    }
}

static int check_extents(const struct kit_operand *operand)
{
    if (operand->ndim < 1 || operand->ndim > KIT_MAX_DIMS) {
        return kit_fail("bad operand '%s': %d dimensions", operand->name, operand->ndim);
    }
    int64_t count = 1;
    for (int d = 0; d < operand->ndim; d++) {
        if (operand->shape[d] < 1 || operand->shape[d] > MAX_ELEMENTS / count) {
            return kit_fail("bad operand '%s': extent %lld of dimension %d", operand->name,
                            (long long)operand->shape[d], d);
        }
        count *= operand->shape[d];
    }
    return KIT_OK;
}

/* Strides must keep elements apart: sorted by stride, each dimension steps over all the smaller ones. */
static int check_strides(const struct kit_operand *operand)
{
    if (!has_strides(operand)) {
        return KIT_OK;
    }
    int64_t covered = 1; /* elements that the dimensions seen so far reach over */
    bool seen[KIT_MAX_DIMS] = {false};
    for (int round = 0; round < operand->ndim; round++) {
        int least = 0;
        while (seen[least]) {
            least++;
        }
        for (int d = least + 1; d < operand->ndim; d++) {
            if (!seen[d] && operand->stride[d] < operand->stride[least]) {
                least = d;
            }
        }
        const int64_t stride = operand->stride[least];
        const int64_t steps = operand->shape[least] - 1;
        seen[least] = true;
        if (steps > 0 && (stride < covered || stride > (MAX_ELEMENTS - covered) / steps)) {
            return kit_fail("bad operand '%s': stride %lld of dimension %d overlaps or is too large",
                            operand->name, (long long)stride, least);
        }
        covered += steps * stride;
    }
    return KIT_OK;
}

static int check_fill(const struct kit_operand *operand)
{
    const bool is_float = kit_dtype_is_float(operand->dtype);
    const bool needs_integers = operand->fill == KIT_INDICES || operand->fill == KIT_PERMUTATION;
    const bool needs_below = operand->fill == KIT_INDICES || operand->fill == KIT_TIES;
    if (needs_integers && is_float) {
        return kit_fail("bad operand '%s': indices of a float type", operand->name);
    }
    if (needs_below && operand->below < 1) {
        return kit_fail("bad operand '%s': 'below' is %lld", operand->name, (long long)operand->below);
    }
    const bool reaches = operand->dtype == KIT_F32 || operand->dtype == KIT_F64 || operand->dtype == KIT_BF16;
    if (operand->fill == KIT_BOUNDED && (!reaches || operand->exponent < -8 || operand->exponent > 0)) {
        return kit_fail("bad operand '%s': bounded values are f32, f64 or bf16 up to 2^-8 .. 2^0",
                        operand->name);
    }
    if (operand->fill >= KIT_TRIANGLE &&
        (!is_float || operand->ndim < 2 ||
         operand->shape[operand->ndim - 1] != operand->shape[operand->ndim - 2])) {
        return kit_fail("bad operand '%s': a half of a matrix needs a square matrix of floats",
                        operand->name);
    }
    return KIT_OK;
}

static int check_written(const struct kit_shape *shape, const struct kit_operand *operand)
{
    if ((operand->written == KIT_UPPER || operand->written == KIT_LOWER) && operand->ndim < 2) {
        return kit_fail("bad operand '%s': a triangle needs two dimensions", operand->name);
    }
    if (operand->written == KIT_LIST && (operand->list < 0 || operand->list >= shape->count ||
                                         !kit_is_input(&shape->operand[operand->list]) ||
                                         kit_dtype_is_float(shape->operand[operand->list].dtype))) {
        return kit_fail("bad operand '%s': the list of its rows is not an integer input", operand->name);
    }
    return KIT_OK;
}

static int check_operand(const struct kit_shape *shape, int index)
{
    const struct kit_operand *operand = &shape->operand[index];
    if (!operand->name || (unsigned)operand->dtype >= KIT_DTYPE_MAX) {
        return kit_fail("bad operand %d: no name or no dtype", index);
    }
    for (int i = 0; i < index; i++) {
        if (strcmp(shape->operand[i].name, operand->name) == 0) {
            return kit_fail("bad operand '%s': the name occurs twice", operand->name);
        }
    }
    if (check_extents(operand) || check_strides(operand) || check_fill(operand) ||
        check_written(shape, operand)) {
        return KIT_FAILED;
    }
    if (operand->batch_dim < -1 || operand->batch_dim >= operand->ndim) {
        return kit_fail("bad operand '%s': batch dimension %d", operand->name, operand->batch_dim);
    }
    if (operand->leading && (operand->ndim != 2 || operand->chosen)) {
        return kit_fail("bad operand '%s': only a matrix has a leading dimension", operand->name);
    }
    if (operand->align & (operand->align - 1)) {
        return kit_fail("bad operand '%s': alignment %zu is no power of two", operand->name, operand->align);
    }
    return KIT_OK;
}

int kit_shape_make(const struct op *op, struct kit_params *params, struct kit_shape *ret)
{
    memset(ret, 0, sizeof(*ret));
    for (int i = 0; i < KIT_MAX_OPERANDS; i++) {
        ret->operand[i].batch_dim = -1;
    }
    const int rc = op->describe(params, ret);
    if (rc) {
        return rc;
    }
    if (kit_params_all_read(params)) {
        return KIT_FAILED;
    }
    bool writes = false;
    if (ret->count < 1 || ret->count > KIT_MAX_OPERANDS) {
        return kit_fail("bad operation '%s': %d operands", op->name, ret->count);
    }
    for (int i = 0; i < ret->count; i++) {
        if (check_operand(ret, i)) {
            return KIT_FAILED;
        }
        writes = writes || kit_is_output(&ret->operand[i]);
    }
    return writes ? KIT_OK : kit_fail("bad operation '%s': it has no output", op->name);
}
