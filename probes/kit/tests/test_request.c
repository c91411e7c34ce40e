/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests and settings: what is understood, what is refused and in which words; params that nobody reads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "probes/kit/outcome.h"
#include "probes/kit/params.h"
#include "probes/kit/request.h"

static const char good[] =
    "{\"id\":17,\"case\":\"cpu/gemm/x\",\"op\":\"gemm\",\"params\":{\"m\":3},\"choice\":null,"
    "\"problem\":\"gemm/x\",\"arithmetic\":\"direct\",\"bound\":2,\"batch\":\"m\",\"seed\":\"1/3\","
    "\"set\":\"wide\",\"axis\":\"repeat\",\"setting\":\"\",\"runs\":25,\"later\":[1,2]}";

static int parse_with(const char *member, json_t *value, struct kit_request *ret)
{
    json_t *const message = json_loads(good, 0, NULL);
    assert_non_null(message);
    if (member && value) {
        json_object_set_new(message, member, value);
    } else if (member) {
        json_object_del(message, member);
    }
    kit_outcome_clear();
    const int rc = kit_request_parse(message, ret);
    json_decref(message); /* strings are looked at before this only by value */
    return rc;
}

static void a_request_is_understood(void **state)
{
    json_t *const message = json_loads(good, 0, NULL);
    struct kit_request request;
    assert_int_equal(kit_request_parse(message, &request), KIT_OK);
    assert_int_equal(request.id, 17);
    assert_string_equal(request.op, "gemm");
    assert_null(request.choice);
    assert_string_equal(request.batch, "m");
    assert_string_equal(request.seed, "1/3");
    assert_int_equal(request.set, KIT_WIDE);
    assert_int_equal(request.arithmetic, KIT_DIRECT);
    assert_true(request.bound == 2);
    assert_int_equal(request.runs, 25);
    assert_int_equal(request.setting.threads, 0);
    assert_int_equal(request.setting.batch, 0);
    assert_int_equal(request.setting.pattern.bytes[0], 0xa5);
    assert_int_equal(request.setting.perturb, 0);
    json_decref(message);
}

static void bad_members_are_named(void **state)
{
    struct kit_request request;
    const struct {
        const char *member;
        json_t *value; /* NULL: left out */
        const char *text;
    } rows[] = {
        {"id", NULL, "it has no id"},
        {"id", json_string("17"), "it has no id"},
        {"op", NULL, "'op' is not a string"},
        {"op", json_integer(1), "'op' is not a string"},
        {"choice", json_integer(1), "'choice' is not a string"},
        {"params", json_array(), "'params' is not an object"},
        {"params", NULL, "'params' is not an object"},
        {"set", json_string("huge"), "'huge' is no set"},
        {"arithmetic", json_string("vague"), "'vague' is no arithmetic"},
        {"runs", json_integer(0), "'runs' is not within"},
        {"runs", json_integer(1000001), "'runs' is not within"},
        {"runs", json_real(3), "'runs' is not within"},
        {"bound", json_integer(-1), "'bound' is not a number"},
        {"bound", json_string("2"), "'bound' is not a number"},
        {"seed", json_null(), "'seed' is not a string"},
        {"setting", NULL, "'setting' is not a string"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(parse_with(rows[i].member, rows[i].value, &request), KIT_FAILED);
        assert_non_null(strstr(kit_outcome()->text, rows[i].text));
    }
    assert_int_equal(parse_with("choice", NULL, &request), KIT_OK);
    assert_int_equal(parse_with("bound", NULL, &request), KIT_OK);
    assert_true(request.bound == 1);
    assert_int_equal(parse_with("axis", json_string("price"), &request), KIT_OK);
    assert_true(request.setting.price);
    assert_int_equal(parse_with("axis", json_string("align"), &request), KIT_SKIPPED);
    assert_string_equal(kit_outcome()->reason, "unsupported");
}

static void settings_are_taken_apart(void **state)
{
    const struct {
        const char *axis, *setting;
        int threads, batch, place, size, byte, perturb;
    } rows[] = {
        {"repeat", "", 0, 0, 0, 1, 0xa5, 0},
        {"fresh", "3", 0, 0, 0, 1, 0xa5, 0},
        {"threads", "8", 8, 0, 0, 1, 0xa5, 0},
        {"batch", "16/15", 0, 16, 15, 1, 0xa5, 0},
        {"batch", "1/0", 0, 1, 0, 1, 0xa5, 0},
        {"poison", "0xa5", 0, 0, 0, 1, 0xa5, 0x5a},
        {"poison", "0x5a", 0, 0, 0, 1, 0x5a, 0xa5},
        {"poison", "nan", 0, 0, 0, 0, 0, 0x80},
        {"threads*batch", "4*16/15", 4, 16, 15, 1, 0xa5, 0},
        {"threads*repeat", "4", 4, 0, 0, 1, 0xa5, 0},
        {"threads*repeat", "4*", 4, 0, 0, 1, 0xa5, 0},
        {"batch*repeat", "16/0", 0, 16, 0, 1, 0xa5, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct kit_setting setting;
        assert_int_equal(kit_setting_parse(rows[i].axis, rows[i].setting, &setting), KIT_OK);
        assert_int_equal(setting.threads, rows[i].threads);
        assert_int_equal(setting.batch, rows[i].batch);
        assert_int_equal(setting.place, rows[i].place);
        assert_int_equal(setting.pattern.size, rows[i].size);
        assert_int_equal(setting.pattern.bytes[0], rows[i].byte);
        assert_int_equal(setting.perturb, rows[i].perturb);
        assert_int_equal(setting.busy, KIT_IDLE);
        assert_int_equal(setting.lanes, 0);
    }
    struct kit_setting setting;
    assert_int_equal(kit_setting_parse("busy", "memory", &setting), KIT_OK);
    assert_int_equal(setting.busy, KIT_BUSY_MEMORY);
    assert_int_equal(kit_setting_parse("concurrency", "16", &setting), KIT_OK);
    assert_int_equal(setting.lanes, 16);
    assert_int_equal(kit_setting_parse("align", "0,4096,3", &setting), KIT_OK);
    assert_int_equal(setting.align.offsets, 3);
    assert_int_equal(setting.align.offset[1], 4096);
    assert_int_equal(setting.align.offset[2], 3);
    assert_false(setting.align.heap || setting.align.widen);
    assert_int_equal(kit_setting_parse("align", "ld+33", &setting), KIT_OK);
    assert_int_equal(setting.align.widen, 33);
    assert_false(setting.align.heap || setting.align.offsets);
    assert_int_equal(kit_setting_parse("align", "heap", &setting), KIT_OK);
    assert_true(setting.align.heap);
    assert_false(setting.align.widen || setting.align.offsets);
}

static void bad_settings_are_refused(void **state)
{
    static const char *const rows[][2] = {
        {"threads", ""},
        {"threads", "0"},
        {"threads", "-1"},
        {"threads", "4x"},
        {"threads", "99999999999999999999"},
        {"threads", "4*2"},
        {"align", "0"},
        {"align", "4097"},
        {"align", ""},
        {"align", "0,0"},
        {"align", "4,"},
        {"align", ",4"},
        {"align", "4,-4"},
        {"align", "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"},
        {"align", "ld"},
        {"align", "ld+"},
        {"align", "ld+0"},
        {"align", "ld+1,4"},
        {"align", "ld-1"},
        {"align", "heaps"},
        {"algorithm", ""},
        {"algorithm", "-1"},
        {"algorithm", "1/2"},
        {"algorithm", "4096"},
        {"busy", ""},
        {"busy", "idle"},
        {"concurrency", "1"},
        {"concurrency", "17"},
        {"concurrency", "4x"},
        {"batch", "16"},
        {"batch", "16/16"},
        {"batch", "16/"},
        {"batch", "/0"},
        {"batch", "0/0"},
        {"batch", "16/-1"},
        {"poison", "0x00"},
        {"", ""},
        {"thread", "4"},
        {"threads*", "4"},
        {"repeat", "0123456789012345678901234567890123456789012345678901234567890123"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct kit_setting setting;
        kit_outcome_clear();
        assert_int_equal(kit_setting_parse(rows[i][0], rows[i][1], &setting), KIT_SKIPPED);
        assert_string_equal(kit_outcome()->reason, "unsupported");
    }
}

static void params_are_typed_and_all_read(void **state)
{
    json_t *const object = json_pack("{s:i, s:s, s:b}", "m", 5, "trans", "nt", "flag", 1);
    struct kit_params params;
    int64_t number = 0;
    int word = -1;
    bool flag = false;
    const char *text;
    assert_int_equal(kit_params_init(&params, object), KIT_OK);
    assert_int_equal(kit_params_all_read(&params), KIT_FAILED);
    assert_int_equal(kit_param_int(&params, "m", &number), KIT_OK);
    assert_int_equal(number, 5);
    assert_int_equal(kit_param_int(&params, "k", &number), KIT_FAILED);
    assert_string_equal(kit_outcome()->text, "missing param 'k'");
    assert_int_equal(kit_param_int_or(&params, "k", 9, &number), KIT_OK);
    assert_int_equal(number, 9);
    assert_int_equal(kit_param_int(&params, "trans", &number), KIT_FAILED);
    assert_int_equal(kit_param_string(&params, "m", &text), KIT_FAILED);
    assert_int_equal(kit_param_word(&params, "trans", "nn|nt|tn", &word), KIT_OK);
    assert_int_equal(word, 1);
    assert_int_equal(kit_param_word(&params, "trans", "n|t|nnt", &word), KIT_FAILED);
    assert_string_equal(kit_outcome()->text, "bad param 'trans': 'nt' is none of n|t|nnt");
    assert_int_equal(kit_param_word_or(&params, "trans", "tt|nt", &word), KIT_OK);
    assert_int_equal(word, 1);
    assert_int_equal(kit_param_word_or(&params, "uplo", "lower|upper", &word), KIT_OK);
    assert_int_equal(word, 0);
    assert_int_equal(kit_param_word_or(&params, "trans", "n|t", &word), KIT_FAILED);
    assert_int_equal(kit_params_all_read(&params), KIT_FAILED);
    assert_string_equal(kit_outcome()->text, "unknown param 'flag': the operation does not read it");
    assert_int_equal(kit_param_bool_or(&params, "m", false, &flag), KIT_FAILED);
    assert_int_equal(kit_param_bool_or(&params, "flag", false, &flag), KIT_OK);
    assert_true(flag);
    assert_int_equal(kit_params_all_read(&params), KIT_OK);
    kit_params_free(&params);
    json_object_set_new(object, "deep", json_array());
    assert_int_equal(kit_params_init(&params, object), KIT_FAILED);
    json_decref(object);
}

/* What a library or a request says goes into one line: nothing in it may end the line or drive a terminal. */
static void texts_are_one_printable_line(void **state)
{
    assert_int_equal(kit_fail("bad\nname '%s'", "\x1b[31m\xff"), KIT_FAILED);
    assert_string_equal(kit_outcome()->text, "bad?name '?[31m?'");
    assert_int_equal(kit_skip("version", "%01000d", 1), KIT_SKIPPED);
    assert_true(strlen(kit_outcome()->text) < 480);
    assert_string_equal(kit_outcome()->reason, "version");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_is_understood),       cmocka_unit_test(bad_members_are_named),
        cmocka_unit_test(settings_are_taken_apart),      cmocka_unit_test(bad_settings_are_refused),
        cmocka_unit_test(params_are_typed_and_all_read), cmocka_unit_test(texts_are_one_printable_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
