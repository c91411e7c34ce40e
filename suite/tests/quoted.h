/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON in C strings, with single quotes in the place of double ones. For a test that includes cmocka.
 */
#ifndef DP_TESTS_QUOTED_H
#define DP_TESTS_QUOTED_H

#include <stdlib.h>
#include <string.h>

#include "suite/base/json.h"
#include "suite/base/text.h"

/* Owned; NULL of NULL. Fails where it is none. */
static inline json_t *parse(const char *text)
{
    if (!text) {
        return NULL;
    }
    struct dp_err err = {0};
    char *copy = dp_strdup(text);
    for (char *c = copy; *c; c++) {
        *c = *c == '\'' ? '"' : *c;
    }
    json_t *json = dp_json_parse(copy, strlen(copy), "test", &err);
    if (!json) {
        fail_msg("%s: %s", err.text, copy);
    }
    free(copy);
    return json;
}

#endif
