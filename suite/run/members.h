/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of members: one row says what a member of a message must look like; checking and copying come from
 * the same rows.
 */
#ifndef DP_RUN_MEMBERS_H
#define DP_RUN_MEMBERS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "suite/base/err.h"

enum dp_member_kind {
    DP_MEMBER_NAME,   /* string of 1 to `high` bytes without control characters */
    DP_MEMBER_STRING, /* the same, but may be empty */
    DP_MEMBER_TEXT,   /* string for people: cut at `high` bytes, control characters replaced */
    DP_MEMBER_LOG,    /* the same, but with its lines */
    DP_MEMBER_INT,    /* within [low, high] */
    DP_MEMBER_NUMBER, /* not negative, at most `high` unless that is 0 */
    DP_MEMBER_TRUE,   /* true or false */
    DP_MEMBER_WORD,   /* one of `words`, "a|b|c" */
    DP_MEMBER_SHA256, /* 64 lower-case hex digits */
    DP_MEMBER_COUNTS, /* array of at most `high` integers, none negative */
    DP_MEMBER_FLAT, /* object of snake_case names and plain strings, integers and booleans: goes into a report
                     */
    DP_MEMBER_HEX   /* "0x" and 1 to 16 lower-case hex digits */
};

struct dp_member {
    const char *name;
    enum dp_member_kind kind;
    bool required;
    json_int_t low, high;
    const char *words;
};

/* Checks the members of `from` that the table names and copies them to `to`. null counts as absent unless
 * required. `where` begins the message of an error. */
int dp_members_copy(const json_t *from, json_t *to, const struct dp_member *table, size_t count,
                    const char *where, struct dp_err *err);

#endif
