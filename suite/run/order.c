/* SPDX-License-Identifier: Apache-2.0
 *
 * The check of orders: types, ranges, and trees that are trees.
 */
#include "suite/run/order.h"

#include <string.h>

#include "reports/order.h"
#include "suite/base/json.h"
#include "suite/run/members.h"

#define COUNT(table) (sizeof(table) / sizeof(table[0]))
#define INT_MAX53 (((json_int_t)1 << 53) - 1)
#define DIMENSIONS_MAX 16
#define VIEWS_MAX 2

static const struct dp_member order_members[] = {
    {"output", DP_MEMBER_NAME, true, 0, 64, NULL},
    {"cell", DP_MEMBER_COUNTS, true, 0, DIMENSIONS_MAX, NULL},
    {"operand", DP_MEMBER_NAME, true, 0, 64, NULL},
    {"dtype", DP_MEMBER_NAME, true, 0, 32, NULL},
    {"summands", DP_MEMBER_INT, true, 2, INT_MAX53, NULL},
    {"cells", DP_MEMBER_INT, false, 1, INT_MAX53, NULL},
    {"runs", DP_MEMBER_INT, false, 1, INT_MAX53, NULL},
    {"chosen", DP_MEMBER_STRING, false, 0, 1000, NULL},
    {"threads", DP_MEMBER_INT, false, 1, 1 << 20, NULL},
};
static const struct dp_member view_members[] = {
    {"of", DP_MEMBER_WORD, true, 0, 0, "all|first|every"},
    {"summands", DP_MEMBER_INT, true, 2, DP_ORDER_LEAVES_MOST, NULL},
    {"step", DP_MEMBER_INT, true, 1, INT_MAX53, NULL},
    {"kind", DP_MEMBER_WORD, true, 0, 0, "tree|exact|none|varies|costly"},
    {"parents", DP_MEMBER_COUNTS, false, 0, 2 * DP_ORDER_LEAVES_MOST, NULL},
    {"asked", DP_MEMBER_INT, false, 0, INT_MAX53, NULL},
    {"twice", DP_MEMBER_INT, false, 0, INT_MAX53, NULL},
    {"changed", DP_MEMBER_INT, false, 0, INT_MAX53, NULL},
    {"replayed", DP_MEMBER_INT, false, 1, INT_MAX53, NULL},
    {"same", DP_MEMBER_INT, false, 0, INT_MAX53, NULL},
    {"in", DP_MEMBER_WORD, false, 0, 0, "f32|f64|f16|bf16|exact"},
    {"aligned", DP_MEMBER_COUNTS, false, 0, 2, NULL},
};

/* Does a view speak of summands that are there? */
static bool is_within(const json_t *view, json_int_t summands)
{
    const json_int_t count = dp_json_int(view, "summands", 0), step = dp_json_int(view, "step", 0);
    const bool all = strcmp(dp_json_string(view, "of", ""), "all") == 0;
    return all ? step == 1 && count == summands : count < summands && step <= (summands - 1) / (count - 1);
}

/* NULL: what the view says goes together. */
static const char *contradiction(const json_t *view, json_int_t summands)
{
    const char *kind = dp_json_string(view, "kind", "");
    const json_int_t changed = dp_json_int(view, "changed", 0);
    const bool one = strcmp(kind, "tree") == 0 || strcmp(kind, "exact") == 0;
    return !is_within(view, summands)                ? "of other summands than there are"
           : changed > dp_json_int(view, "twice", 0) ? "with more in 'changed' than were asked twice"
           : one && changed > 0                      ? "whose sums 'changed' but not its kind"
           : strcmp(kind, "varies") == 0 && !changed ? "that varies, with none 'changed'"
           : dp_json_int(view, "same", 0) > dp_json_int(view, "replayed", 0)
               ? "with more in 'same' than were replayed"
               : NULL;
}

static int copy_view(const json_t *from, json_int_t summands, json_t *views, struct dp_err *err)
{
    static const char where[] = "an order with a view";
    json_t *to = json_object();
    json_array_append_new(views, to);
    if (dp_members_copy(from, to, view_members, COUNT(view_members), where, err)) {
        return -1;
    }
    const json_t *parents = json_object_get(to, "parents");
    const bool tree = strcmp(dp_json_string(to, "kind", ""), "tree") == 0;
    if (tree != (parents != NULL)) {
        return dp_err_set(err, DP_EXIT_DATA, "%s that has 'parents' and is no tree, or the reverse", where);
    }
    const char *wrong = contradiction(to, summands);
    if (wrong) {
        return dp_err_set(err, DP_EXIT_DATA, "%s %s", where, wrong);
    }
    struct dp_order_tree read;
    if (tree && dp_order_tree_read(parents, (int)dp_json_int(to, "summands", 0), &read, err)) {
        return -1;
    }
    if (tree) {
        dp_order_tree_free(&read);
    }
    return 0;
}

json_t *dp_order_check(const json_t *message, struct dp_err *err)
{
    const json_t *from = json_object_get(message, "views");
    json_t *ret = json_pack("{s:s}", "type", "order"), *views = json_array();
    json_object_set_new(ret, "views", views);
    int rc = dp_members_copy(message, ret, order_members, COUNT(order_members), "an order", err);
    if (rc == 0 && (json_array_size(from) < 1 || json_array_size(from) > VIEWS_MAX)) {
        rc = dp_err_set(err, DP_EXIT_DATA, "an order without 'views' (1 or %d)", VIEWS_MAX);
    }
    for (size_t i = 0; rc == 0 && i < json_array_size(from); i++) {
        rc = copy_view(json_array_get(from, i), dp_json_int(ret, "summands", 0), views, err);
    }
    if (rc) {
        json_decref(ret);
        ret = NULL;
    }
    return ret;
}
