/* SPDX-License-Identifier: Apache-2.0
 *
 * Orders of additions: the one at the base setting, which follows from the stack, and those at the settings
 * of the axes along which bits move, which say why.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/order.h"
#include "suite/base/digest.h"
#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/judge/facts.h"
#include "suite/plan/levels.h"

#define BASE "order" /* the axis whose other factor is none */

static bool is_asked(const struct dp_fact *fact)
{
    return fact->request->retest == 0 && dp_axis_reveals(fact->request->axis);
}

static bool is_base(const struct dp_fact *fact)
{
    return strcmp(fact->request->axis, BASE) == 0;
}

/* Of an order: {n, fingerprint, words}, without a fingerprint where it is no one order. Owned. */
static json_t *order_json(const struct dp_fact *fact)
{
    char fingerprint[DP_SHA256_HEX], *words = dp_order_answer_words(fact->answer);
    json_t *order = json_pack("{sOss}", "n", json_object_get(fact->answer, "summands"), "words", words);
    if (fact->distinct == 1 && dp_order_fingerprint(fact->answer, fingerprint)) {
        json_object_set_new(order, "fingerprint", json_string(fingerprint));
    }
    free(words);
    return order;
}

json_t *dp_order_json(const struct dp_view *view)
{
    for (size_t i = 0; i < view->count; i++) {
        const struct dp_fact *fact = view->facts[i];
        if (is_asked(fact) && is_base(fact) && fact->kind == DP_FACT_ORDER) {
            json_t *order = order_json(fact);
            if (json_object_get(order, "fingerprint")) {
                return order;
            }
            json_decref(order);
        }
    }
    return NULL;
}

/* "threads" of "threads*order", "4" of "4*512"; of the base "repeat" and "". Owned. */
static json_t *without_order(const char *product, const char *none)
{
    const char *last = strrchr(product, '*');
    return last ? json_stringn(product, (size_t)(last - product)) : json_string(none);
}

/* How many sums of the views were asked again, and how many of them were others. */
static void add_changed(const struct dp_fact *fact, json_t *row)
{
    json_int_t twice = 0, changed = 0;
    size_t i;
    json_t *view;
    json_array_foreach(json_object_get(fact->answer, "views"), i, view)
    {
        twice += dp_json_int(view, "twice", 0);
        changed += dp_json_int(view, "changed", 0);
    }
    if (changed > 0) {
        json_object_set_new(row, "twice", json_integer(twice));
        json_object_set_new(row, "changed", json_integer(changed));
    }
}

static json_t *row_json(const struct dp_fact *fact)
{
    json_t *row = fact->kind == DP_FACT_ORDER ? order_json(fact) : json_object();
    json_object_set_new(row, "axis", without_order(fact->request->axis, "repeat"));
    json_object_set_new(row, "setting", without_order(fact->request->setting, ""));
    if (fact->kind == DP_FACT_ORDER) {
        add_changed(fact, row);
        return row;
    }
    char *why = dp_fact_dropped(fact);
    json_object_set_new(row, "dropped", json_string(why));
    free(why);
    return row;
}

/* Do the orders along the axis of this request differ, or do its bits? */
static bool is_moved(const struct dp_view *view, const char *product)
{
    char *axis = dp_printf("%.*s", (int)strcspn(product, "*"), product), first[DP_SHA256_HEX] = "";
    bool moved = dp_axis_moved(view, axis, 0).moved;
    for (size_t i = 0; i < view->count && !moved; i++) {
        const struct dp_fact *fact = view->facts[i];
        char own[DP_SHA256_HEX] = "";
        if (!is_asked(fact) || strcmp(fact->request->axis, product) != 0 || fact->kind != DP_FACT_ORDER) {
            continue;
        }
        moved = fact->distinct > 1 || !dp_order_fingerprint(fact->answer, own) ||
                (first[0] && strcmp(first, own) != 0);
        memcpy(first, own, sizeof(first));
    }
    free(axis);
    return moved;
}

json_t *dp_orders_json(const struct dp_view *view)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < view->count; i++) {
        const struct dp_fact *fact = view->facts[i];
        /* what shows none at the base setting shows none anywhere, and says why once */
        if (is_asked(fact) &&
            (is_base(fact) || (fact->kind != DP_FACT_SKIP && is_moved(view, fact->request->axis)))) {
            json_array_append_new(rows, row_json(fact));
        }
    }
    if (json_array_size(rows) == 0) {
        json_decref(rows);
        return NULL;
    }
    return rows;
}

/* One of the first inputs that decide bits, at a setting of an axis alone. */
static bool is_setting(const struct dp_fact *fact)
{
    return fact->kind == DP_FACT_OBSERVATION && fact->distinct == 1 && fact->request->retest == 0 &&
           fact->request->seed_index == 0 && strcmp(fact->request->set, "wide") == 0 &&
           !strchr(fact->request->axis, '*') && !dp_fact_is_base(fact);
}

/* Did an earlier setting of the axis give the same? */
static bool is_known(const struct dp_view *view, size_t place)
{
    const struct dp_fact *fact = view->facts[place];
    for (size_t i = 0; i < place; i++) {
        const struct dp_fact *other = view->facts[i];
        if (is_setting(other) && strcmp(other->request->axis, fact->request->axis) == 0 &&
            dp_same_bits(other, fact)) {
            return true;
        }
    }
    return false;
}

/* Was an order asked for at the base setting, and is there none, or at too high a price? */
static bool shows_none(const struct dp_view *view)
{
    for (size_t i = 0; i < view->count; i++) {
        const struct dp_fact *fact = view->facts[i];
        if (is_asked(fact) && is_base(fact)) {
            const json_t *first = json_array_get(json_object_get(fact->answer, "views"), 0);
            return fact->kind != DP_FACT_ORDER || strcmp(dp_json_string(first, "kind", ""), "costly") == 0;
        }
    }
    return false;
}

size_t dp_moved_settings(const struct dp_view *view, size_t *ret)
{
    size_t count = 0;
    for (size_t i = 0; i < view->count && !shows_none(view); i++) {
        const struct dp_fact *fact = view->facts[i];
        if (is_setting(fact) && !is_known(view, i) && dp_axis_moved(view, fact->request->axis, 0).moved) {
            ret[count++] = (size_t)(fact->request - view->plan->requests);
        }
    }
    return count;
}
