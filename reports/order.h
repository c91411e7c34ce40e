/* SPDX-License-Identifier: Apache-2.0
 *
 * The order in which an operation adds up its summands, as a tree: from a program's answer to words, to a
 * fingerprint and to a drawing.
 */
#ifndef DP_REPORTS_ORDER_H
#define DP_REPORTS_ORDER_H

#include <jansson.h>
#include <stdbool.h>

#include "suite/base/err.h"

enum { DP_ORDER_LEAVES_MOST = 16384 };

/* Nodes 0 .. leaves - 1 are the summands in their order, the last is the sum. */
struct dp_order_tree {
    int leaves, nodes;
    int *parent; /* of each but the last; higher than the node; the arrays are owned */
    int *size;   /* summands under each node */
    int *least, *most;
    int *first, *next; /* children, by their least summand; -1: no more */
};

/* From parents as a program sent them, an array of all but the last node. Code 65 for what is no tree
 * of that many summands, with a text that goes after "the program sent ". */
int dp_order_tree_read(const json_t *parents, int leaves, struct dp_order_tree *ret, struct dp_err *err);
/* The subtree of a node, its summands numbered anew in their order. */
struct dp_order_tree dp_order_subtree(const struct dp_order_tree *tree, int node);
/* The tree above some of its nodes: `part[i]` is the number of the part that summand i is in, parts being
 * whole subtrees, numbered by their least summand. */
struct dp_order_tree dp_order_above(const struct dp_order_tree *tree, const int *part, int parts);
void dp_order_tree_free(struct dp_order_tree *tree);

/* "((0 1) 2)": children by their least summand, since an addition does not tell them apart. Owned. */
char *dp_order_text(const struct dp_order_tree *tree);
int dp_order_depth(const struct dp_order_tree *tree);
int dp_order_width(const struct dp_order_tree *tree); /* most children of a node */
/* How the tree is built, in words. Owned. */
char *dp_order_words(const struct dp_order_tree *tree);
/* A graph for Graphviz. Owned. */
char *dp_order_dot(const struct dp_order_tree *tree);

/* Of an answer of type `order`: its trees and what else tells one order from another, digested. false: it
 * varies, or is no order. */
bool dp_order_fingerprint(const json_t *answer, char ret[65]);
/* Of one of its views, in words. Owned. */
char *dp_order_view_words(const json_t *view);
/* What a view is of: "all 512", "first 512", "every 8.". Owned. */
char *dp_order_view_of(const json_t *view);
/* Of all of it: "in order; in f32", "first 512: in order; in f32 | every 8.: pairwise; in f32". Owned. */
char *dp_order_answer_words(const json_t *answer);
/* Of such words the length of what the first view says. */
size_t dp_order_first_view(const char *words);

#endif
