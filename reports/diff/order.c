/* SPDX-License-Identifier: Apache-2.0
 *
 * Two orders of additions beside each other.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/diff/parts.h"
#include "reports/order.h"
#include "suite/base/json.h"
#include "suite/base/text.h"

#define ARROW " \xe2\x86\x92 "

static const char *member(const json_t *two, size_t side, const char *name)
{
    return dp_json_string(json_array_get(two, side), name, "");
}

bool dp_diff_is_other_order(const json_t *two)
{
    return strcmp(member(two, 0, "fingerprint"), member(two, 1, "fingerprint")) != 0;
}

/* How much of both is alike at their beginning up to a "first 512: ". */
static size_t same_head(const char *a, const char *b)
{
    const char *end = strstr(a, ": ");
    const size_t length = end ? (size_t)(end - a) + 2 : 0;
    return strncmp(a, b, length) == 0 ? length : 0;
}

/* The length of the words without an end that is the other's too: "; in f32". */
static size_t without_tail(const char *words, size_t length, const char *other, size_t other_length)
{
    size_t same = 0;
    while (same < length && same < other_length &&
           words[length - same - 1] == other[other_length - same - 1]) {
        same++;
    }
    for (const char *tail = words + length - same; (tail = strstr(tail, "; in ")) && tail < words + length;
         tail++) {
        if (!memchr(tail + 2, ';', length - (size_t)(tail + 2 - words))) {
            return (size_t)(tail - words);
        }
    }
    return length;
}

char *dp_diff_orders(const json_t *two)
{
    const char *a = member(two, 0, "words"), *b = member(two, 1, "words");
    size_t a_length = dp_order_first_view(a), b_length = dp_order_first_view(b);
    if (a_length == b_length && strncmp(a, b, a_length) == 0) { /* only the second view tells them apart */
        a_length = strlen(a);
        b_length = strlen(b);
    }
    const size_t head = same_head(a, b);
    const size_t a_told = without_tail(a, a_length, b, b_length),
                 b_told = without_tail(b, b_length, a, a_length);
    return a_told <= head || b_told <= head
               ? dp_printf("%s" ARROW "%s", a, b)
               : dp_printf("%.*s" ARROW "%.*s", (int)a_told, a, (int)(b_told - head), b + head);
}
