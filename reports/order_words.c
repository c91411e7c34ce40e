/* SPDX-License-Identifier: Apache-2.0
 *
 * A tree of additions in words. It is one of a few simple ones, or its summands fall into parts alike, blocks
 * that follow each other or lanes that take turns: then the parts are told, and the tree above them. Of all
 * ways to tell a tree the shortest is taken.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/order.h"
#include "suite/base/json.h"
#include "suite/base/text.h"

#define WORDS_MOST 2000
#define UNEQUAL_MOST 8 /* blocks whose sizes are told one by one */
#define VIEWS_APART " | "
#define SHOWN_MOST 8 /* summands of an order that has no name */

static bool is_leaf(const struct dp_order_tree *tree, int node)
{
    return node < tree->leaves;
}

static bool is_binary(const struct dp_order_tree *tree)
{
    return tree->nodes == 2 * tree->leaves - 1;
}

/* The child of a node that is no summand where all others are; the last child where all are, -1 where several
 * are not. */
static int stem_of(const struct dp_order_tree *tree, int node)
{
    int stem = -1, last = -1;
    for (int c = tree->first[node]; c >= 0; last = c, c = tree->next[c]) {
        if (!is_leaf(tree, c)) {
            if (stem >= 0) {
                return -1;
            }
            stem = c;
        }
    }
    return stem >= 0 ? stem : last;
}

/* One at a time, onto what there is: forward, or backward from the last. */
static bool is_chain(const struct dp_order_tree *tree, bool backward)
{
    int node = tree->nodes - 1;
    for (int i = 0; !is_leaf(tree, node) && is_binary(tree); i++) {
        const int stem = stem_of(tree, node);
        if (stem < 0) {
            return false;
        }
        if (is_leaf(tree, stem)) {
            return true;
        }
        const int other = tree->first[node] == stem ? tree->next[stem] : tree->first[node];
        if (other != (backward ? i : tree->leaves - 1 - i)) {
            return false;
        }
        node = stem;
    }
    return false;
}

/* So many at a time, in order: nodes of the sum so far and `width` summands, of which the innermost may have
 * one more, for there is no sum yet, and the last fewer. 0: it is not so. */
static int fused_width(const struct dp_order_tree *tree)
{
    int *const size = dp_alloc((size_t)tree->nodes, sizeof(*size)); /* from the outermost */
    int count = 0;
    for (int node = tree->nodes - 1; node >= 0 && !is_leaf(tree, node); node = stem_of(tree, node)) {
        size[count++] = tree->most[node] == tree->size[node] - 1 ? tree->size[node] : 0; /* the first ones */
    }
    const int last = count > 1 ? size[0] - size[1] : 0, inner = size[count - 1];
    int width = count > 2 ? size[1] - size[2] : inner == last + 1 ? last : inner;
    bool fused = count > 1 && count == tree->nodes - tree->leaves && last <= width &&
                 (inner == width || inner == width + 1);
    for (int i = 0; i + 1 < count; i++) {
        fused = fused && size[i + 1] > 0 && (i == 0 || size[i] - size[i + 1] == width);
    }
    free(size);
    return fused && width > 1 ? width : 0;
}

/* Every node adds two neighbours of equal size, or sizes that differ by one. */
static bool is_pairwise(const struct dp_order_tree *tree)
{
    bool pairwise = is_binary(tree) && tree->leaves > 3;
    for (int i = tree->leaves; i < tree->nodes && pairwise; i++) {
        const int low = tree->first[i], high = tree->next[low];
        const int more = abs(tree->size[low] - tree->size[high]);
        pairwise = more <= 1 && tree->most[low] < tree->least[high];
    }
    return pairwise;
}

/* The upper half is added to the lower, and so on: below every node those of even and of odd rank meet. */
static bool is_folded(const struct dp_order_tree *tree)
{
    bool folded = is_binary(tree) && tree->leaves > 3 && (tree->leaves & (tree->leaves - 1)) == 0;
    for (int i = tree->leaves; i < tree->nodes && folded; i++) {
        const int even = tree->first[i], odd = tree->next[even], step = tree->leaves / tree->size[i];
        folded = tree->size[even] == tree->size[odd] && tree->least[odd] == tree->least[even] + step &&
                 tree->most[i] == tree->least[i] + (tree->size[i] - 1) * step;
    }
    return folded;
}

/* One at a time, in some other order, of which the beginning is told. NULL: it is not so. Owned. */
static char *permuted_words(const struct dp_order_tree *tree)
{
    struct dp_text text = DP_TEXT(WORDS_MOST);
    int *const next = dp_alloc((size_t)tree->leaves, sizeof(*next)); /* added, from the last */
    int count = 0, node = tree->nodes - 1;
    while (is_binary(tree) && !is_leaf(tree, node) && stem_of(tree, node) >= 0) {
        const int stem = stem_of(tree, node);
        next[count++] = tree->first[node] == stem ? tree->next[stem] : tree->first[node];
        node = stem;
    }
    if (count == tree->leaves - 1) {
        dp_text_printf(&text, "one at a time, in the order %d",
                       node < next[count - 1] ? node : next[count - 1]);
        dp_text_printf(&text, " %d", node < next[count - 1] ? next[count - 1] : node);
        for (int i = count - 1; i-- > 0 && count - i < SHOWN_MOST;) {
            dp_text_printf(&text, " %d", next[i]);
        }
        dp_text_put(&text, " ...");
    }
    free(next);
    return text.data;
}

/* Of the trees that need no parts; NULL: it is none of them. Owned. */
static char *simple_words(const struct dp_order_tree *tree)
{
    if (tree->leaves == 2) {
        return dp_strdup("added");
    }
    if (is_chain(tree, false)) {
        return dp_strdup("in order");
    }
    if (is_chain(tree, true)) {
        return dp_strdup("in reverse order");
    }
    if (tree->nodes == tree->leaves + 1) {
        return dp_strdup("all at once");
    }
    if (is_pairwise(tree)) {
        return dp_strdup("pairwise");
    }
    if (is_folded(tree)) {
        return dp_strdup("by halves");
    }
    const int width = fused_width(tree);
    return width ? dp_printf("in order, %d at a time with the sum so far", width) : NULL;
}

/* The summands in parts that are whole subtrees. */
struct cut {
    int *part; /* of each summand; owned */
    int *top;  /* node of each part; owned */
    int parts;
    bool lanes; /* they take turns; else they follow each other */
    bool equal; /* blocks of one size, but for the last */
};

static void cut_free(struct cut *cut)
{
    free(cut->part);
    free(cut->top);
}

/* The largest subtrees of at most `size` summands, by their least summand. */
static struct cut cut_at(const struct dp_order_tree *tree, int size)
{
    struct cut cut = {.part = dp_alloc((size_t)tree->leaves, sizeof(int)),
                      .top = dp_alloc((size_t)tree->leaves, sizeof(int))};
    int *const top = dp_alloc((size_t)tree->nodes, sizeof(*top)); /* of the part that a node is in, + 1 */
    int *const number = dp_alloc((size_t)tree->nodes, sizeof(*number));
    for (int i = tree->nodes; i-- > 0;) {
        const int above = i + 1 < tree->nodes ? top[tree->parent[i]] : 0;
        top[i] = above ? above : tree->size[i] <= size ? i + 1 : 0;
    }
    for (int i = 0; i < tree->leaves; i++) {
        const int node = top[i] - 1;
        if (tree->least[node] == i) {
            number[node] = cut.parts;
            cut.top[cut.parts++] = node;
        }
        cut.part[i] = number[node];
    }
    free(number);
    free(top);
    return cut;
}

/* Blocks: equal, but for a last that may be smaller, or a few of any size. */
static bool are_blocks(const struct dp_order_tree *tree, struct cut *cut)
{
    const int size = tree->size[cut->top[0]];
    int least = size;
    cut->equal = true;
    for (int p = 0; p < cut->parts; p++) {
        const int node = cut->top[p], own = tree->size[node];
        if (tree->most[node] - tree->least[node] + 1 != own) {
            return false;
        }
        least = own < least ? own : least;
        cut->equal = cut->equal && (own == size || (p == cut->parts - 1 && own < size));
    }
    return cut->equal || (cut->parts > 2 && cut->parts <= UNEQUAL_MOST && least > 2);
}

/* Lanes: summand i in part i mod parts. */
static bool are_lanes(const struct dp_order_tree *tree, const struct cut *cut)
{
    for (int i = 0; i < tree->leaves; i++) {
        if (cut->part[i] != i % cut->parts) {
            return false;
        }
    }
    return true;
}

static bool is_regular(const struct dp_order_tree *tree, struct cut *cut)
{
    const bool blocks = are_blocks(tree, cut);
    cut->lanes = !blocks;
    return cut->parts > 1 && cut->parts < tree->leaves && tree->size[cut->top[0]] < tree->leaves - 1 &&
           (blocks || are_lanes(tree, cut));
}

static char *words_of(const struct dp_order_tree *tree, json_t *known);

/* The words that all parts have in common, NULL where they differ. Parts of one size must be of one shape,
 * shorter ones of the same words. */
static char *common_words(const struct dp_order_tree *tree, const struct cut *cut, json_t *known)
{
    struct dp_order_tree first = dp_order_subtree(tree, cut->top[0]);
    char *words = first.leaves > 1 ? words_of(&first, known) : NULL;
    char *shape = dp_order_text(&first);
    bool same = words != NULL;
    for (int p = 1; p < cut->parts && same; p++) {
        struct dp_order_tree part = dp_order_subtree(tree, cut->top[p]);
        char *own = NULL;
        if (part.leaves == first.leaves) {
            own = dp_order_text(&part);
            same = strcmp(own, shape) == 0;
        } else if (part.leaves > 2) {
            own = words_of(&part, known);
            same = own && strcmp(own, words) == 0;
        }
        free(own);
        dp_order_tree_free(&part);
    }
    dp_order_tree_free(&first);
    free(shape);
    if (!same) {
        free(words);
    }
    return same ? words : NULL;
}

/* Words with words of their own in brackets, where they hold several. Owned. */
static char *bracketed(char *words)
{
    char *ret = words && strchr(words, ';') ? dp_printf("(%s)", words) : NULL;
    if (ret) {
        free(words);
    }
    return ret ? ret : words;
}

/* "8 lanes (i mod 8)", "4 blocks of 128", "3 blocks of 320, 232, 225" */
static char *kind_words(const struct dp_order_tree *tree, const struct cut *cut)
{
    struct dp_text text = DP_TEXT(WORDS_MOST);
    const int size = tree->size[cut->top[0]], last = tree->size[cut->top[cut->parts - 1]];
    if (cut->lanes) {
        dp_text_printf(&text, "%d lanes (i mod %d)", cut->parts, cut->parts);
        return text.data;
    }
    dp_text_printf(&text, "%d blocks of %d", cut->parts, size);
    for (int p = 1; p < cut->parts && !cut->equal; p++) {
        dp_text_printf(&text, ", %d", tree->size[cut->top[p]]);
    }
    if (cut->equal && last < size) {
        dp_text_printf(&text, " (the last of %d)", last);
    }
    return text.data;
}

/* "4 blocks of 128, each in order; these pairwise" */
static char *parts_words(const struct dp_order_tree *tree, const struct cut *cut, json_t *known)
{
    char *inner = bracketed(common_words(tree, cut, known));
    if (!inner) {
        return NULL;
    }
    struct dp_order_tree above = dp_order_above(tree, cut->part, cut->parts);
    char *outer = bracketed(words_of(&above, known)), *kind = kind_words(tree, cut);
    char *ret = outer ? dp_printf("%s, each %s; these %s", kind, inner, outer) : NULL;
    dp_order_tree_free(&above);
    free(kind);
    free(outer);
    free(inner);
    return ret;
}

/* Two unlike parts that follow each other, or a beginning onto which the rest is added one by one. */
static char *rest_words(const struct dp_order_tree *tree, json_t *known)
{
    int node = tree->nodes - 1, top = tree->leaves;
    for (;;) {
        const int low = tree->first[node], high = tree->next[low];
        if (tree->next[high] >= 0 || !is_leaf(tree, high) || high != top - 1 || is_leaf(tree, low)) {
            break;
        }
        node = low;
        top--;
    }
    const int low = top == tree->leaves ? tree->first[node] : node, high = tree->next[low];
    if (top == tree->leaves && (tree->next[high] >= 0 || is_leaf(tree, low) || is_leaf(tree, high) ||
                                tree->most[low] > tree->least[high])) {
        return NULL;
    }
    struct dp_order_tree first = dp_order_subtree(tree, low);
    char *begin = bracketed(words_of(&first, known)), *ret = NULL;
    if (begin && top < tree->leaves) {
        ret =
            dp_printf("the first %d %s; then the other %d in order", first.leaves, begin, tree->leaves - top);
    } else if (begin) {
        struct dp_order_tree second = dp_order_subtree(tree, high);
        char *end = bracketed(words_of(&second, known));
        const bool alike = end && strcmp(begin, end) == 0; /* those are blocks */
        ret = end && !alike ? dp_printf("the first %d %s; the other %d %s; both added", first.leaves, begin,
                                        second.leaves, end)
                            : NULL;
        free(end);
        dp_order_tree_free(&second);
    }
    free(begin);
    dp_order_tree_free(&first);
    return ret;
}

static void take_shorter(char **best, char *words)
{
    if (words && (!*best || strlen(words) < strlen(*best))) {
        free(*best);
        *best = words;
    } else {
        free(words);
    }
}

/* The shortest that parts or a rest give. */
static char *nested_words(const struct dp_order_tree *tree, json_t *known)
{
    char *best = NULL;
    bool *const tried = dp_alloc((size_t)tree->leaves + 1, sizeof(*tried));
    for (int i = tree->leaves; i + 1 < tree->nodes; i++) {
        const int size = tree->size[i];
        if (!tried[size]) {
            tried[size] = true;
            struct cut cut = cut_at(tree, size);
            take_shorter(&best, is_regular(tree, &cut) ? parts_words(tree, &cut, known) : NULL);
            cut_free(&cut);
        }
    }
    free(tried);
    take_shorter(&best, best ? NULL : permuted_words(tree));
    take_shorter(&best, rest_words(tree, known));
    return best;
}

/* NULL: there are no simple ones. Owned. Parts of parts come again and again, so what is found is kept. */
static char *words_of(const struct dp_order_tree *tree, json_t *known)
{
    char *simple = simple_words(tree);
    if (simple) {
        return simple;
    }
    char *key = dp_order_text(tree);
    if (!json_object_get(known, key)) {
        char *words = nested_words(tree, known);
        json_object_set_new(known, key, words ? json_string(words) : json_null());
        free(words);
    }
    const char *words = json_string_value(json_object_get(known, key));
    free(key);
    return words ? dp_strdup(words) : NULL;
}

char *dp_order_words(const struct dp_order_tree *tree)
{
    json_t *known = json_object();
    char *words = words_of(tree, known);
    json_decref(known);
    return words ? words
                 : dp_printf("no simple pattern (depth %d, up to %d at a time)", dp_order_depth(tree),
                             dp_order_width(tree));
}

/* What random summands said of the additions. */
static char *replay_words(const json_t *view)
{
    const long long replayed = (long long)dp_json_int(view, "replayed", 0);
    const long long same = (long long)dp_json_int(view, "same", 0);
    const char *in = dp_json_string(view, "in", "");
    if (replayed == 0) {
        return dp_strdup("");
    }
    if (same == replayed && strcmp(in, "exact") == 0) {
        return dp_strdup("; rounded once");
    }
    const json_t *aligned = json_object_get(view, "aligned");
    const long long least = (long long)json_integer_value(json_array_get(aligned, 0));
    const long long most = (long long)json_integer_value(json_array_get(aligned, 1));
    if (same == replayed && json_array_size(aligned) == 2) {
        return least == most ? dp_printf("; %lld bits of the largest kept; in %s", least, in)
                             : dp_printf("; %lld to %lld bits of the largest kept; in %s", least, most, in);
    }
    if (same == replayed) {
        return dp_printf("; in %s", in);
    }
    return dp_printf("; not by plain additions: %lld of %lld random sums are what that gives", same,
                     replayed);
}

char *dp_order_view_words(const json_t *view)
{
    static const struct {
        const char *kind, *words;
    } kinds[] = {
        {"exact", "exact or compensated: nothing is lost, so no order shows"},
        {"none", "repeats, but no tree of plain additions: exact or compensated in part"},
        {"varies", "no one order: it changes from run to run"},
        {"costly", "given up: too many pairs to ask"},
    };
    const char *kind = dp_json_string(view, "kind", "");
    char *words = NULL;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        words = strcmp(kind, kinds[i].kind) == 0 ? dp_strdup(kinds[i].words) : words;
    }
    struct dp_order_tree tree;
    if (!words && dp_order_tree_read(json_object_get(view, "parents"), (int)dp_json_int(view, "summands", 0),
                                     &tree, NULL) == 0) {
        words = dp_order_words(&tree);
        dp_order_tree_free(&tree);
    }
    char *replay = replay_words(view);
    char *ret = dp_printf("%s%s", words ? words : "unknown", replay);
    free(replay);
    free(words);
    return ret;
}

char *dp_order_view_of(const json_t *view)
{
    const json_int_t step = dp_json_int(view, "step", 1);
    return step > 1 ? dp_printf("every %lld.", (long long)step)
                    : dp_printf("%s %lld", dp_json_string(view, "of", ""),
                                (long long)dp_json_int(view, "summands", 0));
}

char *dp_order_answer_words(const json_t *answer)
{
    const json_t *views = json_object_get(answer, "views");
    struct dp_text text = DP_TEXT(4 * WORDS_MOST);
    size_t i;
    json_t *view;
    if (json_array_size(views) == 1) {
        return dp_order_view_words(json_array_get(views, 0));
    }
    json_array_foreach(views, i, view)
    {
        char *of = dp_order_view_of(view), *words = dp_order_view_words(view);
        dp_text_printf(&text, "%s%s: %s", i ? VIEWS_APART : "", of, words);
        free(words);
        free(of);
    }
    return dp_text_take(&text);
}

size_t dp_order_first_view(const char *words)
{
    const char *end = strstr(words, VIEWS_APART);
    return end ? (size_t)(end - words) : strlen(words);
}
