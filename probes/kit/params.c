/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading params. The marks are kept although readers see the params as const: a read changes nothing that
 * an op can observe.
 */
#include "probes/kit/params.h"

#include <string.h>

int kit_params_init(struct kit_params *params, const json_t *object)
{
    params->read = 0;
    params->object = NULL;
    if (json_object_size(object) > KIT_MAX_PARAMS) {
        return kit_fail("bad params: %zu members, at most %d are supported", json_object_size(object),
                        KIT_MAX_PARAMS);
    }
    params->object = json_object();
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        if (!json_is_integer(value) && !json_is_string(value) && !json_is_boolean(value)) {
            kit_params_free(params);
            return kit_fail("bad param '%s': neither an integer nor a string nor a boolean", name);
        }
        json_object_set(params->object, name, value);
    }
    return KIT_OK;
}

void kit_params_free(struct kit_params *params)
{
    json_decref(params->object);
    params->object = NULL;
}

/* Finds a member and marks it read. */
static const json_t *find(const struct kit_params *params, const char *name)
{
    uint64_t bit = 1;
    const char *key;
    json_t *value;
    json_object_foreach(params->object, key, value)
    {
        if (strcmp(key, name) == 0) {
            ((struct kit_params *)(uintptr_t)params)->read |= bit;
            return value;
        }
        bit <<= 1;
    }
    return NULL;
}

int kit_params_all_read(const struct kit_params *params)
{
    uint64_t bit = 1;
    const char *key;
    json_t *value;
    json_object_foreach(params->object, key, value)
    {
        if (!(params->read & bit)) {
            return kit_fail("unknown param '%s': the operation does not read it", key);
        }
        bit <<= 1;
    }
    return KIT_OK;
}

int kit_param_int(const struct kit_params *params, const char *name, int64_t *ret)
{
    const json_t *value = find(params, name);
    if (!value) {
        return kit_fail("missing param '%s'", name);
    }
    if (!json_is_integer(value)) {
        return kit_fail("bad param '%s': not an integer", name);
    }
    *ret = json_integer_value(value);
    return KIT_OK;
}

int kit_param_int_or(const struct kit_params *params, const char *name, int64_t fallback, int64_t *ret)
{
    if (!find(params, name)) {
        *ret = fallback;
        return KIT_OK;
    }
    return kit_param_int(params, name, ret);
}

int kit_param_bool_or(const struct kit_params *params, const char *name, bool fallback, bool *ret)
{
    const json_t *value = find(params, name);
    if (value && !json_is_boolean(value)) {
        return kit_fail("bad param '%s': not true or false", name);
    }
    *ret = value ? json_is_true(value) : fallback;
    return KIT_OK;
}

int kit_param_string(const struct kit_params *params, const char *name, const char **ret)
{
    const json_t *value = find(params, name);
    if (!value) {
        return kit_fail("missing param '%s'", name);
    }
    if (!json_is_string(value)) {
        return kit_fail("bad param '%s': not a string", name);
    }
    *ret = json_string_value(value);
    return KIT_OK;
}

int kit_param_word(const struct kit_params *params, const char *name, const char *words, int *ret)
{
    const char *value = NULL;
    if (kit_param_string(params, name, &value)) {
        return KIT_FAILED;
    }
    const size_t length = strlen(value);
    int index = 0;
    for (const char *word = words;; index++) {
        const size_t span = strcspn(word, "|");
        if (span == length && memcmp(word, value, span) == 0) {
            *ret = index;
            return KIT_OK;
        }
        if (word[span] == '\0') {
            return kit_fail("bad param '%s': '%s' is none of %s", name, value, words);
        }
        word += span + 1;
    }
}

int kit_param_word_or(const struct kit_params *params, const char *name, const char *words, int *ret)
{
    *ret = 0;
    return find(params, name) ? kit_param_word(params, name, words, ret) : KIT_OK;
}

int kit_param_dtype(const struct kit_params *params, const char *name, const char *words, enum kit_dtype *ret)
{
    int index;
    const char *value;
    if (kit_param_word(params, name, words, &index) || kit_param_string(params, name, &value)) {
        return KIT_FAILED;
    }
    *ret = (enum kit_dtype)kit_dtype_parse(value);
    return KIT_OK;
}
