/* SPDX-License-Identifier: Apache-2.0
 *
 * Comparing versions.
 */
#include "suite/base/version.h"

#include <stddef.h>
#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool dp_version_known(const char *version)
{
    return is_digit(version[0]);
}

/* The next number without its leading zeros, and how many digits it has; *at moves behind it and its dot. At
 * the end it is 0, which has none. */
static const char *next_number(const char **at, size_t *ret_length)
{
    const char *number = *at;
    while (*number == '0') {
        number++;
    }
    size_t length = 0;
    while (is_digit(number[length])) {
        length++;
    }
    const char *end = number + length;
    *at = *end == '.' && is_digit(end[1]) ? end + 1 : "";
    *ret_length = length;
    return number;
}

int dp_version_compare(const char *a, const char *b)
{
    while (*a || *b) {
        size_t length, other_length;
        const char *number = next_number(&a, &length), *other = next_number(&b, &other_length);
        const int order =
            length == other_length ? memcmp(number, other, length) : (length < other_length ? -1 : 1);
        if (order) {
            return order;
        }
    }
    return 0;
}
