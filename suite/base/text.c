/* SPDX-License-Identifier: Apache-2.0
 *
 * Text: growing buffers, memory that cannot fail, numbers and durations, text made harmless.
 */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite/base/text.h"

static void *checked(void *memory)
{
    if (!memory) {
        fputs("detprobe: out of memory\n", stderr);
        abort();
    }
    return memory;
}

void *dp_alloc(size_t count, size_t size)
{
    return checked(calloc(count ? count : 1, size ? size : 1));
}

void *dp_realloc(void *old, size_t count, size_t size)
{
    return checked(reallocarray(old, count ? count : 1, size ? size : 1));
}

char *dp_strdup(const char *string)
{
    return checked(strdup(string));
}

char *dp_printf(const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    const int length = vasprintf(&text, format, args);
    va_end(args);
    return checked(length < 0 ? NULL : text);
}

void dp_text_add(struct dp_text *text, const char *bytes, size_t length)
{
    const size_t room = text->limit - text->length;
    if (length > room) {
        length = room;
        text->truncated = true;
    }
    if (text->length + length + 1 > text->capacity) {
        size_t capacity = text->capacity ? text->capacity : 64;
        while (capacity < text->length + length + 1) {
            capacity = capacity > SIZE_MAX / 2 ? text->length + length + 1 : 2 * capacity;
        }
        text->data = dp_realloc(text->data, capacity, 1);
        text->capacity = capacity;
    }
    if (length > 0) {
        memcpy(text->data + text->length, bytes, length);
    }
    text->length += length;
    text->data[text->length] = '\0';
}

void dp_text_put(struct dp_text *text, const char *string)
{
    dp_text_add(text, string, strlen(string));
}

void dp_text_put_word(struct dp_text *text, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
    char *shown = dp_printable(word, strlen(word));
    if (shown[0] && strspn(shown, plain) == strlen(shown)) {
        dp_text_put(text, shown);
    } else {
        dp_text_put(text, "'");
        for (const char *c = shown; *c; c++) {
            if (*c == '\'') {
                dp_text_put(text, "'\\''");
            } else {
                dp_text_add(text, c, 1);
            }
        }
        dp_text_put(text, "'");
    }
    free(shown);
}

void dp_text_printf(struct dp_text *text, const char *format, ...)
{
    char *piece = NULL;
    va_list args;
    va_start(args, format);
    const int length = vasprintf(&piece, format, args);
    va_end(args);
    checked(length < 0 ? NULL : piece);
    dp_text_add(text, piece, (size_t)length);
    free(piece);
}

char *dp_text_take(struct dp_text *text)
{
    char *ret = text->data ? text->data : dp_strdup("");
    *text = DP_TEXT(text->limit);
    return ret;
}

void dp_text_free(struct dp_text *text)
{
    free(text->data);
    *text = DP_TEXT(text->limit);
}

int dp_parse_int(const char *string, int64_t low, int64_t high, int64_t *ret, struct dp_err *err)
{
    const char *digits = string[0] == '-' ? string + 1 : string;
    const size_t length = strlen(digits);
    if (length == 0 || strspn(digits, "0123456789") != length) {
        return dp_err_set(err, DP_EXIT_USAGE, "'%.80s' is not a whole number", string);
    }
    errno = 0;
    const long long value = strtoll(string, NULL, 10);
    if (errno || value < low || value > high) {
        return dp_err_set(err, DP_EXIT_USAGE, "'%.80s' is not within %lld to %lld", string, (long long)low,
                          (long long)high);
    }
    *ret = value;
    return 0;
}

int dp_parse_duration(const char *string, int64_t *ret_ns, struct dp_err *err)
{
    static const struct {
        const char *unit;
        int64_t ns;
    } units[] = {
        {"", 1000000000},   {"ms", 1000000},      {"s", 1000000000},
        {"m", 60000000000}, {"h", 3600000000000}, {"d", 86400000000000},
    };
    const size_t digits = strspn(string, "0123456789");
    for (size_t i = 0; digits > 0 && digits < 10 && i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(string + digits, units[i].unit) == 0) {
            const long long value = strtoll(string, NULL, 10);
            if (value > INT64_MAX / units[i].ns) {
                break;
            }
            *ret_ns = value * units[i].ns;
            return 0;
        }
    }
    return dp_err_set(err, DP_EXIT_USAGE, "'%.80s' is not a duration, write it like 50s, 250ms, 2m, 1h or 7d",
                      string);
}

int dp_parse_share(const char *string, double *ret, struct dp_err *err)
{
    char *end = NULL;
    const bool starts = *string == '.' || (*string >= '0' && *string <= '9');
    const bool plain = starts && !string[strspn(string, "0123456789.eE+-%")]; /* no 0x, no inf */
    double value = plain ? strtod(string, &end) : 0.0;
    if (plain && end[0] == '%' && !end[1]) {
        value /= 100.0;
        end++;
    }
    if (!plain || *end || !(value > 0.0 && value < 1.0)) {
        return dp_err_set(err, DP_EXIT_USAGE,
                          "'%.80s' is not a share above 0 and below 1, write it like 0.002, 2e-3 or 0.2%%",
                          string);
    }
    *ret = value;
    return 0;
}

/* Length of the valid UTF-8 sequence at `bytes`, 0 if there is none; *ret_code is its code point. */
static size_t utf8_sequence(const unsigned char *bytes, size_t length, uint32_t *ret_code)
{
    static const struct {
        unsigned char mask, lead;
        size_t length;
        uint32_t least;
    } forms[] = {{0x80, 0x00, 1, 0}, {0xe0, 0xc0, 2, 0x80}, {0xf0, 0xe0, 3, 0x800}, {0xf8, 0xf0, 4, 0x10000}};
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        if ((bytes[0] & forms[i].mask) != forms[i].lead) {
            continue;
        }
        if (length < forms[i].length) {
            return 0;
        }
        uint32_t code = bytes[0] & (unsigned char)~forms[i].mask;
        for (size_t k = 1; k < forms[i].length; k++) {
            if ((bytes[k] & 0xc0) != 0x80) {
                return 0;
            }
            code = code << 6 | (bytes[k] & 0x3f);
        }
        const bool surrogate = code >= 0xd800 && code <= 0xdfff;
        *ret_code = code;
        return code < forms[i].least || code > 0x10ffff || surrogate ? 0 : forms[i].length;
    }
    return 0;
}

/* Controls, and the format characters that reorder or hide what is shown. */
static bool is_harmful(uint32_t code)
{
    static const uint32_t ranges[][2] = {{0, 0x1f},        {0x7f, 0x9f},       {0xad, 0xad},
                                         {0x61c, 0x61c},   {0x180b, 0x180f},   {0x200b, 0x200f},
                                         {0x2028, 0x202e}, {0x2060, 0x206f},   {0xfeff, 0xfeff},
                                         {0xfff9, 0xfffb}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}};
    bool harmful = false;
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]) && code >= ranges[i][0]; i++) {
        harmful = code <= ranges[i][1];
    }
    return harmful;
}

/* "##[" and "##vso[" are commands to the agent of Azure Pipelines and the runner of GitHub wherever they
 * stand in the output of a job: a report that is shown there is not to set variables. */
static bool is_command(const char *string, size_t length)
{
    return (length >= 3 && memcmp(string, "##[", 3) == 0) ||
           (length >= 6 && memcmp(string, "##vso[", 6) == 0);
}

char *dp_printable(const char *string, size_t length)
{
    const unsigned char *bytes = (const unsigned char *)string;
    char *result = dp_alloc(length + 1, 1);
    size_t at = 0;
    for (size_t i = 0; i < length;) {
        uint32_t code = 0;
        const size_t sequence = utf8_sequence(bytes + i, length - i, &code);
        if (sequence == 0 || is_harmful(code) || is_command(string + i, length - i)) {
            result[at++] = '?';
            i += sequence ? sequence : 1;
            continue;
        }
        memcpy(result + at, string + i, sequence);
        at += sequence;
        i += sequence;
    }
    return result;
}

size_t dp_text_fit(const char *string, size_t most)
{
    size_t length = strnlen(string, most + 1);
    if (length <= most) {
        return length;
    }
    for (length = most; length > 0 && ((unsigned char)string[length] & 0xc0) == 0x80;) {
        length--;
    }
    return length;
}

bool dp_word_among(const char *string, const char *words)
{
    size_t length = strlen(string);
    for (const char *at = words; *at;) {
        size_t word = strcspn(at, "|");
        if (word == length && memcmp(at, string, length) == 0) {
            return true;
        }
        at += word + (at[word] == '|');
    }
    return false;
}
