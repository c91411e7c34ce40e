/* SPDX-License-Identifier: Apache-2.0
 *
 * Why bits moved along an axis, from the orders of additions that were revealed at its settings: "threads: in
 * order (1) → 2 blocks of 256, each in order; these added (2)".
 */
#include <stdlib.h>
#include <string.h>

#include "reports/order.h"
#include "reports/render/sheet.h"
#include "reports/render/words.h"
#include "suite/base/json.h"

#define SHOWN_MOST 6 /* orders along one axis */

/* Rows along one axis by what they say of the order, in that of the settings: [[row, settings...]...]. Of
 * axis isa the base process belongs to them. Owned. */
static json_t *orders_along(const json_t *entry, const char *axis)
{
    const json_t *rows = json_object_get(entry, "orders");
    json_t *orders = json_array(), *places = json_object();
    for (size_t i = 0; i < json_array_size(rows); i++) {
        json_t *row = json_array_get(rows, i);
        const char *own = dp_json_string(row, "axis", ""), *words = dp_json_string(row, "words", NULL);
        const bool base = strcmp(own, "repeat") == 0 && strcmp(axis, "isa") == 0;
        if (!words || (!base && strcmp(own, axis) != 0)) {
            continue;
        }
        char *key = dp_printf("%s %s", dp_json_string(row, "fingerprint", ""), words);
        if (!json_object_get(places, key)) {
            json_object_set_new(places, key, json_pack("[O]", row));
            json_array_append(orders, json_object_get(places, key));
        }
        json_array_append_new(json_object_get(places, key),
                              json_string(base ? "by itself" : dp_json_string(row, "setting", "")));
        free(key);
    }
    json_decref(places);
    return orders;
}

static const char *fingerprint_of(const json_t *orders, size_t i)
{
    return dp_json_string(json_array_get(json_array_get(orders, i), 0), "fingerprint", "");
}

/* Is it one order, maybe in other arithmetic? */
static bool is_one(const json_t *orders)
{
    bool one = true;
    for (size_t i = 0; i < json_array_size(orders) && one; i++) {
        one =
            fingerprint_of(orders, i)[0] && strcmp(fingerprint_of(orders, i), fingerprint_of(orders, 0)) == 0;
    }
    return one;
}

/* How many settings have an order that was revealed, and how many orders these are: where that was given up,
 * or there is no one order, nothing is known to differ. */
static void count_revealed(const json_t *orders, size_t *ret_settings, size_t *ret_orders)
{
    json_t *known = json_object();
    *ret_settings = 0;
    for (size_t i = 0; i < json_array_size(orders); i++) {
        if (fingerprint_of(orders, i)[0]) {
            *ret_settings += json_array_size(json_array_get(orders, i)) - 1;
            json_object_set_new(known, fingerprint_of(orders, i), json_true());
        }
    }
    *ret_orders = json_object_size(known);
    json_decref(known);
}

static const char *words_of(const json_t *orders, size_t i)
{
    return dp_json_string(json_array_get(json_array_get(orders, i), 0), "words", "");
}

/* Do the first views alone tell the orders apart? Then the second ones need not be shown. */
static bool first_views_differ(const json_t *orders)
{
    for (size_t i = 0; i < json_array_size(orders); i++) {
        for (size_t k = 0; k < i; k++) {
            const char *a = words_of(orders, i), *b = words_of(orders, k);
            if (dp_order_first_view(a) == dp_order_first_view(b) &&
                strncmp(a, b, dp_order_first_view(a)) == 0) {
                return false;
            }
        }
    }
    return true;
}

static void add_order(struct dp_text *line, const json_t *orders, size_t i, bool first)
{
    const json_t *settings = json_array_get(orders, i);
    const char *words = words_of(orders, i);
    dp_text_printf(line, "%s%.*s (", i ? " → " : "",
                   (int)(first ? dp_order_first_view(words) : strlen(words)), words);
    for (size_t k = 1; k < json_array_size(settings); k++) {
        dp_text_printf(line, "%s%s", k > 1 ? ", " : "", json_string_value(json_array_get(settings, k)));
    }
    dp_text_put(line, ")");
}

/* Of one axis; nothing where no order was revealed along it. */
static void add_axis(struct dp_text *line, const json_t *entry, const char *axis)
{
    json_t *orders = orders_along(entry, axis);
    const size_t count = json_array_size(orders);
    if (count > 0) {
        dp_text_printf(line, "%s%s: ", line->length ? "; " : "", axis);
        dp_text_put(line, !is_one(orders) ? ""
                          : count > 1     ? "the same order in other arithmetic: "
                                      : "the same order where it was looked at, so other arithmetic or other "
                                        "elements: ");
    }
    const bool first = first_views_differ(orders);
    for (size_t i = 0; i < count && i < SHOWN_MOST; i++) {
        add_order(line, orders, i, first);
    }
    if (count > SHOWN_MOST) {
        dp_text_printf(line, " and %zu more", count - SHOWN_MOST);
    }
    json_decref(orders);
}

char *dp_orders_note(const json_t *result, const json_t *entry)
{
    const json_t *axes = json_object_get(result, "sensitive_to");
    struct dp_text line = DP_TEXT(65536);
    for (size_t i = 0; i < json_array_size(axes); i++) {
        add_axis(&line, entry, json_string_value(json_array_get(axes, i)));
    }
    const char *words = dp_json_string(json_object_get(result, "order"), "words", NULL);
    if (!line.data && words) {
        return dp_printf("adds up %s", words);
    }
    return dp_text_take(&line);
}

char *dp_orders_changed(const json_t *entry)
{
    const json_t *rows = json_object_get(entry, "orders");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        const json_int_t changed = dp_json_int(row, "changed", 0);
        if (changed > 0) {
            return dp_printf("no one order: %lld of %lld sums were others when asked again",
                             (long long)changed, (long long)dp_json_int(row, "twice", 0));
        }
    }
    return NULL;
}

char *dp_orders_summary(const struct dp_sheet *sheet)
{
    const json_t *results = json_object_get(sheet->body, "results");
    json_t *revealed = json_object(), *other = json_object(), *number;
    struct dp_text line = DP_TEXT(4096);
    const char *axis;
    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *result = json_array_get(results, i), *axes = json_object_get(result, "sensitive_to");
        const json_t *entry = json_object_get(sheet->measured, dp_json_string(result, "case", ""));
        for (size_t k = 0; k < json_array_size(axes); k++) {
            const char *name = json_string_value(json_array_get(axes, k));
            json_t *orders = orders_along(entry, name);
            size_t settings, differing;
            count_revealed(orders, &settings, &differing);
            if (settings > 1) {
                dp_json_count(revealed, name);
            }
            if (settings > 1 && differing > 1) {
                dp_json_count(other, name);
            }
            json_decref(orders);
        }
    }
    json_object_foreach(revealed, axis, number)
    {
        dp_text_printf(&line, "%s%s in %lld of %lld", line.length ? ", " : "", axis,
                       (long long)dp_json_int(other, axis, 0), (long long)json_integer_value(number));
    }
    char *summary = line.data ? dp_printf("where bits moved, the order of additions did too: along %s%s",
                                          line.data, sheet->verbose ? "" : "; --verbose shows how")
                              : NULL;
    dp_text_free(&line);
    json_decref(revealed);
    json_decref(other);
    return summary;
}
