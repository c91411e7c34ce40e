/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums at rank 0 by messages: of each rank in turn, or of whichever comes first. The first have one order,
 * the others that of the day.
 */
#include "probes/kit/dtype.h"
#include "probes/mpi/reduction.h"
#include "probes/mpi/shared.h"

/* A message for each tensor, so that many are under way. */
static int run_messages(struct kit_call *call, const struct kit_buffers *buffers, enum board_call what)
{
    const struct reduction *const r = call->state;
    struct board_step steps[BOARD_MAX_STEPS];
    const int64_t bytes = r->width * (int64_t)kit_dtype_size(r->dtype);
    if (r->tensors > BOARD_MAX_STEPS) {
        return kit_skip("unsupported", "%lld messages from each rank are too many", (long long)r->tensors);
    }
    for (int64_t i = 0; i < r->tensors; i++) {
        steps[i] = reduction_step(r, buffers->data[REDUCTION_VALUES], buffers->data[REDUCTION_RESULT]);
        steps[i].count = r->width;
        steps[i].from += i * bytes;
        steps[i].to += i * bytes;
    }
    return reduction_run(call, what, steps, (int)r->tensors);
}

static int run_by_rank(struct kit_call *call, const struct kit_buffers *buffers)
{
    return run_messages(call, buffers, BOARD_SUM_BY_RANK);
}

static int run_by_arrival(struct kit_call *call, const struct kit_buffers *buffers)
{
    return run_messages(call, buffers, BOARD_SUM_BY_ARRIVAL);
}

#define OP(id, text)                                                                                         \
    static const struct op op_##id = {                                                                       \
        .name = text,                                                                                        \
        .describe = reduction_describe_one,                                                                  \
        .prepare = reduction_prepare,                                                                        \
        .run = run_##id,                                                                                     \
        .reference = reduction_reference,                                                                    \
        .release = kit_free_state,                                                                           \
    };
OP(by_rank, "sum-by-rank")
OP(by_arrival, "sum-by-arrival")

int main(void)
{
    static const struct op *const ops[] = {&op_by_rank, &op_by_arrival, NULL};
    return mpi_main("messages", ops);
}
