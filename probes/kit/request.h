/* SPDX-License-Identifier: Apache-2.0
 *
 * One request of protocol 1, parsed, and its axis and setting taken apart.
 */
#ifndef KIT_REQUEST_H
#define KIT_REQUEST_H

#include "probes/kit/backend.h"
#include "probes/kit/input.h"
#include "probes/kit/op.h"

enum kit_arithmetic { KIT_DIRECT, KIT_TRANSFORM, KIT_REDUCED, KIT_NONE };

#define KIT_MAX_OFFSET 4096 /* of axis align */

/* Where operands lie, on axis align. */
struct kit_align {
    char setting[64];             /* "": as at the base setting */
    int offset[KIT_MAX_OPERANDS]; /* bytes beside their alignment, dealt to the operands in turn */
    int offsets;
    int widen; /* elements that leading dimensions have more */
    bool heap; /* other allocations have come and gone before */
};

/* What a setting changes; the base setting changes nothing. */
struct kit_setting {
    int threads;                /* 0: the program's own */
    int64_t batch, place;       /* batch 0: as the case says */
    struct kit_pattern pattern; /* what outputs and workspace hold before a run */
    int algorithm;              /* 0: as the case says; i + 1: the i-th of the op's choices */
    int perturb; /* what new allocations of the library hold: M_PERTURB's value, 0: untouched */
    enum kit_busy busy;
    struct kit_align align;
    int lanes;    /* runs at once; 0: one after the other */
    bool sampled; /* of right results a sample is checked, not every cell */
    int order;    /* summands whose order is revealed, instead of anything being compared; 0: none */
    int device;   /* 0: the one that is open; i + 1: it must be device i */
    bool price;   /* runs are to be timed: of what is too short for the clock several make one */
};

struct kit_request {
    json_int_t id;
    const char *case_id, *op, *choice, *problem, *batch, *seed, *axis, *setting_text; /* borrowed */
    const json_t *params;
    enum kit_set set;
    enum kit_arithmetic arithmetic;
    double bound;
    int runs;
    struct kit_setting setting;
};

/* Strings stay the message's. KIT_FAILED for a bad request, KIT_SKIPPED for an axis or setting that is not
 * known here. */
int kit_request_parse(const json_t *message, struct kit_request *ret);
/* "threads*batch" with "4*16/15". */
int kit_setting_parse(const char *axis, const char *setting, struct kit_setting *ret);
/* The bytes that outputs hold at the base setting. */
#define KIT_PATTERN_BYTE_BASE                                                                                \
    {                                                                                                        \
        {0xa5}, 1                                                                                            \
    }

#endif
