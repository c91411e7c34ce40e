/* SPDX-License-Identifier: Apache-2.0
 *
 * Operands: guards, padding, the written region, poison, restoring, reuse between requests; each fault of the
 * fake library must be seen, and none where there is none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "probes/kit/shape.h"
#include "probes/kit/tests/fake.h"

static void expect_guard(const struct ask *ask, const char *guard)
{
    json_t *const observation = ask_once(ask);
    assert_non_null(observation);
    assert_string_equal(string_of(output_of(observation), "guard"), guard);
    json_decref(observation);
}

static void guards_see_every_stray_write(void **state)
{
    static const struct {
        struct ask ask;
        const char *guard;
    } rows[] = {
        {{.mode = "good"}, "intact"},
        {{.mode = "good", .pad = 3}, "intact"},
        {{.mode = "good", .written = "upper"}, "intact"},
        {{.mode = "good", .written = "lower", .pad = 1}, "intact"},
        {{.mode = "good", .written = "list"}, "intact"},
        {{.mode = "good", .chosen = true, .written = "upper"}, "intact"},
        {{.mode = "accumulate"}, "intact"},
        {{.mode = "accumulate", .written = "upper", .pad = 2}, "intact"},
        {{.mode = "overrun"}, "broken"},
        {{.mode = "underrun"}, "broken"},
        {{.mode = "scratch-overrun"}, "broken"},
        {{.mode = "touch-input"}, "broken"},
        {{.mode = "consumes"}, "intact"},
        {{.mode = "touch-padding", .pad = 1}, "broken"},
        {{.mode = "padding-varies", .pad = 1}, "broken"},
        {{.mode = "strays-late", .pad = 1}, "broken"},
        {{.mode = "touch-outside", .written = "upper"}, "broken"},
        {{.mode = "touch-outside", .written = "upper", .chosen = true}, "broken"},
        {{.mode = "touch-outside"}, "intact"}, /* everything is written: nothing is outside */
        {{.mode = "good", .axis = "poison", .setting = "nan", .pad = 3}, "intact"},
        {{.mode = "touch-padding", .axis = "poison", .setting = "nan", .pad = 3}, "broken"},
        {{.mode = "good", .axis = "align", .setting = "4"}, "intact"},
        {{.mode = "underrun", .axis = "align", .setting = "4"}, "broken"},
        {{.mode = "overrun", .axis = "align", .setting = "64"}, "broken"},
        {{.mode = "good", .axis = "align", .setting = "ld+1"}, "intact"},
        {{.mode = "touch-padding", .axis = "align", .setting = "ld+1"}, "broken"},
        {{.mode = "overrun", .axis = "align", .setting = "ld+1"}, "broken"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        expect_guard(&rows[i].ask, rows[i].guard);
    }
}

/* What a run destroys is there again for the next, and is no output. */
static void consumed_inputs_are_put_back(void **state)
{
    json_t *const good = ask_once(&(struct ask){.mode = "good", .set = "unit"});
    json_t *const consumes = ask_once(&(struct ask){.mode = "consumes", .set = "unit"});
    assert_non_null(good);
    assert_non_null(consumes);
    assert_true(json_equal(json_object_get(good, "outputs"), json_object_get(consumes, "outputs")));
    json_decref(good);
    json_decref(consumes);
}

/* A write to padding that differs from run to run is no other result: the digested bytes are the same. */
static void padding_is_not_digested(void **state)
{
    json_t *const observation = ask_once(&(struct ask){.mode = "padding-varies", .pad = 1});
    json_t *const good = ask_once(&(struct ask){.mode = "good"});
    assert_int_equal(int_of(output_of(observation), "distinct"), 1);
    assert_string_equal(sha_of(observation), sha_of(good));
    json_decref(observation);
    json_decref(good);
}

/* Layouts that hold the same elements have the same digest. */
static void layout_is_undone(void **state)
{
    json_t *const plain = ask_once(&(struct ask){.mode = "good", .written = "upper"});
    json_t *const padded = ask_once(&(struct ask){.mode = "good", .written = "upper", .pad = 7});
    json_t *const chosen = ask_once(&(struct ask){.mode = "good", .written = "upper", .chosen = true});
    json_t *const full = ask_once(&(struct ask){.mode = "good"});
    assert_string_equal(sha_of(plain), sha_of(padded));
    assert_string_equal(sha_of(plain), sha_of(chosen));
    assert_string_not_equal(sha_of(plain), sha_of(full));
    json_decref(plain);
    json_decref(padded);
    json_decref(chosen);
    json_decref(full);
}

static void unwritten_elements_are_counted(void **state)
{
    static const struct {
        struct ask ask;
        int unwritten;
    } rows[] = {
        {{.mode = "good", .set = "unit"}, 0},
        {{.mode = "good", .set = "exact", .written = "upper"}, 0},
        {{.mode = "unwritten", .set = "unit"}, 3},
        {{.mode = "unwritten", .set = "exact", .pad = 2}, 3},
        {{.mode = "unwritten", .set = "unit", .chosen = true}, 3},
        {{.mode = "unwritten", .set = "unit", .written = "upper"}, 2}, /* (1,0) is outside */
        {{.mode = "unwritten", .set = "unit", .axis = "poison", .setting = "nan"}, 3},
        {{.mode = "unwritten", .set = "unit", .axis = "poison", .setting = "0x5a"}, 3},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        json_t *const observation = ask_once(&rows[i].ask);
        assert_int_equal(int_of(output_of(observation), "unwritten"), rows[i].unwritten);
        json_decref(observation);
    }
    json_t *const wide = ask_once(&(struct ask){.mode = "unwritten"});
    assert_null(json_object_get(output_of(wide), "unwritten"));
    json_decref(wide);
}

/* What an output or a workspace held before shows when it is read, and only then. */
static void poison_reaches_what_is_read(void **state)
{
    static const char *const modes[] = {"good", "reads-output", "reads-workspace"};
    static const char *const settings[] = {"0xa5", "0x5a", "nan"};
    for (int m = 0; m < 3; m++) {
        char sha[4][65];
        json_t *const base = ask_once(&(struct ask){.mode = modes[m]});
        strcpy(sha[3], sha_of(base));
        assert_int_equal(int_of(output_of(base), "distinct"), 1);
        json_decref(base);
        for (int s = 0; s < 3; s++) {
            json_t *const observation =
                ask_once(&(struct ask){.mode = modes[m], .axis = "poison", .setting = settings[s]});
            strcpy(sha[s], sha_of(observation));
            json_decref(observation);
        }
        assert_string_equal(sha[0], sha[3]); /* 0xa5 is what the base setting holds */
        for (int s = 1; s < 3; s++) {
            assert_int_equal(strcmp(sha[s], sha[0]) != 0, m != 0);
        }
    }
}

/* An inout operand starts from the same content in each run. */
static void inout_is_restored(void **state)
{
    json_t *const observation = ask_once(&(struct ask){.mode = "accumulate", .set = "exact", .runs = 20});
    assert_int_equal(int_of(output_of(observation), "distinct"), 1);
    assert_true(json_real_value(json_object_get(output_of(observation), "error_over_bound")) == 0);
    json_decref(observation);
}

static void preparation_is_reused(void **state)
{
    struct kit_session session;
    int rc;
    const int prepared = fake_prepares;
    const int released = fake_releases;
    kit_session_init(&session, &fake_program, &kit_cpu);
    const struct ask asks[] = {
        {.mode = "good"},
        {.mode = "good", .seed = "1/1"},
        {.mode = "good", .set = "unit"},
        {.mode = "good", .axis = "threads", .setting = "2"},  /* anew */
        {.mode = "good", .axis = "batch", .setting = "6/5"},  /* anew: own threads again */
        {.mode = "good", .axis = "batch", .setting = "4/0"},  /* anew */
        {.mode = "good", .axis = "poison", .setting = "nan"}, /* anew */
    };
    char first[65] = "";
    for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++) {
        json_t *const observation = ask_in(&session, &asks[i], &rc);
        assert_int_equal(rc, KIT_OK);
        if (i == 0) {
            strcpy(first, sha_of(observation));
        } else if (i == 6 || i == 3) {
            assert_string_equal(sha_of(observation), first);
        } else {
            assert_string_not_equal(sha_of(observation), first);
        }
        json_decref(observation);
    }
    assert_int_equal(fake_prepares - prepared, 5);
    kit_session_drop(&session);
    assert_int_equal(fake_releases - released, 5);
}

/* After damage nothing is reused: the next request of the same case sees good inputs again. */
static void damage_is_not_passed_on(void **state)
{
    struct kit_session session;
    int rc;
    kit_session_init(&session, &fake_program, &kit_cpu);
    for (int i = 0; i < 2; i++) {
        json_t *const observation = ask_in(&session, &(struct ask){.mode = "touch-input", .runs = 1}, &rc);
        assert_int_equal(rc, KIT_OK);
        json_t *const good = ask_once(&(struct ask){.mode = "good"});
        assert_string_equal(sha_of(observation), sha_of(good));
        json_decref(observation);
        json_decref(good);
    }
    kit_session_drop(&session);
}

static void refusals_and_failures_say_why(void **state)
{
    struct kit_session session;
    int rc;
    kit_session_init(&session, &fake_program, &kit_cpu);
    assert_null(ask_in(&session, &(struct ask){.mode = "skips"}, &rc));
    assert_int_equal(rc, KIT_SKIPPED);
    assert_string_equal(kit_outcome()->reason, "unsupported");
    assert_string_equal(kit_outcome()->text, "the fake library refuses");
    assert_null(ask_in(&session, &(struct ask){.mode = "fails"}, &rc));
    assert_int_equal(rc, KIT_FAILED);
    assert_string_equal(kit_outcome()->text, "the fake library failed in run 2");
    assert_null(ask_in(&session, &(struct ask){.mode = "good", .axis = "threads", .setting = "8"}, &rc));
    assert_int_equal(rc, KIT_SKIPPED);
    assert_string_equal(kit_outcome()->text, "threads 8: the library runs 4");
    assert_null(ask_in(&session, &(struct ask){.mode = "good", .rows = 2000000000}, &rc));
    assert_int_equal(rc, KIT_SKIPPED);
    assert_string_equal(kit_outcome()->reason, "memory");
    assert_null(ask_in(&session, &(struct ask){.mode = "good", .rows = -3}, &rc));
    assert_int_equal(rc, KIT_FAILED);
    json_t *const observation = ask_in(&session, &(struct ask){.mode = "good"}, &rc);
    assert_int_equal(rc, KIT_OK); /* and the session goes on, with its own threads */
    assert_int_equal(int_of(observation, "threads"), 3);
    assert_string_equal(string_of(observation, "chosen"), "fake");
    json_decref(observation);
    kit_session_drop(&session);
}

static struct kit_shape given;

static int describe_given(const struct kit_params *params, struct kit_shape *ret)
{
    *ret = given;
    return KIT_OK;
}

/* A description that cannot be right is refused with the operand's name, before anything is allocated. */
static void bad_descriptions_are_refused(void **state)
{
    const struct kit_operand good = {
        .name = "c", .role = KIT_OUT, .dtype = KIT_F32, .ndim = 2, .shape = {4, 5}, .batch_dim = -1};
    const struct op op = {.name = "given", .describe = describe_given};
    struct kit_params params = {.object = NULL};
    struct kit_shape made;
    struct kit_operand bad[20];
    for (int i = 0; i < 20; i++) {
        bad[i] = good;
    }
    bad[0].name = NULL;
    bad[1].dtype = KIT_DTYPE_MAX;
    bad[2].ndim = 0;
    bad[3].ndim = KIT_MAX_DIMS + 1;
    bad[4].shape[1] = 0;
    bad[5].shape[0] = INT64_MAX;
    bad[6].stride[0] = 4; /* rows of 5 overlap */
    bad[6].stride[1] = 1;
    bad[7].stride[0] = 5; /* no step along the columns */
    bad[8].stride[0] = INT64_MAX / 2;
    bad[8].stride[1] = 1;
    bad[9].batch_dim = 2;
    bad[10].align = 48;
    bad[11].fill = KIT_INDICES;  /* of floats */
    bad[12].fill = KIT_TRIANGLE; /* not square */
    bad[13].written = KIT_LIST;  /* of itself, which is no integer input */
    bad[14].role = KIT_IN;       /* then nothing is written */
    bad[15].fill = KIT_TIES;     /* without a number of levels */
    bad[16].fill = KIT_BOUNDED;  /* by a number above one */
    bad[16].exponent = 1;
    bad[17].fill = KIT_BOUNDED; /* in a type that would lose bits */
    bad[17].dtype = KIT_F16;
    bad[18].ndim = 1; /* no matrix */
    bad[18].leading = true;
    bad[19].chosen = true; /* the library's own layout */
    bad[19].leading = true;
    given = (struct kit_shape){.count = 1, .operand = {good}};
    assert_int_equal(kit_shape_make(&op, &params, &made), KIT_OK);
    for (int i = 0; i < 20; i++) {
        given.operand[0] = bad[i];
        assert_int_equal(kit_shape_make(&op, &params, &made), KIT_FAILED);
    }
    given = (struct kit_shape){.count = 2, .operand = {good, good}};
    assert_int_equal(kit_shape_make(&op, &params, &made), KIT_FAILED);
    assert_string_equal(kit_outcome()->text, "bad operand 'c': the name occurs twice");
    given.count = KIT_MAX_OPERANDS + 1;
    assert_int_equal(kit_shape_make(&op, &params, &made), KIT_FAILED);
}

static void strides_are_followed(void **state)
{
    const struct kit_operand good = {.name = "a", .dtype = KIT_F32, .ndim = 2, .shape = {4, 5}};
    struct kit_operand strided = good;
    strided.stride[0] = 1;
    strided.stride[1] = 6;
    assert_int_equal(kit_strided_bytes(&good), 80);
    assert_int_equal(kit_strided_bytes(&strided), (3 + 4 * 6 + 1) * 4);
    assert_true(kit_is_dense(&good));
    assert_false(kit_is_dense(&strided));
    float logical[20], native[28], back[20];
    for (int i = 0; i < 20; i++) {
        logical[i] = (float)i;
    }
    memset(native, 0xff, sizeof(native));
    kit_strided_pack(&strided, logical, native);
    assert_true(native[0] == 0 && native[1] == 5 && native[6] == 1 && native[27] == 19);
    kit_strided_unpack(&strided, native, back);
    assert_memory_equal(logical, back, sizeof(logical));
}

/* Beside its alignment, but never in the middle of an element. */
static void offset_moves_each_operand(void **state)
{
    const struct kit_operand vector = {
        .name = "c", .role = KIT_OUT, .ndim = 1, .shape = {4}, .batch_dim = -1};
    struct kit_shape shape = {.count = 2, .operand = {vector, vector}};
    const struct kit_prepared prepared = {.workspace_bytes = 64};
    struct kit_operands operands;
    struct kit_buffers buffers;
    shape.operand[1].dtype = KIT_F64;
    for (size_t offset = 0; offset <= 4; offset += 4) {
        const size_t offsets[] = {kit_operand_offset(&shape.operand[0], offset),
                                  kit_operand_offset(&shape.operand[1], offset)};
        assert_int_equal(kit_operands_alloc(&operands, &kit_cpu, NULL, &shape, &prepared, 1, offsets),
                         KIT_OK);
        kit_operands_buffers(&operands, 0, &buffers);
        assert_int_equal((uintptr_t)buffers.data[0] % 64, offset);
        assert_int_equal((uintptr_t)buffers.data[1] % 64, 2 * offset);
        assert_int_equal((uintptr_t)buffers.workspace % 64, 0);
        assert_int_equal(kit_operands_intact(&operands), 1);
        kit_operands_free(&operands);
    }
}

static void digest_at(struct kit_session *session, const char *mode, const char *setting, char ret[65])
{
    const struct ask ask = {
        .mode = mode, .pad = 1, .axis = setting[0] ? "align" : "repeat", .setting = setting};
    int rc;
    json_t *const observation = ask_in(session, &ask, &rc);
    assert_int_equal(rc, KIT_OK);
    assert_string_equal(string_of(output_of(observation), "guard"), "intact");
    const json_t *const classes = json_object_get(output_of(observation), "classes");
    assert_int_equal(json_array_size(classes), 1);
    snprintf(ret, 65, "%s", string_of(json_array_get(classes, 0), "sha256"));
    json_decref(observation);
}

/* Each setting of axis align moves what depends on it, and nothing else. Rows are six elements apart. */
static void align_moves_what_depends_on_it(void **state)
{
    static const char *const settings[] = {"4", "16", "64", "0,4", "4,0", "0,16", "ld+1", "ld+2", "heap"};
    static const struct {
        const char *mode;
        bool moves[sizeof(settings) / sizeof(settings[0])];
    } rows[] = {
        {"good", {0, 0, 0, 0, 0, 0, 0, 0, 0}},
        {"by-address", {1, 0, 0, 0, 1, 0, 0, 0, 0}},   /* of the third operand: the first number again */
        {"by-neighbour", {0, 0, 0, 0, 0, 0, 0, 0, 0}}, /* the first and the third have the same */
        {"by-leading", {0, 0, 0, 0, 0, 0, 1, 0, 0}},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (size_t k = 0; k < sizeof(settings) / sizeof(settings[0]); k++) {
            char base[65], at[65];
            struct kit_session session;
            kit_session_init(&session, &fake_program, &kit_cpu);
            digest_at(&session, rows[i].mode, "", base);
            digest_at(&session, rows[i].mode, settings[k], at);
            assert_int_equal(strcmp(base, at) != 0, rows[i].moves[k]);
            digest_at(&session, rows[i].mode, "", at);
            assert_string_equal(base, at);
            kit_session_drop(&session);
        }
    }
}

/* Of other settings an allocator may or may not give the same place again; "good" reads none. */
static void heap_moves_what_allocates(void **state)
{
    char base[65], at[65];
    struct kit_session session;
    kit_session_init(&session, &fake_program, &kit_cpu);
    digest_at(&session, "by-heap", "", base);
    digest_at(&session, "by-heap", "heap", at);
    assert_string_not_equal(base, at);
    kit_session_drop(&session);
}

/* A number for each operand in turn, the last ones by those before. */
static void offsets_are_dealt_in_turn(void **state)
{
    static const struct {
        const char *setting;
        bool moves;
    } rows[] = {{"0,0,4", true}, {"4,0,0", true}, {"4,0,4", false}, {"0,4,0", false}, {"4,4,4", false}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char base[65], at[65];
        struct kit_session session;
        kit_session_init(&session, &fake_program, &kit_cpu);
        digest_at(&session, "by-neighbour", "", base);
        digest_at(&session, "by-neighbour", rows[i].setting, at);
        assert_int_equal(strcmp(base, at) != 0, rows[i].moves);
        kit_session_drop(&session);
    }
}

static void no_leading_dimension_is_no_setting(void **state)
{
    struct kit_session session;
    int rc;
    kit_session_init(&session, &fake_program, &kit_cpu);
    const struct ask chosen = {.mode = "good", .chosen = true, .axis = "align", .setting = "ld+1"};
    assert_null(ask_in(&session, &chosen, &rc));
    assert_int_equal(rc, KIT_SKIPPED);
    assert_string_equal(kit_outcome()->reason, "unsupported");
    assert_non_null(strstr(kit_outcome()->text, "leading dimension"));
    kit_session_drop(&session);
}

/* The text stands in the report's body: it says what is needed, not what happens to be left. */
static void memory_that_is_short_is_told_the_same_each_time(void **state)
{
    const struct kit_shape shape = {
        .count = 1, .operand = {{.name = "c", .role = KIT_OUT, .ndim = 1, .shape = {4}, .batch_dim = -1}}};
    const struct kit_prepared prepared = {.workspace_bytes = (size_t)1 << 50};
    struct kit_operands operands;
    const size_t offsets[KIT_MAX_OPERANDS] = {0};
    assert_int_equal(kit_operands_alloc(&operands, &kit_cpu, NULL, &shape, &prepared, 1, offsets),
                     KIT_SKIPPED);
    assert_string_equal(kit_outcome()->text, "needs 1073741952 MiB of memory, more than is left");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(guards_see_every_stray_write),
        cmocka_unit_test(consumed_inputs_are_put_back),
        cmocka_unit_test(padding_is_not_digested),
        cmocka_unit_test(layout_is_undone),
        cmocka_unit_test(unwritten_elements_are_counted),
        cmocka_unit_test(poison_reaches_what_is_read),
        cmocka_unit_test(inout_is_restored),
        cmocka_unit_test(preparation_is_reused),
        cmocka_unit_test(damage_is_not_passed_on),
        cmocka_unit_test(refusals_and_failures_say_why),
        cmocka_unit_test(bad_descriptions_are_refused),
        cmocka_unit_test(strides_are_followed),
        cmocka_unit_test(offset_moves_each_operand),
        cmocka_unit_test(align_moves_what_depends_on_it),
        cmocka_unit_test(heap_moves_what_allocates),
        cmocka_unit_test(offsets_are_dealt_in_turn),
        cmocka_unit_test(no_leading_dimension_is_no_setting),
        cmocka_unit_test(memory_that_is_short_is_told_the_same_each_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
