/* SPDX-License-Identifier: Apache-2.0
 *
 * Text that resembles other text: globs and suggestions.
 */
#include <string.h>

#include "suite/base/text.h"

/* Matches one character against the bracket expression that starts behind '['. Returns the place behind ']',
 * or NULL when the bracket is never closed (then '[' stands for itself). */
static const char *match_bracket(const char *pattern, char character, bool *ret_matched)
{
    const bool negated = *pattern == '!' || *pattern == '^';
    const unsigned char c = (unsigned char)character;
    bool found = false;
    const char *p = pattern + negated;
    for (bool first = true; *p && (*p != ']' || first); first = false) {
        const unsigned char low = (unsigned char)p[0];
        unsigned char high = low;
        if (p[1] == '-' && p[2] && p[2] != ']') {
            high = (unsigned char)p[2];
            p += 2;
        }
        p++;
        found = found || (c >= low && c <= high);
    }
    *ret_matched = found != negated;
    return *p == ']' ? p + 1 : NULL;
}

/* Matches one pattern element that is not '*'; returns the place behind it, NULL if it does not match. */
static const char *match_one(const char *pattern, char character)
{
    if (*pattern == '?') {
        return pattern + 1;
    }
    if (*pattern == '[') {
        bool matched = false;
        const char *next = match_bracket(pattern + 1, character, &matched);
        if (next) {
            return matched ? next : NULL;
        }
    }
    return *pattern == character ? pattern + 1 : NULL;
}

/* Only the last star is ever retried, so the time is at most the product of the lengths. */
bool dp_glob_match(const char *pattern, const char *string)
{
    const char *star = NULL;
    const char *retry = NULL;
    while (*string) {
        if (*pattern == '*') {
            star = ++pattern;
            retry = string;
            continue;
        }
        const char *next = *pattern ? match_one(pattern, *string) : NULL;
        if (next) {
            pattern = next;
            string++;
        } else if (star) {
            pattern = star;
            string = ++retry;
        } else {
            return false;
        }
    }
    while (*pattern == '*') {
        pattern++;
    }
    return *pattern == '\0';
}

bool dp_glob_is(const char *string)
{
    return strpbrk(string, "*?[") != NULL;
}

char *dp_glob_escape(const char *path)
{
    struct dp_text text = DP_TEXT(2 * strlen(path) + 1);
    dp_text_put(&text, "");
    for (; *path; path++) {
        dp_text_put(&text, strchr("*?[]\\", *path) ? "\\" : "");
        dp_text_add(&text, path, 1);
    }
    return text.data;
}

enum { WORD_MAX = 128 };

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

unsigned dp_edit_distance(const char *a, const char *b)
{
    const size_t rows = strlen(a);
    const size_t columns = strlen(b);
    if (rows > WORD_MAX || columns > WORD_MAX) {
        return strcmp(a, b) == 0 ? 0 : (unsigned)(rows > columns ? rows : columns);
    }
    unsigned table[3][WORD_MAX + 1];
    for (size_t j = 0; j <= columns; j++) {
        table[0][j] = (unsigned)j;
    }
    for (size_t i = 1; i <= rows; i++) {
        unsigned *now = table[i % 3];
        const unsigned *last = table[(i + 2) % 3];
        const unsigned *before = table[(i + 1) % 3];
        now[0] = (unsigned)i;
        for (size_t j = 1; j <= columns; j++) {
            now[j] = least(least(last[j], now[j - 1]) + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                now[j] = least(now[j], before[j - 2] + 1);
            }
        }
    }
    return table[rows % 3][columns];
}

const char *dp_suggest(const char *word, const char *const *candidates, size_t count)
{
    const char *best = NULL;
    unsigned best_distance = 0;
    for (size_t i = 0; i < count; i++) {
        const unsigned distance = dp_edit_distance(word, candidates[i]);
        if (!best || distance < best_distance) {
            best = candidates[i];
            best_distance = distance;
        }
    }
    /* A third of the letters may be wrong; what is further away would only confuse. */
    const size_t length = strlen(word);
    return best && best_distance <= (length < 6 ? 2 : length / 3) && best_distance < length ? best : NULL;
}
