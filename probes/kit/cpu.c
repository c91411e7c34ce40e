/* SPDX-License-Identifier: Apache-2.0
 *
 * The CPU backend: host memory, memcpy and memcmp.
 */
#include <stdlib.h>
#include <string.h>

#include "probes/kit/backend.h"
#include "probes/kit/cpu_busy.h"
#include "suite/base/host.h"

static void *cpu_alloc(size_t bytes, size_t align)
{
    void *memory = NULL;
    return posix_memalign(&memory, align, bytes ? bytes : 1) ? NULL : memory;
}

static int cpu_copy(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
    return 0;
}

static int cpu_fill(void *to, const struct kit_pattern *pattern, size_t bytes)
{
    if (pattern->size == 1) {
        memset(to, pattern->bytes[0], bytes);
        return 0;
    }
    /* One piece by hand, then doubled while it fits a cache: memcpy does the rest at full speed. */
    const size_t limit = 1 << 15;
    size_t done = bytes < pattern->size ? bytes : pattern->size;
    memcpy(to, pattern->bytes, done);
    while (done < bytes) {
        size_t piece = done < limit ? done : limit;
        piece = piece < bytes - done ? piece : bytes - done;
        memcpy((char *)to + done, to, piece);
        done += piece;
    }
    return 0;
}

static int cpu_differs(const void *a, const void *b, size_t bytes)
{
    return memcmp(a, b, bytes) != 0;
}

static int cpu_sync(void)
{
    return 0;
}

static const void *cpu_peek(const void *memory)
{
    return memory;
}

const struct kit_backend kit_cpu = {
    .name = "cpu",
    .alloc = cpu_alloc,
    .release = free,
    .upload = cpu_copy,
    .download = cpu_copy,
    .copy = cpu_copy,
    .fill = cpu_fill,
    .differs = cpu_differs,
    .sync = cpu_sync,
    .available = dp_host_memory_available,
    .peek = cpu_peek,
    .busy = kit_cpu_busy,
    .beside = kit_cpu_beside,
    .callers = true,
};
