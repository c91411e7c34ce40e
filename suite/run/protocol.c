/* SPDX-License-Identifier: Apache-2.0
 *
 * Protocol 1: reading a line, the answers' common members, hello.
 */
#include "suite/run/protocol.h"

#include <stdlib.h>
#include <string.h>

#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/run/members.h"
#include "suite/run/observation.h"
#include "suite/run/order.h"

#define COUNT(table) (sizeof(table) / sizeof(table[0]))
#define DEVICES_MAX 64
#define INT_MAX53 (((json_int_t)1 << 53) - 1)
#define SKIP_REASONS "no_device|library_missing|not_built|unsupported|memory|device_busy|version|budget"
#define ERROR_REASONS "crash|timeout|protocol|gone|spawn|stack"

static const char *const type_names[DP_MESSAGE_MAX] = {"hello", "observation", "order",
                                                       "skip",  "failure",     "done"};

static const struct dp_member hello_members[] = {
    {"program", DP_MEMBER_NAME, true, 0, 200, NULL},
    {"protocol", DP_MEMBER_INT, true, 0, INT_MAX53, NULL},
    {"device", DP_MEMBER_FLAT, false, 0, 0, NULL},
};
static const struct dp_member flat_members[] = {
    {"item", DP_MEMBER_FLAT, true, 0, 0, NULL},
};
static const struct dp_member own_kernels_members[] = {
    {"source", DP_MEMBER_SHA256, true, 0, 0, NULL},
    {"image", DP_MEMBER_SHA256, true, 0, 0, NULL},
    {"kind", DP_MEMBER_WORD, true, 0, 0, "cubin|ptx"},
};
static const struct dp_member float_members[] = {
    {"default", DP_MEMBER_HEX, true, 0, 0, NULL},
};
static const struct dp_member change_members[] = {
    {"after", DP_MEMBER_NAME, true, 0, 256, NULL},
    {"control", DP_MEMBER_HEX, true, 0, 0, NULL},
};
static const struct dp_member library_members[] = {
    {"role", DP_MEMBER_NAME, true, 0, 64, NULL},        {"name", DP_MEMBER_NAME, true, 0, 256, NULL},
    {"version", DP_MEMBER_STRING, true, 0, 256, NULL},  {"path", DP_MEMBER_STRING, true, 0, 4096, NULL},
    {"config", DP_MEMBER_STRING, false, 0, 4096, NULL}, {"isa", DP_MEMBER_NAME, false, 0, 63, NULL},
};
static const struct dp_member skip_members[] = {
    {"reason", DP_MEMBER_WORD, true, 0, 0, SKIP_REASONS},
    {"text", DP_MEMBER_TEXT, false, 0, 1000, NULL},
    {"ignored", DP_MEMBER_INT, false, 1, 1, NULL}, /* a cap that did not take: the runner's */
};
static const struct dp_member failure_members[] = {
    {"text", DP_MEMBER_TEXT, true, 0, 1000, NULL},
};
static const struct dp_member error_members[] = {
    {"reason", DP_MEMBER_WORD, true, 0, 0, ERROR_REASONS},
    {"text", DP_MEMBER_TEXT, true, 0, 1000, NULL},
    {"log", DP_MEMBER_LOG, false, 0, 8192, NULL},
};

/* An array of at most `most` strings or library objects, copied into `to`. Absent: an empty one. */
static int hello_array(const json_t *from, json_t *to, const char *name, size_t most, struct dp_err *err)
{
    static const struct dp_member axis[] = {{"axis", DP_MEMBER_NAME, true, 0, 64, NULL}};
    const json_t *array = json_object_get(from, name);
    json_t *copy = json_array();
    json_object_set_new(to, name, copy);
    if (!array) {
        return 0;
    }
    if (!json_is_array(array) || json_array_size(array) > most) {
        return dp_err_set(err, DP_EXIT_DATA, "a hello whose '%s' must be an array of at most %zu", name,
                          most);
    }
    for (size_t i = 0; i < json_array_size(array); i++) {
        json_t *item = json_array_get(array, i);
        json_t *object = json_object();
        json_t *boxed = json_is_string(item) ? json_pack("{s:O}", "axis", item) : json_incref(item);
        bool strings = strcmp(name, "axes") == 0;
        int rc = strings ? dp_members_copy(boxed, object, axis, COUNT(axis), "a hello", err)
                         : dp_members_copy(boxed, object, library_members, COUNT(library_members),
                                           "a hello with a library", err);
        json_array_append(copy, strings && rc == 0 ? json_object_get(object, "axis") : object);
        json_decref(boxed);
        json_decref(object);
        if (rc) {
            return rc;
        }
    }
    return 0;
}

/* The control register's default and what changed it, for a report's environment. */
static int hello_float(const json_t *from, json_t *to, struct dp_err *err)
{
    const json_t *seen = json_object_get(from, "float_environment");
    if (!seen || json_is_null(seen)) {
        return 0;
    }
    static const char where[] = "a hello with a float_environment";
    const json_t *changes = json_object_get(seen, "changes");
    json_t *copy = json_object(), *list = json_array();
    json_object_set_new(copy, "changes", list);
    json_object_set_new(to, "float_environment", copy);
    if (changes && (!json_is_array(changes) || json_array_size(changes) > 64)) {
        return dp_err_set(err, DP_EXIT_DATA, "%s whose 'changes' must be an array of at most 64", where);
    }
    int rc = dp_members_copy(seen, copy, float_members, COUNT(float_members), where, err);
    for (size_t i = 0; rc == 0 && i < json_array_size(changes); i++) {
        json_t *change = json_object();
        json_array_append_new(list, change);
        rc = dp_members_copy(json_array_get(changes, i), change, change_members, COUNT(change_members), where,
                             err);
    }
    return rc;
}

/* An array of flat objects: every device, or what each is. */
static int hello_devices(const json_t *from, json_t *to, const char *name, struct dp_err *err)
{
    const json_t *devices = json_object_get(from, name);
    if (!devices || json_is_null(devices)) {
        return 0;
    }
    if (!json_is_array(devices) || json_array_size(devices) > DEVICES_MAX) {
        return dp_err_set(err, DP_EXIT_DATA, "a hello whose '%s' must be an array of at most %d", name,
                          DEVICES_MAX);
    }
    json_t *copy = json_array();
    json_object_set_new(to, name, copy);
    for (size_t i = 0; i < json_array_size(devices); i++) {
        json_t *boxed = json_pack("{s:O}", "item", json_array_get(devices, i));
        json_t *object = json_object();
        int rc =
            dp_members_copy(boxed, object, flat_members, COUNT(flat_members), "a hello with devices", err);
        if (rc == 0) {
            json_array_append(copy, json_object_get(object, "item"));
        }
        json_decref(boxed);
        json_decref(object);
        if (rc) {
            return rc;
        }
    }
    return 0;
}

static int hello_own_kernels(const json_t *from, json_t *to, struct dp_err *err)
{
    const json_t *kernels = json_object_get(from, "own_kernels");
    if (!kernels || json_is_null(kernels)) {
        return 0;
    }
    json_t *copy = json_object();
    json_object_set_new(to, "own_kernels", copy);
    return dp_members_copy(kernels, copy, own_kernels_members, COUNT(own_kernels_members),
                           "a hello with own_kernels", err);
}

json_t *dp_hello_check(const json_t *message, struct dp_err *err)
{
    json_t *ret = json_pack("{s:s}", "type", "hello");
    if (dp_members_copy(message, ret, hello_members, COUNT(hello_members), "a hello", err) ||
        hello_array(message, ret, "axes", 64, err) || hello_array(message, ret, "libraries", 64, err) ||
        hello_float(message, ret, err) || hello_devices(message, ret, "devices", err) ||
        hello_devices(message, ret, "device_state", err) || hello_own_kernels(message, ret, err)) {
        json_decref(ret);
        return NULL;
    }
    return ret;
}

/* An answer that consists of plain members. */
static json_t *plain_answer(const json_t *from, const char *type, const struct dp_member *table, size_t count,
                            struct dp_err *err)
{
    json_t *ret = json_pack("{s:s}", "type", type);
    char where[32] = "a skip";
    if (strcmp(type, "skip") != 0) {
        strcpy(where, strcmp(type, "error") == 0 ? "an error" : "a failure");
    }
    if (dp_members_copy(from, ret, table, count, where, err)) {
        json_decref(ret);
        return NULL;
    }
    return ret;
}

static json_t *check_by_type(const json_t *answer, int runs, struct dp_err *err)
{
    const char *type = dp_json_string(answer, "type", "");
    if (strcmp(type, "observation") == 0) {
        return dp_observation_check(answer, runs, err);
    }
    if (strcmp(type, "order") == 0) {
        return dp_order_check(answer, err);
    }
    if (strcmp(type, "skip") == 0) {
        return plain_answer(answer, type, skip_members, COUNT(skip_members), err);
    }
    if (strcmp(type, "failure") == 0) {
        return plain_answer(answer, type, failure_members, COUNT(failure_members), err);
    }
    if (strcmp(type, "error") == 0) {
        return plain_answer(answer, type, error_members, COUNT(error_members), err);
    }
    dp_err_set(err, DP_EXIT_DATA, "an answer of unknown type '%.40s'", type);
    return NULL;
}

json_t *dp_answer_check(const json_t *answer, int runs, struct dp_err *err)
{
    json_t *ret = check_by_type(answer, runs, err);
    const json_int_t spent = dp_json_int(answer, "spent_ns", -1);
    if (ret && spent >= 0 && spent <= INT_MAX53) {
        json_object_set_new(ret, "spent_ns", json_integer(spent));
    }
    return ret;
}

/* An answer as a program sends it; how long it took is measured, not believed. */
static int program_answer(const json_t *object, int runs, struct dp_message *ret, struct dp_err *err)
{
    ret->body = dp_answer_check(object, runs, err);
    json_object_del(ret->body, "spent_ns");
    return ret->body ? 0 : -1;
}

static int message_body(const json_t *object, int runs, struct dp_message *ret, struct dp_err *err)
{
    if (ret->type == DP_MESSAGE_HELLO) {
        ret->body = dp_hello_check(object, err);
        return ret->body ? 0 : -1;
    }
    const json_t *id = json_object_get(object, "id");
    if (ret->type == DP_MESSAGE_SKIP && !id) { /* instead of hello: for all requests */
        return program_answer(object, runs, ret, err);
    }
    if (!json_is_integer(id)) {
        return dp_err_set(err, DP_EXIT_DATA, "a message of type '%s' without an integer 'id'",
                          type_names[ret->type]);
    }
    ret->id = json_integer_value(id);
    if (ret->type == DP_MESSAGE_DONE) {
        ret->last = json_is_true(json_object_get(object, "last"));
        return 0;
    }
    return program_answer(object, runs, ret, err);
}

int dp_message_read(const char *line, size_t length, int runs, struct dp_message *ret, struct dp_err *err)
{
    *ret = (struct dp_message){.type = DP_MESSAGE_MAX, .id = -1};
    struct dp_err fault;
    json_t *object = dp_json_parse(line, length, "line", &fault);
    if (!object) {
        const char *why = strstr(fault.text, "': "); /* "cannot read 'line': " says nothing new */
        return dp_err_set(err, DP_EXIT_DATA, "bad JSON: %.300s", why ? why + 3 : fault.text);
    }
    if (!json_is_object(object)) {
        json_decref(object);
        return dp_err_set(err, DP_EXIT_DATA, "a line that is not a JSON object");
    }
    const char *type = dp_json_string(object, "type", "");
    for (int i = 0; i < DP_MESSAGE_MAX; i++) {
        if (strcmp(type, type_names[i]) == 0) {
            ret->type = (enum dp_message_type)i;
        }
    }
    int rc = ret->type == DP_MESSAGE_MAX
                 ? dp_err_set(err, DP_EXIT_DATA, "a message of unknown type '%.40s'", type)
                 : message_body(object, runs, ret, err);
    json_decref(object);
    return rc;
}

/* A text of ours may quote a program and be cut inside a character. */
static json_t *printable(const char *text)
{
    char *shown = dp_printable(text, strlen(text));
    json_t *ret = json_string(shown);
    free(shown);
    return ret;
}

json_t *dp_answer_error(const char *reason, const char *text, const char *log)
{
    json_t *raw = json_pack("{s:s, s:s, s:o}", "type", "error", "reason", reason, "text", printable(text));
    if (log && *log) {
        json_object_set_new(raw, "log", json_string(log));
    }
    json_t *ret = dp_answer_check(raw, 0, NULL);
    json_decref(raw);
    return ret;
}

json_t *dp_answer_skip(const char *reason, const char *text)
{
    return json_pack("{s:s, s:s, s:o}", "type", "skip", "reason", reason, "text", printable(text));
}
