/* SPDX-License-Identifier: Apache-2.0
 *
 * Judging a value by what is known of its setting; and the line that mends it.
 */
#include "suite/audit/audit.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite/audit/settings_builtin.h"
#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/base/version.h"

enum { VALUE_MOST = 4096 }; /* no reader documents a longer one */

const char *const dp_audit_words[DP_AUDIT_STATUSES] = {
    [DP_AUDIT_OK] = "ok",           [DP_AUDIT_MISSING] = "missing", [DP_AUDIT_WRONG] = "wrong",
    [DP_AUDIT_IGNORED] = "ignored", [DP_AUDIT_UNKNOWN] = "unknown", [DP_AUDIT_TOO_LATE] = "too_late",
};

const json_t *dp_audit_settings(void)
{
    static json_t *settings;
    struct dp_err err;
    if (!settings) {
        settings =
            dp_json_parse(dp_audit_settings_text, strlen(dp_audit_settings_text), "settings.json", &err);
        if (!settings) { /* ours, and read by a test of every build */
            fprintf(stderr, "detprobe: %s\n", err.text);
            abort();
        }
    }
    return settings;
}

const char *dp_audit_areas(void)
{
    return "cpu|cuda|numpy|pytorch|tensorflow|jax";
}

/* Does the whole value match? */
static bool matches(const json_t *setting, const char *member, const char *value)
{
    const char *pattern = dp_json_string(setting, member, NULL);
    regex_t regex;
    if (!pattern) {
        return true;
    }
    char *whole = dp_printf("^(%s)$", pattern);
    const int fold = json_is_true(json_object_get(setting, "any_case")) ? REG_ICASE : 0;
    const bool good = regcomp(&regex, whole, REG_EXTENDED | REG_NOSUB | fold) == 0;
    const bool match = good && regexec(&regex, value, 0, NULL, 0) == 0;
    if (good) {
        regfree(&regex);
    }
    free(whole);
    return match;
}

bool dp_audit_takes(const json_t *setting, const char *value)
{
    return strlen(value) <= VALUE_MOST && matches(setting, "pattern", value);
}

bool dp_audit_may_set(const char *name, const char *value)
{
    size_t i;
    json_t *setting;
    json_array_foreach(json_object_get(dp_audit_settings(), "settings"), i, setting)
    {
        if (json_object_get(setting, "reader") && strcmp(dp_json_string(setting, "name", ""), name) == 0) {
            return !value || (!strchr(value, '/') && dp_audit_takes(setting, value));
        }
    }
    return false;
}

/* --- a flag among others in one variable --- */

/* The next place of a flag as a word of its own: its beginning, and its length with its value. */
static const char *next_flag(const char *value, const char *flag, size_t *ret_length)
{
    const size_t length = strlen(flag);
    for (const char *at = value; (at = strstr(at, flag)); at += length) {
        const bool begins = at == value || at[-1] == ' ' || at[-1] == '\t';
        if (begins && (at[length] == '\0' || strchr("= \t", at[length]))) {
            *ret_length = strcspn(at, " \t");
            return at;
        }
    }
    return NULL;
}

/* What the last of them is set to, "" without a value. Owned; NULL: it is not there. */
static char *flag_value(const char *value, const char *flag)
{
    size_t length = 0;
    const char *last = NULL;
    for (const char *at = value; (at = next_flag(at, flag, &length)); at += length) {
        last = at;
    }
    if (!last) {
        return NULL;
    }
    const size_t own = strlen(flag), whole = strcspn(last, " \t");
    return last[own] == '=' ? dp_printf("%.*s", (int)(whole - own - 1), last + own + 1) : dp_strdup("");
}

/* The value without the flag, and with it at its end. Owned. */
static char *set_flag(const char *value, const char *flag, const char *wanted)
{
    struct dp_text text = DP_TEXT(VALUE_MOST + 256);
    size_t length = 0;
    for (const char *at; (at = next_flag(value, flag, &length)); value = at + length) {
        dp_text_add(&text, value, (size_t)(at - value));
    }
    dp_text_put(&text, value);
    while (text.length > 0 && strchr(" \t", text.data[text.length - 1])) {
        text.data[--text.length] = '\0';
    }
    dp_text_printf(&text, "%s%s=%s", text.length ? " " : "", flag, wanted);
    return text.data;
}

/* --- judging --- */

/* Is there a value, has it the form that is documented, does it repeat? Of a flag among others, the flag's.
 */
static enum dp_audit_status judge_value(const json_t *setting, const char *value)
{
    const char *flag = dp_json_string(setting, "flag", NULL);
    if (!dp_audit_takes(setting, value)) {
        return DP_AUDIT_UNKNOWN;
    }
    char *part = flag ? flag_value(value, flag) : dp_strdup(value);
    const bool bad = part && json_object_get(setting, "bad") && matches(setting, "bad", part);
    const enum dp_audit_status status = !part                                    ? DP_AUDIT_MISSING
                                        : matches(setting, "good", part) && !bad ? DP_AUDIT_OK
                                                                                 : DP_AUDIT_WRONG;
    free(part);
    return status;
}

/* Whether this version of what reads it does: fills the verdict where it does not, or where nobody can tell.
 */
static bool is_read(const json_t *setting, const struct dp_audit_seen *seen, const char *reader,
                    struct dp_audit_verdict *ret)
{
    const char *since = dp_json_string(setting, "since", NULL),
               *until = dp_json_string(setting, "until", NULL);
    if (seen->presence == DP_AUDIT_ABSENT) {
        ret->status = DP_AUDIT_IGNORED;
        snprintf(ret->reason, sizeof(ret->reason), "nothing here reads it");
        return false;
    }
    if (until && !seen->version) {
        ret->status = DP_AUDIT_UNKNOWN;
        snprintf(ret->reason, sizeof(ret->reason), "%s before %s reads it, the version here is not known",
                 reader, until);
        return false;
    }
    if (seen->version && since && dp_version_compare(seen->version, since) < 0) {
        ret->status = DP_AUDIT_IGNORED;
        snprintf(ret->reason, sizeof(ret->reason), "%s reads it since %s, here is %.60s", reader, since,
                 seen->version);
        return false;
    }
    if (seen->version && until && dp_version_compare(seen->version, until) >= 0) {
        ret->status = DP_AUDIT_IGNORED;
        snprintf(ret->reason, sizeof(ret->reason), "%s reads it before %s, here is %.60s", reader, until,
                 seen->version);
        return false;
    }
    return true;
}

static void judge_unset(const json_t *setting, const struct dp_audit_seen *seen, const char *reader,
                        struct dp_audit_verdict *ret)
{
    if (seen->other && judge_value(setting, seen->other) == DP_AUDIT_OK) {
        snprintf(ret->reason, sizeof(ret->reason), "%.60s is read in its stead", seen->other_name);
    } else if (strcmp(dp_json_string(setting, "unset", ""), "missing") == 0) {
        const bool late = seen->running && seen->presence == DP_AUDIT_PRESENT;
        ret->status = late ? DP_AUDIT_TOO_LATE : DP_AUDIT_MISSING;
        if (late) {
            snprintf(ret->reason, sizeof(ret->reason),
                     "the process began without it and has loaded %s: start it anew, unless it set the "
                     "variable before it loaded that, which cannot be seen from outside",
                     reader);
        }
    } else if (json_object_get(setting, "follows")) {
        snprintf(ret->reason, sizeof(ret->reason), "follows %s: the same bits on this one, others on another",
                 dp_json_string(setting, "follows", ""));
    }
}

void dp_audit_judge(const json_t *setting, const struct dp_audit_seen *seen, struct dp_audit_verdict *ret)
{
    const json_t *readers = json_object_get(dp_audit_settings(), "readers");
    const char *key = dp_json_string(setting, "reader", "");
    const char *reader = dp_json_string(json_object_get(readers, key), "name", key);
    *ret = (struct dp_audit_verdict){.status = DP_AUDIT_OK};
    struct dp_audit_verdict unread = *ret;
    if (!seen->value) {
        if (is_read(setting, seen, reader, &unread)) {
            judge_unset(setting, seen, reader, ret);
        }
        return;
    }
    if (!is_read(setting, seen, reader, ret)) {
        return;
    }
    ret->status = judge_value(setting, seen->value);
    if (ret->status == DP_AUDIT_UNKNOWN) {
        snprintf(ret->reason, sizeof(ret->reason), "not one of: %s", dp_json_string(setting, "values", ""));
    }
}

/* --- mending --- */

char *dp_audit_wanted(const json_t *setting, const char *value, int cores)
{
    const char *fix = dp_json_string(setting, "fix", ""), *flag = dp_json_string(setting, "flag", NULL);
    if (strcmp(fix, "{cores}") == 0) {
        return dp_printf("%d", cores > 0 ? cores : 1);
    }
    if (flag) {
        return set_flag(value ? value : "", flag, fix);
    }
    return fix[0] ? dp_strdup(fix) : NULL;
}

char *dp_audit_line(const char *name, const char *value)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:,-";
    struct dp_text text = DP_TEXT(4 * VALUE_MOST);
    if (!value) {
        return dp_printf("unset %s", name);
    }
    dp_text_printf(&text, "export %s=", name);
    if (value[0] && strspn(value, plain) == strlen(value)) {
        dp_text_put(&text, value);
        return text.data;
    }
    dp_text_put(&text, "'");
    for (const char *at = value; *at; at++) {
        dp_text_add(&text, *at == '\'' ? "'\\''" : at, *at == '\'' ? 4 : 1);
    }
    dp_text_put(&text, "'");
    return text.data;
}
