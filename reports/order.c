/* SPDX-License-Identifier: Apache-2.0
 *
 * Trees of additions: read, compared, drawn.
 */
#include "reports/order.h"

#include <stdlib.h>
#include <string.h>

#include "suite/base/digest.h"
#include "suite/base/json.h"
#include "suite/base/text.h"

#define TEXT_MOST ((size_t)1 << 22)

static struct dp_order_tree tree_of(int leaves, int nodes)
{
    struct dp_order_tree tree = {.leaves = leaves, .nodes = nodes};
    int **const arrays[] = {&tree.parent, &tree.size, &tree.least, &tree.most, &tree.first, &tree.next};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) {
        *arrays[i] = dp_alloc((size_t)nodes, sizeof(int));
    }
    return tree;
}

void dp_order_tree_free(struct dp_order_tree *tree)
{
    int *const arrays[] = {tree->parent, tree->size, tree->least, tree->most, tree->first, tree->next};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) {
        free(arrays[i]);
    }
    *tree = (struct dp_order_tree){0};
}

struct child {
    int node, least;
};

static int by_least(const void *a, const void *b)
{
    return ((const struct child *)a)->least - ((const struct child *)b)->least;
}

/* Everything that follows from the parents. */
static void complete(struct dp_order_tree *tree)
{
    struct child *const order = dp_alloc((size_t)tree->nodes, sizeof(*order));
    for (int i = 0; i < tree->nodes; i++) {
        const bool leaf = i < tree->leaves;
        tree->size[i] = leaf;
        tree->least[i] = leaf ? i : tree->leaves;
        tree->most[i] = leaf ? i : -1;
        tree->first[i] = tree->next[i] = -1;
    }
    for (int i = 0; i + 1 < tree->nodes; i++) {
        const int up = tree->parent[i];
        tree->size[up] += tree->size[i];
        tree->least[up] = tree->least[i] < tree->least[up] ? tree->least[i] : tree->least[up];
        tree->most[up] = tree->most[i] > tree->most[up] ? tree->most[i] : tree->most[up];
    }
    for (int i = 0; i + 1 < tree->nodes; i++) {
        order[i] = (struct child){i, tree->least[i]};
    }
    qsort(order, (size_t)tree->nodes - 1, sizeof(*order), by_least);
    for (int i = tree->nodes - 1; i-- > 0;) { /* each goes before those that have more */
        const int node = order[i].node, up = tree->parent[node];
        tree->next[node] = tree->first[up];
        tree->first[up] = node;
    }
    free(order);
}

int dp_order_tree_read(const json_t *parents, int leaves, struct dp_order_tree *ret, struct dp_err *err)
{
    const size_t count = json_array_size(parents);
    if (leaves < 2 || leaves > DP_ORDER_LEAVES_MOST || count < (size_t)leaves ||
        count > 2 * (size_t)leaves - 2) {
        return dp_err_set(err, DP_EXIT_DATA, "an order whose tree has not %d summands", leaves);
    }
    struct dp_order_tree tree = tree_of(leaves, (int)count + 1);
    int *const children = tree.size; /* filled below, and computed anew when complete */
    bool good = true;
    for (int i = 0; i + 1 < tree.nodes && good; i++) {
        const json_int_t up = json_integer_value(json_array_get(parents, (size_t)i));
        good = up > i && up >= leaves && up < tree.nodes;
        tree.parent[i] = good ? (int)up : 0;
        children[tree.parent[i]]++;
    }
    for (int i = leaves; i < tree.nodes && good; i++) {
        good = children[i] >= 2;
    }
    if (!good) {
        dp_order_tree_free(&tree);
        return dp_err_set(err, DP_EXIT_DATA, "an order whose 'parents' are no tree of additions");
    }
    complete(&tree);
    *ret = tree;
    return 0;
}

struct dp_order_tree dp_order_subtree(const struct dp_order_tree *tree, int node)
{
    int *const number = dp_alloc((size_t)tree->nodes, sizeof(*number));
    int count = 0;
    number[node] = 1;
    for (int i = node; i-- > 0;) {
        number[i] = number[tree->parent[i]];
    }
    for (int i = 0; i <= node; i++) { /* nodes keep their order, so parents stay behind children */
        count += number[i];
        number[i] = number[i] ? count - 1 : -1;
    }
    struct dp_order_tree part = tree_of(tree->size[node], count);
    for (int i = 0; i < node; i++) {
        if (number[i] >= 0) {
            part.parent[number[i]] = number[tree->parent[i]];
        }
    }
    free(number);
    complete(&part);
    return part;
}

struct dp_order_tree dp_order_above(const struct dp_order_tree *tree, const int *part, int parts)
{
    int *const number = dp_alloc((size_t)tree->nodes, sizeof(*number)); /* + 1; 0: inside a part */
    int count = parts;
    for (int i = 0; i < tree->leaves; i++) {
        number[i] = part[i] + 1;
    }
    for (int i = tree->leaves; i < tree->nodes; i++) { /* above, where its children are of several parts */
        bool above = false;
        const int of = number[tree->first[i]];
        for (int c = tree->first[i]; c >= 0; c = tree->next[c]) {
            above = above || number[c] != of || of > parts;
        }
        number[i] = above ? ++count : of;
    }
    struct dp_order_tree ret = tree_of(parts, count);
    for (int i = 0; i + 1 < tree->nodes; i++) {
        if (number[i] != number[tree->parent[i]]) {
            ret.parent[number[i] - 1] = number[tree->parent[i]] - 1;
        }
    }
    free(number);
    complete(&ret);
    return ret;
}

/* What stands between and around the children of each node; iterative, since a chain is as deep as long. */
static void write_tree(const struct dp_order_tree *tree, struct dp_text *to)
{
    int node = tree->nodes - 1;
    for (;;) {
        for (; tree->first[node] >= 0; node = tree->first[node]) {
            dp_text_put(to, "(");
        }
        dp_text_printf(to, "%d", node);
        for (; node < tree->nodes - 1 && tree->next[node] < 0; node = tree->parent[node]) {
            dp_text_put(to, ")");
        }
        if (node == tree->nodes - 1) {
            return;
        }
        dp_text_put(to, " ");
        node = tree->next[node];
    }
}

char *dp_order_text(const struct dp_order_tree *tree)
{
    struct dp_text text = DP_TEXT(TEXT_MOST);
    write_tree(tree, &text);
    return text.data;
}

int dp_order_depth(const struct dp_order_tree *tree)
{
    int *const depth = dp_alloc((size_t)tree->nodes, sizeof(*depth));
    int most = 0;
    for (int i = tree->nodes - 1; i-- > 0;) {
        depth[i] = depth[tree->parent[i]] + 1;
        most = depth[i] > most ? depth[i] : most;
    }
    free(depth);
    return most;
}

int dp_order_width(const struct dp_order_tree *tree)
{
    int most = 0;
    for (int i = tree->leaves; i < tree->nodes; i++) {
        int width = 0;
        for (int c = tree->first[i]; c >= 0; c = tree->next[c]) {
            width++;
        }
        most = width > most ? width : most;
    }
    return most;
}

char *dp_order_dot(const struct dp_order_tree *tree)
{
    struct dp_text text = DP_TEXT(TEXT_MOST);
    dp_text_put(&text, "digraph order {\n  rankdir=BT;\n  node [shape=circle, label=\"+\", fontsize=10];\n");
    for (int i = 0; i < tree->leaves; i++) {
        dp_text_printf(&text, "  n%d [shape=plaintext, label=\"%d\"];\n", i, i);
    }
    for (int i = 0; i + 1 < tree->nodes; i++) {
        dp_text_printf(&text, "  n%d -> n%d;\n", i, tree->parent[i]);
    }
    dp_text_put(&text, "}\n");
    return text.data;
}

bool dp_order_fingerprint(const json_t *answer, char ret[65])
{
    struct dp_text text = DP_TEXT(2 * TEXT_MOST);
    bool good = true;
    size_t i;
    json_t *view;
    json_array_foreach(json_object_get(answer, "views"), i, view)
    {
        struct dp_order_tree tree;
        const char *kind = dp_json_string(view, "kind", "");
        const json_int_t summands = dp_json_int(view, "summands", 0);
        dp_text_printf(&text, "%lld %lld %s", (long long)dp_json_int(view, "step", 1), (long long)summands,
                       kind);
        if (strcmp(kind, "tree") == 0 &&
            dp_order_tree_read(json_object_get(view, "parents"), (int)summands, &tree, NULL) == 0) {
            dp_text_put(&text, " ");
            write_tree(&tree, &text);
            dp_order_tree_free(&tree);
        } else {
            good = good && strcmp(kind, "exact") == 0;
        }
        dp_text_put(&text, "\n");
    }
    good = good && text.length > 0 && !text.truncated;
    if (good) {
        dp_sha256_hex(text.data, text.length, ret);
    }
    dp_text_free(&text);
    return good;
}
