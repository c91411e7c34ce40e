/* SPDX-License-Identifier: Apache-2.0
 *
 * Short names of reports: the names of their files without what all of them have in common.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/matrix/parts.h"
#include "suite/base/text.h"

#define LONGEST 16 /* characters of a column's head */

/* "out/cpu-haswell.json" -> "cpu-haswell". Owned. */
static char *stem_of(const char *name)
{
    const char *slash = strrchr(name, '/');
    const char *base = slash && slash[1] ? slash + 1 : name;
    const size_t length = strlen(base);
    const bool json = length > 5 && strcmp(base + length - 5, ".json") == 0;
    return dp_printable(base, json ? length - 5 : length);
}

static bool is_mark(char c)
{
    return c == '-' || c == '_' || c == '.';
}

/* Bytes that all stems begin with, up to and with a mark between words. */
static size_t common_start(char *const *stems, size_t count)
{
    size_t start = 0;
    for (size_t at = 0; stems[0][at]; at++) {
        for (size_t i = 1; i < count; i++) {
            if (stems[i][at] != stems[0][at]) {
                return start;
            }
        }
        start = is_mark(stems[0][at]) ? at + 1 : start;
    }
    return start;
}

/* Bytes that all stems end with, from a mark on; nothing of what `start` took. */
static size_t common_end(char *const *stems, size_t count, size_t start)
{
    size_t end = 0;
    for (size_t back = 1; back <= strlen(stems[0]) - start; back++) {
        const char c = stems[0][strlen(stems[0]) - back];
        for (size_t i = 1; i < count; i++) {
            const size_t length = strlen(stems[i]);
            if (back > length - start || stems[i][length - back] != c) {
                return end;
            }
        }
        end = is_mark(c) ? back : end;
    }
    return end;
}

/* A head of a column: not empty, not long, of plain ASCII, so that columns stay straight, and no other's. */
static bool is_good(const json_t *labels, size_t own)
{
    const char *label = json_string_value(json_array_get(labels, own));
    for (const char *c = label; *c; c++) {
        if (*c < 0x21 || *c > 0x7e) {
            return false;
        }
    }
    for (size_t i = 0; i < json_array_size(labels); i++) {
        if (i != own && strcmp(json_string_value(json_array_get(labels, i)), label) == 0) {
            return false;
        }
    }
    return *label && strlen(label) <= LONGEST;
}

json_t *dp_matrix_labels(const struct dp_diff_side *sides, size_t count)
{
    char *stems[DP_MATRIX_MOST] = {NULL};
    json_t *labels = json_array(), *numbers = json_array();
    for (size_t i = 0; i < count; i++) {
        stems[i] = stem_of(sides[i].name);
    }
    const size_t start = common_start(stems, count), end = common_end(stems, count, start);
    bool good = true;
    for (size_t i = 0; i < count; i++) {
        char *number = dp_printf("R%zu", i + 1);
        json_array_append_new(labels, json_stringn(stems[i] + start, strlen(stems[i]) - start - end));
        json_array_append_new(numbers, json_string(number));
        free(number);
        free(stems[i]);
    }
    for (size_t i = 0; i < json_array_size(labels); i++) {
        good = good && is_good(labels, i);
    }
    good = good && json_array_size(labels) == count;
    json_decref(good ? numbers : labels);
    return good ? labels : numbers;
}
