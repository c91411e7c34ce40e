/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading policies, and the rules in them. What a schema cannot say is checked here: that a date is one of
 * the calendar and that a glob can be read.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reports/gate/parts.h"
#include "suite/base/json.h"
#include "suite/base/schema.h"

#define POLICY_LIMIT ((size_t)4 << 20) /* bytes of a file */

static const char *const rule_names[DP_RULE_MAX] = {
    [DP_RULE_BROKEN] = "broken",         [DP_RULE_WRONG] = "wrong",
    [DP_RULE_ERROR] = "error",           [DP_RULE_VARIES] = "varies",
    [DP_RULE_DIGEST] = "changed_digest", [DP_RULE_SELECTION] = "changed_selection",
    [DP_RULE_SENSITIVE] = "sensitive",   [DP_RULE_MISSING] = "missing",
};

const char *dp_rule_name(enum dp_rule rule)
{
    return rule_names[rule];
}

/* --- reading --- */

static bool is_date(const char *text)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year, month, day;
    if (sscanf(text, "%4d-%2d-%2d", &year, &month, &day) != 3 || year < 1 || month < 1 || month > 12) {
        return false;
    }
    const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return day >= 1 && day <= days[month - 1] + (month == 2 && leap);
}

/* A '[' that is never closed would stand for itself and match nothing that its writer meant. */
static const char *glob_fault(const char *glob)
{
    for (const char *open = glob; (open = strchr(open, '[')) != NULL;) {
        const char *first = open + 1 + (open[1] == '!' || open[1] == '^');
        const char *close = *first ? strchr(first + 1, ']') : NULL;
        if (!close) {
            return "has a '[' that is never closed";
        }
        open = close;
    }
    return strcmp(glob, "@") == 0 ? "names no backend or family" : NULL;
}

static int check_entry(const json_t *entry, size_t index, struct dp_err *err)
{
    const char *expires = dp_json_string(entry, "expires", "");
    const char *glob = dp_json_string(entry, "case", "");
    const char *fault = glob_fault(glob);
    if (fault) {
        return dp_err_set(err, DP_EXIT_DATA, "at '/allow/%zu/case': '%.100s' %s", index, glob, fault);
    }
    return is_date(expires)
               ? 0
               : dp_err_set(err, DP_EXIT_DATA, "at '/allow/%zu/expires': '%.20s' is no day of the calendar",
                            index, expires);
}

/* A version that this program cannot read gets its own message: the schema would only point at a word. */
static int check_version(const json_t *document, const char *known, struct dp_err *err)
{
    const char *version = dp_json_string(document, "schema_version", known);
    return strcmp(version, known) == 0
               ? 0
               : dp_err_set(err, DP_EXIT_DATA, "unknown schema version '%.40s', this detprobe reads %s",
                            version, known);
}

int dp_policy_check(const json_t *policy, struct dp_err *err)
{
    if (check_version(policy, DP_POLICY_SCHEMA_VERSION, err) != 0 ||
        dp_schema_check(dp_schema_builtin("policy"), policy, err) != 0) {
        return -1;
    }
    const json_t *allow = json_object_get(policy, "allow");
    for (size_t i = 0; i < json_array_size(allow); i++) {
        if (check_entry(json_array_get(allow, i), i, err) != 0) {
            return -1;
        }
    }
    return 0;
}

json_t *dp_policy_load(const char *path, struct dp_err *err)
{
    json_t *policy = dp_json_load(path, POLICY_LIMIT, err);
    if (policy && dp_policy_check(policy, err) != 0) {
        json_decref(policy);
        dp_err_prefix(err, "cannot read policy '%.200s'", path);
        return NULL;
    }
    return policy;
}

int dp_gate_check(const json_t *gate, struct dp_err *err)
{
    return check_version(gate, DP_GATE_SCHEMA_VERSION, err) == 0
               ? dp_schema_check(dp_schema_builtin("gate"), gate, err)
               : -1;
}

/* --- rules --- */

#define BIT(rule) (1u << (rule))
#define ALWAYS (BIT(DP_RULE_BROKEN) | BIT(DP_RULE_WRONG))

/* What the words of --fail-on stand for. A selection that changed no bits is none of what `diff` calls a
 * change. */
static const struct {
    const char *word;
    unsigned rules;
    bool new_only;
} fail_on_words[] = {
    {"broken", ALWAYS, false},
    {"varies", ALWAYS | BIT(DP_RULE_VARIES), false},
    {"changes", (BIT(DP_RULE_MAX) - 1) & ~BIT(DP_RULE_SELECTION), true},
    {"never", 0, false},
};

static void read_word(const char *word, struct dp_rules *ret)
{
    for (size_t i = 0; i < sizeof(fail_on_words) / sizeof(fail_on_words[0]); i++) {
        if (strcmp(fail_on_words[i].word, word) != 0) {
            continue;
        }
        ret->new_only = fail_on_words[i].new_only;
        for (int rule = 0; rule < DP_RULE_MAX; rule++) {
            ret->fails[rule] = fail_on_words[i].rules & BIT(rule);
        }
    }
}

void dp_rules_read(const struct dp_gate_input *input, struct dp_rules *ret)
{
    const json_t *fail = json_object_get(input->policy, "fail");
    *ret = (struct dp_rules){0};
    if (input->fail_on || !fail) {
        read_word(input->fail_on ? input->fail_on : "broken", ret);
        return;
    }
    for (int rule = 0; rule < DP_RULE_MAX; rule++) {
        ret->fails[rule] = dp_json_array_has(fail, rule_names[rule]);
    }
}

enum dp_rule dp_rules_need_baseline(const struct dp_rules *rules)
{
    static const enum dp_rule needing[] = {DP_RULE_DIGEST, DP_RULE_SELECTION, DP_RULE_MISSING};
    for (size_t i = 0; i < sizeof(needing) / sizeof(needing[0]); i++) {
        if (rules->fails[needing[i]]) {
            return needing[i];
        }
    }
    return DP_RULE_MAX;
}
