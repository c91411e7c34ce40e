/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening libraries by role: the named file or nothing, and whoever changes the floating-point environment is
 * named.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "probes/kit/library.h"
#include "probes/kit/op.h"
#include "probes/kit/outcome.h"
#include "suite/base/json.h"

static const char *fast_path;
static const char *const libm[] = {"libm.so.6", NULL};

static size_t change_total(void)
{
    json_t *environment = kit_float_json();
    const size_t count = json_array_size(json_object_get(environment, "changes"));
    json_decref(environment);
    return count;
}

/* A named file that cannot be opened, or is another library, is never replaced by the system's copy. */
static void named_or_nothing(void **state)
{
    (void)state;
    setenv("DETPROBE_LIB_MATH", "/no/such/libm.so", 1);
    assert_null(kit_open_role("math", libm, "cos"));
    setenv("DETPROBE_LIB_MATH", "libm.so.6", 1);
    assert_null(kit_open_role("math", libm, "no_such_symbol"));
    unsetenv("DETPROBE_LIB_MATH");
    assert_non_null(kit_open_role("math", libm, "cos"));
    assert_non_null(kit_open_role("math", libm, "no_such_symbol|cos")); /* one of them is enough */
    assert_non_null(kit_open_role("math", libm, "cos|no_such_symbol"));
    kit_outcome_clear();
    assert_null(kit_open_role("math", libm, "no_such_symbol|co|cosine"));
    assert_non_null(strstr(kit_outcome()->text, "libm.so.6 does not export no_such_symbol"));
}

/* Under a stack a role without a file is missing, but for the driver. */
static void stack_or_nothing(void **state)
{
    (void)state;
    setenv("DETPROBE_STACK", "/opt/stack", 1);
    kit_outcome_clear();
    assert_null(kit_open_role("math", libm, "cos"));
    assert_string_equal(kit_outcome()->reason, "library_missing");
    assert_string_equal(kit_outcome()->text, "the stack '/opt/stack' has no library for role math");
    assert_non_null(kit_open_role("cuda", libm, "cos"));
    setenv("DETPROBE_LIB_MATH", "libm.so.6", 1);
    assert_non_null(kit_open_role("math", libm, "cos"));
    unsetenv("DETPROBE_LIB_MATH");
    unsetenv("DETPROBE_STACK");
    assert_non_null(kit_open_role("math", libm, "cos"));
}

static void harmless_library_is_not_named(void **state)
{
    (void)state;
    assert_non_null(kit_open_role("math", libm, "cos"));
    assert_int_equal(change_total(), 0);
}

static void culprit_is_named(void **state)
{
    const char *const names[] = {fast_path, NULL};
    (void)state;
    assert_non_null(kit_open_role("fast", names, "fast_symbol"));
    json_t *environment = kit_float_json();
    const json_t *changes = json_object_get(environment, "changes");
    if (environment) { /* NULL: the register of this processor is not known */
        assert_int_equal(json_array_size(changes), 1);
        assert_non_null(strstr(dp_json_string(json_array_get(changes, 0), "after", ""), "fast"));
    }
    json_decref(environment);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(named_or_nothing),
        cmocka_unit_test(stack_or_nothing),
        cmocka_unit_test(harmless_library_is_not_named),
        cmocka_unit_test(culprit_is_named),
    };
    fast_path = argc > 1 ? argv[1] : "";
    return cmocka_run_group_tests(tests, NULL, NULL);
}
