/* SPDX-License-Identifier: Apache-2.0
 *
 * The buffers of one prepared operation: allocation between guard bands, inputs brought into native layout,
 * everything put back before each run, and what a look at them afterwards tells.
 */
#ifndef KIT_OPERANDS_H
#define KIT_OPERANDS_H

#include "probes/kit/backend.h"
#include "probes/kit/op.h"

/* One allocation with a guard band on each side. */
struct kit_block {
    uint8_t *base; /* of the front band; NULL: not allocated */
    uint8_t *data;
    size_t bytes;
};

/* What one of several runs at once has for itself. */
struct kit_lane {
    struct kit_block work[KIT_MAX_OPERANDS]; /* what run gets; inputs are those of lane 0 */
    struct kit_block workspace;
};

struct kit_operands {
    const struct kit_backend *backend;
    const struct op *op;
    struct kit_shape shape;
    size_t bytes[KIT_MAX_OPERANDS]; /* native */
    struct kit_lane lane[KIT_MAX_LANES];
    int lanes;                        /* 1 unless several runs are made at once */
    void *pristine[KIT_MAX_OPERANDS]; /* native content of inputs before a run */
    void *first[KIT_MAX_OPERANDS];    /* native content of out and inout after the first run */
    void *logical[KIT_MAX_OPERANDS];  /* host, dense, of inputs */
    void *host;                       /* scratch for a native buffer of a device, or NULL */
    bool damaged;                     /* a guard or an input was found changed: not to be used again */
    void *dense, *dense_other;        /* scratch for logical outputs */
};

/* Bytes that allocation will take. */
int64_t kit_operands_need(const struct kit_shape *shape, const struct kit_prepared *prepared, int lanes);
/* `offsets`: bytes from its alignment at which each operand begins. KIT_SKIPPED with reason memory when there
 * is not enough. On failure nothing is kept. */
int kit_operands_alloc(struct kit_operands *operands, const struct kit_backend *backend, const struct op *op,
                       const struct kit_shape *shape, const struct kit_prepared *prepared, int lanes,
                       const size_t *offsets);
void kit_operands_free(struct kit_operands *operands);

/* Brings the logical inputs into native layout and into the work buffers. */
int kit_operands_pack(struct kit_operands *operands, struct kit_call *call);
int kit_operands_pack_one(struct kit_operands *operands, struct kit_call *call, int index);
/* Before a run: inputs that runs change from pristine, out and workspace filled with the pattern of their
 * dtype. */
int kit_operands_restore(struct kit_operands *operands, const struct kit_pattern *pattern);
void kit_operands_buffers(const struct kit_operands *operands, int lane, struct kit_buffers *ret);
/* 1: guard bands and inputs are as they were; 0: not; negative: failure. */
int kit_operands_intact(struct kit_operands *operands);
/* 1: elements of output `index` outside `mask` (NULL: none are outside) and padding of strides in the native
 * buffer `after` hold what they held before the run; 0: not. */
int kit_operands_outside_kept(struct kit_operands *operands, struct kit_call *call, int index,
                              const void *after, const uint8_t *mask, const struct kit_pattern *pattern);
/* Native buffer (work or first) to logical dense bytes. */
int kit_operands_unpack(struct kit_operands *operands, struct kit_call *call, int index, const void *native,
                        void *ret_dense);

/* The pattern as operand `dtype` is filled with it: NaN patterns depend on the type. */
struct kit_pattern kit_pattern_for(const struct kit_pattern *pattern, enum kit_dtype dtype);
/* A pattern of size 0 stands for "NaN of the dtype, 0xff for integers". */
#define KIT_PATTERN_BYTE(b) ((struct kit_pattern){{(b)}, 1})
#define KIT_PATTERN_NAN ((struct kit_pattern){{0}, 0})

#endif
