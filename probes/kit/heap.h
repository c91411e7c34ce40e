/* SPDX-License-Identifier: Apache-2.0
 *
 * Another history of the heap: what is allocated after it lands elsewhere, between other neighbours.
 */
#ifndef KIT_HEAP_H
#define KIT_HEAP_H

enum { KIT_HEAP_BLOCKS = 512 };

struct kit_heap {
    void *kept[KIT_HEAP_BLOCKS]; /* or NULL */
};

/* Allocates blocks of many sizes and gives half of them back, the same in every process. */
void kit_heap_shuffle(struct kit_heap *heap);
/* Gives the others back. */
void kit_heap_forget(struct kit_heap *heap);

#endif
