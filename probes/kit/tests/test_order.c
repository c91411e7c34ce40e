/* SPDX-License-Identifier: Apache-2.0
 *
 * Orders known by construction: each loop must be told as what it is, and not as its neighbour. Trees are
 * compared as text, children by their least summand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "probes/kit/order.h"
#include "probes/kit/tests/sums.h"
#include "suite/base/text.h"

#define MOST 600
#define BIG 0x1p100F

typedef float (*loop)(const float *x, int n);

static float blocks_of_4(const float *x, int n)
{
    return blocks(x, n, 4);
}

static float blocks_of_8(const float *x, int n)
{
    return blocks(x, n, 8);
}

static float lanes_of_4(const float *x, int n)
{
    return lanes(x, n, 4);
}

static float lanes_of_8(const float *x, int n)
{
    return lanes(x, n, 8);
}

static float fused_4_and_1(const float *x, int n)
{
    return fused(x, n, 4);
}

static float fused_8_and_1(const float *x, int n)
{
    return fused(x, n, 8);
}

/* The first half exact, the second in order: counts that repeat and are no tree's. */
static float half_exact(const float *x, int n)
{
    return forward((const float[]){exact(x, n / 2), forward(x + n / 2, n - n / 2)}, 2);
}

/* One call in fifty has another order. */
static float seldom(const float *x, int n)
{
    static int calls;
    return ++calls % 50 == 0 ? backward(x, n) : forward(x, n);
}

struct asked {
    loop add;
    int n;
};

static int measure(void *context, const struct kit_order_pair *pairs, size_t count, int *ret_counts)
{
    const struct asked *const asked = context;
    float x[MOST];
    for (size_t p = 0; p < count; p++) {
        for (int i = 0; i < asked->n; i++) {
            x[i] = 1;
        }
        x[pairs[p].plus] = BIG;
        x[pairs[p].minus] = -BIG;
        ret_counts[p] = (int)asked->add(x, asked->n);
    }
    return 0;
}

static struct kit_order reveal_most(loop add, int n, int64_t most)
{
    struct kit_order order;
    struct asked asked = {add, n};
    const struct kit_order_sum sum = {.summands = n, .measure = measure, .context = &asked, .most = most};
    assert_int_equal(kit_order_reveal(&sum, &order), 0);
    return order;
}

static struct kit_order reveal(loop add, int n)
{
    return reveal_most(add, n, 1 << 20);
}

/* "((0 1) 2)" */
static void write_node(const struct kit_order *order, int node, int summands, struct dp_text *to)
{
    if (node < summands) {
        dp_text_printf(to, "%d", node);
        return;
    }
    /* The least summand decides; the tree is small. */
    int *const least = dp_alloc((size_t)order->nodes, sizeof(*least));
    for (int i = 0; i < order->nodes; i++) {
        least[i] = i < summands ? i : summands;
    }
    for (int i = 0; i + 1 < order->nodes; i++) {
        int *const up = &least[order->parent[i]];
        *up = least[i] < *up ? least[i] : *up;
    }
    dp_text_put(to, "(");
    bool first = true;
    for (int from = 0; from < summands; from++) {
        for (int i = 0; i + 1 < order->nodes; i++) {
            if (order->parent[i] == node && least[i] == from) {
                dp_text_put(to, first ? "" : " ");
                write_node(order, i, summands, to);
                first = false;
            }
        }
    }
    dp_text_put(to, ")");
    free(least);
}

static void trees_known_by_construction(void **state)
{
    static const struct {
        loop add;
        int n;
        const char *tree;
    } rows[] = {
        {forward, 2, "(0 1)"},
        {forward, 3, "((0 1) 2)"},
        {forward, 6, "(((((0 1) 2) 3) 4) 5)"},
        {backward, 3, "(0 (1 2))"},
        {backward, 6, "(0 (1 (2 (3 (4 5)))))"},
        {pairwise, 8, "(((0 1) (2 3)) ((4 5) (6 7)))"},
        {pairwise, 6, "((0 (1 2)) (3 (4 5)))"},
        {blocks_of_4, 10, "(((((0 1) 2) 3) (((4 5) 6) 7)) (8 9))"},
        {blocks_of_8, 10, "((((((((0 1) 2) 3) 4) 5) 6) 7) (8 9))"},
        {lanes_of_4, 10, "((((0 4) 8) ((1 5) 9)) ((2 6) (3 7)))"},
        {fused_4_and_1, 12, "(((0 1 2 3) 4 5 6 7) 8 9 10 11)"},
        {fused_4_and_1, 6, "((0 1 2 3) 4 5)"},
        {fused_8_and_1, 12, "((0 1 2 3 4 5 6 7) 8 9 10 11)"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct kit_order order = reveal(rows[i].add, rows[i].n);
        struct dp_text text = DP_TEXT(10000);
        assert_int_equal(order.kind, KIT_ORDER_TREE);
        write_node(&order, order.nodes - 1, rows[i].n, &text);
        assert_string_equal(text.data, rows[i].tree);
        dp_text_free(&text);
        kit_order_free(&order);
    }
}

/* The tree's own sum of random numbers is the loop's, to the bit; that of its neighbour is not. */
static float evaluate(const struct kit_order *order, const float *x, int n)
{
    float *const sums = dp_alloc((size_t)order->nodes, sizeof(*sums));
    memcpy(sums, x, (size_t)n * sizeof(*x));
    for (int i = 0; i + 1 < order->nodes; i++) {
        sums[order->parent[i]] += sums[i];
    }
    const float total = sums[order->nodes - 1];
    free(sums);
    return total;
}

static void large_trees_replay(void **state)
{
    static const loop loops[] = {forward,     backward,   pairwise,  blocks_of_4,
                                 blocks_of_8, lanes_of_4, lanes_of_8};
    const int count = sizeof(loops) / sizeof(loops[0]), n = 512;
    float x[512];
    for (int i = 0; i < n; i++) {
        x[i] = sinf((float)i * 37) * ldexpf(1, i * 7 % 11);
    }
    for (int a = 0; a < count; a++) {
        struct kit_order order = reveal(loops[a], n);
        assert_int_equal(order.kind, KIT_ORDER_TREE);
        assert_int_equal(order.nodes, 2 * n - 1);
        assert_true(order.asked < 16 * n); /* n log n and what is checked, not n^2 / 2 */
        for (int b = 0; b < count; b++) {
            const bool same = evaluate(&order, x, n) == loops[b](x, n);
            assert_int_equal(same, a == b);
        }
        kit_order_free(&order);
    }
}

static void what_is_no_tree_is_told_as_none(void **state)
{
    static const struct {
        loop add;
        enum kit_order_kind kind;
    } rows[] = {
        {neumaier, KIT_ORDER_EXACT}, {exact, KIT_ORDER_EXACT},   {half_exact, KIT_ORDER_NONE},
        {racing, KIT_ORDER_VARIES},  {seldom, KIT_ORDER_VARIES}, {forward, KIT_ORDER_TREE},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct kit_order order = reveal(rows[i].add, 64);
        assert_int_equal(order.kind, rows[i].kind);
        assert_int_equal(order.parent != NULL, rows[i].kind == KIT_ORDER_TREE);
        assert_int_equal(order.changed > 0, rows[i].kind == KIT_ORDER_VARIES);
        kit_order_free(&order);
    }
}

static void the_limit_ends_it(void **state)
{
    struct kit_order order = reveal_most(forward, 64, 100);
    assert_int_equal(order.kind, KIT_ORDER_COSTLY);
    assert_null(order.parent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trees_known_by_construction),
        cmocka_unit_test(large_trees_replay),
        cmocka_unit_test(what_is_no_tree_is_told_as_none),
        cmocka_unit_test(the_limit_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
