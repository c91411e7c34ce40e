/* SPDX-License-Identifier: Apache-2.0
 *
 * Scatter and index operations by own kernels. By atomics (`atomic`; `packed` has two columns of 16 bits in
 * one word) sums round in the order of arrival, and of writes without accumulation (`unordered`) the last one
 * stays; `sorted` ranks items within their target by their number first, so that one thread sums each cell in
 * that order. Zero and two addends commute, so order shows from three addends per cell on.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/kit/cuda.h"
#include "probes/kit/dtype.h"
#include "probes/kit/kernel.h"
#include "probes/kit/scatter.h"

#include "probes/cuda/scatter.cu"

extern const char scatter_text[];

#define THREADS 256
#define PRIVATE_PARTS 16 /* blocks that share a group */
#define OF(dtype) (1u << (dtype))
#define HALVES (OF(KIT_F16) | OF(KIT_BF16))
#define FLOATS (OF(KIT_F32) | OF(KIT_F64) | HALVES)
#define ALL (FLOATS | OF(KIT_S32) | OF(KIT_S64))

/* How an operation is done; its own choice is the first. */
struct way {
    const char *choice, *kernel; /* scatter_{kernel}_{dtype, or its size} */
    unsigned dtypes;
    bool sized, sorted, packed, privatized;
};

static const struct way add_ways[] = {
    {.choice = "atomic", .kernel = "add", .dtypes = ALL},
    {.choice = "sorted", .kernel = "sum", .dtypes = FLOATS, .sorted = true},
    {.choice = "packed", .kernel = "pair", .dtypes = HALVES, .packed = true},
    {.choice = "privatized", .kernel = "private", .dtypes = OF(KIT_F32), .privatized = true},
    {.choice = NULL},
};
static const struct way put_ways[] = {
    {.choice = "unordered", .kernel = "put", .dtypes = ALL, .sized = true},
    {.choice = "sorted", .kernel = "last", .dtypes = ALL, .sized = true, .sorted = true},
    {.choice = NULL},
};
static const struct way count_ways[] = {
    {.choice = "atomic", .kernel = "count", .dtypes = OF(KIT_F32) | OF(KIT_S32) | OF(KIT_S64)},
    {.choice = "privatized", .kernel = "tally", .dtypes = OF(KIT_S32), .privatized = true},
    {.choice = NULL},
};
#define MAX_WAYS 8

/* What puts items in order, one after the other. */
static const char *const sort_kernels[] = {"scatter_count_s32", "scatter_starts", "scatter_slots",
                                           "scatter_ranks"};
enum { COUNT, STARTS, SLOTS, RANKS, SORT_KERNELS };

struct state {
    const struct way *way;
    struct scatter_args args; /* but for the pointers */
    CUfunction update, sort[SORT_KERNELS];
};

static bool fits(const struct way *way, const struct kit_scatter *g)
{
    const bool pairs = !g->elementwise && g->width % 2 == 0;
    const bool bins = g->width == 1 && g->rows <= PRIVATE_BINS;
    return (way->dtypes & OF(g->dtype)) && (pairs || !way->packed) && (bins || !way->privatized);
}

static int choices_of(const struct kit_params *params, const struct way *ways, const char *const **ret_names,
                      int *ret_count)
{
    static const char *names[MAX_WAYS];
    struct kit_scatter g;
    if (kit_scatter_read(params, &g)) {
        return KIT_FAILED;
    }
    *ret_names = names;
    *ret_count = 0;
    for (const struct way *way = ways; way->choice; way++) {
        if (fits(way, &g)) {
            names[(*ret_count)++] = way->choice;
        }
    }
    return KIT_OK;
}

static int add_choices(const struct kit_params *params, const char *const **ret_names, int *ret_count)
{
    return choices_of(params, add_ways, ret_names, ret_count);
}

static int put_choices(const struct kit_params *params, const char *const **ret_names, int *ret_count)
{
    return choices_of(params, put_ways, ret_names, ret_count);
}

static int count_choices(const struct kit_params *params, const char *const **ret_names, int *ret_count)
{
    return choices_of(params, count_ways, ret_names, ret_count);
}

static int find_way(const char *choice, const struct way *ways, const struct kit_scatter *g,
                    const struct way **ret)
{
    const struct way *way = ways;
    while (choice && way->choice && strcmp(way->choice, choice) != 0) {
        way++;
    }
    if (!way->choice) {
        return kit_fail("unknown choice '%s'", choice);
    }
    *ret = way;
    return fits(way, g)
               ? KIT_OK
               : kit_fail("choice '%s' has no kernel for %s%s", way->choice, kit_dtype_name(g->dtype),
                          way->packed || way->privatized ? " in rows so wide or so many" : "");
}

static int find_kernels(struct state *s, enum kit_dtype dtype)
{
    char name[48], size[8];
    snprintf(size, sizeof(size), "%zu", kit_dtype_size(dtype));
    snprintf(name, sizeof(name), "scatter_%s_%s", s->way->kernel,
             s->way->sized ? size : kit_dtype_name(dtype));
    int rc = kit_cuda_kernel(name, &s->update);
    for (int i = 0; i < SORT_KERNELS && s->way->sorted && !rc; i++) {
        rc = kit_cuda_kernel(sort_kernels[i], &s->sort[i]);
    }
    return rc;
}

static int prepare(struct kit_call *call, const struct way *ways, struct kit_prepared *ret)
{
    struct state *const s = calloc(1, sizeof(*s));
    struct kit_scatter g;
    call->state = s;
    int rc = s ? kit_scatter_read(call->params, &g) : kit_fail("out of memory");
    rc = rc ? rc : find_way(call->choice, ways, &g, &s->way);
    if (rc) {
        return rc;
    }
    const int64_t columns = g.elementwise ? g.width : 1;
    s->args = (struct scatter_args){.items = g.groups * g.n * columns,
                                    .targets = g.groups * g.rows * columns,
                                    .width = g.width / columns,
                                    .span = g.n * columns,
                                    .rows = g.rows,
                                    .columns = columns,
                                    .padding = g.padding,
                                    .onto = call->shape->operand[call->shape->count - 1].role == KIT_INOUT};
    if (s->args.items > INT32_MAX || s->args.targets > INT32_MAX) {
        return kit_fail("bad params: more than %d items or targets", INT32_MAX);
    }
    if (s->way->sorted) {
        ret->workspace_bytes = (size_t)(2 * (s->args.targets + s->args.items) + 1) * sizeof(u32);
    }
    return find_kernels(s, g.dtype);
}

static int prepare_add(struct kit_call *call, struct kit_prepared *ret)
{
    return prepare(call, add_ways, ret);
}

static int prepare_put(struct kit_call *call, struct kit_prepared *ret)
{
    return prepare(call, put_ways, ret);
}

static int prepare_count(struct kit_call *call, struct kit_prepared *ret)
{
    return prepare(call, count_ways, ret);
}

static int sort(const struct state *s, struct scatter_args *args, u32 *workspace)
{
    args->starts = workspace;
    args->used = args->starts + args->targets + 1;
    args->slots = args->used + args->targets;
    args->order = args->slots + args->items;
    struct scatter_args count = *args;
    count.dst = args->starts;
    int rc = kit_cuda_zero(args->starts, (size_t)(2 * args->targets + 1) * sizeof(u32));
    for (int i = 0; i < SORT_KERNELS && !rc; i++) {
        rc = kit_cuda_launch(s->sort[i], i == STARTS ? 1 : kit_cuda_blocks(args->items, THREADS), THREADS,
                             i == COUNT ? &count : args);
    }
    return rc;
}

static int update_blocks(const struct state *s)
{
    const struct scatter_args *args = &s->args;
    if (s->way->privatized) {
        return (int)(args->items / args->span * PRIVATE_PARTS);
    }
    return kit_cuda_blocks(s->way->sorted   ? args->targets * args->width
                           : s->way->packed ? args->items * args->width / 2
                                            : args->items * args->width,
                           THREADS);
}

static int run(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct state *s = call->state;
    const int output = call->shape->count - 1;
    const int64_t cells = s->args.targets * s->args.width;
    struct scatter_args args = s->args;
    int rc = KIT_OK;
    args.indices = buffers->data[KIT_SCATTER_INDICES];
    args.src = buffers->data[KIT_SCATTER_SOURCE];
    args.dst = buffers->data[output];
    if (s->way->sorted) {
        rc = sort(s, &args, buffers->workspace);
    } else if (!args.onto) {
        rc = kit_cuda_zero(args.dst, (size_t)cells * kit_dtype_size(call->shape->operand[output].dtype));
    }
    return rc ? rc : kit_cuda_launch(s->update, update_blocks(s), THREADS, &args);
}

static const struct op scatter_add = {
    .name = "scatter-add", /* dst starts at zero */
    .describe = kit_scatter_describe_add,
    .choices = add_choices,
    .prepare = prepare_add,
    .run = run,
    .reference = kit_scatter_reference,
    .release = kit_free_state,
};
static const struct op index_add = {
    .name = "index-add", /* onto what dst holds */
    .describe = kit_scatter_describe_onto,
    .choices = add_choices,
    .prepare = prepare_add,
    .run = run,
    .reference = kit_scatter_reference,
    .release = kit_free_state,
};
static const struct op index_put = {
    .name = "index-put", /* no accumulation: the last writer wins */
    .describe = kit_scatter_describe_onto,
    .choices = put_choices,
    .prepare = prepare_put,
    .run = run,
    .accepts = kit_scatter_accepts,
    .release = kit_free_state,
};
static const struct op count = {
    .name = "count", /* histogram without weights */
    .describe = kit_scatter_describe_count,
    .choices = count_choices,
    .prepare = prepare_count,
    .run = run,
    .reference = kit_scatter_reference,
    .release = kit_free_state,
};

static int open_stack(void)
{
    return kit_cuda_open(scatter_text);
}

int main(void)
{
    static const struct op *const ops[] = {&scatter_add, &index_add, &index_put, &count, NULL};
    static const struct kit_program program = {.name = "scatter",
                                               .backend = "cuda",
                                               .ops = ops,
                                               .memory = &kit_cuda,
                                               .open = open_stack,
                                               .libraries = kit_cuda_libraries,
                                               .set_threads = kit_cuda_set_threads};
    return kit_main(&program);
}
