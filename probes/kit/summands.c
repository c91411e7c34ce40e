/* SPDX-License-Identifier: Apache-2.0
 *
 * The search: with ones everywhere, boxes of an operand are set to zero and the cell is looked at. Bisection
 * finds the smallest box that matters; mostly that is all summands (a row, a column, a window), else it is
 * taken apart. What was found is proved by weights: the cell must be their sum.
 */
#include "probes/kit/summands.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "probes/kit/dtype.h"
#include "probes/kit/outcome.h"
#include "probes/kit/shape.h"
#include "suite/base/text.h"

#define MOST_LOOKS 20000 /* at cells, in one search */
#define CANDIDATES 65    /* cells of which one with most summands is taken */
#define ENOUGH_CELLS 64  /* no other operand is tried for more */
#define MOST_CELLS 512
#define WEIGHTS 61 /* small whole numbers: their sums are exact */

struct box {
    int64_t low[KIT_MAX_DIMS], high[KIT_MAX_DIMS];
};

struct search {
    struct kit_operands *operands;
    struct kit_call *call;
    int output;
    int64_t place; /* of the sample in the batch; -1: any */
    int64_t cell;
    struct kit_summands *found;
    int64_t capacity;
    int looks;
};

static int no_sum(const struct search *search, const char *why)
{
    return kit_skip("unsupported", "output '%s' is no plain sum of elements of one operand: %s",
                    search->operands->shape.operand[search->output].name, why);
}

static const struct kit_operand *operand_of(const struct search *search, int operand)
{
    return &search->operands->shape.operand[operand];
}

static int look_at(struct search *search, const int64_t *cells, size_t count, struct kit_cell *ret)
{
    if (++search->looks > MOST_LOOKS) {
        return no_sum(search, "too many looks to find its summands");
    }
    return search->operands->op->reference(search->call, search->output,
                                           (const void *const *)search->operands->logical, cells, count, ret);
}

static int look(struct search *search, long double *ret)
{
    struct kit_cell cell;
    const int rc = look_at(search, &search->cell, 1, &cell);
    *ret = cell.value;
    return rc ? rc : isfinite(cell.value) ? KIT_OK : no_sum(search, "it is not finite for ones");
}

static struct box whole(const struct kit_operand *operand)
{
    struct box box = {{0}, {0}};
    memcpy(box.high, operand->shape, sizeof(box.high));
    return box;
}

static int64_t volume(const struct kit_operand *operand, const struct box *box)
{
    int64_t count = 1;
    for (int d = 0; d < operand->ndim; d++) {
        count *= box->high[d] - box->low[d];
    }
    return count;
}

/* Calls for each row of the box: its first element, and how many there are. */
static void each_row(const struct kit_operand *operand, const struct box *box,
                     void (*row)(void *context, int64_t first, int64_t count), void *context)
{
    int64_t at[KIT_MAX_DIMS];
    const int last = operand->ndim - 1;
    memcpy(at, box->low, sizeof(at));
    for (;;) {
        int64_t first = 0;
        for (int d = 0; d < operand->ndim; d++) {
            first = first * operand->shape[d] + at[d];
        }
        row(context, first, box->high[last] - box->low[last]);
        int d = last - 1;
        for (; d >= 0 && ++at[d] == box->high[d]; d--) {
            at[d] = box->low[d];
        }
        if (d < 0) {
            return;
        }
    }
}

struct paint {
    char *elements;
    struct kit_pattern element;
};

static void paint_row(void *context, int64_t first, int64_t count)
{
    const struct paint *const paint = context;
    const size_t size = paint->element.size;
    kit_cpu.fill(paint->elements + (size_t)first * size, &paint->element, (size_t)count * size);
}

static void fill(struct search *search, int operand, const struct box *box, int value)
{
    const struct kit_operand *const item = operand_of(search, operand);
    struct paint paint = {.elements = search->operands->logical[operand],
                          .element.size = kit_dtype_size(item->dtype)};
    kit_store(item->dtype, paint.element.bytes, 0, value);
    each_row(item, box, paint_row, &paint);
}

static void fill_all(struct search *search, int operand, int value)
{
    const struct box all = whole(operand_of(search, operand));
    fill(search, operand, &all, value);
}

/* What the box gives to the cell. `total` is what the cell is without a change. */
static int gives(struct search *search, int operand, const struct box *box, long double total,
                 long double *ret)
{
    long double rest = 0;
    fill(search, operand, box, 0);
    const int rc = look(search, &rest);
    fill(search, operand, box, 1);
    *ret = total - rest;
    return rc;
}

static bool same(long double a, long double b)
{
    return fabsl(a - b) <= 0x1p-20L * fabsl(b); /* told apart by whole units: rounding is not the question */
}

/* Narrows the box in one dimension to what gives `all` of it. */
static int narrow(struct search *search, int operand, int dim, long double total, long double all,
                  struct box *box)
{
    struct box part = *box;
    int64_t least = box->low[dim], most = box->high[dim]; /* [low, least) gives nothing ... */
    long double given = 0;
    int rc = KIT_OK;
    while (most - least > 1 && !rc) { /* ... [low, most) something */
        part.high[dim] = least + (most - least) / 2;
        rc = gives(search, operand, &part, total, &given);
        *(given == 0 ? &least : &most) = part.high[dim];
    }
    const int64_t low = least;
    most = box->high[dim];
    part = *box;
    while (most - least > 1 && !rc) { /* [low, least) gives less than all, [low, most) all */
        part.high[dim] = least + (most - least) / 2;
        rc = gives(search, operand, &part, total, &given);
        *(same(given, all) ? &most : &least) = part.high[dim];
    }
    box->low[dim] = low;
    box->high[dim] = most;
    return rc;
}

struct adding {
    struct search *search;
    int operand;
};

static void add_row(void *context, int64_t first, int64_t count)
{
    const struct adding *const adding = context;
    struct kit_summands *const found = adding->search->found;
    if (found->count + count > adding->search->capacity) {
        adding->search->capacity = 2 * adding->search->capacity + count;
        found->summand =
            dp_realloc(found->summand, (size_t)adding->search->capacity, sizeof(*found->summand));
    }
    for (int64_t i = 0; i < count; i++) {
        found->summand[found->count++] = (struct kit_summand){adding->operand, first + i};
    }
}

/* Halves of a box in its longest dimension. */
static void halve(const struct kit_operand *operand, const struct box *box, struct box *ret_low,
                  struct box *ret_high)
{
    int longest = 0;
    for (int d = 1; d < operand->ndim; d++) {
        if (box->high[d] - box->low[d] > box->high[longest] - box->low[longest]) {
            longest = d;
        }
    }
    *ret_low = *ret_high = *box;
    ret_low->high[longest] = ret_high->low[longest] =
        box->low[longest] + (box->high[longest] - box->low[longest]) / 2;
}

/* What one summand gives: of the first that halving comes to. */
static int find_unit(struct search *search, int operand, struct box box, long double total)
{
    const struct kit_operand *const item = operand_of(search, operand);
    int rc = KIT_OK;
    while (volume(item, &box) > 1 && !rc) {
        struct box low, high;
        long double given = 0;
        halve(item, &box, &low, &high);
        rc = gives(search, operand, &low, total, &given);
        box = given == 0 ? high : low;
    }
    return rc ? rc : gives(search, operand, &box, total, &search->found->unit);
}

/* Adds the summands within the box. */
static int collect(struct search *search, int operand, const struct box *box, long double total)
{
    const struct kit_operand *const item = operand_of(search, operand);
    const int64_t size = volume(item, box);
    long double given = 0;
    const int rc = gives(search, operand, box, total, &given);
    if (rc || given == 0) {
        return rc;
    }
    if (same(given, search->found->unit * (long double)size)) {
        struct adding adding = {search, operand};
        each_row(item, box, add_row, &adding);
        return KIT_OK;
    }
    if (size == 1) {
        return no_sum(search, "its summands weigh differently");
    }
    struct box low, high;
    halve(item, box, &low, &high);
    const int first = collect(search, operand, &low, total);
    return first ? first : collect(search, operand, &high, total);
}

/* Adds the summands that one operand holds while the others are as they are, and leaves it at zero if it has
 * any. */
static int search_operand(struct search *search, int operand)
{
    const struct kit_operand *const item = operand_of(search, operand);
    struct box box = whole(item);
    long double total = 0, all = 0;
    int rc = look(search, &total);
    rc = rc ? rc : gives(search, operand, &box, total, &all);
    if (rc || all == 0) {
        return rc;
    }
    for (int d = 0; d < item->ndim && !rc; d++) {
        rc = narrow(search, operand, d, total, all, &box);
    }
    if (!rc && search->found->unit == 0) {
        rc = find_unit(search, operand, box, total);
    }
    rc = rc ? rc : collect(search, operand, &box, total);
    fill_all(search, operand, 0);
    return rc;
}

static bool may_hold(const struct kit_operand *operand)
{
    return kit_is_input(operand) && kit_dtype_is_float(operand->dtype);
}

static void fill_ones(struct search *search)
{
    for (int i = 0; i < search->operands->shape.count; i++) {
        if (may_hold(operand_of(search, i))) {
            fill_all(search, i, 1);
        }
    }
}

static int in_order(const void *a, const void *b)
{
    const struct kit_summand *one = a, *two = b;
    return one->operand != two->operand ? (one->operand > two->operand) - (one->operand < two->operand)
                                        : (one->offset > two->offset) - (one->offset < two->offset);
}

/* All summands of the cell, those of operand `first` before those that others hold without it. */
static int search_cell(struct search *search, int first)
{
    struct kit_summands *const found = search->found;
    found->count = 0;
    found->unit = 0;
    fill_ones(search);
    int rc = search_operand(search, first);
    if (!rc && found->count == 0) {
        return no_sum(search, "nothing in the operand matters");
    }
    for (int i = 0; i < search->operands->shape.count && !rc; i++) {
        if (i != first && may_hold(operand_of(search, i))) {
            rc = search_operand(search, i);
        }
    }
    qsort(found->summand, (size_t)found->count, sizeof(*found->summand), in_order);
    long double rest = 0;
    rc = rc ? rc : look(search, &rest);
    return rc ? rc : rest == 0 ? KIT_OK : no_sum(search, "it is not zero without them");
}

static int weight(int64_t summand, int cell)
{
    const uint64_t mixed = (uint64_t)(summand * 7919 + cell * 104729 + 1) * 0x9e3779b97f4a7c15u;
    const int size = 1 + (int)((mixed >> 40) % WEIGHTS);
    return mixed >> 63 ? -size : size; /* of both signs: a sum of magnitudes is no sum of its elements */
}

/* Ones, and zeros in the operands that hold summands. */
static void clear(struct search *search)
{
    fill_ones(search);
    for (int64_t s = 0; s < search->found->count; s++) {
        const int operand = search->found->summand[s].operand;
        if (s == 0 || operand != search->found->summand[s - 1].operand) {
            fill_all(search, operand, 0);
        }
    }
}

/* Writes a weight, or zero, to every summand of a cell. */
static void weigh(struct search *search, int cell, bool zero)
{
    const struct kit_summands *const found = search->found;
    for (int64_t s = 0; s < found->count; s++) {
        const struct kit_summand *const summand = &found->summand[s];
        kit_store(operand_of(search, summand->operand)->dtype, search->operands->logical[summand->operand],
                  summand->offset + found->shift[cell], zero ? 0 : weight(s, cell));
    }
}

/* Keeps the cells that are the sum of the weights of what should be their summands, all weighed at once. */
static int prove(struct search *search)
{
    struct kit_summands *const found = search->found;
    struct kit_cell *const seen = dp_alloc((size_t)found->cells, sizeof(*seen));
    clear(search);
    for (int c = 0; c < found->cells; c++) {
        weigh(search, c, false);
    }
    const int rc = look_at(search, found->cell, (size_t)found->cells, seen);
    for (int c = 0; c < found->cells; c++) {
        weigh(search, c, true);
    }
    int kept = 0;
    bool first = false;
    for (int c = 0; c < found->cells && !rc; c++) {
        long double sum = 0;
        for (int64_t s = 0; s < found->count; s++) {
            sum += weight(s, c);
        }
        if (fabsl(seen[c].value - sum * found->unit) <= 0x1p-10L * fabsl(found->unit)) {
            first = first || found->shift[c] == 0;
            found->cell[kept] = found->cell[c];
            found->shift[kept++] = found->shift[c];
        }
    }
    found->cells = kept;
    free(seen);
    return rc || first ? rc : no_sum(search, "with weights it is another");
}

/* The corner of what another cell sees of the operand; -1: it sees nothing. */
static int corner_seen(struct search *search, int64_t cell, int operand, int64_t *ret)
{
    const int64_t own = search->cell;
    struct box box = whole(operand_of(search, operand));
    long double total = 0, all = 0;
    search->cell = cell;
    fill_ones(search);
    int rc = look(search, &total);
    rc = rc ? rc : gives(search, operand, &box, total, &all);
    *ret = -(all == 0);
    for (int d = 0; d < operand_of(search, operand)->ndim && !rc && all != 0; d++) {
        rc = narrow(search, operand, d, total, all, &box);
        *ret = *ret * operand_of(search, operand)->shape[d] + box.low[d];
    }
    search->cell = own;
    return rc;
}

/* The same of the first cell: the least index of its summands in each dimension. */
static int64_t corner_of(const struct search *search, int operand)
{
    const struct kit_operand *const item = operand_of(search, operand);
    int64_t corner = 0, stride = 1;
    for (int d = item->ndim - 1; d >= 0; d--) {
        int64_t least = item->shape[d];
        for (int64_t s = 0; s < search->found->count; s++) {
            const int64_t index = search->found->summand[s].offset / stride % item->shape[d];
            least = index < least ? index : least;
        }
        corner += least * stride;
        stride *= item->shape[d];
    }
    return corner;
}

/* Whether all summands, moved by `shift`, are elements that no cell has yet; marks them. */
static bool claim(const struct kit_summands *found, int64_t shift, int64_t elements, uint8_t *taken)
{
    for (int64_t s = 0; s < found->count; s++) {
        const int64_t at = found->summand[s].offset + shift;
        if (at < 0 || at >= elements || taken[at]) {
            return false;
        }
    }
    for (int64_t s = 0; s < found->count; s++) {
        taken[found->summand[s].offset + shift] = 1;
    }
    return true;
}

/* The cells along dimension `dim` of the output that are sums alike, as far as the distance of two neighbours
 * tells. */
static int line_up(struct search *search, int operand, int dim)
{
    struct kit_summands *const found = search->found;
    const struct kit_operand *const output = operand_of(search, search->output);
    const int64_t elements = kit_elements(operand_of(search, operand));
    int64_t stride = 1, there = -1;
    for (int d = dim + 1; d < output->ndim; d++) {
        stride *= output->shape[d];
    }
    const int64_t place = search->cell / stride % output->shape[dim];
    const int64_t step = place + 1 < output->shape[dim] ? 1 : -1;
    const int64_t here = corner_of(search, operand);
    const int rc = corner_seen(search, search->cell + step * stride, operand, &there);
    if (rc || there < 0 || here == there) {
        return rc;
    }
    uint8_t *const taken = dp_alloc((size_t)elements, 1);
    claim(found, 0, elements, taken);
    found->cells = 0;
    for (int64_t i = place > MOST_CELLS / 2 ? place - MOST_CELLS / 2 : 0;
         i < output->shape[dim] && found->cells < MOST_CELLS; i++) {
        const int64_t shift = (i - place) * step * (there - here);
        if (i == place || claim(found, shift, elements, taken)) {
            found->cell[found->cells] = search->cell + (i - place) * stride;
            found->shift[found->cells++] = shift;
        }
    }
    free(taken);
    return KIT_OK;
}

/* The cell at the same place in the sample that is asked for. */
static int64_t in_sample(const struct search *search, int64_t cell)
{
    const struct kit_operand *const output = operand_of(search, search->output);
    int64_t stride = 1;
    if (search->place < 0 || output->batch_dim < 0) {
        return cell;
    }
    for (int d = output->batch_dim + 1; d < output->ndim; d++) {
        stride *= output->shape[d];
    }
    return cell + (search->place - cell / stride % output->shape[output->batch_dim]) * stride;
}

/* A cell with most summands: the middle one, or one of some that are spread over the output. */
static int choose_cell(struct search *search)
{
    const struct kit_operand *const output = operand_of(search, search->output);
    const int64_t elements = kit_elements(output);
    int64_t cells[CANDIDATES] = {0}, middle = 0;
    struct kit_cell seen[CANDIDATES];
    size_t count = 0;
    uint8_t *const mask = dp_alloc((size_t)elements, 1);
    const bool all = !kit_written_mask(&search->operands->shape, search->output,
                                       search->operands->logical[output->list], mask);
    for (int d = 0; d < output->ndim; d++) {
        middle = middle * output->shape[d] + output->shape[d] / 2;
    }
    middle = in_sample(search, middle);
    for (int64_t i = 0; i < CANDIDATES; i++) {
        const int64_t spread = in_sample(search, i * (elements - 1) / (CANDIDATES - 1));
        const int64_t cell = i == CANDIDATES / 2 ? middle : spread;
        if ((all || mask[cell]) && (count == 0 || cell > cells[count - 1])) {
            cells[count++] = cell;
        }
    }
    free(mask);
    fill_ones(search);
    const int rc = count ? look_at(search, cells, count, seen) : no_sum(search, "no cell of it is written");
    size_t best = 0;
    for (size_t i = 1; i < count && !rc; i++) {
        const bool more = seen[i].value > seen[best].value;
        best = more || (cells[i] == middle && seen[i].value == seen[best].value) ? i : best;
    }
    search->cell = rc ? 0 : cells[best];
    return rc;
}

/* A copy, of which only the first cell is kept, with room for more. */
static struct kit_summands first_cell_of(const struct kit_summands *found, int64_t cell)
{
    struct kit_summands copy = *found;
    copy.cells = 1;
    copy.summand = dp_alloc((size_t)found->count, sizeof(*copy.summand));
    copy.cell = dp_alloc(MOST_CELLS, sizeof(*copy.cell));
    copy.shift = dp_alloc(MOST_CELLS, sizeof(*copy.shift));
    memcpy(copy.summand, found->summand, (size_t)found->count * sizeof(*copy.summand));
    copy.cell[0] = cell;
    return copy;
}

/* The cell with those along dimension `dim`, or (-1) alone, if that is proved and more than there was. */
static int take_line(const struct search *by, const struct kit_summands *base, int operand, int dim,
                     struct kit_summands *best)
{
    struct kit_summands line = first_cell_of(base, by->cell);
    struct search search = *by;
    search.found = &line;
    int rc = dim < 0 ? KIT_OK : line_up(&search, operand, dim);
    rc = rc ? rc : prove(&search);
    if (!rc && line.cells > best->cells) {
        kit_summands_free(best);
        *best = line;
    } else {
        kit_summands_free(&line);
    }
    return rc;
}

/* The summands of the cell by way of one operand first. */
static void take_operand(const struct search *by, int operand, struct kit_summands *best)
{
    const struct kit_operand *const output = operand_of(by, by->output);
    struct kit_summands base = {.output = by->output};
    struct search search = *by;
    search.found = &base;
    const int rc = search_cell(&search, operand);
    const bool one = !rc && base.summand[0].operand == base.summand[base.count - 1].operand;
    if (!rc && !take_line(&search, &base, operand, -1, best)) {
        for (int d = 0; d < output->ndim && one && best->cells < ENOUGH_CELLS; d++) {
            if (output->shape[d] > 1 && output->written == KIT_FULL) {
                take_line(&search, &base, operand, d, best);
            }
        }
    }
    kit_summands_free(&base);
}

static void search_output(struct search *search, struct kit_summands *best)
{
    if (choose_cell(search)) {
        return;
    }
    for (int i = 0; i < search->operands->shape.count && best->cells < ENOUGH_CELLS; i++) {
        if (may_hold(operand_of(search, i))) {
            take_operand(search, i, best);
        }
    }
}

int kit_summands_find(struct kit_operands *operands, struct kit_call *call, int64_t place,
                      struct kit_summands *ret)
{
    struct search search = {.operands = operands, .call = call, .place = place};
    *ret = (struct kit_summands){0};
    kit_skip("unsupported", "no output is a sum of floating-point numbers with a reference");
    for (int i = 0; i < operands->shape.count && operands->op->reference && ret->cells == 0; i++) {
        if (kit_is_output(&operands->shape.operand[i]) &&
            kit_dtype_is_float(operands->shape.operand[i].dtype)) {
            search.output = i;
            search_output(&search, ret);
        }
    }
    if (ret->cells == 0) {
        return kit_outcome()->reason[0] ? KIT_SKIPPED : KIT_FAILED; /* the last reason is kept */
    }
    search.found = ret;
    clear(&search);
    return KIT_OK;
}

void kit_summands_free(struct kit_summands *summands)
{
    free(summands->summand);
    free(summands->cell);
    free(summands->shift);
    *summands = (struct kit_summands){0};
}
