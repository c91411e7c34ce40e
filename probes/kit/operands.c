/* SPDX-License-Identifier: Apache-2.0
 *
 * The buffers of one prepared operation. Memory is constant in the number of runs: a work buffer, the content
 * before, the first output, and scratch for one logical output twice.
 */
#include "probes/kit/operands.h"

#include <stdlib.h>
#include <string.h>

#include "probes/kit/dtype.h"
#include "probes/kit/shape.h"

#define GUARD_BYTES 1024
#define WORKSPACE_ALIGN 256          /* what the libraries of the CUDA backend ask for */
#define GUARD_BYTE 0x3c              /* none of the poison bytes */
#define RESERVE ((int64_t)128 << 20) /* for the reference's cells, the library, the process itself */

static size_t native_bytes(const struct kit_shape *shape, const struct kit_prepared *prepared, int index)
{
    const struct kit_operand *operand = &shape->operand[index];
    return operand->chosen ? prepared->native_bytes[index] : kit_strided_bytes(operand);
}

static size_t largest_output(const struct kit_shape *shape)
{
    size_t most = 0;
    for (int i = 0; i < shape->count; i++) {
        const struct kit_operand *operand = &shape->operand[i];
        const size_t bytes = kit_is_output(operand) ? kit_dense_bytes(operand) : 0;
        most = bytes > most ? bytes : most;
    }
    return most;
}

static size_t largest_native(const struct kit_shape *shape, const struct kit_prepared *prepared)
{
    size_t most = 0;
    for (int i = 0; i < shape->count; i++) {
        const size_t bytes = native_bytes(shape, prepared, i);
        most = bytes > most ? bytes : most;
    }
    return most;
}

int64_t kit_operands_need(const struct kit_shape *shape, const struct kit_prepared *prepared, int lanes)
{
    const size_t spare = (size_t)lanes - 1; /* lanes beside the first */
    size_t need = 2 * largest_output(shape) + largest_native(shape, prepared);
    need += (size_t)lanes * prepared->workspace_bytes;
    for (int i = 0; i < shape->count; i++) {
        const struct kit_operand *operand = &shape->operand[i];
        const size_t bytes = native_bytes(shape, prepared, i);
        need += bytes + 2 * GUARD_BYTES; /* work */
        need += kit_is_input(operand) ? bytes + kit_dense_bytes(operand) : 0;
        /* first output, and a byte per element that says whether it is digested */
        need += kit_is_output(operand) ? bytes + (size_t)kit_elements(operand) : 0;
        need += kit_is_changed(operand) ? spare * (bytes + 2 * GUARD_BYTES) : 0;
    }
    return (int64_t)need;
}

static int block_alloc(const struct kit_backend *backend, struct kit_block *block, size_t bytes, size_t align,
                       size_t offset)
{
    const struct kit_pattern guard = KIT_PATTERN_BYTE(GUARD_BYTE);
    const size_t front = (align > GUARD_BYTES ? align : GUARD_BYTES) + offset;
    block->base = backend->alloc(front + bytes + GUARD_BYTES, align);
    if (!block->base) {
        return kit_skip("memory", "cannot allocate %zu bytes for an operand", bytes);
    }
    block->data = block->base + front;
    block->bytes = bytes;
    return backend->fill(block->data - GUARD_BYTES, &guard, GUARD_BYTES) ||
                   backend->fill(block->data + bytes, &guard, GUARD_BYTES)
               ? KIT_FAILED
               : KIT_OK;
}

static int alloc_one(struct kit_operands *operands, int index, size_t offset)
{
    const struct kit_backend *backend = operands->backend;
    const struct kit_operand *operand = &operands->shape.operand[index];
    const size_t bytes = operands->bytes[index];
    for (int lane = 0; lane < operands->lanes; lane++) {
        struct kit_block *const work = &operands->lane[lane].work[index];
        if (lane > 0 && !kit_is_changed(operand)) {
            work->data = operands->lane[0].work[index].data; /* shared, so it has no base */
            continue;
        }
        const int rc = block_alloc(backend, work, bytes, operand->align ? operand->align : 64, offset);
        if (rc) {
            return rc;
        }
    }
    if (kit_is_input(operand)) {
        operands->pristine[index] = backend->alloc(bytes, 64);
        operands->logical[index] = kit_cpu.alloc(kit_dense_bytes(operand), 64);
        if (!operands->pristine[index] || !operands->logical[index]) {
            return kit_skip("memory", "cannot allocate %zu bytes for operand '%s'", bytes, operand->name);
        }
    }
    if (kit_is_output(operand)) {
        operands->first[index] = backend->alloc(bytes, 64);
        if (!operands->first[index]) {
            return kit_skip("memory", "cannot allocate %zu bytes for operand '%s'", bytes, operand->name);
        }
    }
    return KIT_OK;
}

static int alloc_scratch(struct kit_operands *operands, const struct kit_prepared *prepared)
{
    const size_t dense = largest_output(&operands->shape);
    operands->dense = kit_cpu.alloc(dense, 64);
    operands->dense_other = kit_cpu.alloc(dense, 64);
    operands->host = kit_cpu.alloc(largest_native(&operands->shape, prepared), 64);
    if (!operands->dense || !operands->dense_other || !operands->host) {
        return kit_skip("memory", "cannot allocate %zu bytes to look at an output", 2 * dense);
    }
    int rc = KIT_OK;
    for (int lane = 0; lane < operands->lanes && prepared->workspace_bytes && !rc; lane++) {
        rc = block_alloc(operands->backend, &operands->lane[lane].workspace, prepared->workspace_bytes,
                         WORKSPACE_ALIGN, 0);
    }
    return rc;
}

int kit_operands_alloc(struct kit_operands *operands, const struct kit_backend *backend, const struct op *op,
                       const struct kit_shape *shape, const struct kit_prepared *prepared, int lanes,
                       const size_t *offsets)
{
    memset(operands, 0, sizeof(*operands));
    operands->backend = backend;
    operands->op = op;
    operands->shape = *shape;
    operands->lanes = lanes;
    const int64_t need = kit_operands_need(shape, prepared, lanes) + RESERVE;
    if (need > backend->available()) { /* how much there is moves, and the text stands in the report's body */
        return kit_skip("memory", "needs %lld MiB of memory, more than is left", (long long)(need >> 20));
    }
    int rc = KIT_OK;
    for (int i = 0; i < shape->count && !rc; i++) {
        operands->bytes[i] = native_bytes(shape, prepared, i);
        rc = operands->bytes[i] ? alloc_one(operands, i, offsets[i])
                                : kit_fail("bad operand '%s': its native size is unknown after prepare",
                                           shape->operand[i].name);
    }
    rc = rc ? rc : alloc_scratch(operands, prepared);
    if (rc) {
        kit_operands_free(operands);
    }
    return rc;
}

void kit_operands_free(struct kit_operands *operands)
{
    if (!operands->backend) {
        return;
    }
    for (int lane = 0; lane < operands->lanes; lane++) {
        for (int i = 0; i < operands->shape.count; i++) {
            operands->backend->release(operands->lane[lane].work[i].base);
        }
        operands->backend->release(operands->lane[lane].workspace.base);
    }
    for (int i = 0; i < operands->shape.count; i++) {
        operands->backend->release(operands->pristine[i]);
        operands->backend->release(operands->first[i]);
        kit_cpu.release(operands->logical[i]);
    }
    kit_cpu.release(operands->dense);
    kit_cpu.release(operands->dense_other);
    kit_cpu.release(operands->host);
    memset(operands, 0, sizeof(*operands));
}

int kit_operands_pack_one(struct kit_operands *operands, struct kit_call *call, int index)
{
    const struct kit_backend *backend = operands->backend;
    const struct kit_operand *operand = &operands->shape.operand[index];
    const size_t bytes = operands->bytes[index];
    const struct kit_pattern zero = KIT_PATTERN_BYTE(0);
    int rc;
    if (kit_is_dense(operand)) {
        rc = backend->upload(operands->pristine[index], operands->logical[index], bytes);
    } else {
        kit_cpu.fill(operands->host, &zero, bytes); /* padding: zero, as libraries that pad expect it */
        rc = KIT_OK;
        if (!operand->chosen) {
            kit_strided_pack(operand, operands->logical[index], operands->host);
        } else {
            rc = operands->op->pack
                     ? operands->op->pack(call, index, operands->logical[index], operands->host)
                     : kit_fail("bad operation '%s': chosen operands and no pack", operands->op->name);
        }
        rc = rc ? rc : backend->upload(operands->pristine[index], operands->host, bytes);
    }
    return rc ? rc : backend->copy(operands->lane[0].work[index].data, operands->pristine[index], bytes);
}

int kit_operands_pack(struct kit_operands *operands, struct kit_call *call)
{
    for (int i = 0; i < operands->shape.count; i++) {
        if (kit_is_input(&operands->shape.operand[i])) {
            const int rc = kit_operands_pack_one(operands, call, i);
            if (rc) {
                return rc;
            }
        }
    }
    return KIT_OK;
}

struct kit_pattern kit_pattern_for(const struct kit_pattern *pattern, enum kit_dtype dtype)
{
    struct kit_pattern result = *pattern;
    if (pattern->size == 0) {
        result = KIT_PATTERN_BYTE(0xff);
        if (kit_dtype_is_float(dtype)) {
            kit_store(dtype, result.bytes, 0, (long double)__builtin_nan(""));
            result.size = kit_dtype_size(dtype);
        }
    }
    return result;
}

static int restore_lane(struct kit_operands *operands, const struct kit_lane *lane,
                        const struct kit_pattern *pattern)
{
    const struct kit_backend *backend = operands->backend;
    int rc = KIT_OK;
    for (int i = 0; i < operands->shape.count && !rc; i++) {
        const struct kit_operand *operand = &operands->shape.operand[i];
        void *const data = lane->work[i].data;
        if (kit_is_input(operand) && kit_is_changed(operand)) {
            rc = backend->copy(data, operands->pristine[i], operands->bytes[i]);
        } else if (operand->role == KIT_OUT) {
            const struct kit_pattern own = kit_pattern_for(pattern, operand->dtype);
            rc = backend->fill(data, &own, operands->bytes[i]);
        }
    }
    if (!rc && lane->workspace.base) {
        const struct kit_pattern own = kit_pattern_for(pattern, KIT_F32);
        rc = backend->fill(lane->workspace.data, &own, lane->workspace.bytes);
    }
    return rc;
}

int kit_operands_restore(struct kit_operands *operands, const struct kit_pattern *pattern)
{
    int rc = KIT_OK;
    for (int lane = 0; lane < operands->lanes && !rc; lane++) {
        rc = restore_lane(operands, &operands->lane[lane], pattern);
    }
    return rc ? rc : operands->backend->sync();
}

void kit_operands_buffers(const struct kit_operands *operands, int lane, struct kit_buffers *ret)
{
    memset(ret, 0, sizeof(*ret));
    for (int i = 0; i < operands->shape.count; i++) {
        ret->data[i] = operands->lane[lane].work[i].data;
    }
    ret->workspace = operands->lane[lane].workspace.data;
}

static int band_intact(const struct kit_backend *backend, const uint8_t *band)
{
    uint8_t bytes[GUARD_BYTES], expected[GUARD_BYTES];
    memset(expected, GUARD_BYTE, sizeof(expected));
    if (backend->download(bytes, band, sizeof(bytes))) {
        return KIT_FAILED;
    }
    return memcmp(bytes, expected, sizeof(bytes)) == 0;
}

static int block_intact(const struct kit_backend *backend, const struct kit_block *block)
{
    if (!block->base) {
        return 1;
    }
    const int front = band_intact(backend, block->data - GUARD_BYTES);
    return front == 1 ? band_intact(backend, block->data + block->bytes) : front;
}

static int lane_intact(const struct kit_operands *operands, const struct kit_lane *lane)
{
    int intact = block_intact(operands->backend, &lane->workspace);
    for (int i = 0; i < operands->shape.count && intact == 1; i++) {
        intact = block_intact(operands->backend, &lane->work[i]);
    }
    return intact;
}

int kit_operands_intact(struct kit_operands *operands)
{
    int intact = 1;
    for (int lane = 0; lane < operands->lanes && intact == 1; lane++) {
        intact = lane_intact(operands, &operands->lane[lane]);
    }
    for (int i = 0; i < operands->shape.count && intact == 1; i++) {
        if (!kit_is_changed(&operands->shape.operand[i])) {
            const int differs = operands->backend->differs(operands->lane[0].work[i].data,
                                                           operands->pristine[i], operands->bytes[i]);
            intact = differs < 0 ? differs : !differs;
        }
    }
    return intact;
}

/* The buffer as the host sees it. */
static const void *host_view(struct kit_operands *operands, int index, const void *native)
{
    const void *const view = operands->backend->peek(native);
    if (view) {
        return view;
    }
    return operands->backend->download(operands->host, native, operands->bytes[index]) ? NULL
                                                                                       : operands->host;
}

int kit_operands_unpack(struct kit_operands *operands, struct kit_call *call, int index, const void *native,
                        void *ret_dense)
{
    const struct kit_operand *operand = &operands->shape.operand[index];
    const void *const view = host_view(operands, index, native);
    if (!view) {
        return KIT_FAILED;
    }
    if (!operand->chosen) {
        kit_strided_unpack(operand, view, ret_dense);
        return KIT_OK;
    }
    return operands->op->unpack
               ? operands->op->unpack(call, index, view, ret_dense)
               : kit_fail("bad operation '%s': chosen operands and no unpack", operands->op->name);
}

/* What an operand held before the run, as a native host buffer in operands->host. */
static int image_before(struct kit_operands *operands, int index, const struct kit_pattern *pattern)
{
    const struct kit_operand *operand = &operands->shape.operand[index];
    if (operand->role == KIT_INOUT) {
        return operands->backend->download(operands->host, operands->pristine[index], operands->bytes[index]);
    }
    const struct kit_pattern own = kit_pattern_for(pattern, operand->dtype);
    return kit_cpu.fill(operands->host, &own, operands->bytes[index]);
}

/* Whether a native buffer holds the bytes of operands->host. */
static int holds_image(struct kit_operands *operands, int index, const void *native)
{
    const size_t bytes = operands->bytes[index];
    const void *const view = operands->backend->peek(native);
    if (view) {
        return memcmp(operands->host, view, bytes) == 0;
    }
    void *const copy = kit_cpu.alloc(bytes, 64); /* the one scratch of this size holds the image */
    int same = copy ? KIT_OK : kit_skip("memory", "cannot allocate %zu bytes to look at an output", bytes);
    same = same ? same : operands->backend->download(copy, native, bytes);
    same = same ? same : memcmp(operands->host, copy, bytes) == 0;
    kit_cpu.release(copy);
    return same;
}

/* The logical content before the run, with the written elements as they are in operands->dense. */
static int expected_logical(struct kit_operands *operands, struct kit_call *call, int index,
                            const uint8_t *mask, char *ret)
{
    const struct kit_operand *operand = &operands->shape.operand[index];
    const size_t size = kit_dtype_size(operand->dtype);
    const int64_t count = kit_elements(operand);
    if (!operand->chosen) {
        kit_strided_unpack(operand, operands->host, ret);
    } else if (operands->op->unpack(call, index, operands->host, ret)) {
        return KIT_FAILED;
    }
    for (int64_t e = 0; e < count; e++) {
        if (!mask || mask[e]) {
            memcpy(ret + (size_t)e * size, (const char *)operands->dense + (size_t)e * size, size);
        }
    }
    return KIT_OK;
}

int kit_operands_outside_kept(struct kit_operands *operands, struct kit_call *call, int index,
                              const void *after, const uint8_t *mask, const struct kit_pattern *pattern)
{
    const struct kit_operand *operand = &operands->shape.operand[index];
    char *const expected = operands->dense_other;
    if (!mask && (operand->chosen || kit_is_dense(operand))) {
        return 1; /* nothing is outside; padding inside a layout of its own choice is the library's */
    }
    if (kit_operands_unpack(operands, call, index, after, operands->dense) ||
        image_before(operands, index, pattern) || expected_logical(operands, call, index, mask, expected)) {
        return KIT_FAILED;
    }
    if (operand->chosen) {
        return memcmp(expected, operands->dense, kit_dense_bytes(operand)) == 0;
    }
    kit_strided_pack(operand, expected, operands->host); /* over the image before: padding as it was */
    return holds_image(operands, index, after);
}
