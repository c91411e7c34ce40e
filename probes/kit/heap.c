/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks from 16 bytes to 64 KiB: of each size that an allocator keeps lists for.
 */
#include "probes/kit/heap.h"

#include <stdint.h>
#include <stdlib.h>

/* Numerical Recipes' linear congruence; the high bits are used. */
static uint32_t next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

void kit_heap_shuffle(struct kit_heap *heap)
{
    uint32_t state = 1;
    kit_heap_forget(heap);
    for (int i = 0; i < KIT_HEAP_BLOCKS; i++) {
        const size_t size = (size_t)16 << next(&state) % 12;
        heap->kept[i] = malloc(size + next(&state) % size); /* without memory there is less to shuffle */
    }
    for (int i = 0; i < KIT_HEAP_BLOCKS; i++) {
        if (next(&state) % 2) {
            free(heap->kept[i]);
            heap->kept[i] = NULL;
        }
    }
}

void kit_heap_forget(struct kit_heap *heap)
{
    for (int i = 0; i < KIT_HEAP_BLOCKS; i++) {
        free(heap->kept[i]);
        heap->kept[i] = NULL;
    }
}
