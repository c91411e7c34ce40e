/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known of each setting that decides whether numerical programs repeat, and whether a value is the
 * right one. The settings are data (settings.json beside this file, built in); nothing here looks at the
 * machine.
 */
#ifndef DP_AUDIT_AUDIT_H
#define DP_AUDIT_AUDIT_H

#include <jansson.h>
#include <stdbool.h>

#include "suite/base/options.h"

enum dp_audit_status {
    DP_AUDIT_OK,
    DP_AUDIT_MISSING,  /* not set, and what holds by itself does not repeat */
    DP_AUDIT_WRONG,    /* a value that does not repeat */
    DP_AUDIT_IGNORED,  /* set, and nothing here reads it */
    DP_AUDIT_UNKNOWN,  /* no value that what reads it documents, or nobody can tell whether it is read */
    DP_AUDIT_TOO_LATE, /* a running process began without it, and what reads it is loaded */
    DP_AUDIT_STATUSES
};
extern const char *const dp_audit_words[DP_AUDIT_STATUSES]; /* "ok", "missing", ... */

/* Whether the library that reads a setting is there. */
enum dp_audit_presence {
    DP_AUDIT_ABSENT,
    DP_AUDIT_PRESENT,
    DP_AUDIT_ASSUMED /* nobody found it, the user says that it is */
};

/* What is known of a setting's place. */
struct dp_audit_seen {
    const char *value;      /* NULL: not set */
    const char *other;      /* the value of what is read in its stead where it is not set, NULL: none */
    const char *other_name; /* and its name */
    enum dp_audit_presence presence;
    const char *version; /* of what reads it, NULL: not known */
    bool running;        /* `value` is what a running process began with */
};

struct dp_audit_verdict {
    enum dp_audit_status status;
    char reason[240]; /* why, "" where the setting's effect says it */
};

/* The built-in settings: an object with `sources`, `readers` and `settings`. Borrowed. */
const json_t *dp_audit_settings(void);
/* Words of --for: "cpu|numpy|...". Static. */
const char *dp_audit_areas(void);

/* Is it a value of the kind that what reads the setting documents? */
bool dp_audit_takes(const json_t *setting, const char *value);
/* May a variable be set to what a report recorded, or unset (NULL)? Reports are of another hand: only
 * settings that something reads are, to values that it documents and that name no file. */
bool dp_audit_may_set(const char *name, const char *value);

void dp_audit_judge(const json_t *setting, const struct dp_audit_seen *seen, struct dp_audit_verdict *ret);

/* The value that a variable should have, given what it has (NULL: not set); `cores` is what libraries should
 * start threads for. Owned; NULL: it should not be set. */
char *dp_audit_wanted(const json_t *setting, const char *value, int cores);
/* "export NAME='value'", or "unset NAME" where `value` is NULL: the same for every POSIX shell, whatever the
 * value holds. Owned. */
char *dp_audit_line(const char *name, const char *value);

#endif
