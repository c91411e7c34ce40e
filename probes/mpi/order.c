/* SPDX-License-Identifier: Apache-2.0
 *
 * The order in which a reduction adds up its ranks, as the library does it: a tree with the ranks as leaves.
 * With +M at one rank, -M at another and ones at all others, what the ranks add before the two have met is
 * lost in M, so the sum tells how many are added after it: the number of ranks less the size of the smallest
 * subtree that holds both (FPRev, Xie et al., USENIX ATC 2025). All pairs give the tree. It is asked for at
 * the beginning of each rank's part of the message, since an algorithm that splits messages has a tree for
 * each part.
 */
#include <stdlib.h>

#include "probes/kit/dtype.h"
#include "probes/mpi/reduction.h"
#include "probes/mpi/shared.h"

enum { TREE };

struct order {
    struct reduction reduction; /* of one tensor */
    enum board_call call;
};

static int read_order(const struct kit_params *params, struct order *ret)
{
    struct reduction *const r = &ret->reduction;
    int call;
    *r = (struct reduction){.tensors = 1};
    if (kit_param_string(params, "library", &r->library) || kit_param_int(params, "ranks", &r->ranks) ||
        kit_param_dtype(params, "dtype", "f32|f64", &r->dtype) || kit_param_int(params, "n", &r->width) ||
        kit_param_word(params, "call", "allreduce|reduce", &call)) {
        return KIT_FAILED;
    }
    ret->call = call ? BOARD_REDUCE : BOARD_ALLREDUCE;
    return r->width >= r->ranks ? KIT_OK : kit_fail("bad param 'n': at least as many as ranks");
}

/* tree[p][i][j]: how many ranks are in the smallest subtree with i and j, in the p-th part of the message. */
static int describe(const struct kit_params *params, struct kit_shape *ret)
{
    struct order o;
    if (read_order(params, &o)) {
        return KIT_FAILED;
    }
    const int64_t ranks = o.reduction.ranks;
    ret->count = 1;
    ret->operand[TREE] = (struct kit_operand){.name = "tree",
                                              .role = KIT_OUT,
                                              .dtype = KIT_S32,
                                              .ndim = 3,
                                              .shape = {ranks, ranks, ranks},
                                              .batch_dim = -1};
    ret->flops = (double)(ranks * ranks * ranks) * (double)o.reduction.width;
    return KIT_OK;
}

static int choices(const struct kit_params *params, const char *const **ret_names, int *ret_count)
{
    struct order o;
    const int rc = read_order(params, &o);
    return rc ? rc : world_choices(o.reduction.library, o.reduction.ranks, o.call, ret_names, ret_count);
}

/* What the ranks hold, and what they get. */
static int prepare(struct kit_call *call, struct kit_prepared *ret)
{
    struct order *const o = calloc(1, sizeof(*o));
    call->state = o;
    if (!o) {
        return kit_fail("out of memory");
    }
    struct reduction *const r = &o->reduction;
    const int rc = read_order(call->params, o);
    ret->workspace_bytes = 2 * (size_t)(r->ranks * r->width) * kit_dtype_size(r->dtype);
    return rc ? rc : world_of(r->library, r->ranks, &r->world);
}

/* So large that a few ones are lost in it, and itself without rounding. */
static long double mask(enum kit_dtype dtype)
{
    return dtype == KIT_F32 ? 0x1p60L : 0x1p200L;
}

static void fill(const struct reduction *r, void *values, int64_t plus, int64_t minus)
{
    for (int64_t rank = 0; rank < r->ranks; rank++) {
        const long double value = rank == plus ? mask(r->dtype) : rank == minus ? -mask(r->dtype) : 1;
        for (int64_t i = 0; i < r->width; i++) {
            kit_store(r->dtype, values, rank * r->width + i, value);
        }
    }
}

static int64_t place(int64_t ranks, int64_t part, int64_t i, int64_t j)
{
    return (part * ranks + i) * ranks + j;
}

/* What the sums of a pair tell; a sum that is no count of ranks gives 0, which is in no tree. */
static void take_pair(const struct reduction *r, const void *sums, int64_t i, int64_t j, int32_t *tree)
{
    for (int64_t part = 0; part < r->ranks; part++) {
        const long double sum = kit_value(r->dtype, sums, part * r->width / r->ranks);
        const bool is_count = sum >= 0 && sum <= r->ranks - 2 && sum == (int32_t)sum;
        tree[place(r->ranks, part, i, i)] = tree[place(r->ranks, part, j, j)] = 1;
        tree[place(r->ranks, part, i, j)] = tree[place(r->ranks, part, j, i)] =
            is_count ? (int32_t)(r->ranks - sum) : 0;
    }
}

static int run(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct order *const o = call->state;
    const struct reduction *const r = &o->reduction;
    char *const values = buffers->workspace;
    const char *const sums = values + (size_t)(r->ranks * r->width) * kit_dtype_size(r->dtype);
    const struct board_step step = reduction_step(r, values, sums);
    int rc = KIT_OK;
    for (int64_t i = 1; i < r->ranks; i++) {
        for (int64_t j = 0; j < i && rc == KIT_OK; j++) {
            fill(r, values, i, j);
            rc = world_do(r->world, o->call, call->choice, 0, &step, 1);
            take_pair(r, sums, i, j, buffers->data[TREE]);
        }
    }
    return rc;
}

/* Of three leaves of a tree two meet first, and both meet the third in one larger subtree. */
static bool is_of_tree(int32_t ij, int32_t ik, int32_t jk)
{
    return (ij < ik && ik == jk) || (ik < ij && ij == jk) || (jk < ij && ij == ik) || (ij == ik && ik == jk);
}

/* How many sizes are none, and how many triples of ranks fit into no tree. */
static int accepts(struct kit_call *call, int output, const void *const *in, const void *logical,
                   int64_t *ret_wrong)
{
    const int64_t ranks = ((const struct order *)call->state)->reduction.ranks;
    const int32_t *const tree = logical;
    *ret_wrong = 0;
    for (int64_t part = 0; part < ranks; part++) {
        int32_t largest = 0;
        for (int64_t i = 0; i < ranks; i++) {
            for (int64_t j = 0; j < i; j++) {
                const int32_t ij = tree[place(ranks, part, i, j)];
                largest = ij > largest ? ij : largest;
                *ret_wrong += ij < 2;
                for (int64_t k = 0; k < j; k++) {
                    *ret_wrong +=
                        !is_of_tree(ij, tree[place(ranks, part, i, k)], tree[place(ranks, part, j, k)]);
                }
            }
        }
        *ret_wrong += largest != ranks;
    }
    return KIT_OK;
}

int main(void)
{
    static const struct op order = {
        .name = "order",
        .describe = describe,
        .choices = choices,
        .prepare = prepare,
        .run = run,
        .accepts = accepts,
        .release = kit_free_state,
    };
    static const struct op *const ops[] = {&order, NULL};
    return mpi_main("order", ops);
}
