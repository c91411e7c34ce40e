/* SPDX-License-Identifier: Apache-2.0
 *
 * Trees of additions: what is one and what is not, its text, its words beside those of its neighbours, and
 * its fingerprint, which knows nothing of how nodes are numbered.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reports/order.h"
#include "suite/base/text.h"

#define MOST 2048

/* Parents of a tree that is built node by node. */
struct builder {
    int leaves, nodes;
    int parent[MOST];
};

static int add(struct builder *builder, int a, int b)
{
    const int node = builder->nodes++;
    builder->parent[a] = builder->parent[b] = node;
    return node;
}

static int chain(struct builder *builder, int first, int count, int step)
{
    int sum = first;
    for (int i = 1; i < count; i++) {
        sum = add(builder, sum, first + i * step);
    }
    return sum;
}

static int pairwise(struct builder *builder, const int *nodes, int count)
{
    return count == 1 ? *nodes
                      : add(builder, pairwise(builder, nodes, count / 2),
                            pairwise(builder, nodes + count / 2, count - count / 2));
}

static int in_order(struct builder *builder, const int *nodes, int count)
{
    int sum = nodes[0];
    for (int i = 1; i < count; i++) {
        sum = add(builder, sum, nodes[i]);
    }
    return sum;
}

static int halves(struct builder *builder, int *nodes, int count)
{
    for (; count > 1; count /= 2) {
        for (int i = 0; i < count / 2; i++) {
            nodes[i] = add(builder, nodes[i], nodes[i + count / 2]);
        }
    }
    return nodes[0];
}

static void fused(struct builder *builder, int width)
{
    int sum = -1;
    for (int i = 0; i < builder->leaves;) {
        const int node = builder->nodes++;
        if (sum >= 0) {
            builder->parent[sum] = node;
        }
        for (int j = 0; j < width && i < builder->leaves; j++) {
            builder->parent[i++] = node;
        }
        sum = node;
    }
}

/* Parts of the summands, each in order, as `lanes` or blocks, that then are added by `above`. */
static void parts(struct builder *builder, int count, bool lanes,
                  int (*above)(struct builder *builder, const int *nodes, int count))
{
    int sums[MOST];
    const int size = (builder->leaves + count - 1) / count;
    for (int p = 0; p < count; p++) {
        const int rest = lanes ? (builder->leaves - p + count - 1) / count : builder->leaves - p * size;
        sums[p] =
            lanes ? chain(builder, p, rest, count) : chain(builder, p * size, rest < size ? rest : size, 1);
    }
    above(builder, sums, count);
}

enum shape {
    ORDER,
    REVERSE,
    PAIRWISE,
    FLAT,
    FUSED,
    BLOCKS,
    BLOCKS_PAIRWISE,
    LANES,
    LANES_HALVES,
    STEPS,
    TAIL,
    TWO,
    UNEQUAL
};

static json_t *parents_of(const struct builder *builder)
{
    json_t *list = json_array();
    for (int i = 0; i + 1 < builder->nodes; i++) {
        json_array_append_new(list, json_integer(builder->parent[i]));
    }
    return list;
}

static json_t *build(enum shape shape, int leaves, int count)
{
    struct builder builder = {.leaves = leaves, .nodes = leaves};
    int nodes[MOST] = {0}, sum;
    for (int i = 0; i < leaves; i++) {
        nodes[i] = i;
    }
    switch (shape) {
    case ORDER:
        chain(&builder, 0, leaves, 1);
        break;
    case REVERSE:
        chain(&builder, leaves - 1, leaves, -1);
        break;
    case PAIRWISE:
        pairwise(&builder, nodes, leaves);
        break;
    case FLAT:
        fused(&builder, leaves);
        break;
    case FUSED:
        fused(&builder, count);
        break;
    case BLOCKS:
    case BLOCKS_PAIRWISE:
        parts(&builder, count, false, shape == BLOCKS ? in_order : pairwise);
        break;
    case LANES:
        parts(&builder, count, true, in_order);
        break;
    case LANES_HALVES:
        for (int p = 0; p < count; p++) {
            nodes[p] = chain(&builder, p, leaves / count, count);
        }
        halves(&builder, nodes, count);
        break;
    case STEPS:
        sum = chain(&builder, 0, (leaves + 1) / 2, 2);
        for (int i = 1; i < leaves; i += 2) {
            sum = add(&builder, sum, i);
        }
        break;
    case TAIL: /* pairwise, then `count` one by one */
        sum = pairwise(&builder, nodes, leaves - count);
        for (int i = leaves - count; i < leaves; i++) {
            sum = add(&builder, sum, i);
        }
        break;
    case UNEQUAL:
        sum = add(&builder, chain(&builder, 0, 36, 1), chain(&builder, 36, 21, 1));
        add(&builder, sum, chain(&builder, 57, 20, 1));
        break;
    case TWO:
        sum = pairwise(&builder, nodes, leaves - count);
        add(&builder, sum, chain(&builder, leaves - count, count, 1));
        break;
    }
    return parents_of(&builder);
}

static void trees_in_words(void **state)
{
    static const struct {
        enum shape shape;
        int leaves, count;
        const char *words;
    } rows[] = {
        {ORDER, 2, 0, "added"},
        {ORDER, 3, 0, "in order"},
        {ORDER, 512, 0, "in order"},
        {REVERSE, 3, 0, "in reverse order"},
        {REVERSE, 512, 0, "in reverse order"},
        {PAIRWISE, 4, 0, "pairwise"},
        {PAIRWISE, 512, 0, "pairwise"},
        {PAIRWISE, 500, 0, "pairwise"},
        {FLAT, 9, 0, "all at once"},
        {FUSED, 512, 4, "in order, 4 at a time with the sum so far"},
        {FUSED, 510, 4, "in order, 4 at a time with the sum so far"},
        {FUSED, 512, 8, "in order, 8 at a time with the sum so far"},
        {FUSED, 12, 8, "in order, 8 at a time with the sum so far"},
        {BLOCKS, 512, 4, "4 blocks of 128, each in order; these in order"},
        {BLOCKS, 512, 8, "8 blocks of 64, each in order; these in order"},
        {BLOCKS, 512, 2, "2 blocks of 256, each in order; these added"},
        {BLOCKS, 500, 4, "4 blocks of 125, each in order; these in order"},
        {BLOCKS, 505, 4, "4 blocks of 127 (the last of 124), each in order; these in order"},
        {BLOCKS_PAIRWISE, 512, 4, "4 blocks of 128, each in order; these pairwise"},
        {LANES, 512, 4, "4 lanes (i mod 4), each in order; these in order"},
        {LANES, 510, 4, "4 lanes (i mod 4), each in order; these in order"},
        {LANES, 512, 8, "8 lanes (i mod 8), each in order; these in order"},
        {LANES_HALVES, 512, 8, "8 lanes (i mod 8), each in order; these by halves"},
        {STEPS, 100, 0, "one at a time, in the order 0 2 4 6 8 10 12 14 ..."},
        {TAIL, 70, 6, "the first 64 pairwise; then the other 6 in order"},
        {UNEQUAL, 77, 5, "3 blocks of 36, 21, 20, each in order; these in order"},
        {TWO, 70, 6, "the first 64 pairwise; the other 6 in order; both added"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        json_t *parents = build(rows[i].shape, rows[i].leaves, rows[i].count);
        struct dp_order_tree tree;
        struct dp_err err;
        assert_int_equal(dp_order_tree_read(parents, rows[i].leaves, &tree, &err), 0);
        char *words = dp_order_words(&tree);
        assert_string_equal(words, rows[i].words);
        free(words);
        dp_order_tree_free(&tree);
        json_decref(parents);
    }
}

/* A tree of random pairs is none of the simple ones, and is not told as one. */
static void what_has_no_pattern(void **state)
{
    struct builder builder = {.leaves = 60, .nodes = 60};
    uint32_t random = 7;
    int nodes[60], count = 60;
    for (int i = 0; i < count; i++) {
        nodes[i] = i;
    }
    while (count > 1) {
        random = random * 1664525 + 1013904223;
        const int a = (int)(random >> 8) % count, one = nodes[a];
        nodes[a] = nodes[--count];
        const int b = (int)(random >> 16) % count;
        nodes[b] = add(&builder, one, nodes[b]);
    }
    json_t *parents = parents_of(&builder);
    struct dp_order_tree tree;
    assert_int_equal(dp_order_tree_read(parents, 60, &tree, NULL), 0);
    char *words = dp_order_words(&tree);
    assert_non_null(strstr(words, "no simple pattern (depth "));
    free(words);
    dp_order_tree_free(&tree);
    json_decref(parents);
}

static void expect_text(const char *parents_text, int leaves, const char *text)
{
    json_t *parents = json_loads(parents_text, 0, NULL);
    struct dp_order_tree tree;
    struct dp_err err;
    const int rc = dp_order_tree_read(parents, leaves, &tree, &err);
    assert_int_equal(rc, text ? 0 : -1);
    if (text) {
        char *got = dp_order_text(&tree);
        assert_string_equal(got, text);
        free(got);
        dp_order_tree_free(&tree);
    }
    json_decref(parents);
}

static void trees_as_text(void **state)
{
    expect_text("[2, 2]", 2, "(0 1)");
    expect_text("[3, 3, 4, 4]", 3, "((0 1) 2)");
    expect_text("[4, 3, 3, 4]", 3, "(0 (1 2))");
    expect_text("[3, 3, 3]", 3, "(0 1 2)");
    expect_text("[5, 4, 5, 4, 6, 6]", 4,
                "((0 2) (1 3))"); /* children by their least summand, not by number */
    expect_text("[4, 5, 4, 5, 6, 6]", 4, "((0 2) (1 3))");
}

static void what_is_no_tree(void **state)
{
    expect_text("[]", 2, NULL);
    expect_text("[2]", 2, NULL);
    expect_text("[2, 2, 3]", 2, NULL); /* a node of one child */
    expect_text("[3, 3, 3, 4]", 3, NULL);
    expect_text("[3, 3, 4, 3]", 3, NULL); /* its own parent */
    expect_text("[4, 4, 3, 4]", 3, NULL); /* a node of one child */
    expect_text("[3, 3, 5, 5]", 3, NULL); /* a parent that is not there */
    expect_text("[1, 3, 4, 4]", 3, NULL); /* a summand with a child */
    expect_text("[3, 3, -1, 4]", 3, NULL);
    expect_text("[3, 3, \"4\", 4]", 3, NULL);
    expect_text("[3, 3, 4, 4]", 2, NULL);
    expect_text("[3, 3, 4, 4]", 4, NULL);
    expect_text("[3, 3, 4, 4]", 1 << 30, NULL);
    expect_text("{}", 3, NULL);
}

static json_t *answer_of(int step, const char *kind, const char *parents)
{
    json_t *view = json_pack("{s:s, s:i, s:i, s:s}", "of", "all", "summands", 4, "step", step, "kind", kind);
    if (parents) {
        json_object_set_new(view, "parents", json_loads(parents, 0, NULL));
    }
    return json_pack("{s:[o]}", "views", view);
}

/* "" where there is none. */
static void fingerprint_of(char ret[65], int step, const char *kind, const char *parents)
{
    json_t *answer = answer_of(step, kind, parents);
    if (!dp_order_fingerprint(answer, ret)) {
        ret[0] = '\0';
    }
    json_decref(answer);
}

static void fingerprints(void **state)
{
    char lanes[65], renamed[65], pairs[65], stepped[65], exact[65], other[65];
    fingerprint_of(lanes, 1, "tree", "[5, 4, 5, 4, 6, 6]");
    fingerprint_of(renamed, 1, "tree", "[4, 5, 4, 5, 6, 6]");
    fingerprint_of(pairs, 1, "tree", "[4, 4, 5, 5, 6, 6]");
    fingerprint_of(stepped, 2, "tree", "[4, 5, 4, 5, 6, 6]");
    fingerprint_of(exact, 1, "exact", NULL);
    assert_int_equal(strlen(lanes), 64);
    assert_string_equal(lanes, renamed);
    assert_string_not_equal(lanes, pairs);
    assert_string_not_equal(lanes, stepped);
    assert_int_equal(strlen(exact), 64);
    static const char *const kinds[] = {"varies", "none", "costly"};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        fingerprint_of(other, 1, kinds[i], NULL);
        assert_string_equal(other, "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trees_in_words), cmocka_unit_test(what_has_no_pattern),
        cmocka_unit_test(trees_as_text),  cmocka_unit_test(what_is_no_tree),
        cmocka_unit_test(fingerprints),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
