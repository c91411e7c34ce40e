/* SPDX-License-Identifier: Apache-2.0
 *
 * Golden files: what a rendering was when somebody looked at it. DETPROBE_REWRITE_GOLDEN in the environment
 * writes them anew, to be looked at again. For a test that defines DP_TEST_SOURCE_DIR and includes cmocka.
 */
#ifndef DP_TESTS_GOLDEN_H
#define DP_TESTS_GOLDEN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite/base/json.h"
#include "suite/base/text.h"

/* Fails where the text is not that of golden/NAME. */
static inline void golden_compare(const char *name, const struct dp_text *out)
{
    struct dp_err err = {0};
    char *path = dp_printf(DP_TEST_SOURCE_DIR "/golden/%s", name);
    if (getenv("DETPROBE_REWRITE_GOLDEN")) {
        assert_int_equal(dp_file_write(path, out->data, out->length, &err), 0);
    }
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char *expected = dp_alloc((size_t)1 << 20, 1);
    const size_t length = fread(expected, 1, ((size_t)1 << 20) - 1, file);
    fclose(file);
    if (length != out->length || memcmp(expected, out->data, length) != 0) {
        fail_msg("the text is not '%s':\n%s", path, out->data);
    }
    free(expected);
    free(path);
}

#endif
