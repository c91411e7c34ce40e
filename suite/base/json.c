/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON over jansson: strict reading, canonical bytes, members with defaults.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "suite/base/json.h"
#include "suite/base/json_plain.h"
#include "suite/base/text.h"

enum { DEPTH_MAX = 200 }; /* of a value with canonical bytes; ours are a dozen deep */

json_t *dp_json_parse(const char *text, size_t length, const char *name, struct dp_err *err)
{
    if (length > 0 && memchr(text, '\0', length)) {
        dp_err_set(err, DP_EXIT_DATA, "cannot read '%.200s': it holds a NUL byte, JSON cannot", name);
        return NULL;
    }
    json_error_t why;
    json_t *value = dp_json_parse_plain(text, length);
    if (value) {
        return value;
    }
    value = json_loadb(text, length, JSON_REJECT_DUPLICATES, &why);
    if (!value) {
        dp_err_set(err, DP_EXIT_DATA, "cannot read '%.200s': line %d, column %d: %s", name, why.line,
                   why.column, why.text);
    }
    return value;
}

/* Reads at most limit + 1 bytes, and nothing of a file that is longer, so that the caller can tell one that
 * is too long. Owned; NULL with errno. */
static char *read_all(int fd, size_t limit, size_t *ret_length)
{
    struct stat status;
    const bool sized = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0;
    size_t room = sized && (size_t)status.st_size < limit ? (size_t)status.st_size + 1 : 65536;
    char *text = dp_alloc(1, room);
    size_t length = sized && (size_t)status.st_size > limit ? limit + 1 : 0;
    while (length <= limit) {
        if (length == room) {
            room = 2 * room < limit + 1 ? 2 * room : limit + 1;
            text = dp_realloc(text, 1, room);
        }
        const ssize_t got = read(fd, text + length, room - length);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            free(text);
            return NULL;
        }
        if (got == 0) {
            break;
        }
        length += (size_t)got;
    }
    *ret_length = length;
    return text;
}

static const char *shown_name(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

char *dp_file_read(const char *path, size_t limit, size_t *ret_length, struct dp_err *err)
{
    const bool standard = strcmp(path, "-") == 0;
    const char *name = shown_name(path);
    const int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        dp_err_set(err, DP_EXIT_DATA, "cannot open '%.200s': %s", name, dp_reason(errno));
        return NULL;
    }
    char *text = read_all(fd, limit, ret_length);
    if (!text) {
        dp_err_set(err, DP_EXIT_DATA, "cannot read '%.200s': %s", name, dp_reason(errno));
    } else if (*ret_length > limit) {
        dp_err_set(err, DP_EXIT_DATA, "cannot read '%.200s': it is larger than %zu bytes", name, limit);
        free(text);
        text = NULL;
    }
    if (!standard) {
        close(fd);
    }
    return text;
}

json_t *dp_json_load(const char *path, size_t limit, struct dp_err *err)
{
    size_t length = 0;
    char *text = dp_file_read(path, limit, &length, err);
    json_t *value = text ? dp_json_parse(text, length, shown_name(path), err) : NULL;
    free(text);
    return value;
}

/* Where a value that is outside the subset stands: the path is put together while the recursion unwinds. */
struct place {
    char text[256];
};

static void place_prepend(struct place *place, const char *step)
{
    char old[sizeof(place->text)];
    memcpy(old, place->text, sizeof(old));
    snprintf(place->text, sizeof(place->text), "/%.80s%.170s", step, old);
}

static const char *check_string(const char *string, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)string[i];
        if (c < 0x20 || c == 0x7f) {
            return "a control character";
        }
    }
    return NULL;
}

static const char *check_key(const char *key)
{
    for (; *key; key++) {
        if (*key < 0x20 || *key > 0x7e) {
            return "a member name beyond printable ASCII";
        }
    }
    return NULL;
}

/* What is wrong with the value for canonical bytes, or NULL. */
static const char *check_canonical(const json_t *value, int depth, struct place *place);

static const char *check_object(const json_t *object, int depth, struct place *place)
{
    const char *key;
    json_t *member;
    json_object_foreach((json_t *)(uintptr_t)object, key, member)
    {
        const char *wrong = check_key(key);
        if (!wrong) {
            wrong = check_canonical(member, depth + 1, place);
        }
        if (wrong) {
            place_prepend(place, key);
            return wrong;
        }
    }
    return NULL;
}

static const char *check_array(const json_t *array, int depth, struct place *place)
{
    for (size_t i = 0; i < json_array_size(array); i++) {
        const char *wrong = check_canonical(json_array_get(array, i), depth + 1, place);
        if (wrong) {
            char step[24];
            snprintf(step, sizeof(step), "%zu", i);
            place_prepend(place, step);
            return wrong;
        }
    }
    return NULL;
}

static const char *check_canonical(const json_t *value, int depth, struct place *place)
{
    const json_int_t most = 9007199254740991; /* 2^53 - 1: every reader's double holds it */
    if (depth > DEPTH_MAX) {
        return "too deep a nesting";
    }
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return check_object(value, depth, place);
    case JSON_ARRAY:
        return check_array(value, depth, place);
    case JSON_STRING:
        return check_string(json_string_value(value), json_string_length(value));
    case JSON_INTEGER:
        return json_integer_value(value) > most || json_integer_value(value) < -most
                   ? "an integer beyond 2^53 - 1"
                   : NULL;
    case JSON_REAL:
        return "a number with a fraction or exponent";
    default:
        return NULL;
    }
}

char *dp_json_canonical(const json_t *value, size_t *ret_length, struct dp_err *err)
{
    struct place place = {""};
    const char *wrong = check_canonical(value, 0, &place);
    if (wrong) {
        dp_err_set(err, DP_EXIT_DATA, "no canonical form: %s at '%s'", wrong, place.text);
        return NULL;
    }
    char *text = json_dumps(value, JSON_SORT_KEYS | JSON_COMPACT | JSON_ENCODE_ANY);
    if (!text) {
        dp_err_set(err, DP_EXIT_DATA, "no canonical form: the value cannot be written as JSON");
        return NULL;
    }
    if (ret_length) {
        *ret_length = strlen(text);
    }
    return text;
}

char *dp_json_pretty(const json_t *value)
{
    /* 15 digits are what every double keeps over writing and reading, and 0.1 stays 0.1. */
    char *text =
        json_dumps(value, JSON_SORT_KEYS | JSON_INDENT(2) | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    char *line = text ? dp_printf("%s\n", text) : NULL;
    free(text);
    return line;
}

int dp_json_write(const char *path, const json_t *value, struct dp_err *err)
{
    char *text = dp_json_pretty(value);
    if (!text) {
        return dp_err_set(err, DP_EXIT_NO_VERDICT, "cannot write '%.200s': the value is no JSON", path);
    }
    const int rc = dp_file_write(path, text, strlen(text), err);
    free(text);
    return rc;
}

const char *dp_json_string(const json_t *object, const char *key, const char *fallback)
{
    const json_t *member = json_object_get(object, key);
    return json_is_string(member) ? json_string_value(member) : fallback;
}

json_int_t dp_json_int(const json_t *object, const char *key, json_int_t fallback)
{
    const json_t *member = json_object_get(object, key);
    return json_is_integer(member) ? json_integer_value(member) : fallback;
}

double dp_json_number(const json_t *object, const char *key, double fallback)
{
    const json_t *member = json_object_get(object, key);
    return json_is_number(member) ? json_number_value(member) : fallback;
}

bool dp_json_array_has(const json_t *array, const char *string)
{
    for (size_t i = 0; i < json_array_size(array); i++) {
        const char *item = json_string_value(json_array_get(array, i));
        if (item && strcmp(item, string) == 0) {
            return true;
        }
    }
    return false;
}

json_t *dp_json_index(const json_t *array, const char *member)
{
    json_t *index = json_object();
    for (size_t i = 0; i < json_array_size(array); i++) {
        json_t *object = json_array_get(array, i);
        json_object_set(index, dp_json_string(object, member, ""), object);
    }
    return index;
}

json_t *dp_json_keys(const json_t *object)
{
    json_t *keys = json_array();
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        json_array_append_new(keys, json_string(key));
    }
    return keys;
}

void dp_json_count(json_t *counts, const char *key)
{
    json_object_set_new(counts, key, json_integer(dp_json_int(counts, key, 0) + 1));
}

void dp_json_group(json_t *arrays, const char *key, json_t *value_owned)
{
    if (!json_object_get(arrays, key)) {
        json_object_set_new(arrays, key, json_array());
    }
    json_array_append_new(json_object_get(arrays, key), value_owned);
}
