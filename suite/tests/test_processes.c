/* SPDX-License-Identifier: Apache-2.0
 *
 * What another process may change: the algorithm that a library selects, the kernels that it launches, and
 * the device; and the requests for devices, which are planned when the machine is known.
 */
#include "suite/tests/lab.h"
#include "suite/tests/quoted.h"

#define ID "cpu/gemm/one"
#define LEVEL(level, more) "'guarantee': {'level': '" level "', 'source': 's'" more "}"

static void expect(struct lab *lab, int rounds, const char *observed, const char *status)
{
    lab_judge(lab, rounds);
    assert_string_equal(lab_observed(lab, ID), observed);
    assert_string_equal(lab_status(lab, ID), status);
}

static bool names(const json_t *result, const char *key, const char *axis)
{
    return dp_json_array_has(json_object_get(result, key), axis);
}

static void test_selection(void **state)
{
    struct lab *lab = lab_new();
    const int item = lab_case(lab, ID, "");
    const size_t base = lab_base(lab, item);
    for (size_t i = 0; i < 4; i++) {
        static const char *const classes[] = {"a8", "b8", "c8", "d8"};
        lab_set(lab, base + i, lab_chosen(classes[i], "jit"));
    }
    const size_t fresh = lab_ask(lab, item, "fresh", "1", 0, "wide", 1, lab_chosen("a1", "jit"));
    lab_judge(lab, 0);
    assert_string_equal(dp_json_string(lab_result(lab, ID), "chosen", ""), "jit");
    lab_set(lab, fresh, lab_chosen("a1", "ref")); /* another choice, the same bits */
    expect(lab, 0, "repeats", "none");
    assert_null(json_object_get(lab_result(lab, ID), "chosen"));
    lab_set(lab, fresh, lab_chosen("f1", "ref"));
    expect(lab, 0, "varies", "none");
    assert_string_equal(dp_json_string(lab_result(lab, ID), "difference", ""), "selection");
    lab_set(lab, fresh, lab_chosen("f1", "jit"));
    expect(lab, 0, "varies", "none");
    assert_string_equal(dp_json_string(lab_result(lab, ID), "difference", ""), "execution");
    lab_free(lab);
}

/* What the library says of its choice stands beside what was seen, but for a choice that moves. */
static void test_declared(void **state)
{
    static const struct {
        const char *classes, *fresh, *chosen, *said, *observed, *declared;
    } rows[] = {
        {"a8", "a1", "jit", "deterministic", "repeats", "deterministic"},
        {"a7 b1", "a1", "jit", "deterministic", "varies", "deterministic"},
        {"a8", "f1", "jit", "deterministic", "varies", "deterministic"},
        {"a8", "a1", "jit", "nondeterministic", "repeats", ""}, /* one says so, one does not */
        {"a8", "f1", "ref", "deterministic", "varies", ""},
        {"a8", "a1", "jit", NULL, "repeats", ""},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct lab *lab = lab_new();
        const int item = lab_case(lab, ID, "");
        const size_t base = lab_base(lab, item);
        for (size_t k = 0; k < 4; k++) {
            json_t *answer = lab_chosen(k ? "c8" : rows[i].classes, "jit");
            json_object_set_new(answer, "declared", json_string("deterministic"));
            lab_set(lab, base + k, answer);
        }
        json_t *fresh = lab_chosen(rows[i].fresh, rows[i].chosen);
        if (rows[i].said) {
            json_object_set_new(fresh, "declared", json_string(rows[i].said));
        }
        lab_ask(lab, item, "fresh", "1", 0, "wide", 1, fresh);
        expect(lab, 0, rows[i].observed, "none");
        assert_string_equal(dp_json_string(lab_result(lab, ID), "declared", ""), rows[i].declared);
        lab_free(lab);
    }
}

static json_t *launched(const char *classes, const char *kernel)
{
    json_t *observation = lab_obs(classes);
    if (kernel) {
        json_object_set_new(observation, "kernels", json_pack("[{ss si}]", "name", kernel, "launches", 1));
    }
    return observation;
}

/* Kernels speak where the library does not; where one side was not seen they say nothing. */
static void test_kernels(void **state)
{
    static const struct {
        const char *base, *fresh, *classes, *observed, *difference;
        size_t listed;
    } rows[] = {
        {"one", "one", "a1", "repeats", "", 1},         {"one", "two", "a1", "repeats", "", 2},
        {"one", "two", "f1", "varies", "selection", 2}, {"one", "one", "f1", "varies", "execution", 1},
        {"one", NULL, "f1", "varies", "execution", 1},  {NULL, "two", "f1", "varies", "execution", 1},
        {NULL, NULL, "f1", "varies", "execution", 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct lab *lab = lab_new();
        const int item = lab_case(lab, ID, "");
        const size_t base = lab_base(lab, item);
        lab_set(lab, base, launched("a8", rows[i].base));
        lab_ask(lab, item, "fresh", "1", 0, "wide", 1, launched(rows[i].classes, rows[i].fresh));
        expect(lab, 0, rows[i].observed, "none");
        assert_string_equal(dp_json_string(lab_result(lab, ID), "difference", ""), rows[i].difference);
        const json_t *entry = lab_find(lab->judged.measurements, "case", ID);
        assert_int_equal(json_array_size(json_object_get(entry, "kernels")), rows[i].listed);
        lab_free(lab);
    }
}

static const json_t *device_axis(const struct lab *lab)
{
    const json_t *entry = lab_find(lab->judged.measurements, "case", ID);
    return json_object_get(json_object_get(entry, "axes"), "device");
}

/* Another device of its class gives other bits: sensitivity, unless the guarantee speaks of it. */
static void test_device(void **state)
{
    static const struct {
        const char *guarantee, *classes, *observed, *status;
        bool sensitive;
    } rows[] = {
        {LEVEL("run_to_run", ""), "a2", "repeats", "kept", false},
        {LEVEL("run_to_run", ""), "f2", "repeats", "kept", true},
        {LEVEL("run_to_run", ", 'invariant': ['device']"), "f2", "repeats", "broken", true},
        {LEVEL("run_to_run", ", 'invariant': ['device']"), "a2", "repeats", "kept", false},
        {LEVEL("gpu_to_gpu", ", 'covers': ['repeat', 'device']"), "f2", "varies", "broken", false},
        {LEVEL("gpu_to_gpu", ", 'covers': ['repeat', 'device']"), "a2", "repeats", "kept", false},
        {LEVEL("not_guaranteed", ", 'covers': ['repeat', 'device']"), "f2", "varies", "allows", false},
        {LEVEL("run_to_run", ""), "a1 f1", "varies", "broken", false}, /* does not repeat there */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct lab *lab = lab_new();
        const int item = lab_case(lab, ID, rows[i].guarantee);
        const size_t base = lab_base(lab, item);
        const size_t first = lab_ask(lab, item, "device", "1", 0, "wide", 2, lab_obs(rows[i].classes));
        lab_ask(lab, item, "device", "1", 1, "wide", 2, lab_obs("b2"));
        lab_judge(lab, 0);
        lab_retest(lab, 1, base, lab_obs("a8")); /* a new process of each device shows it again */
        lab_retest(lab, 1, first, lab_obs(rows[i].classes));
        expect(lab, 1, rows[i].observed, rows[i].status);
        assert_int_equal(names(lab_result(lab, ID), "sensitive_to", "device"), rows[i].sensitive);
        assert_false(names(lab_result(lab, ID), "not_measured", "device"));
        lab_free(lab);
    }
}

/* A pass that was none: one device, another class. */
static void test_device_that_was_not_compared(void **state)
{
    struct lab *lab = lab_new();
    const int item = lab_case(lab, ID, LEVEL("gpu_to_gpu", ", 'covers': ['repeat', 'device']"));
    lab_base(lab, item);
    lab_ask(lab, item, "device", "0", 0, "wide", 2, lab_skip("unsupported", "one device"));
    expect(lab, 0, "repeats", "kept");
    assert_true(names(lab_result(lab, ID), "not_measured", "device"));
    const json_t *setting = json_array_get(json_object_get(device_axis(lab), "settings"), 0);
    assert_string_equal(dp_json_string(setting, "dropped", ""), "unsupported: one device");
    lab_free(lab);
}

/* Where every new process gives other bits, one on another device says nothing of the device. */
static void test_device_confounded(void **state)
{
    struct lab *lab = lab_new();
    const int item = lab_case(lab, ID, LEVEL("not_guaranteed", ", 'covers': ['repeat']"));
    lab_base(lab, item);
    const size_t fresh = lab_ask(lab, item, "fresh", "1", 0, "wide", 1, lab_obs("e1"));
    lab_ask(lab, item, "device", "1", 0, "wide", 2, lab_obs("f2"));
    expect(lab, 0, "repeats", "allows");
    assert_true(names(lab_result(lab, ID), "sensitive_to", "fresh"));
    assert_false(names(lab_result(lab, ID), "sensitive_to", "device"));
    assert_true(json_is_true(json_object_get(device_axis(lab), "confounded")));
    lab_set(lab, fresh, lab_obs("a1"));
    expect(lab, 0, "repeats", "allows");
    assert_true(names(lab_result(lab, ID), "sensitive_to", "device"));
    assert_true(json_is_true(json_object_get(device_axis(lab), "moved")));
    lab_free(lab);
}

/* --- planning --- */

#define CLASS "'name': 'G', 'compute_capability': '9.0', 'multiprocessors': 132"
#define DEVICE(ordinal, class) "{'ordinal': " #ordinal ", " class "}"
#define HELLO(base, devices)                                                                                 \
    "{'p': {'type': 'hello', 'axes': ['repeat', 'device'], 'device': " base ", 'devices': [" devices "]}}"

/* A plan of one case at two seeds of set wide, with axis device or not, that owns what it grows. */
static struct dp_plan small_plan(bool has_axis, const struct dp_case *const *cases)
{
    static const char *axes[] = {"repeat", "device", "isa"};
    struct dp_plan plan = {.cases = (const struct dp_case **)(uintptr_t)cases,
                           .case_count = 1,
                           .axes = axes,
                           .axis_count = has_axis ? 3 : 1,
                           .options = {.level = "default"},
                           .fresh = 2};
    static const char *const sets[] = {"wide", "unit", "exact", "wide", "wide"};
    static const int seeds[] = {0, 0, 0, 1, 2};
    plan.request_count = sizeof(sets) / sizeof(sets[0]);
    plan.requests = dp_alloc(plan.request_count, sizeof(*plan.requests));
    for (size_t i = 0; i < plan.request_count; i++) {
        plan.requests[i] = (struct dp_request){
            .axis = "repeat", .setting = "", .set = sets[i], .seed_index = seeds[i], .runs = 8};
    }
    return plan;
}

static void free_small(struct dp_plan *plan)
{
    plan->cases = NULL;
    plan->axes = NULL;
    dp_plan_free(plan);
}

/* One setting of each row, on the first two seeds of set wide. */
static void test_plan_of_devices(void **state)
{
    static const struct {
        const char *hellos;
        bool has_axis;
        const char *settings[4];
        const char *dropped[4]; /* words of the reason, NULL: asked */
    } rows[] = {
        {HELLO(DEVICE(0, CLASS), DEVICE(0, CLASS) "," DEVICE(1, CLASS) "," DEVICE(2, CLASS)),
         true,
         {"1", "2"},
         {NULL}},
        {HELLO(DEVICE(1, CLASS), DEVICE(0, CLASS) "," DEVICE(1, CLASS)), true, {"0"}, {NULL}},
        {HELLO(DEVICE(0, CLASS), DEVICE(0, CLASS)), true, {"0"}, {"one device"}},
        {"{'p': {'type': 'hello', 'axes': ['device']}}", true, {"0"}, {"one device"}},
        {HELLO(DEVICE(0, CLASS),
               DEVICE(0, CLASS) "," DEVICE(1, "'name': 'H'") "," DEVICE(2, CLASS ", 'mig': true")),
         true,
         {"1", "2"},
         {"another class of device than 0: H", "another class"}},
        {HELLO(DEVICE(0, CLASS), DEVICE(0, CLASS) "," DEVICE(1, CLASS)), false, {NULL}, {NULL}},
        {"{'p': {'type': 'hello', 'axes': ['repeat']}}", true, {NULL}, {NULL}},
        {"{'p': {'type': 'skip', 'reason': 'no_device', 'text': ''}}", true, {NULL}, {NULL}},
        {"{}", true, {NULL}, {NULL}},
    };
    struct dp_program program = {.name = (char[]){"p"}};
    const struct dp_case item = {.id = "cuda/x/y", .program = &program};
    const struct dp_case *const cases[] = {&item};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct dp_plan plan = small_plan(rows[i].has_axis, cases);
        json_t *hellos = parse(rows[i].hellos);
        size_t at = plan.request_count;
        dp_plan_add_later(&plan, hellos, NULL);
        for (int seed = 0; seed < 2; seed++) {
            for (size_t k = 0; rows[i].settings[k]; k++, at++) {
                const struct dp_request *request = &plan.requests[at];
                assert_true(at < plan.request_count);
                assert_string_equal(request->axis, "device");
                assert_string_equal(request->setting, rows[i].settings[k]);
                assert_string_equal(request->device, rows[i].settings[k]);
                assert_int_equal(request->seed_index, seed);
                assert_string_equal(request->set, "wide");
                assert_true(request->process > plan.fresh);
                assert_int_equal(request->dropped != NULL, rows[i].dropped[k] != NULL);
                assert_true(!request->dropped || strstr(request->dropped, rows[i].dropped[k]));
            }
        }
        assert_int_equal(at, plan.request_count);
        json_decref(hellos);
        free_small(&plan);
    }
}

/* Asked for by name, a program that cannot vary it says so. */
static void test_device_asked_for(void **state)
{
    const char *asked[] = {"device"};
    struct dp_program program = {.name = (char[]){"p"}};
    const struct dp_case item = {.id = "cpu/x/y", .program = &program};
    const struct dp_case *const cases[] = {&item};
    struct dp_plan plan = small_plan(true, cases);
    plan.options.axes = (struct dp_strings){asked, 1};
    json_t *hellos = parse("{'p': {'type': 'hello', 'axes': ['repeat']}}");
    const size_t before = plan.request_count;
    dp_plan_add_later(&plan, hellos, NULL);
    assert_int_equal(plan.request_count, before + 2);
    assert_string_equal(plan.requests[before].dropped, "the program does not know axis 'device'");
    json_decref(hellos);
    free_small(&plan);
}

/* A retest asks the devices again that were asked, and no other. */
static void test_retest_of_devices(void **state)
{
    struct dp_program program = {.name = (char[]){"p"}};
    const struct dp_case item = {.id = "cuda/x/y", .program = &program};
    const struct dp_case *const cases[] = {&item};
    const size_t suspects[] = {0};
    struct dp_plan plan = small_plan(true, cases);
    json_t *hellos =
        parse(HELLO(DEVICE(0, CLASS), DEVICE(0, CLASS) "," DEVICE(1, CLASS) "," DEVICE(2, "'name': 'H'")));
    dp_plan_add_later(&plan, hellos, NULL);
    const size_t count = plan.request_count;
    dp_plan_add_retest(&plan, suspects, 1, 1);
    size_t devices = 0;
    for (size_t i = count; i < plan.request_count; i++) {
        devices += strcmp(plan.requests[i].axis, "device") == 0;
        assert_null(plan.requests[i].dropped);
        assert_true(!plan.requests[i].device || strcmp(plan.requests[i].device, "1") == 0);
    }
    assert_int_equal(devices, 2);
    assert_int_equal(plan.request_count, count + 5 + 2);
    json_decref(hellos);
    free_small(&plan);
}

#define CAPPED(isa)                                                                                          \
    "{'p': {'type': 'hello', 'axes': ['repeat', 'isa'], 'libraries': [{'role': 'cblas', 'name': "            \
    "'OpenBLAS', "                                                                                           \
    "'version': '1', 'path': ''" isa "}]}}"

static const struct dp_strings by_name = {.items = (const char *[]){"isa"}, .count = 1};

/* A level takes one cap for each generation of processors, unless it takes all that there is or the axis was
 * asked for by name. */
static void test_levels_of_caps(void **state)
{
    static const struct {
        const char *level;
        bool named, all;
    } rows[] = {
        {"quick", true, true}, {"default", false, false}, {"default", true, true}, {"deep", false, true}};
    for (size_t i = 0; dp_caps()->setting && i < sizeof(rows) / sizeof(rows[0]); i++) {
        json_t *hellos = parse(CAPPED(",'isa':'Zen'")), *host = parse("{'cpu_flags':['pni','ssse3']}");
        struct dp_program program = {.name = (char[]){"p"}};
        const struct dp_case item = {.id = "cpu/x/y", .program = &program, .json = parse("{'isa':true}")};
        const struct dp_case *const cases[] = {&item};
        struct dp_plan plan = small_plan(true, cases);
        size_t prescott = 0, core2 = 0, dropped = 0;
        plan.options.level = rows[i].level;
        plan.options.axes = rows[i].named ? by_name : (struct dp_strings){0};
        dp_plan_add_later(&plan, hellos, host);
        for (size_t k = 5; k < plan.request_count; k++) {
            prescott += strcmp(plan.requests[k].setting, "openblas/Prescott") == 0;
            core2 += strcmp(plan.requests[k].setting, "openblas/Core2") == 0;
            dropped += strcmp(plan.requests[k].setting, "openblas/Bulldozer") == 0;
        }
        assert_int_equal(prescott, 3);
        assert_int_equal(core2, rows[i].all ? 3 : 0);
        assert_int_equal(dropped, rows[i].all ? 1 : 0);
        json_decref(hellos);
        json_decref(host);
        json_decref(item.json);
        free_small(&plan);
    }
}

/* One request a level on each of the two seeds of set wide and on set unit; what the processor lacks, or the
 * case itself sets, is said once. */
static void test_plan_of_caps(void **state)
{
    static const struct {
        const char *hellos, *item, *host, *environment;
        bool has_axis;
        size_t asked, dropped; /* of "openblas/Core2" */
        const char *why;       /* words of the reason for what is dropped */
        size_t all;            /* requests; 0: not looked at */
    } rows[] = {
        {CAPPED(",'isa':'Zen'"), "{'isa':true}", "{'cpu_flags':['pni','ssse3']}", NULL, true, 3, 0, NULL, 0},
        {CAPPED(",'isa':'Zen'"), "{'isa':true}", "{'cpu_flags':['pni']}", NULL, true, 0, 1,
         "this processor has no 'ssse3'", 0},
        {CAPPED(",'isa':'Zen'"), "{'isa':true}", "{'cpu_flags':['pni','ssse3']}",
         "{'OPENBLAS_CORETYPE':null}", true, 0, 1, "the case itself sets 'OPENBLAS_CORETYPE'", 0},
        {CAPPED(",'isa':'Zen'"), "{'isa':true}", "{'cpu_flags':['pni','ssse3']}", "{'MKL_CBWR':'AVX'}", true,
         3, 0, NULL, 0},
        {CAPPED(",'isa':'Core2'"), "{'isa':true}", "{'cpu_flags':['pni','ssse3']}", NULL, true, 0, 1,
         "it is what OpenBLAS runs on by itself", 0},
        {CAPPED(",'isa':'Zen'"), "{}", "{'cpu_flags':['pni','ssse3']}", NULL, true, 0, 0, NULL, 5},
        {CAPPED(",'isa':'Zen'"), "{'isa':true}", "{'cpu_flags':['pni','ssse3']}", NULL, false, 0, 0, NULL, 5},
        {CAPPED(""), "{'isa':true}", "{'cpu_flags':['pni','ssse3']}", NULL, true, 0, 0,
         "no library of the program says which instruction set it runs on and can be capped", 6},
        {"{'p': {'type': 'skip', 'reason': 'not_built', 'text': ''}}", "{'isa':true}", "{}", NULL, true, 0, 0,
         NULL, 5},
        {"{}", "{'isa':true}", "{}", NULL, true, 0, 0, NULL, 5},
    };
    for (size_t i = 0; dp_caps()->setting && i < sizeof(rows) / sizeof(rows[0]); i++) {
        json_t *hellos = parse(rows[i].hellos), *host = parse(rows[i].host);
        struct dp_program program = {.name = (char[]){"p"},
                                     .environment = rows[i].environment ? parse(rows[i].environment) : NULL};
        const struct dp_case item = {.id = "cpu/x/y", .program = &program, .json = parse(rows[i].item)};
        const struct dp_case *const cases[] = {&item};
        struct dp_plan plan = small_plan(rows[i].has_axis, cases);
        size_t asked = 0, dropped = 0;
        plan.options.axes = by_name;
        dp_plan_add_later(&plan, hellos, host);
        for (size_t k = 5; k < plan.request_count; k++) {
            const struct dp_request *request = &plan.requests[k];
            assert_string_equal(request->axis, "isa");
            assert_true(request->process > plan.fresh + 1001); /* no fresh process and no device has it */
            assert_true(!rows[i].why || !request->dropped || rows[i].dropped ||
                        strcmp(request->dropped, rows[i].why) == 0);
            if (strcmp(request->setting, "openblas/Core2") == 0) {
                asked += !request->dropped;
                dropped += request->dropped && strcmp(request->dropped, rows[i].why) == 0;
                assert_string_equal(request->cap->setting, request->setting);
            }
        }
        assert_int_equal(asked, rows[i].asked);
        assert_int_equal(dropped, rows[i].dropped);
        assert_true(rows[i].all == 0 || plan.request_count == rows[i].all);
        json_decref(hellos);
        json_decref(host);
        json_decref(program.environment);
        json_decref(item.json);
        free_small(&plan);
    }
}

/* What a capped process gets: the library's variables, and of the user's tunables those that do not cap. */
static void test_variables_of_caps(void **state)
{
    static const struct {
        const char *setting, *user, *name, *value;
    } rows[] = {
        {"openblas/Haswell", NULL, "OPENBLAS_CORETYPE", "Haswell"},
        {"onednn/AVX2", NULL, "ONEDNN_MAX_CPU_ISA", "AVX2"},
        {"onednn/AVX2", NULL, "DNNL_MAX_CPU_ISA", "AVX2"},
        {"mkl/COMPATIBLE", NULL, "MKL_CBWR", "COMPATIBLE"},
        {"glibc/x86-64-v4", NULL, "GLIBC_TUNABLES", "glibc.cpu.hwcaps="},
        {"glibc/x86-64-v4", "glibc.cpu.hwcaps=-AVX2", "GLIBC_TUNABLES", "glibc.cpu.hwcaps="},
        {"glibc/x86-64-v4", "glibc.malloc.perturb=3:glibc.cpu.hwcaps=-AVX2:glibc.malloc.check=1",
         "GLIBC_TUNABLES", "glibc.malloc.perturb=3:glibc.malloc.check=1:glibc.cpu.hwcaps="},
    };
    for (size_t i = 0; dp_caps()->setting && i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct dp_cap *cap = dp_caps();
        while (strcmp(cap->setting, rows[i].setting) != 0) {
            cap++;
            assert_non_null(cap->setting);
        }
        if (rows[i].user) {
            setenv("GLIBC_TUNABLES", rows[i].user, 1);
        }
        json_t *variables = dp_cap_variables(cap);
        unsetenv("GLIBC_TUNABLES");
        assert_string_equal(dp_json_string(variables, rows[i].name, ""), rows[i].value);
        json_decref(variables);
    }
    const struct dp_cap *prescott = dp_caps();
    assert_true(dp_cap_took(prescott, "Prescott", "Prescott") && dp_cap_took(prescott, "Pentium4", "Zen"));
    assert_false(dp_cap_took(prescott, NULL, "Zen") || dp_cap_took(prescott, "off", "Zen") ||
                 dp_cap_took(prescott, "AUTO", "Zen"));
    assert_false(dp_cap_took(prescott, "Pentium4", "Pentium4"));      /* as without the cap */
    assert_false(dp_cap_took(prescott, "Haswell", "Zen"));            /* another cap's level */
    for (const struct dp_cap *cap = dp_caps(); cap->setting; cap++) { /* each row caps something, once */
        json_t *variables = dp_cap_variables(cap);
        assert_true(json_object_size(variables) > 0);
        assert_true(dp_cap_is(cap, dp_cap_level(cap)));
        assert_true(dp_cap_took(cap, dp_cap_level(cap), NULL));
        for (const struct dp_cap *other = dp_caps(); other < cap; other++) {
            assert_string_not_equal(other->setting, cap->setting);
        }
        json_decref(variables);
    }
}

/* The remedy of libm's catalogue file advises what was measured. */
static void test_advice_of_libm(void **state)
{
    struct dp_err err = {0};
    json_t *file = dp_json_load(DP_TEST_SOURCE_DIR "/../../probes/cpu/libm.json", (size_t)1 << 20, &err);
    assert_string_equal(err.text, "");
    const json_t *along = json_object_get(json_object_get(file, "defaults"), "remedy_along");
    const char *text = dp_json_string(json_object_get(along, "isa"), "text", "");
    for (const struct dp_cap *cap = dp_caps(); cap->setting; cap++) {
        if (strcmp(cap->setting, "glibc/x86-64-v2") == 0) {
            char *advice = dp_printf("GLIBC_TUNABLES=%s (", cap->value);
            assert_non_null(strstr(text, advice));
            free(advice);
        }
    }
    json_decref(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_selection),
        cmocka_unit_test(test_declared),
        cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_device),
        cmocka_unit_test(test_device_that_was_not_compared),
        cmocka_unit_test(test_device_confounded),
        cmocka_unit_test(test_plan_of_devices),
        cmocka_unit_test(test_device_asked_for),
        cmocka_unit_test(test_retest_of_devices),
        cmocka_unit_test(test_levels_of_caps),
        cmocka_unit_test(test_plan_of_caps),
        cmocka_unit_test(test_variables_of_caps),
        cmocka_unit_test(test_advice_of_libm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
