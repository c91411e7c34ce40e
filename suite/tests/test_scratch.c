/* SPDX-License-Identifier: Apache-2.0
 *
 * The run's scratch folder: private, gone with all that is in it, never one that the caller's environment
 * names.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "suite/base/text.h"
#include "suite/run/scratch.h"

static void test_lives_as_long_as_the_run(void **state)
{
    struct stat info;
    setenv("DETPROBE_SCRATCH", "/somebody/elses", 1);
    dp_scratch_open();
    char *folder = dp_strdup(getenv("DETPROBE_SCRATCH"));
    assert_string_not_equal(folder, "/somebody/elses");
    assert_int_equal(stat(folder, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    char *path = dp_printf("%s/file", folder);
    FILE *const file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    dp_scratch_close();
    assert_int_equal(access(folder, F_OK), -1);
    assert_null(getenv("DETPROBE_SCRATCH"));
    free(path);
    free(folder);
}

static void test_does_without(void **state)
{
    setenv("TMPDIR", "/nonexistent", 1);
    setenv("DETPROBE_SCRATCH", "/somebody/elses", 1);
    dp_scratch_open();
    assert_null(getenv("DETPROBE_SCRATCH"));
    dp_scratch_close();
    unsetenv("TMPDIR");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lives_as_long_as_the_run),
        cmocka_unit_test(test_does_without),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
