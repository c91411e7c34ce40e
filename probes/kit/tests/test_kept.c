/* SPDX-License-Identifier: Apache-2.0
 *
 * Kept kernels: found again byte for byte under the same compiler, options and text, and under no other.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "probes/kit/cuda_kept.h"

static void test_found_again(void **state)
{
    char folder[] = "/tmp/detprobe-test-XXXXXX", bytes[] = "\0\1binary\n";
    const struct kit_image image = {.bytes = bytes, .size = sizeof(bytes)};
    struct kit_image found = {.bytes = NULL};
    assert_non_null(mkdtemp(folder));
    setenv("DETPROBE_SCRATCH", folder, 1);
    assert_false(kit_kept_find("nvrtc", "sm_90", "text", &found));
    kit_kept_put("nvrtc", "sm_90", "text", &image);
    assert_false(kit_kept_find("other", "sm_90", "text", &found));
    assert_false(kit_kept_find("nvrtc", "sm_80", "text", &found));
    assert_false(kit_kept_find("nvrtc", "sm_90", "texts", &found));
    assert_null(found.bytes);
    assert_true(kit_kept_find("nvrtc", "sm_90", "text", &found));
    assert_int_equal(found.size, sizeof(bytes));
    assert_memory_equal(found.bytes, bytes, sizeof(bytes));
    free(found.bytes);
    unsetenv("DETPROBE_SCRATCH");
    assert_false(kit_kept_find("nvrtc", "sm_90", "text", &found));
    kit_kept_put("nvrtc", "sm_90", "text", &image); /* to nowhere */
    char command[64] = "rm -r ";
    strcat(command, folder);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_found_again)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
