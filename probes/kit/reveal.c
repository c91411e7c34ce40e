/* SPDX-License-Identifier: Apache-2.0
 *
 * The operation as something that kit_order_reveal can ask: ones and two huge numbers go into its summands,
 * the cell is read as a count. Several pairs are asked in one run where several cells are sums alike and, for
 * random summands, gave the same bits. Of more summands than were asked for two orders are revealed: of the
 * first ones, and of every n-th; the others are zero then, which adds nothing.
 */
#include "probes/kit/reveal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "probes/kit/dtype.h"
#include "probes/kit/order.h"
#include "probes/kit/replay.h"
#include "probes/kit/shape.h"
#include "probes/kit/summands.h"
#include "suite/base/text.h"

/* What a one and M are in a type. M absorbs n ones in an adder of p bits where n one < M / 2^p (half of a
 * unit in the last place of M): for f32 and bf16 in f32 and f64, for f64 in f64; for f16, whose range is
 * 2^-24 to 65504, in f16 and f32 (2^39 > 2^24 n for n < 2^15) and not in f64, in which sums of f16 are exact.
 * Sums of `most` ones are exact in the type itself, in which they may be added up (as FPRev's reference code
 * does: the smallest subnormal as one, the largest power of two as M). tf32 is the range of f32, its products
 * are `reduced`. */
static const struct scale {
    enum kit_dtype dtype;
    int one, big; /* binary exponents */
    int64_t most;
} scales[] = {
    {KIT_F32, 0, 100, INT64_C(1) << 24},
    {KIT_F64, 0, 1000, INT64_C(1) << 53},
    {KIT_BF16, 0, 100, 1 << 8},
    {KIT_F16, -24, 15, 1 << 11},
};

struct sum {
    struct kit_operands *operands;
    struct kit_call *call;
    const struct kit_request *request;
    struct kit_summands all;
    const struct scale *scale, *counts; /* of the summands' type and of the output's */
    int64_t *chosen;                    /* numbers of the summands that are not zero; owned */
    int count;
    int64_t step;
    int lanes;         /* cells that agree, ... */
    int *lane;         /* ... by number; owned */
    void *dense;       /* the output after a run; owned */
    long double *sums; /* of random summands, by round; owned */
    int64_t runs;
    int64_t restless; /* rounds that gave other bits the second time */
};

static const struct scale *scale_of(enum kit_dtype dtype)
{
    for (size_t i = 0; i < sizeof(scales) / sizeof(scales[0]); i++) {
        if (scales[i].dtype == dtype) {
            return &scales[i];
        }
    }
    return NULL;
}

static const struct kit_operand *operand_of(const struct sum *sum, int operand)
{
    return &sum->operands->shape.operand[operand];
}

static struct kit_pattern element_of(const struct sum *sum, long double value)
{
    struct kit_pattern element = {.size = kit_dtype_size(sum->scale->dtype)};
    kit_store(sum->scale->dtype, element.bytes, 0, value);
    return element;
}

/* Summand `number` of the chosen ones, of one cell. */
static void put(struct sum *sum, int cell, int number, const struct kit_pattern *element)
{
    const struct kit_summand *const summand = &sum->all.summand[sum->chosen[number]];
    char *const elements = sum->operands->logical[summand->operand];
    const int64_t at = summand->offset + sum->all.shift[cell];
    memcpy(elements + (size_t)at * element->size, element->bytes, element->size);
}

static void put_all(struct sum *sum, int cell, long double value)
{
    const struct kit_pattern element = element_of(sum, value);
    for (int i = 0; i < sum->count; i++) {
        put(sum, cell, i, &element);
    }
}

static long double value_of(const struct sum *sum, int cell)
{
    return kit_value(operand_of(sum, sum->all.output)->dtype, sum->dense, sum->all.cell[cell]);
}

static uint64_t bits_of(const struct sum *sum, int cell)
{
    return kit_bits(operand_of(sum, sum->all.output)->dtype, sum->dense, sum->all.cell[cell]);
}

static int run(struct sum *sum)
{
    struct kit_operands *const operands = sum->operands;
    struct kit_buffers buffers;
    int rc = KIT_OK;
    for (int64_t s = 0, before = -1; s < sum->all.count && !rc; s++) {
        const int operand = sum->all.summand[s].operand;
        rc = operand == before ? KIT_OK : kit_operands_pack_one(operands, sum->call, operand);
        before = operand;
    }
    rc = rc ? rc : kit_operands_restore(operands, &sum->request->setting.pattern);
    kit_operands_buffers(operands, 0, &buffers);
    rc = rc ? rc : operands->op->run(sum->call, &buffers);
    rc = rc ? rc : operands->backend->sync();
    sum->runs++;
    return rc ? rc
              : kit_operands_unpack(operands, sum->call, sum->all.output, buffers.data[sum->all.output],
                                    sum->dense);
}

/* The cell as a count of ones; -1: it is none. */
static int count_of(const struct sum *sum, int cell)
{
    const long double count = ldexpl(value_of(sum, cell) / sum->all.unit, -sum->scale->one);
    const long double whole = roundl(count);
    return fabsl(count - whole) < 0.25L && whole >= 0 && whole <= sum->count ? (int)whole : -1;
}

static int measure(void *context, const struct kit_order_pair *pairs, size_t count, int *ret_counts)
{
    struct sum *const sum = context;
    const struct kit_pattern one = element_of(sum, ldexpl(1, sum->scale->one)),
                             plus = element_of(sum, ldexpl(1, sum->scale->big)),
                             minus = element_of(sum, -ldexpl(1, sum->scale->big));
    int rc = KIT_OK;
    for (size_t done = 0; done < count && !rc; done += (size_t)sum->lanes) {
        const size_t some = count - done < (size_t)sum->lanes ? count - done : (size_t)sum->lanes;
        for (size_t i = 0; i < some; i++) {
            put(sum, sum->lane[i], pairs[done + i].plus, &plus);
            put(sum, sum->lane[i], pairs[done + i].minus, &minus);
        }
        rc = run(sum);
        for (size_t i = 0; i < some; i++) {
            ret_counts[done + i] = count_of(sum, sum->lane[i]);
            put(sum, sum->lane[i], pairs[done + i].plus, &one);
            put(sum, sum->lane[i], pairs[done + i].minus, &one);
        }
    }
    return rc;
}

/* The same random summands in every cell. Drops the cells that give other bits than the first. */
static int compare_lanes(struct sum *sum, int round)
{
    const enum kit_dtype dtype = sum->scale->dtype;
    for (int i = 0; i < sum->count; i++) {
        const long double number = (long double)kit_replay_number(dtype, round, i);
        const struct kit_pattern element = element_of(sum, number * kit_replay_scale(dtype));
        for (int l = 0; l < sum->lanes; l++) {
            put(sum, sum->lane[l], i, &element);
        }
    }
    int rc = run(sum);
    int kept = 1;
    const uint64_t bits = bits_of(sum, sum->lane[0]);
    sum->sums[round] = value_of(sum, sum->lane[0]);
    for (int l = 1; l < sum->lanes; l++) {
        const int cell = sum->lane[l];
        if (bits_of(sum, cell) == bits) {
            sum->lane[kept++] = cell;
        } else {
            put_all(sum, cell, 0);
        }
    }
    sum->lanes = kept;
    rc = rc || kept > 1 ? rc : run(sum); /* several cells are several sums already */
    sum->restless += bits_of(sum, sum->lane[0]) != bits;
    return rc;
}

/* Which cells agree, what random summands sum to, and that ones are counted. Lanes hold ones after it. */
static int prepare(struct sum *sum)
{
    const int base = sum->lane[0];
    sum->lanes = 1;
    for (int cell = 0; cell < sum->all.cells; cell++) {
        if (cell != base) {
            sum->lane[sum->lanes++] = cell;
        }
    }
    int rc = KIT_OK;
    sum->restless = 0;
    for (int round = 0; round < KIT_REPLAYS && !rc; round++) {
        rc = compare_lanes(sum, round);
    }
    for (int l = 0; l < sum->lanes; l++) {
        put_all(sum, sum->lane[l], ldexpl(1, sum->scale->one));
    }
    rc = rc ? rc : run(sum);
    return rc || count_of(sum, base) == sum->count
               ? rc
               : kit_skip("unsupported", "%d ones do not sum to their number", sum->count);
}

/* Additions that give the operation's bits, if there are any. How a node of many children adds is only told
 * where it is found, since it may be in more ways than are tried. */
static void add_replay(const struct sum *sum, const struct kit_order *order, json_t *view)
{
    const enum kit_dtype output = operand_of(sum, sum->all.output)->dtype;
    int exponent;
    const bool tree = order->kind == KIT_ORDER_TREE;
    if ((!tree && order->kind != KIT_ORDER_EXACT) || frexpl(sum->all.unit, &exponent) != 0.5L) {
        return; /* how a scaled sum is rounded is not known */
    }
    const struct kit_replay replay = {.order = tree ? order : NULL,
                                      .summands = sum->count,
                                      .input = sum->scale->dtype,
                                      .output = output,
                                      .unit = sum->all.unit,
                                      .sums = sum->sums};
    struct kit_adding adding;
    const int same = kit_replay_find(&replay, &adding);
    if (tree && order->nodes < 2 * sum->count - 1 && !adding.aligned) {
        return;
    }
    json_object_set_new(view, "replayed", json_integer(KIT_REPLAYS));
    json_object_set_new(view, "same", json_integer(same));
    json_object_set_new(view, "in", json_string(tree ? kit_dtype_name(adding.in) : "exact"));
    if (adding.aligned) {
        json_object_set_new(view, "aligned", json_pack("[ii]", adding.aligned, adding.most));
    }
}

static json_t *parents_json(const struct kit_order *order)
{
    json_t *const list = json_array();
    for (int i = 0; i + 1 < order->nodes; i++) {
        json_array_append_new(list, json_integer(order->parent[i]));
    }
    return list;
}

static json_t *view_json(const struct sum *sum, const char *of, const struct kit_order *order)
{
    static const char *const kinds[] = {[KIT_ORDER_TREE] = "tree",
                                        [KIT_ORDER_EXACT] = "exact",
                                        [KIT_ORDER_NONE] = "none",
                                        [KIT_ORDER_VARIES] = "varies",
                                        [KIT_ORDER_COSTLY] = "costly"};
    const bool restless = sum->restless > 0;
    json_t *const view = json_pack(
        "{s:s, s:i, s:I, s:s, s:I, s:I, s:I}", "of", of, "summands", sum->count, "step",
        (json_int_t)sum->step, "kind", restless ? "varies" : kinds[order->kind], "asked",
        (json_int_t)order->asked, "twice", (json_int_t)(order->twice + (restless ? KIT_REPLAYS : 0)),
        "changed", (json_int_t)(order->changed + sum->restless));
    if (order->kind == KIT_ORDER_TREE && !restless) {
        json_object_set_new(view, "parents", parents_json(order));
    }
    if (!restless) {
        add_replay(sum, order, view);
    }
    return view;
}

/* One order: of `count` summands, every `step`-th. */
static int reveal(struct sum *sum, const char *of, int count, int64_t step, json_t *views)
{
    struct kit_order order;
    sum->count = count;
    sum->step = step;
    for (int i = 0; i < count; i++) {
        sum->chosen[i] = i * step;
    }
    struct kit_order_sum asked = {.summands = count, .measure = measure, .context = sum};
    int rc = prepare(sum);
    if (rc) {
        return rc;
    }
    asked.most = (int64_t)sum->request->runs * sum->lanes;
    rc = kit_order_reveal(&asked, &order);
    if (rc) {
        return rc;
    }
    json_array_append_new(views, view_json(sum, of, &order));
    kit_order_free(&order);
    for (int l = 0; l < sum->lanes; l++) {
        put_all(sum, sum->lane[l], 0);
    }
    return KIT_OK;
}

static json_t *index_json(const struct kit_operand *operand, int64_t cell)
{
    json_t *const list = json_array();
    for (int d = operand->ndim - 1; d >= 0; d--) {
        json_array_insert_new(list, 0, json_integer(cell % operand->shape[d]));
        cell /= operand->shape[d];
    }
    return list;
}

/* Are the summands of types, and few enough, that counts show? */
static int check(struct sum *sum)
{
    const struct kit_operand *const output = operand_of(sum, sum->all.output);
    sum->counts = scale_of(output->dtype);
    for (int64_t s = 0; s < sum->all.count; s++) {
        const struct scale *const scale = scale_of(operand_of(sum, sum->all.summand[s].operand)->dtype);
        if (!scale || !sum->counts || (sum->scale && sum->scale != scale)) {
            return kit_skip("unsupported", "the range of %s shows no order",
                            kit_dtype_name(operand_of(sum, sum->all.summand[s].operand)->dtype));
        }
        sum->scale = scale;
    }
    return sum->all.count < 3
               ? kit_skip("unsupported", "%lld summands have one order", (long long)sum->all.count)
               : KIT_OK;
}

static int reveal_all(struct sum *sum, json_t *views)
{
    int64_t most = sum->request->setting.order;
    most = most < sum->scale->most ? most : sum->scale->most;
    most = most < sum->counts->most ? most : sum->counts->most;
    const bool some = sum->all.count > most;
    const int count = (int)(some ? most : sum->all.count);
    sum->chosen = dp_alloc((size_t)count, sizeof(*sum->chosen));
    sum->lane = dp_alloc((size_t)sum->all.cells, sizeof(*sum->lane));
    sum->sums = dp_alloc(KIT_REPLAYS, sizeof(*sum->sums));
    sum->dense = dp_alloc(1, kit_dense_bytes(operand_of(sum, sum->all.output)));
    for (int c = 0; c < sum->all.cells; c++) {
        sum->lane[0] = sum->all.shift[c] == 0 ? c : sum->lane[0];
    }
    const int rc = reveal(sum, some ? "first" : "all", count, 1, views);
    const int64_t step = (sum->all.count + count - 1) / count;
    return rc || !some ? rc : reveal(sum, "every", (int)((sum->all.count + step - 1) / step), step, views);
}

static json_t *answer(const struct sum *sum, json_t *views)
{
    const struct kit_operand *const output = operand_of(sum, sum->all.output);
    const struct kit_operand *const input = operand_of(sum, sum->all.summand[0].operand);
    int64_t cell = 0;
    for (int c = 0; c < sum->all.cells; c++) {
        cell = sum->all.shift[c] == 0 ? sum->all.cell[c] : cell;
    }
    return json_pack("{s:s, s:I, s:s, s:o, s:s, s:s, s:I, s:i, s:I, s:O}", "type", "order", "id",
                     sum->request->id, "output", output->name, "cell", index_json(output, cell), "operand",
                     input->name, "dtype", kit_dtype_name(input->dtype), "summands",
                     (json_int_t)sum->all.count, "cells", sum->lanes, "runs", (json_int_t)sum->runs, "views",
                     views);
}

int kit_reveal(struct kit_operands *operands, struct kit_call *call, const struct kit_request *request,
               json_t **ret_answer)
{
    struct sum sum = {.operands = operands, .call = call, .request = request};
    json_t *const views = json_array();
    const struct kit_setting *const setting = &request->setting;
    int rc = kit_summands_find(operands, call, setting->batch ? setting->place : -1, &sum.all);
    rc = rc ? rc : check(&sum);
    rc = rc ? rc : kit_operands_pack(operands, call);
    rc = rc ? rc : reveal_all(&sum, views);
    if (!rc) {
        *ret_answer = answer(&sum, views);
    }
    json_decref(views);
    free(sum.chosen);
    free(sum.lane);
    free(sum.sums);
    free(sum.dense);
    kit_summands_free(&sum.all);
    return rc;
}
