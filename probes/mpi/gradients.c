/* SPDX-License-Identifier: Apache-2.0
 *
 * A list of gradients reduced in buckets, as data parallel training does it: the tensors are put into flat
 * messages, in some order, until one is full. Which bucket a tensor is in, and where, decides the length of
 * its message and its place there, and by those the library takes an algorithm and an order.
 */
#include <stdlib.h>
#include <string.h>

#include "probes/kit/dtype.h"
#include "probes/mpi/reduction.h"
#include "probes/mpi/shared.h"

/* Elements of the parameters of a small network, in the order of its layers. */
static const int64_t layers[] = {216, 24, 5184, 24, 6912, 32, 9216, 32, 8192, 64, 640, 10};
enum { LAYERS = sizeof(layers) / sizeof(layers[0]) };

/* A bucket is full at so many bytes; a larger tensor has one of its own. */
struct plan {
    const char *name;
    int64_t bytes;
    bool backwards; /* gradients are ready in the order of the backward pass */
};
static const struct plan plans[] = {
    {"one bucket, backwards", INT64_MAX, true}, /* first: what a case without a choice gets */
    {"one bucket", INT64_MAX, false},
    {"64 KiB, backwards", 65536, true},
    {"16 KiB, backwards", 16384, true},
    {"16 KiB", 16384, false},
    {"each tensor", 1, true},
};
enum { PLANS = sizeof(plans) / sizeof(plans[0]) };

static int choose_plan(const struct kit_params *params, const char *const **ret_names, int *ret_count)
{
    static const char *names[PLANS];
    for (int i = 0; i < PLANS; i++) {
        names[i] = plans[i].name;
    }
    *ret_names = names;
    *ret_count = PLANS;
    return KIT_OK;
}

static const struct plan *plan_of(const struct kit_call *call)
{
    for (int i = 0; i < PLANS && call->choice; i++) {
        if (strcmp(plans[i].name, call->choice) == 0) {
            return &plans[i];
        }
    }
    return &plans[0];
}

static int64_t all_layers(void)
{
    int64_t sum = 0;
    for (int i = 0; i < LAYERS; i++) {
        sum += layers[i];
    }
    return sum;
}

static int read_gradients(const struct kit_params *params, struct reduction *ret)
{
    *ret = (struct reduction){.tensors = 1, .width = all_layers()};
    return kit_param_string(params, "library", &ret->library) ||
                   kit_param_int(params, "ranks", &ret->ranks) ||
                   kit_param_dtype(params, "dtype", "f32|f64", &ret->dtype)
               ? KIT_FAILED
               : KIT_OK;
}

static int describe_gradients(const struct kit_params *params, struct kit_shape *ret)
{
    struct reduction r;
    const int rc = read_gradients(params, &r);
    if (rc == KIT_OK) {
        reduction_describe_values(&r, ret);
        reduction_describe_everywhere(&r, ret);
    }
    return rc;
}

/* Flat gradients and flat sums of all ranks. */
static int prepare_gradients(struct kit_call *call, struct kit_prepared *ret)
{
    struct reduction *const r = calloc(1, sizeof(*r));
    call->state = r;
    if (!r) {
        return kit_fail("out of memory");
    }
    const int rc = read_gradients(call->params, r);
    ret->workspace_bytes = 2 * (size_t)(r->ranks * r->width) * kit_dtype_size(r->dtype);
    return rc ? rc : world_of(r->library, r->ranks, &r->world);
}

/* Between the list and its flat form, for one rank. */
static void copy_layers(const struct plan *plan, size_t size, char *list, char *flat, bool flatten)
{
    for (int i = 0; i < LAYERS; i++) {
        const int layer = plan->backwards ? LAYERS - 1 - i : i;
        char *at = list;
        for (int before = 0; before < layer; before++) {
            at += (size_t)layers[before] * size;
        }
        const size_t bytes = (size_t)layers[layer] * size;
        memcpy(flatten ? flat : at, flatten ? at : flat, bytes);
        flat += bytes;
    }
}

/* One step for each bucket; returns how many. */
static int make_buckets(const struct plan *plan, const struct board_step *whole, int64_t size,
                        struct board_step steps[LAYERS])
{
    int count = 0;
    int64_t begin = 0, end = 0;
    for (int i = 0; i < LAYERS; i++) {
        end += layers[plan->backwards ? LAYERS - 1 - i : i];
        const int64_t next = i + 1 < LAYERS ? layers[plan->backwards ? LAYERS - 2 - i : i + 1] : 0;
        if (i + 1 == LAYERS || (end - begin + next) * size > plan->bytes) {
            steps[count] = *whole;
            steps[count].from += begin * size;
            steps[count].to += begin * size;
            steps[count++].count = end - begin;
            begin = end;
        }
    }
    return count;
}

static int run_gradients(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct reduction *const r = call->state;
    const struct plan *const plan = plan_of(call);
    const size_t size = kit_dtype_size(r->dtype), each = (size_t)r->width * size;
    char *const flat = buffers->workspace, *const sums = flat + (size_t)r->ranks * each;
    struct board_step steps[LAYERS];
    for (int64_t rank = 0; rank < r->ranks; rank++) {
        const size_t at = (size_t)rank * each;
        copy_layers(plan, size, (char *)buffers->data[REDUCTION_VALUES] + at, flat + at, true);
    }
    const struct board_step whole = reduction_step(r, flat, sums);
    const int count = make_buckets(plan, &whole, (int64_t)size, steps);
    const int rc = world_do(r->world, BOARD_ALLREDUCE, NULL, 0, steps, count);
    for (int64_t rank = 0; rank < r->ranks && rc == KIT_OK; rank++) {
        const size_t at = (size_t)rank * each;
        copy_layers(plan, size, (char *)buffers->data[REDUCTION_RESULT] + at, sums + at, false);
    }
    if (rc == KIT_OK) {
        reduction_disagreeing(buffers->data[REDUCTION_RESULT], r->ranks, r->width, size,
                              buffers->data[REDUCTION_DISAGREEING]);
    }
    return rc;
}

static const struct op op_gradients = {
    .name = "gradients",
    .describe = describe_gradients,
    .choices = choose_plan,
    .prepare = prepare_gradients,
    .run = run_gradients,
    .reference = reduction_reference,
    .release = kit_free_state,
};

int main(void)
{
    static const struct op *const ops[] = {&op_gradients, NULL};
    return mpi_main("gradients", ops);
}
