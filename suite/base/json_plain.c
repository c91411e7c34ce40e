/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads what large documents mostly consist of faster than jansson does: plain strings, small numbers,
 * objects, arrays. Equal strings and numbers become one value, which halves the memory of a report. Whatever
 * is not plain (an escape, a fraction) is given to jansson as it stands; whatever is wrong or rare ends the
 * attempt, and jansson reads the whole text and says what it thinks of it. So this reader takes nothing that
 * jansson refuses.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "suite/base/json_plain.h"
#include "suite/base/text.h"

enum { DEPTH_MOST = 100, KEY_MOST = 128, SHARED_MOST = 512, DIGITS_MOST = 15 };

struct reader {
    const char *at, *end;
    json_t **shared; /* strings by their hash; a later one takes the place of an earlier one */
    size_t mask;
    json_t *numbers[1024]; /* integers from 0 */
    int depth;
};

static json_t *read_value(struct reader *reader);

static void skip_blanks(struct reader *reader)
{
    const char *at = reader->at;
    while (at < reader->end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r')) {
        at++;
    }
    reader->at = at;
}

/* Takes the character if it is there, blanks before it too. */
static bool take(struct reader *reader, char c)
{
    skip_blanks(reader);
    const bool there = reader->at < reader->end && *reader->at == c;
    reader->at += there;
    return there;
}

/* A token that is not plain. */
static json_t *by_jansson(struct reader *reader, size_t length)
{
    json_t *value = json_loadb(reader->at, length, JSON_DECODE_ANY, NULL);
    reader->at += length;
    return value;
}

/* The bytes up to the quote at the end of the string that begins here; *ret_plain: they mean themselves. */
static bool find_quote(const struct reader *reader, size_t *ret_length, bool *ret_plain)
{
    const char *at = reader->at;
    *ret_plain = true;
    for (; at < reader->end && *at != '"'; at++) {
        if ((unsigned char)*at < 0x20) {
            return false;
        }
        if (*at == '\\') {
            *ret_plain = false;
            at += at + 1 < reader->end;
        }
    }
    *ret_length = (size_t)(at - reader->at);
    return at < reader->end;
}

/* A string that is equal to one of before is that one. */
static json_t *share(struct reader *reader, const char *bytes, size_t length)
{
    json_t **place = &reader->shared[XXH3_64bits(bytes, length) & reader->mask];
    if (*place && json_string_length(*place) == length &&
        memcmp(json_string_value(*place), bytes, length) == 0) {
        return json_incref(*place);
    }
    json_t *string = json_stringn(bytes, length); /* NULL where it is not UTF-8 */
    if (string) {
        json_decref(*place);
        *place = json_incref(string);
    }
    return string;
}

static json_t *read_string(struct reader *reader)
{
    size_t length = 0;
    bool plain = false;
    reader->at++;
    if (!find_quote(reader, &length, &plain)) {
        return NULL;
    }
    if (!plain) {
        reader->at--;
        return by_jansson(reader, length + 2);
    }
    json_t *string =
        length <= SHARED_MOST ? share(reader, reader->at, length) : json_stringn(reader->at, length);
    reader->at += length + 1;
    return string;
}

static json_t *read_number(struct reader *reader)
{
    size_t length = 0;
    const size_t left = (size_t)(reader->end - reader->at);
    json_int_t number = 0;
    while (length < left && length <= DIGITS_MOST && reader->at[length] >= '0' && reader->at[length] <= '9') {
        number = 10 * number + (reader->at[length++] - '0');
    }
    const char next = length < left ? reader->at[length] : ',';
    const bool ends = next == ',' || next == ']' || next == '}' || next == ' ' || next == '\n';
    if (!ends || length == 0 || length > DIGITS_MOST || (reader->at[0] == '0' && length > 1)) {
        while (length < left && reader->at[length] && strchr("+-.0123456789eE", reader->at[length])) {
            length++;
        }
        return by_jansson(reader, length);
    }
    reader->at += length;
    if (number >= (json_int_t)(sizeof(reader->numbers) / sizeof(reader->numbers[0]))) {
        return json_integer(number);
    }
    if (!reader->numbers[number]) {
        reader->numbers[number] = json_integer(number);
    }
    return json_incref(reader->numbers[number]);
}

static json_t *read_word(struct reader *reader, const char *word, json_t *value)
{
    const size_t length = strlen(word);
    if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, word, length) != 0) {
        return NULL;
    }
    reader->at += length;
    return value;
}

/* The key of a member, and the colon behind it. */
static bool read_key(struct reader *reader, char ret_key[KEY_MOST])
{
    size_t length = 0;
    bool plain = false;
    if (!take(reader, '"') || !find_quote(reader, &length, &plain) || !plain || length >= KEY_MOST) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)reader->at[i] >= 0x80) {
            return false;
        }
    }
    memcpy(ret_key, reader->at, length);
    ret_key[length] = '\0';
    reader->at += length + 1;
    return take(reader, ':');
}

static json_t *read_object(struct reader *reader)
{
    json_t *object = json_object();
    char key[KEY_MOST];
    reader->at++;
    bool good = true, more = !take(reader, '}');
    for (size_t count = 1; good && more; count++) {
        json_t *value = read_key(reader, key) ? read_value(reader) : NULL;
        /* a key that was there already makes no new member */
        good = value && json_object_set_new_nocheck(object, key, value) == 0 &&
               json_object_size(object) == count;
        more = good && take(reader, ',');
        good = good && (more || take(reader, '}'));
    }
    if (!good) {
        json_decref(object);
        return NULL;
    }
    return object;
}

static json_t *read_array(struct reader *reader)
{
    json_t *array = json_array();
    reader->at++;
    bool good = true, more = !take(reader, ']');
    while (good && more) {
        json_t *value = read_value(reader);
        good = value && json_array_append_new(array, value) == 0;
        more = good && take(reader, ',');
        good = good && (more || take(reader, ']'));
    }
    if (!good) {
        json_decref(array);
        return NULL;
    }
    return array;
}

static json_t *read_value(struct reader *reader)
{
    json_t *value = NULL;
    skip_blanks(reader);
    if (reader->at == reader->end || reader->depth == DEPTH_MOST) {
        return NULL;
    }
    reader->depth++;
    switch (*reader->at) {
    case '{':
        value = read_object(reader);
        break;
    case '[':
        value = read_array(reader);
        break;
    case '"':
        value = read_string(reader);
        break;
    case 't':
        value = read_word(reader, "true", json_true());
        break;
    case 'f':
        value = read_word(reader, "false", json_false());
        break;
    case 'n':
        value = read_word(reader, "null", json_null());
        break;
    default:
        value = read_number(reader);
    }
    reader->depth--;
    return value;
}

json_t *dp_json_parse_plain(const char *text, size_t length)
{
    struct reader reader = {.at = text, .end = text + length, .mask = 63};
    while (reader.mask < length / 256 && reader.mask < 65535) {
        reader.mask = 2 * reader.mask + 1;
    }
    reader.shared = dp_alloc(reader.mask + 1, sizeof(*reader.shared));
    skip_blanks(&reader);
    const bool top = reader.at < reader.end && (*reader.at == '{' || *reader.at == '[');
    json_t *value = top ? read_value(&reader) : NULL;
    skip_blanks(&reader);
    if (value && reader.at != reader.end) {
        json_decref(value);
        value = NULL;
    }
    for (size_t i = 0; i <= reader.mask; i++) {
        json_decref(reader.shared[i]);
    }
    for (size_t i = 0; i < sizeof(reader.numbers) / sizeof(reader.numbers[0]); i++) {
        json_decref(reader.numbers[i]);
    }
    free(reader.shared);
    return value;
}
