/* SPDX-License-Identifier: Apache-2.0
 *
 * Collectives of MPI that reduce. The library combines sums in an order of its own, by algorithm, number of
 * ranks, length and place in the message.
 */
#include "probes/kit/dtype.h"
#include "probes/mpi/reduction.h"
#include "probes/mpi/shared.h"

static int choices(const struct kit_params *params, enum board_call call, const char *const **ret_names,
                   int *ret_count)
{
    struct reduction r;
    const int rc = reduction_read(params, &r);
    return rc ? rc : world_choices(r.library, r.ranks, call, ret_names, ret_count);
}

static int run_everywhere(struct kit_call *call, const struct kit_buffers *buffers, enum board_call what)
{
    const struct reduction *const r = call->state;
    const struct board_step step =
        reduction_step(r, buffers->data[REDUCTION_VALUES], buffers->data[REDUCTION_RESULT]);
    const int rc = reduction_run(call, what, &step, 1);
    if (rc == KIT_OK) {
        reduction_disagreeing(buffers->data[REDUCTION_RESULT], r->ranks, step.count, kit_dtype_size(r->dtype),
                              buffers->data[REDUCTION_DISAGREEING]);
    }
    return rc;
}

static int run_allreduce(struct kit_call *call, const struct kit_buffers *buffers)
{
    return run_everywhere(call, buffers, BOARD_ALLREDUCE);
}

static int run_iallreduce(struct kit_call *call, const struct kit_buffers *buffers)
{
    return run_everywhere(call, buffers, BOARD_IALLREDUCE);
}

static int run_reduce(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct board_step step =
        reduction_step(call->state, buffers->data[REDUCTION_VALUES], buffers->data[REDUCTION_RESULT]);
    return reduction_run(call, BOARD_REDUCE, &step, 1);
}

static int run_reduce_scatter(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct reduction *const r = call->state;
    struct board_step step =
        reduction_step(r, buffers->data[REDUCTION_VALUES], buffers->data[REDUCTION_RESULT]);
    if (step.count % r->ranks) {
        return kit_skip("unsupported", "%lld elements do not part among %lld ranks", (long long)step.count,
                        (long long)r->ranks);
    }
    step.to_stride /= r->ranks;
    return reduction_run(call, BOARD_REDUCE_SCATTER, &step, 1);
}

#define OP(id, text, describes, chooses)                                                                     \
    static const struct op op_##id = {                                                                       \
        .name = text,                                                                                        \
        .describe = describes,                                                                               \
        .choices = chooses,                                                                                  \
        .prepare = reduction_prepare,                                                                        \
        .run = run_##id,                                                                                     \
        .reference = reduction_reference,                                                                    \
        .release = kit_free_state,                                                                           \
    };
#define CHOICES(id, call)                                                                                    \
    static int choices_##id(const struct kit_params *params, const char *const **ret_names, int *ret_count)  \
    {                                                                                                        \
        return choices(params, call, ret_names, ret_count);                                                  \
    }
CHOICES(allreduce, BOARD_ALLREDUCE)
CHOICES(iallreduce, BOARD_IALLREDUCE)
CHOICES(reduce, BOARD_REDUCE)
CHOICES(reduce_scatter, BOARD_REDUCE_SCATTER)
OP(allreduce, "allreduce", reduction_describe_all, choices_allreduce)
OP(iallreduce, "iallreduce", reduction_describe_all, choices_iallreduce)
OP(reduce, "reduce", reduction_describe_one, choices_reduce)
OP(reduce_scatter, "reduce-scatter", reduction_describe_one, choices_reduce_scatter)

int main(void)
{
    static const struct op *const ops[] = {&op_allreduce, &op_iallreduce, &op_reduce, &op_reduce_scatter,
                                           NULL};
    return mpi_main("collective", ops);
}
