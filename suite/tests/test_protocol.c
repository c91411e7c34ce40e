/* SPDX-License-Identifier: Apache-2.0
 *
 * Protocol 1 read strictly: every rule has a message that breaks it alone, beside one that keeps it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/run/capture.h"
#include "suite/run/lines.h"
#include "suite/run/protocol.h"

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define RUNS 8
#define OUTPUT(classes, more)                                                                                \
    "{\"name\":\"c\",\"dtype\":\"f32\",\"shape\":[2,3],\"classes\":[" classes "]" more "}"
#define CLASS(sha256, runs, first) "{\"sha256\":\"" sha256 "\",\"runs\":" #runs ",\"first_run\":" #first "}"
#define OBSERVATION(outputs, more) "{\"type\":\"observation\",\"id\":7,\"outputs\":[" outputs "]" more "}"
#define ONE CLASS(A, 8, 0)
#define TWO CLASS(A, 6, 0) "," CLASS(B, 2, 3)

struct line {
    const char *text;
    const char *fault; /* NULL: good; else part of the message */
};

static void check(const struct line *line)
{
    struct dp_message message;
    struct dp_err err = {0};
    int rc = dp_message_read(line->text, strlen(line->text), RUNS, &message, &err);
    if (line->fault && (rc == 0 || !strstr(err.text, line->fault))) {
        fail_msg("%s\n  expected '%s', got '%s'", line->text, line->fault, rc ? err.text : "good");
    }
    if (!line->fault && rc) {
        fail_msg("%s\n  expected good, got '%s'", line->text, err.text);
    }
    json_decref(message.body);
}

static void check_all(const struct line *lines, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        check(&lines[i]);
    }
}

#define VIEW(more) "{\"of\":\"all\",\"summands\":3,\"step\":1,\"kind\":" more "}"
#define PART(of, summands, step)                                                                             \
    "{\"of\":\"" of "\",\"summands\":" #summands ",\"step\":" #step ",\"kind\":\"exact\"}"
#define ORDER(views)                                                                                         \
    "{\"type\":\"order\",\"id\":7,\"output\":\"c\",\"cell\":[0,1],\"operand\":\"a\",\"dtype\":\"f32\","      \
    "\"summands\":3,"                                                                                        \
    "\"views\":[" views "]}"
#define TREE VIEW("\"tree\",\"parents\":[3,3,4,4]")

static void orders(void **state)
{
    static const struct line lines[] = {
        {ORDER(TREE), NULL},
        {ORDER(TREE "," VIEW("\"exact\"")), NULL},
        {ORDER(VIEW("\"varies\",\"twice\":9,\"changed\":4")), NULL},
        {ORDER(VIEW("\"tree\",\"parents\":[3,3,4,4],\"replayed\":32,\"same\":31,\"in\":\"f32\"")), NULL},
        {ORDER(VIEW("\"tree\",\"parents\":[3,3,4,4],\"replayed\":32,\"same\":33,\"in\":\"f32\"")),
         "more in 'same' than were replayed"},
        {ORDER(VIEW("\"tree\",\"parents\":[3,3,4,4],\"twice\":9,\"changed\":4")),
         "'changed' but not its kind"},
        {ORDER(VIEW("\"exact\",\"twice\":9,\"changed\":4")), "'changed' but not its kind"},
        {ORDER(VIEW("\"varies\",\"twice\":3,\"changed\":4")), "than were asked twice"},
        {ORDER(VIEW("\"varies\",\"twice\":3")), "with none 'changed'"},
        {ORDER(PART("all", 2, 1)), "other summands"},
        {ORDER(PART("all", 3, 2)), "other summands"},
        {ORDER(PART("first", 2, 1)), NULL},
        {ORDER(PART("first", 3, 1)), "other summands"},
        {ORDER(PART("every", 2, 2)), NULL},
        {ORDER(PART("every", 2, 3)), "other summands"},
        {ORDER(""), "without 'views'"},
        {ORDER(TREE "," TREE "," TREE), "without 'views'"},
        {ORDER(VIEW("\"tree\"")), "is no tree, or the reverse"},
        {ORDER(VIEW("\"exact\",\"parents\":[3,3,4,4]")), "is no tree, or the reverse"},
        {ORDER(VIEW("\"forest\"")), "'kind' is not a known word"},
        {ORDER(VIEW("\"tree\",\"parents\":[3,3,3,4]")), "no tree of additions"},
        {ORDER(VIEW("\"tree\",\"parents\":[3,3,4,-4]")), "'parents'"},
        {ORDER(VIEW("\"tree\",\"parents\":[]")), "has not 3 summands"},
        {ORDER("{\"of\":\"all\",\"summands\":99999,\"step\":1,\"kind\":\"exact\"}"), "'summands'"},
        {"{\"type\":\"order\",\"id\":7,\"views\":[" TREE "]}", "without 'output'"},
    };
    check_all(lines, sizeof(lines) / sizeof(lines[0]));
}

static void envelope(void **state)
{
    static const struct line lines[] = {
        {"{\"type\":\"done\",\"id\":7}", NULL},
        {"{\"type\":\"done\",\"id\":7,\"later\":{\"x\":[1.5]}}", NULL},
        {"{\"type\":\"done\"}", "without an integer 'id'"},
        {"{\"type\":\"done\",\"id\":\"7\"}", "without an integer 'id'"},
        {"{\"type\":\"done\",\"id\":7.0}", "without an integer 'id'"},
        {"{\"type\":\"done\",\"id\":99999999999999999999}", "bad JSON"},
        {"{\"type\":\"error\",\"id\":7,\"reason\":\"crash\",\"text\":\"x\"}", "unknown type 'error'"},
        {"{\"type\":\"opinion\",\"id\":7}", "unknown type 'opinion'"},
        {"{\"id\":7}", "unknown type ''"},
        {"{\"type\":\"done\",\"type\":\"done\",\"id\":7}", "bad JSON"},
        {"[1]", "not a JSON object"},
        {"{\"type\":", "bad JSON"},
        {"", "bad JSON"},
        {"{\"type\":\"done\",\"id\":7} x", "bad JSON"},
        {"{\"type\":\"failure\",\"id\":7,\"text\":\"no\"}", NULL},
        {"{\"type\":\"failure\",\"id\":7}", "without 'text'"},
        {"{\"type\":\"skip\",\"id\":7,\"reason\":\"memory\",\"text\":\"no\"}", NULL},
        {"{\"type\":\"skip\",\"id\":7,\"reason\":\"mood\",\"text\":\"no\"}", "'reason' is not a known word"},
        {"{\"type\":\"skip\",\"id\":7,\"text\":\"no\"}", "without 'reason'"},
    };
    check_all(lines, sizeof(lines) / sizeof(lines[0]));
}

static void hello(void **state)
{
#define HELLO(more) "{\"type\":\"hello\",\"program\":\"x\",\"protocol\":1" more "}"
#define LIBRARY "\"role\":\"r\",\"name\":\"n\",\"version\":\"1\",\"path\":\"/p\""
    static const struct line lines[] = {
        {HELLO(""), NULL},
        {HELLO(",\"axes\":[\"repeat\"],\"libraries\":[{" LIBRARY "}],\"device\":{\"name\":\"d\"}"), NULL},
        {HELLO(",\"float_environment\":{\"default\":\"0x1f80\",\"changes\":[]},\"later\":1.5"), NULL},
        {"{\"type\":\"hello\",\"protocol\":1}", "without 'program'"},
        {"{\"type\":\"hello\",\"program\":\"x\"}", "without 'protocol'"},
        {"{\"type\":\"hello\",\"program\":\"x\",\"protocol\":\"1\"}", "'protocol' must be an integer"},
        {HELLO(",\"axes\":\"repeat\""), "'axes' must be an array"},
        {HELLO(",\"axes\":[1]"), "without 'axis'"},
        {HELLO(",\"libraries\":[1]"), "without 'role'"},
        {HELLO(",\"libraries\":[{\"role\":\"r\"}]"), "without 'name'"},
        {HELLO(",\"libraries\":[{" LIBRARY ",\"config\":\"a\\u0007\"}]"), "control characters"},
        {HELLO(",\"device\":{\"clock\":1.5}"), "plain strings and integers"},
        {HELLO(",\"devices\":[{\"ordinal\":0},{\"ordinal\":1}],\"device_state\":[{\"uuid\":\"u\"}]"), NULL},
        {HELLO(",\"devices\":{}"), "must be an array"},
        {HELLO(",\"devices\":[1]"), "plain strings and integers"},
        {HELLO(",\"device_state\":[{\"clock\":1.5}]"), "plain strings and integers"},
        {HELLO(",\"own_kernels\":{\"source\":\"" A "\",\"image\":\"" B "\",\"kind\":\"ptx\"}"), NULL},
        {HELLO(",\"own_kernels\":{\"source\":\"" A "\",\"image\":\"" B "\",\"kind\":\"C\"}"), "known word"},
        {HELLO(",\"own_kernels\":{\"source\":\"1\",\"image\":\"" B "\",\"kind\":\"ptx\"}"), "64 lower-case"},
        {HELLO(",\"own_kernels\":[]"), "without 'source'"},
        {HELLO(",\"device\":[]"), "plain strings and integers"},
        {HELLO(",\"device\":{\"a\":{\"b\":1}}"), "plain strings and integers"},
        {HELLO(",\"device\":{\"A B\":1}"), "plain strings and integers"},
        {HELLO(",\"float_environment\":{\"default\":\"0x1f80\",\"changes\":[{\"after\":\"libx\",\"control\":"
               "\"0x9fc0\"}]}"),
         NULL},
        {HELLO(",\"float_environment\":{\"changes\":[]}"), "without 'default'"},
        {HELLO(",\"float_environment\":{\"default\":{\"x\":1}}"), "'default' must be a string"},
        {HELLO(",\"float_environment\":{\"default\":\"1f80\"}"), "must be 0x and"},
        {HELLO(",\"float_environment\":{\"default\":\"0x1\",\"changes\":{}}"), "must be an array"},
        {HELLO(",\"float_environment\":{\"default\":\"0x1\",\"changes\":[1]}"), "without 'after'"},
        {HELLO(",\"float_environment\":{\"default\":\"0x1\",\"changes\":[{\"after\":\"x\",\"control\":[]}]}"),
         "'control' must be a string"},
    };
    check_all(lines, sizeof(lines) / sizeof(lines[0]));
}

static void outputs(void **state)
{
    static const struct line lines[] = {
        {OBSERVATION(OUTPUT(ONE, ""), ""), NULL},
        {OBSERVATION(OUTPUT(TWO, ""), ""), NULL},
        {OBSERVATION(OUTPUT(ONE, ",\"unwritten\":0,\"guard\":\"intact\",\"error_over_bound\":0"), ""), NULL},
        {OBSERVATION(OUTPUT(ONE, ",\"unwritten\":null"), ",\"chosen\":null"), NULL},
        {OBSERVATION(OUTPUT(ONE, ""), ",\"declared\":\"deterministic\""), NULL},
        {OBSERVATION(OUTPUT(ONE, ""), ",\"declared\":\"maybe\""), "'declared'"},
        {OBSERVATION("", ""), "without 'outputs'"},
        {OBSERVATION("1", ""), "without 'name'"},
        {"{\"type\":\"observation\",\"id\":7}", "without 'outputs'"},
        {OBSERVATION(OUTPUT(ONE, "") "," OUTPUT(ONE, ""), ""), "'c' is named twice"},
        {OBSERVATION(OUTPUT(ONE, ",\"distinct\":2"), ""), "counts other classes"},
        {OBSERVATION(OUTPUT(TWO, ",\"distinct\":1"), ""), "counts other classes"},
        {OBSERVATION(OUTPUT(ONE, ",\"distinct\":0"), ""), "'distinct' is out of range"},
        {OBSERVATION(OUTPUT(ONE, ",\"unwritten\":-1"), ""), "'unwritten' is out of range"},
        {OBSERVATION(OUTPUT(ONE, ",\"unwritten\":1.5"), ""), "'unwritten' must be an integer"},
        {OBSERVATION(OUTPUT(ONE, ",\"guard\":\"bent\""), ""), "'guard' is not a known word"},
        {OBSERVATION(OUTPUT(ONE, ",\"error_over_bound\":-0.5"), ""), "'error_over_bound' must be"},
        {OBSERVATION(OUTPUT(ONE, ",\"error_over_bound\":\"0\""), ""), "'error_over_bound' must be"},
        {OBSERVATION("{\"name\":\"c\",\"dtype\":\"f32\",\"classes\":[" ONE "]}", ""), "has no 'shape'"},
        {OBSERVATION("{\"name\":\"\",\"dtype\":\"f32\",\"shape\":[],\"classes\":[" ONE "]}", ""), "empty"},
        {OBSERVATION("{\"name\":\"c\",\"dtype\":\"f32\",\"shape\":[2,0],\"classes\":[" ONE "]}", ""),
         "without a single element"},
        {OBSERVATION("{\"name\":\"c\",\"dtype\":\"f32\",\"shape\":[-1],\"classes\":[" ONE "]}", ""),
         "extent"},
    };
    check_all(lines, sizeof(lines) / sizeof(lines[0]));
}

static void classes(void **state)
{
    static const struct line lines[] = {
        {OBSERVATION(OUTPUT("", ""), ""), "1 to 8 'classes'"},
        {OBSERVATION(OUTPUT(CLASS(A, 7, 0), ""), ""), "do not add up"},
        {OBSERVATION(OUTPUT(CLASS(A, 9, 0), ""), ""), "do not add up"},
        {OBSERVATION(OUTPUT(CLASS(A, 6, 0) "," CLASS(B, 1, 3), ""), ""), "do not add up"},
        {OBSERVATION(OUTPUT(CLASS(A, 8, 1), ""), ""), "from run 0"},
        {OBSERVATION(OUTPUT(CLASS(A, 6, 0) "," CLASS(B, 2, 0), ""), ""), "by first_run"},
        {OBSERVATION(OUTPUT(CLASS(A, 6, 0) "," CLASS(B, 2, 8), ""), ""), "more runs"},
        {OBSERVATION(OUTPUT(CLASS(A, 6, 0) "," CLASS(A, 2, 3), ""), ""), "one digest twice"},
        {OBSERVATION(OUTPUT(CLASS(A, 0, 0), ""), ""), "'runs' is out of range"},
        {OBSERVATION(OUTPUT(CLASS("AA", 8, 0), ""), ""), "64 lower-case hex digits"},
        {OBSERVATION(OUTPUT(CLASS(A "a", 8, 0), ""), ""), "64 lower-case hex digits"},
        {OBSERVATION(OUTPUT("{\"runs\":8,\"first_run\":0}", ""), ""), "without 'sha256'"},
        {OBSERVATION(OUTPUT("3", ""), ""), "without 'sha256'"},
        {OBSERVATION(OUTPUT(CLASS(A, 9007199254740991, 0) "," CLASS(B, 9007199254740991, 1), ""), ""),
         "runs"},
    };
    check_all(lines, sizeof(lines) / sizeof(lines[0]));
}

static void kernels(void **state)
{
#define KERNELS(items) ",\"kernels\":" items
#define KERNEL(name, launches) "{\"name\":\"" name "\",\"launches\":" launches "}"
    static const struct line lines[] = {
        {OBSERVATION(OUTPUT(ONE, ""), KERNELS("[" KERNEL("gemm", "2") "," KERNEL("reduce", "1") "]")), NULL},
        {OBSERVATION(OUTPUT(ONE, ""), KERNELS("null")), NULL},
        {OBSERVATION(OUTPUT(ONE, ""), KERNELS("[]")), "must list 1 to 64"},
        {OBSERVATION(OUTPUT(ONE, ""), KERNELS("\"gemm\"")), "must list 1 to 64"},
        {OBSERVATION(OUTPUT(ONE, ""), KERNELS("[\"gemm\"]")), "without 'name'"},
        {OBSERVATION(OUTPUT(ONE, ""), KERNELS("[" KERNEL("", "1") "]")), "must not be empty"},
        {OBSERVATION(OUTPUT(ONE, ""), KERNELS("[" KERNEL("a\\u001b[2J", "1") "]")), "control characters"},
        {OBSERVATION(OUTPUT(ONE, ""), KERNELS("[" KERNEL("gemm", "0") "]")), "'launches' is out of range"},
        {OBSERVATION(OUTPUT(ONE, ""), KERNELS("[{\"name\":\"gemm\"}]")), "without 'launches'"},
    };
    check_all(lines, sizeof(lines) / sizeof(lines[0]));
}

static void mismatches(void **state)
{
#define MISMATCH(more) ",\"mismatch\":{\"runs\":2,\"output\":\"c\"" more "}"
#define TILE(shape, box, at) ",\"region\":\"tile\",\"shape\":" shape ",\"box\":" box ",\"box_at\":" at
    static const struct line lines[] = {
        {OBSERVATION(OUTPUT(TWO, ""), MISMATCH("")), NULL},
        {OBSERVATION(OUTPUT(TWO, ""), MISMATCH(",\"max_ulp\":\"3\",\"kind\":\"permutation\"")), NULL},
        {OBSERVATION(OUTPUT(ONE, ""), MISMATCH("")), "do not show"},
        {OBSERVATION(OUTPUT(TWO, ""), ",\"mismatch\":{\"runs\":8,\"output\":\"c\"}"), "do not show"},
        {OBSERVATION(OUTPUT(TWO, ""), ",\"mismatch\":{\"runs\":2,\"output\":\"d\"}"), "unknown output 'd'"},
        {OBSERVATION(OUTPUT(TWO, ""), ",\"mismatch\":{\"output\":\"c\"}"), "without 'runs'"},
        {OBSERVATION(OUTPUT(TWO, ""), MISMATCH(",\"kind\":\"mood\"")), "'kind' is not a known word"},
        {OBSERVATION(OUTPUT(TWO, ""), MISMATCH(",\"max_ulp\":3")), "'max_ulp' must be a string"},
        {OBSERVATION(OUTPUT(TWO, ""), MISMATCH(",\"shape\":[2,3],\"ulp_histogram\":[0,7]")), NULL},
        {OBSERVATION(OUTPUT(TWO, ""), MISMATCH(",\"ulp_histogram\":[1,-1]")),
         "'ulp_histogram' must be a short array"},
        {OBSERVATION(OUTPUT(TWO, ""), MISMATCH(",\"ulp_histogram\":[1.5]")),
         "'ulp_histogram' must be a short array"},
        {OBSERVATION(OUTPUT(TWO, ""), MISMATCH(",\"ulp_histogram\":3")),
         "'ulp_histogram' must be a short array"},
        {OBSERVATION(OUTPUT(TWO, ""), MISMATCH(",\"shape\":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]")),
         "'shape' must be a short array"},
        {OBSERVATION(OUTPUT(TWO, ""),
                     MISMATCH(",\"elements\":2,\"of\":6,\"signs\":2,\"zeros\":0,\"specials\":1")),
         NULL},
        {OBSERVATION(OUTPUT(TWO, ""), MISMATCH(",\"elements\":7,\"of\":6")), "more elements than there are"},
        {OBSERVATION(OUTPUT(TWO, ""), MISMATCH(",\"elements\":2,\"of\":6,\"payloads\":3")),
         "more elements than there are"},
        {OBSERVATION(OUTPUT(TWO, ""), MISMATCH(",\"zeros\":-1")), "'zeros' is out of range"},
        {OBSERVATION(OUTPUT(TWO, ""), MISMATCH(",\"shape\":[2,3],\"first_index\":5")), NULL},
        {OBSERVATION(OUTPUT(TWO, ""), MISMATCH(",\"shape\":[2,3],\"first_index\":6")),
         "'first_index' is outside"},
        {OBSERVATION(OUTPUT(TWO, ""), MISMATCH(TILE("[2,3]", "[1,2]", "[1,1]"))), NULL},
        {OBSERVATION(OUTPUT(TWO, ""), MISMATCH(TILE("[2,3]", "[1,2]", "[1,2]"))), "'box' is outside"},
        {OBSERVATION(OUTPUT(TWO, ""), MISMATCH(TILE("[2,3]", "[1,0]", "[1,1]"))), "'box' is outside"},
        {OBSERVATION(OUTPUT(TWO, ""), MISMATCH(TILE("[2,3]", "[1]", "[1,1]"))), "'box' is outside"},
        {OBSERVATION(OUTPUT(TWO, ""), MISMATCH(TILE("[2,3]", "[1,2]", "[0]"))), "'box' is outside"},
        {OBSERVATION(OUTPUT(TWO, ""),
                     MISMATCH(TILE("[2,3]", "[9007199254740991,1]", "[9007199254740991,0]"))),
         "'box' is outside"},
        {OBSERVATION(OUTPUT(TWO, ""), MISMATCH(",\"box\":[1],\"box_at\":[0]")), "'box' is outside"},
        {OBSERVATION(OUTPUT(TWO, ""), MISMATCH(",\"region\":\"blob\"")), "'region' is not a known word"},
        {OBSERVATION(OUTPUT(TWO, ""), MISMATCH(",\"flipped\":\"0x40\"")), NULL},
        {OBSERVATION(OUTPUT(TWO, ""), MISMATCH(",\"flipped\":64")), "'flipped' must be a string"},
        {OBSERVATION(OUTPUT(TWO, ""), MISMATCH(",\"flipped\":\"0xZZ\"")), "'flipped' must be 0x"},
        {OBSERVATION(OUTPUT(TWO, ""), MISMATCH(",\"error_over_bound\":2.5,\"from_caller\":true")), NULL},
        {OBSERVATION(OUTPUT(TWO, ""), MISMATCH(",\"error_over_bound\":-1")),
         "'error_over_bound' must be a number"},
        {OBSERVATION(OUTPUT(TWO, ""), MISMATCH(",\"from_caller\":\"yes\"")),
         "'from_caller' must be true or false"},
        {OBSERVATION(OUTPUT(ONE, ""), ",\"threads\":0"), "'threads' is out of range"},
        {OBSERVATION(OUTPUT(ONE, ""), ",\"threads\":4,\"time\":{\"min_ns\":3}"), NULL},
        {OBSERVATION(OUTPUT(ONE, ""), ",\"time\":{\"min_ns\":-3}"), "'min_ns' must be a number"},
        {OBSERVATION(OUTPUT(ONE, ""), ",\"time\":{\"median_ns\":6e14}"), NULL},
        {OBSERVATION(OUTPUT(ONE, ""), ",\"time\":{\"median_ns\":1e308}"), "'median_ns' is out of range"},
        {OBSERVATION(OUTPUT(ONE, ""), ",\"chosen\":\"a\\u001b[2J\""), "control characters"},
    };
    check_all(lines, sizeof(lines) / sizeof(lines[0]));
}

/* More than eight classes: those listed may not use up the runs of those that are not. */
static void many_classes(void **state)
{
    struct dp_text text = DP_TEXT(4096);
    for (int distinct = 8; distinct <= 13; distinct++) {
        text.length = 0;
        dp_text_put(&text,
                    "{\"type\":\"observation\",\"id\":7,\"outputs\":[{\"name\":\"c\",\"dtype\":\"f32\","
                    "\"shape\":[],\"classes\":[");
        for (int i = 0; i < 8; i++) {
            dp_text_printf(&text, "%s{\"sha256\":\"%064x\",\"runs\":1,\"first_run\":%d}", i ? "," : "", i, i);
        }
        dp_text_printf(&text, "],\"distinct\":%d}]}", distinct);
        struct dp_message message;
        struct dp_err err;
        int rc = dp_message_read(text.data, text.length, 12, &message, &err);
        assert_int_equal(rc, distinct >= 9 && distinct <= 12 ? 0 : -1);
        json_decref(message.body);
    }
    dp_text_free(&text);
}

/* Nothing unknown goes on, and texts for people lose what would drive a terminal. */
static void copies(void **state)
{
    static const char line[] =
        OBSERVATION(OUTPUT(ONE, ",\"extra\":1"), ",\"extra\":{\"x\":[1.5]},\"chosen\":\"jit\"");
    struct dp_message message;
    assert_int_equal(dp_message_read(line, strlen(line), RUNS, &message, NULL), 0);
    assert_int_equal(message.id, 7);
    assert_null(json_object_get(message.body, "extra"));
    assert_null(json_object_get(message.body, "id"));
    json_t *output = json_array_get(json_object_get(message.body, "outputs"), 0);
    assert_null(json_object_get(output, "extra"));
    assert_int_equal(dp_json_int(output, "distinct", 0), 1);
    assert_string_equal(dp_json_string(message.body, "chosen", ""), "jit");
    json_decref(message.body);

    /* how long it took is the suite's to say */
    static const char failure[] =
        "{\"type\":\"failure\",\"spent_ns\":5,\"id\":7,\"text\":\"a\\u001b[2J\\nb\"}";
    assert_int_equal(dp_message_read(failure, strlen(failure), RUNS, &message, NULL), 0);
    assert_string_equal(dp_json_string(message.body, "text", ""), "a?[2J?b");
    assert_null(json_object_get(message.body, "spent_ns"));
    json_decref(message.body);
}

static void log_answers(void **state)
{
    json_t *error = dp_answer_error("crash", "cut here: \xc3", "two\nlines");
    assert_string_equal(dp_json_string(error, "log", ""), "two\nlines");
    json_t *checked = dp_answer_check(error, 8, NULL);
    assert_true(json_equal(error, checked));
    json_decref(checked);
    json_object_set_new(error, "spent_ns", json_integer(5));
    checked = dp_answer_check(error, 8, NULL);
    assert_int_equal(dp_json_int(checked, "spent_ns", -1), 5);
    json_object_set_new(error, "reason", json_string("boredom"));
    assert_null(dp_answer_check(error, 8, NULL));
    json_decref(error);
    json_decref(checked);
}

static void capture_keeps_ends(void **state)
{
    struct dp_capture *capture = dp_alloc(1, sizeof(*capture));
    char *text = dp_capture_text(capture);
    char *last = dp_capture_last_line(capture);
    assert_string_equal(text, "");
    assert_string_equal(last, "");
    free(text);
    free(last);
    for (int i = 0; i < 100000; i++) {
        char line[32];
        int length = snprintf(line, sizeof(line), "line %d\n", i);
        dp_capture_add(capture, line, (size_t)length);
    }
    text = dp_capture_text(capture);
    last = dp_capture_last_line(capture);
    assert_memory_equal(text, "line 0\nline 1\n", 14);
    assert_non_null(strstr(text, " bytes left out]\n"));
    assert_string_equal(text + strlen(text) - 22, "line 99998\nline 99999\n");
    assert_string_equal(last, "line 99999");
    assert_true(strlen(text) < DP_CAPTURE_HEAD + DP_CAPTURE_TAIL + 128);
    free(text);
    free(last);
    free(capture);
}

/* The same bytes in any pieces give the same text. */
static void capture_of_any_pieces(void **state)
{
    enum { TOTAL = 9000 };
    char bytes[TOTAL];
    for (int i = 0; i < TOTAL; i++) {
        bytes[i] = (char)('a' + i % 23);
    }
    for (size_t total = 1000; total <= TOTAL; total += 500) {
        struct dp_capture *whole = dp_alloc(1, sizeof(*whole)), *pieces = dp_alloc(1, sizeof(*pieces));
        dp_capture_add(whole, bytes, total);
        for (size_t at = 0, step = 1; at < total; at += step, step = 1 + (step * 7) % 1501) {
            step = step < total - at ? step : total - at;
            dp_capture_add(pieces, bytes + at, step);
        }
        char *a = dp_capture_text(whole), *b = dp_capture_text(pieces);
        assert_string_equal(a, b);
        free(a);
        free(b);
        free(whole);
        free(pieces);
    }
}

static void lines_have_a_limit(void **state)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    struct dp_lines lines = {.limit = 5};
    assert_int_equal(write(ends[1], "12345\n\n123456\n", 14), 14);
    close(ends[1]);
    bool overlong;
    size_t length;
    assert_null(dp_lines_next(&lines, &length, &overlong));
    assert_int_equal(dp_lines_fill(&lines, ends[0]), 14);
    assert_string_equal(dp_lines_next(&lines, &length, &overlong), "12345");
    assert_int_equal(length, 5);
    assert_string_equal(dp_lines_next(&lines, &length, &overlong), "");
    assert_false(overlong);
    assert_null(dp_lines_next(&lines, &length, &overlong));
    assert_true(overlong);
    assert_int_equal(dp_lines_fill(&lines, ends[0]), 0);
    dp_lines_free(&lines);
    close(ends[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(envelope),
        cmocka_unit_test(orders),
        cmocka_unit_test(hello),
        cmocka_unit_test(outputs),
        cmocka_unit_test(classes),
        cmocka_unit_test(kernels),
        cmocka_unit_test(mismatches),
        cmocka_unit_test(many_classes),
        cmocka_unit_test(copies),
        cmocka_unit_test(log_answers),
        cmocka_unit_test(capture_keeps_ends),
        cmocka_unit_test(capture_of_any_pieces),
        cmocka_unit_test(lines_have_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
