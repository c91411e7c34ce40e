/* SPDX-License-Identifier: Apache-2.0
 *
 * Checking and copying members of messages.
 */
#include "suite/run/members.h"

#include <stdlib.h>
#include <string.h>

#include "suite/base/json.h"
#include "suite/base/text.h"

static bool has_control(const char *string)
{
    for (const unsigned char *at = (const unsigned char *)string; *at; at++) {
        if (*at < 0x20 || *at == 0x7f) {
            return true;
        }
    }
    return false;
}

static bool is_sha256(const char *string)
{
    return strlen(string) == 64 && strspn(string, "0123456789abcdef") == 64;
}

static bool is_hex(const char *string)
{
    const size_t length = strlen(string);
    return length >= 3 && length <= 18 && strncmp(string, "0x", 2) == 0 &&
           strspn(string + 2, "0123456789abcdef") == length - 2;
}

/* What a string member must be; NULL: it is. */
static const char *string_fault(const struct dp_member *row, const char *string)
{
    size_t length = strlen(string);
    switch (row->kind) {
    case DP_MEMBER_NAME:
        if (length == 0) {
            return "must not be empty";
        } /* fall through */
    case DP_MEMBER_STRING:
        if ((json_int_t)length > row->high) {
            return "is too long";
        }
        return has_control(string) ? "must not hold control characters" : NULL;
    case DP_MEMBER_WORD:
        return dp_word_among(string, row->words) ? NULL : "is not a known word";
    case DP_MEMBER_SHA256:
        return is_sha256(string) ? NULL : "must be 64 lower-case hex digits";
    case DP_MEMBER_HEX:
        return is_hex(string) ? NULL : "must be 0x and lower-case hex digits";
    default:
        return NULL;
    }
}

/* At most `high` bytes of a text, cut between characters; each line printable. */
static json_t *text_copy(const char *string, size_t high, bool lines)
{
    const size_t length = dp_text_fit(string, high);
    struct dp_text text = DP_TEXT(4 * (length + 1));
    for (size_t start = 0; start < length;) {
        const char *end = lines ? memchr(string + start, '\n', length - start) : NULL;
        size_t piece = end ? (size_t)(end - string) - start : length - start;
        char *shown = dp_printable(string + start, piece);
        dp_text_put(&text, shown);
        dp_text_put(&text, end ? "\n" : "");
        free(shown);
        start += piece + 1;
    }
    json_t *ret = json_string(text.data ? text.data : "");
    dp_text_free(&text);
    return ret;
}

/* What a report's schema takes as a name. */
static bool is_plain_name(const char *name)
{
    return name[0] >= 'a' && name[0] <= 'z' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(name);
}

static json_t *flat_copy(const json_t *value)
{
    size_t length;
    char *bytes = json_is_object(value) ? dp_json_canonical(value, &length, NULL) : NULL;
    bool good = bytes != NULL;
    const char *name;
    json_t *member;
    free(bytes);
    json_object_foreach((json_t *)(uintptr_t)value, name, member)
    {
        good = good && is_plain_name(name) &&
               (json_is_string(member) || json_is_integer(member) || json_is_boolean(member));
    }
    return good ? json_deep_copy(value) : NULL;
}

static json_t *counts_copy(const struct dp_member *row, const json_t *value)
{
    bool good = json_is_array(value) && json_array_size(value) <= (size_t)row->high;
    for (size_t i = 0; good && i < json_array_size(value); i++) {
        const json_t *count = json_array_get(value, i);
        good = json_is_integer(count) && json_integer_value(count) >= 0 &&
               json_integer_value(count) < (json_int_t)1 << 53;
    }
    return good ? json_deep_copy(value) : NULL;
}

/* One member: an owned copy, or NULL with *ret_fault. */
static json_t *member_copy(const struct dp_member *row, const json_t *value, const char **ret_fault)
{
    if (row->kind == DP_MEMBER_INT) {
        json_int_t number = json_integer_value(value);
        *ret_fault = !json_is_integer(value)                   ? "must be an integer"
                     : number < row->low || number > row->high ? "is out of range"
                                                               : NULL;
        return *ret_fault ? NULL : json_integer(number);
    }
    if (row->kind == DP_MEMBER_NUMBER) {
        const double number = json_is_number(value) ? json_number_value(value) : -1;
        *ret_fault = !(number >= 0)                                ? "must be a number, not negative"
                     : row->high > 0 && number > (double)row->high ? "is out of range"
                                                                   : NULL;
        return *ret_fault ? NULL : json_deep_copy(value);
    }
    if (row->kind == DP_MEMBER_COUNTS) {
        json_t *ret = counts_copy(row, value);
        *ret_fault = ret ? NULL : "must be a short array of integers, none negative";
        return ret;
    }
    if (row->kind == DP_MEMBER_FLAT) {
        json_t *ret = flat_copy(value);
        *ret_fault = ret ? NULL : "must be an object of plain strings and integers";
        return ret;
    }
    if (row->kind == DP_MEMBER_TRUE) {
        *ret_fault = json_is_boolean(value) ? NULL : "must be true or false";
        return *ret_fault ? NULL : json_boolean(json_is_true(value));
    }
    if (!json_is_string(value)) {
        *ret_fault = "must be a string";
        return NULL;
    }
    const char *string = json_string_value(value);
    if (row->kind == DP_MEMBER_TEXT || row->kind == DP_MEMBER_LOG) {
        return text_copy(string, (size_t)row->high, row->kind == DP_MEMBER_LOG);
    }
    *ret_fault = string_fault(row, string);
    return *ret_fault ? NULL : json_string(string);
}

int dp_members_copy(const json_t *from, json_t *to, const struct dp_member *table, size_t count,
                    const char *where, struct dp_err *err)
{
    for (size_t i = 0; i < count; i++) {
        const struct dp_member *row = &table[i];
        const json_t *value = json_object_get(from, row->name);
        if (!value || json_is_null(value)) {
            if (row->required) {
                return dp_err_set(err, DP_EXIT_DATA, "%s without '%s'", where, row->name);
            }
            continue;
        }
        const char *fault = "";
        json_t *copy = member_copy(row, value, &fault);
        if (!copy) {
            return dp_err_set(err, DP_EXIT_DATA, "%s whose '%s' %s", where, row->name, fault);
        }
        json_object_set_new(to, row->name, copy);
    }
    return 0;
}
