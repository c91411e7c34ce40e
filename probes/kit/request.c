/* SPDX-License-Identifier: Apache-2.0
 *
 * Parsing of requests: everything is checked, nothing is assumed of the sender.
 */
#include "probes/kit/request.h"

#include <string.h>

#include "probes/kit/op.h"

#define MAX_RUNS 1000000

static int member_string(const json_t *message, const char *name, bool required, const char **ret)
{
    const json_t *value = json_object_get(message, name);
    *ret = json_string_value(value);
    if (!*ret && (required || (value && !json_is_null(value)))) {
        return kit_fail("bad request: member '%s' is not a string", name);
    }
    return KIT_OK;
}

static int member_word(const json_t *message, const char *name, const char *const *words, int *ret)
{
    const char *value = NULL;
    if (member_string(message, name, true, &value)) {
        return KIT_FAILED;
    }
    for (int i = 0; words[i]; i++) {
        if (strcmp(words[i], value) == 0) {
            *ret = i;
            return KIT_OK;
        }
    }
    return kit_fail("bad request: '%s' is no %s", value, name);
}

static int strings_of(const json_t *message, struct kit_request *ret)
{
    const struct {
        const char *name, **to;
        bool required;
    } members[] = {
        {"case", &ret->case_id, true},   {"op", &ret->op, true},
        {"choice", &ret->choice, false}, {"problem", &ret->problem, true},
        {"batch", &ret->batch, false},   {"seed", &ret->seed, true},
        {"axis", &ret->axis, true},      {"setting", &ret->setting_text, true},
    };
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        if (member_string(message, members[i].name, members[i].required, members[i].to)) {
            return KIT_FAILED;
        }
    }
    return KIT_OK;
}

int kit_request_parse(const json_t *message, struct kit_request *ret)
{
    static const char *const sets[] = {"wide", "unit", "exact", NULL};
    static const char *const arithmetics[] = {"direct", "transform", "reduced", "none", NULL};
    memset(ret, 0, sizeof(*ret));
    const json_t *const id = json_object_get(message, "id");
    const json_t *const runs = json_object_get(message, "runs");
    const json_t *const bound = json_object_get(message, "bound");
    int set = 0;
    int arithmetic = 0;
    if (!json_is_integer(id)) {
        return kit_fail("bad request: it has no id");
    }
    ret->id = json_integer_value(id);
    if (strings_of(message, ret) || member_word(message, "set", sets, &set) ||
        member_word(message, "arithmetic", arithmetics, &arithmetic)) {
        return KIT_FAILED;
    }
    ret->set = (enum kit_set)set;
    ret->arithmetic = (enum kit_arithmetic)arithmetic;
    ret->params = json_object_get(message, "params");
    if (!json_is_object(ret->params)) {
        return kit_fail("bad request: 'params' is not an object");
    }
    if (!json_is_integer(runs) || json_integer_value(runs) < 1 || json_integer_value(runs) > MAX_RUNS) {
        return kit_fail("bad request: 'runs' is not within 1 and %d", MAX_RUNS);
    }
    ret->runs = (int)json_integer_value(runs);
    if (bound && !json_is_null(bound) && !(json_is_number(bound) && json_number_value(bound) >= 0)) {
        return kit_fail("bad request: 'bound' is not a number of at least 0");
    }
    ret->bound = json_is_number(bound) ? json_number_value(bound) : 1;
    return kit_setting_parse(ret->axis, ret->setting_text, &ret->setting);
}
