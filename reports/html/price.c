/* SPDX-License-Identifier: Apache-2.0
 *
 * The section on what the deterministic forms cost.
 */
#include <stdlib.h>

#include "reports/html/html.h"
#include "reports/render/price.h"
#include "suite/base/json.h"

static void put_case(struct dp_text *out, const char *tag, const char *id)
{
    dp_text_printf(out, "<%s class=\"id\"><a href=\"#case=", tag);
    dp_html_fragment(out, id);
    dp_text_put(out, "\">");
    dp_html_text(out, id);
    dp_text_put(out, "</a>");
}

static void put_row(struct dp_text *out, const json_t *price)
{
    dp_text_put(out, "<tr>");
    put_case(out, "th scope=\"row\"", dp_json_string(price, "case", ""));
    dp_text_put(out, "</th>");
    put_case(out, "td", dp_json_string(price, "pair", ""));
    dp_text_put(out, "</td><td>");
    dp_html_owned(out, dp_price_text(price));
    dp_text_put(out, "</td><td>");
    dp_html_owned(out, dp_price_times(price));
    dp_text_put(out, "</td></tr>\n");
}

void dp_html_prices(struct dp_text *out, const json_t *prices)
{
    if (json_array_size(prices) == 0) {
        return;
    }
    dp_text_put(
        out, "<section aria-labelledby=\"h-price\">\n<h2 id=\"h-price\">Price of determinism</h2>\n"
             "<p class=\"note\">How many times as long the deterministic form takes: the median of rounds in "
             "which both were timed, one after the other, with its 95 % bootstrap interval.</p>\n"
             "<div class=\"scroll\" role=\"region\" aria-labelledby=\"h-price\" tabindex=\"0\">\n<table>\n"
             "<thead><tr><th scope=\"col\">case</th><th scope=\"col\">deterministic form</th><th "
             "scope=\"col\">costs</th><th scope=\"col\">times</th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < json_array_size(prices); i++) {
        put_row(out, json_array_get(prices, i));
    }
    dp_text_put(out, "</tbody>\n</table>\n</div>\n</section>\n");
}
