/* SPDX-License-Identifier: Apache-2.0
 *
 * The comparison on a device is code under test like any other: a kernel that always said "equal" would make
 * everything repeat. So it must see an injected difference of one bit, in the very buffers that it will
 * judge.
 */
#include "probes/kit/prove.h"

#include <string.h>

#include "probes/kit/shape.h"

/* What the host says of two device buffers. */
static int compare_on_host(struct kit_operands *operands, int index, uint64_t *ret_count, uint64_t *ret_first)
{
    const struct kit_backend *backend = operands->backend;
    const size_t bytes = operands->bytes[index];
    uint8_t *const other = kit_cpu.alloc(bytes, 64);
    const uint8_t *const one = operands->host;
    int rc = other ? KIT_OK : kit_skip("memory", "cannot allocate %zu bytes to look at an output", bytes);
    rc = rc ? rc : backend->download(operands->host, operands->lane[0].work[index].data, bytes);
    rc = rc ? rc : backend->download(other, operands->first[index], bytes);
    *ret_count = 0;
    *ret_first = UINT64_MAX;
    for (size_t i = bytes; !rc && i > 0; i--) {
        if (one[i - 1] != other[i - 1]) {
            ++*ret_count;
            *ret_first = i - 1;
        }
    }
    kit_cpu.release(other);
    return rc;
}

static int flip(const struct kit_backend *backend, uint8_t *byte, int bit)
{
    uint8_t value;
    const int rc = backend->download(&value, byte, 1);
    value ^= (uint8_t)(1u << bit);
    return rc ? rc : backend->upload(byte, &value, 1);
}

static int expect(struct kit_operands *operands, int index, uint64_t count, uint64_t first)
{
    const struct kit_backend *backend = operands->backend;
    uint64_t seen_count, seen_first;
    const int rc = backend->compare(operands->lane[0].work[index].data, operands->first[index],
                                    operands->bytes[index], &seen_count, &seen_first);
    if (!rc && (seen_count != count || (count && seen_first != first))) {
        return kit_fail(
            "the comparison on the device is wrong: of output '%s' it says %llu bytes from %llu differ "
            "where %llu from %llu do",
            operands->shape.operand[index].name, (unsigned long long)seen_count,
            (unsigned long long)seen_first, (unsigned long long)count, (unsigned long long)first);
    }
    return rc;
}

static int prove_one(struct kit_operands *operands, int index)
{
    const struct kit_backend *backend = operands->backend;
    const size_t bytes = operands->bytes[index];
    const size_t inside = (size_t)((bytes * UINT64_C(0x9e3779b9)) >> 13) % bytes;
    const size_t places[] = {0, inside, bytes - 1};
    uint8_t *const first = operands->first[index];
    int rc = backend->copy(first, operands->lane[0].work[index].data, bytes);
    rc = rc ? rc : expect(operands, index, 0, 0);
    for (int i = 0; i < 3 && !rc; i++) {
        uint64_t count, at;
        rc = flip(backend, first + places[i], (int)(places[i] % 8));
        rc = rc ? rc : expect(operands, index, 1, places[i]);
        if (i == 1) {
            rc = rc ? rc : compare_on_host(operands, index, &count, &at);
            rc = rc ? rc : expect(operands, index, count, at);
        }
        rc = rc ? rc : flip(backend, first + places[i], (int)(places[i] % 8));
    }
    return rc;
}

int kit_prove_compare(struct kit_operands *operands)
{
    int rc = KIT_OK;
    for (int i = 0; operands->backend->compare && i < operands->shape.count && !rc; i++) {
        rc = kit_is_output(&operands->shape.operand[i]) ? prove_one(operands, i) : KIT_OK;
    }
    return rc;
}
