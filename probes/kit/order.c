/* SPDX-License-Identifier: Apache-2.0
 *
 * From counts to the tree. A set of summands is split by one of them, its pivot: the others, grouped by the
 * size of the smallest subtree that holds each with the pivot, are what the pivot's partial sum met on its
 * way up, smallest first. Each group is split in turn, level by level, so that one level is one batch of
 * pairs. A random pivot takes n log n pairs for a sum in order and for a balanced one alike.
 */
#include "probes/kit/order.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "suite/base/text.h"

#define CHECKED_PAIRS 256 /* that are asked again, in the end or of what contradicts itself */
#define ROUNDS 4          /* of asking them */

/* Some of the summands: a group of the set that `first` of the parent is the pivot of. */
struct set {
    int first, count; /* place in `members`; the first is its pivot */
    int size;         /* of the smallest subtree that held its group with the pivot */
    int groups;       /* number of its first group; groups of one set follow each other */
    int group_count;
};

struct search {
    const struct kit_order_sum *sum;
    struct kit_order *order;
    int *members; /* all summands; each set is a part of it */
    struct set *sets;
    int count, capacity;
    struct kit_order_pair *pairs;
    int *counts;
    uint64_t random;
    int *parent, *size; /* of nodes, as they are made */
};

static uint64_t next_random(struct search *search)
{
    search->random ^= search->random << 13;
    search->random ^= search->random >> 7;
    search->random ^= search->random << 17;
    return search->random;
}

static int measure(struct search *search, size_t count)
{
    search->order->asked += (int64_t)count;
    if (search->order->asked > search->sum->most) {
        search->order->kind = KIT_ORDER_COSTLY;
        return 0;
    }
    return search->sum->measure(search->sum->context, search->pairs, count, search->counts);
}

static void add_set(struct search *search, int first, int count, int size)
{
    if (search->count == search->capacity) {
        search->capacity = 2 * search->capacity + 16;
        search->sets = dp_realloc(search->sets, (size_t)search->capacity, sizeof(*search->sets));
    }
    search->sets[search->count++] = (struct set){.first = first, .count = count, .size = size};
}

/* A summand or a node, by the size of a subtree. */
struct sized {
    int number, size;
};

static int by_size(const void *a, const void *b)
{
    const struct sized *one = a, *two = b;
    return one->size != two->size ? (one->size > two->size) - (one->size < two->size)
                                  : (one->number > two->number) - (one->number < two->number);
}

/* Groups of a set whose sizes are known; false if no tree has them. A group that is not the last completes a
 * subtree. The last does too, or its node has more children than these: then it is the one that the set came
 * from. */
static bool split(struct search *search, int number, const int *counts)
{
    const int first = search->sets[number].first, count = search->sets[number].count;
    const int outer = search->sets[number].size;
    struct sized *const met = dp_alloc((size_t)count, sizeof(*met));
    for (int i = 1; i < count; i++) {
        met[i] = (struct sized){search->members[first + i], search->sum->summands - counts[i - 1]};
    }
    qsort(met + 1, (size_t)count - 1, sizeof(*met), by_size);
    search->sets[number].groups = search->count;
    bool good = true;
    for (int i = 1, end; i < count && good; i = end) {
        for (end = i; end < count && met[end].size == met[i].size; end++) {
            search->members[first + end] = met[end].number;
        }
        good = met[i].size == end || (end == count && met[i].size == outer && outer > count);
        add_set(search, first + i, end - i, met[i].size);
    }
    free(met);
    search->sets[number].group_count = search->count - search->sets[number].groups;
    return good;
}

/* Asks the first `count` pairs again and again, and holds their counts against those of the last time. */
static int ask_again(struct search *search, size_t count)
{
    int *const before = dp_alloc(count + 1, sizeof(*before));
    memcpy(before, search->counts, count * sizeof(*before));
    int rc = 0;
    for (int round = 0; round < ROUNDS && !rc && search->order->kind != KIT_ORDER_COSTLY; round++) {
        rc = measure(search, count);
        for (size_t i = 0; i < count && !rc; i++) {
            search->order->changed += search->counts[i] != before[i];
        }
        search->order->twice += (int64_t)count;
    }
    free(before);
    return rc;
}

/* What contradicts itself: does it repeat? Asked first at the place in a batch where it then is asked again.
 */
static int contradiction(struct search *search, size_t count)
{
    int rc = measure(search, count);
    rc = rc || search->order->kind == KIT_ORDER_COSTLY ? rc : ask_again(search, count);
    if (!rc && search->order->kind != KIT_ORDER_COSTLY) {
        search->order->kind = search->order->changed ? KIT_ORDER_VARIES : KIT_ORDER_NONE;
    }
    return rc;
}

static bool none_lost(const struct search *search, size_t count)
{
    bool none = search->sum->summands > 2;
    for (size_t i = 0; i < count && none; i++) {
        none = search->counts[i] == search->sum->summands - 2;
    }
    return none;
}

/* Pairs of all sets of a level. */
static size_t pairs_of(struct search *search, int begin, int end)
{
    size_t count = 0;
    for (int s = begin; s < end; s++) {
        int *const members = search->members + search->sets[s].first;
        const int pivot = (int)(next_random(search) % (uint64_t)search->sets[s].count);
        const int summand = members[pivot];
        members[pivot] = members[0];
        members[0] = summand;
        for (int i = 1; i < search->sets[s].count; i++) {
            search->pairs[count++] = (struct kit_order_pair){summand, members[i]};
        }
    }
    return count;
}

/* Splits sets until each has one member, or the kind is known. */
static int split_all(struct search *search)
{
    const int summands = search->sum->summands;
    add_set(search, 0, summands, summands);
    for (int begin = 0, end = 1; begin < end; begin = end, end = search->count) {
        const size_t count = pairs_of(search, begin, end);
        int rc = count ? measure(search, count) : 0;
        if (rc || search->order->kind == KIT_ORDER_COSTLY) {
            return rc;
        }
        if (begin == 0 && none_lost(search, count)) {
            search->order->kind = KIT_ORDER_EXACT;
            return 0;
        }
        size_t at = 0;
        for (int s = begin; s < end; s++) {
            const size_t own = (size_t)search->sets[s].count - 1;
            if (own && !split(search, s, search->counts + at)) {
                memmove(search->pairs, search->pairs + at, own * sizeof(*search->pairs));
                memmove(search->counts, search->counts + at, own * sizeof(*search->counts));
                return contradiction(search, own < CHECKED_PAIRS ? own : CHECKED_PAIRS);
            }
            at += own;
        }
    }
    return 0;
}

/* The node above all members of a set. A group that is a whole subtree is added to what came before it; one
 * whose top node covers more takes what came before as a further child. */
static int join(struct search *search, int number)
{
    const struct set *const set = &search->sets[number];
    int current = search->members[set->first];
    for (int i = 0; i < set->group_count; i++) {
        const struct set *const group = &search->sets[set->groups + i];
        const int top = join(search, set->groups + i);
        int node = top;
        if (group->count == 1 || search->size[top] == group->count) {
            node = search->order->nodes++;
            search->parent[top] = node;
        }
        search->size[node] = group->size;
        search->parent[current] = node;
        current = node;
    }
    return current;
}

/* Numbers nodes by the size of their subtrees, so that parents come after their children. */
static void number_nodes(struct search *search)
{
    struct kit_order *const order = search->order;
    struct sized *const list = dp_alloc((size_t)order->nodes, sizeof(*list));
    int *const number = dp_alloc((size_t)order->nodes, sizeof(*number));
    for (int i = 0; i < order->nodes; i++) {
        list[i] = (struct sized){i, i < search->sum->summands ? 1 : search->size[i]};
    }
    qsort(list, (size_t)order->nodes, sizeof(*list), by_size);
    for (int i = 0; i < order->nodes; i++) {
        number[list[i].number] = i;
    }
    order->parent = dp_alloc((size_t)order->nodes, sizeof(*order->parent));
    for (int i = 0; i + 1 < order->nodes; i++) {
        order->parent[i] = number[search->parent[list[i].number]];
    }
    free(number);
    free(list);
}

/* How many summands stand under the lowest node that holds both. */
static int size_of_pair(const struct kit_order *order, const int *sizes, struct kit_order_pair pair)
{
    int a = pair.plus, b = pair.minus;
    while (a != b) {
        int *const lower = a < b ? &a : &b;
        *lower = order->parent[*lower];
    }
    return sizes[a];
}

/* Random pairs against what the tree says of them. A sum that races may have told one tree by chance. */
static int check(struct search *search)
{
    struct kit_order *const order = search->order;
    const int summands = search->sum->summands;
    const bool exact = order->kind == KIT_ORDER_EXACT;
    int *const sizes = dp_alloc((size_t)order->nodes + 1, sizeof(*sizes));
    for (int i = 0; i < order->nodes && !exact; i++) {
        sizes[i] += i < summands;
        if (i + 1 < order->nodes) {
            sizes[order->parent[i]] += sizes[i];
        }
    }
    for (int i = 0; i < CHECKED_PAIRS; i++) {
        const int plus = (int)(next_random(search) % (uint64_t)summands);
        const int step = 1 + (int)(next_random(search) % (uint64_t)(summands - 1));
        search->pairs[i] = (struct kit_order_pair){plus, (plus + step) % summands};
    }
    int rc = measure(search, CHECKED_PAIRS);
    bool good = true;
    for (int i = 0; i < CHECKED_PAIRS && !rc && order->kind != KIT_ORDER_COSTLY; i++) {
        const int size = exact ? 2 : size_of_pair(order, sizes, search->pairs[i]);
        good = good && search->counts[i] == summands - size;
    }
    free(sizes);
    rc = rc || order->kind == KIT_ORDER_COSTLY ? rc : ask_again(search, CHECKED_PAIRS);
    if (!rc && order->kind != KIT_ORDER_COSTLY && (order->changed || !good)) {
        order->kind = order->changed ? KIT_ORDER_VARIES : KIT_ORDER_NONE;
    }
    return rc;
}

int kit_order_reveal(const struct kit_order_sum *sum, struct kit_order *ret)
{
    const size_t summands = (size_t)sum->summands;
    const size_t pairs = summands > CHECKED_PAIRS ? summands : CHECKED_PAIRS;
    struct search search = {.sum = sum, .order = ret, .random = 0x9e3779b97f4a7c15};
    *ret = (struct kit_order){.kind = KIT_ORDER_TREE, .nodes = sum->summands};
    if (sum->most < sum->summands - 1 + CHECKED_PAIRS * (1 + ROUNDS)) { /* one level, and the check */
        ret->kind = KIT_ORDER_COSTLY;
        return 0;
    }
    search.members = dp_alloc(summands, sizeof(*search.members));
    search.pairs = dp_alloc(pairs, sizeof(*search.pairs));
    search.counts = dp_alloc(pairs, sizeof(*search.counts));
    search.parent = dp_alloc(2 * summands, sizeof(*search.parent));
    search.size = dp_alloc(2 * summands, sizeof(*search.size));
    for (int i = 0; i < sum->summands; i++) {
        search.members[i] = i;
    }
    int rc = split_all(&search);
    if (!rc && ret->kind == KIT_ORDER_TREE) {
        join(&search, 0);
        number_nodes(&search);
    }
    if (!rc && (ret->kind == KIT_ORDER_TREE || ret->kind == KIT_ORDER_EXACT)) {
        rc = check(&search);
    }
    if (rc || ret->kind != KIT_ORDER_TREE) {
        kit_order_free(ret);
    }
    free(search.members);
    free(search.sets);
    free(search.pairs);
    free(search.counts);
    free(search.parent);
    free(search.size);
    return rc;
}

void kit_order_free(struct kit_order *order)
{
    free(order->parent);
    order->parent = NULL;
}
