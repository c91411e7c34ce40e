/* SPDX-License-Identifier: Apache-2.0
 *
 * Prices of determinism in words, and their section of format text.
 */
#include "reports/render/price.h"

#include <stdlib.h>
#include <string.h>

#include "reports/model.h"
#include "reports/render/sheet.h"
#include "reports/render/words.h"
#include "suite/base/json.h"

#define TIMES "\xc3\x97"

const json_t *dp_prices_of(const json_t *measurements)
{
    return json_object_get(measurements, "prices");
}

/* Three digits, of what is above 1 at least two places; what is beyond a thousandth or a million as "1e-07".
 * Owned. */
static char *number_text(double number)
{
    if (number > 0 && (number < 0.001 || number >= 1e6)) {
        return dp_printf("%.2g", number);
    }
    const int places = number < 0.1 ? 3 : number < 10 ? 2 : number < 100 ? 1 : 0;
    return dp_printf("%.*f", places, number);
}

/* Of a member that is a number, "0.00" else. Owned. */
static char *member_text(const json_t *price, const char *key)
{
    return number_text(dp_json_number(price, key, 0));
}

static bool is_timed(const json_t *price)
{
    return json_object_get(price, "ratio") != NULL;
}

char *dp_price_text(const json_t *price)
{
    if (!is_timed(price)) {
        return dp_printf("no price: %s", dp_json_string(price, "text", ""));
    }
    char *ratio = member_text(price, "ratio"), *low = member_text(price, "low"),
         *high = member_text(price, "high");
    char *text = dp_printf("%s" TIMES " [%s, %s]", ratio, low, high);
    free(ratio);
    free(low);
    free(high);
    return text;
}

/* "81.2 us". Owned. */
static char *duration_text(double ns)
{
    static const struct {
        double size;
        const char *name;
    } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "\xc2\xb5s"}, {1, "ns"}};
    size_t i = 0;
    while (i + 1 < sizeof(units) / sizeof(units[0]) && ns < units[i].size) {
        i++;
    }
    return dp_printf("%.3g %s", ns / units[i].size, units[i].name);
}

char *dp_price_times(const json_t *price)
{
    const double pair = dp_json_number(price, "pair_ns", 0), usual = dp_json_number(price, "case_ns", 0);
    if (pair <= 0 || usual <= 0) {
        return dp_strdup("");
    }
    char *long_time = duration_text(pair), *short_time = duration_text(usual);
    char *text = dp_printf("%s against %s, %lld rounds", long_time, short_time,
                           (long long)dp_json_int(price, "rounds", 0));
    free(long_time);
    free(short_time);
    return text;
}

/* The least and the largest of several, and how many. */
struct range {
    size_t count;
    double low, high;
    const json_t *one;
};

static void add_to_range(struct range *range, const json_t *price)
{
    const double ratio = dp_json_number(price, "ratio", 0);
    if (is_timed(price)) {
        range->low = range->count == 0 || ratio < range->low ? ratio : range->low;
        range->high = range->count == 0 || ratio > range->high ? ratio : range->high;
        range->one = price;
        range->count++;
    }
}

/* "0.98x to 1.40x", of one price the price. Owned. */
static char *range_text(const struct range *range)
{
    if (range->count == 1) {
        return dp_price_text(range->one);
    }
    char *low = number_text(range->low), *high = number_text(range->high);
    char *text = dp_printf("%s" TIMES " to %s" TIMES, low, high);
    free(low);
    free(high);
    return text;
}

char *dp_prices_text(const json_t *prices, const json_t *cases)
{
    struct range range = {0};
    for (size_t i = 0; i < json_array_size(prices); i++) {
        const json_t *price = json_array_get(prices, i);
        if (dp_json_array_has(cases, dp_json_string(price, "case", ""))) {
            add_to_range(&range, price);
        }
    }
    if (range.count == 0) {
        return dp_strdup("");
    }
    char *costs = range_text(&range);
    char *text = range.count == 1 ? dp_printf("the deterministic form costs %s", costs)
                                  : dp_printf("%zu deterministic forms cost %s", range.count, costs);
    free(costs);
    return text;
}

/* --- the section --- */

/* A row is for what varies here; what may and did not is told together. */
static bool has_row(const struct dp_sheet *sheet, const json_t *by_case, const json_t *price)
{
    const json_t *result = json_object_get(by_case, dp_json_string(price, "case", ""));
    return sheet->verbose || dp_result_is(result, "varies");
}

static void put_row(const struct dp_sheet *sheet, const json_t *price, size_t width)
{
    const char *id = dp_json_string(price, "case", "");
    const size_t used = dp_words_width(id);
    char *text = dp_price_text(price), *times = dp_price_times(price);
    dp_text_put(sheet->out, "  ");
    dp_words_put(sheet->out, id);
    dp_words_blanks(sheet->out, used < width ? width - used : 0);
    dp_text_put(sheet->out, "  ");
    dp_words_wrap(sheet->out, text, width + 4, width + 4, sheet->columns);
    if (sheet->verbose) {
        char *line = dp_printf("with %s%s%s", dp_json_string(price, "pair", ""), times[0] ? ": " : "", times);
        dp_words_blanks(sheet->out, 4);
        dp_words_wrap(sheet->out, line, 4, 4, sheet->columns);
        free(line);
    }
    free(text);
    free(times);
}

static void put_others(const struct dp_sheet *sheet, const json_t *by_case, const json_t *prices)
{
    struct range range = {0};
    size_t without = 0;
    for (size_t i = 0; i < json_array_size(prices); i++) {
        const json_t *price = json_array_get(prices, i);
        if (!has_row(sheet, by_case, price)) {
            add_to_range(&range, price);
            without += !is_timed(price);
        }
    }
    if (range.count > 0) {
        char *costs = range_text(&range);
        char *pairs = dp_words_count(range.count, "pair", "pairs");
        char *line = dp_printf("%s whose usual form did not vary: %s, --verbose lists them", pairs, costs);
        dp_text_put(sheet->out, "  ");
        dp_words_wrap(sheet->out, line, 2, 2, sheet->columns);
        free(line);
        free(pairs);
        free(costs);
    }
    if (without > 0) {
        char *pairs = dp_words_count(without, "pair has", "pairs have");
        dp_text_printf(sheet->out, "  %s no price, --verbose says why\n", pairs);
        free(pairs);
    }
}

void dp_sheet_prices(const struct dp_sheet *sheet)
{
    const json_t *prices = dp_prices_of(sheet->measurements);
    json_t *by_case = dp_json_index(json_object_get(sheet->body, "results"), "case");
    size_t width = 0;
    for (size_t i = 0; i < json_array_size(prices); i++) {
        const json_t *price = json_array_get(prices, i);
        const size_t used = dp_words_width(dp_json_string(price, "case", ""));
        width = has_row(sheet, by_case, price) && used > width ? used : width;
    }
    if (prices) {
        dp_words_wrap(sheet->out,
                      "price of determinism: time of the deterministic form over that of the usual one, "
                      "median [95 %]",
                      0, 2, sheet->columns);
    }
    for (size_t i = 0; i < json_array_size(prices); i++) {
        if (has_row(sheet, by_case, json_array_get(prices, i))) {
            put_row(sheet, json_array_get(prices, i), width);
        }
    }
    put_others(sheet, by_case, prices);
    if (prices && json_array_size(prices) == 0) {
        dp_text_put(sheet->out, "  no case ran together with its deterministic counterpart\n");
    }
    dp_text_put(sheet->out, prices ? "\n" : "");
    json_decref(by_case);
}
