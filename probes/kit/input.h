/* SPDX-License-Identifier: Apache-2.0
 *
 * Inputs: the same bits on every machine. Philox4x32-10 (Salmon et al., SC 2011), key = XXH3-64 of
 * "SEED/i/problem/tensor", counter = (sample, row-major offset within the sample), one counter per element;
 * floats are made by integer operations and exact scaling alone.
 */
#ifndef KIT_INPUT_H
#define KIT_INPUT_H

#include "probes/kit/op.h"

/* wide: sign, exponent spread over 2^-16 .. 2^15, full mantissa; cancellation shows every order.
 * unit: uniform in [-1, 1).   exact: integers -4 .. 4, whose sums and products are exact. */
enum kit_set { KIT_WIDE, KIT_UNIT, KIT_EXACT, KIT_SET_MAX };

struct kit_source {
    const char *seed;    /* "SEED/i" */
    const char *problem; /* shared by all algorithms and backends that compute the same thing */
    enum kit_set set;
    int64_t place; /* sample 0 and sample `place` change seats; 0: all at home */
};

/* Fills the logical dense row-major content of an operand. */
int kit_input_fill(const struct kit_operand *operand, const struct kit_source *source, void *ret_logical);

#define KIT_BLOCK 512
/* A block of counters; philox turns them into random words in place. */
struct kit_words {
    _Alignas(64) uint32_t word[4][KIT_BLOCK];
};
void kit_philox(struct kit_words *words, uint64_t key);

#endif
