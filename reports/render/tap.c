/* SPDX-License-Identifier: Apache-2.0
 *
 * Format tap: the Test Anything Protocol, version 14. What a check says is a YAML block of JSON strings,
 * which every reader of YAML takes.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/checks/checks.h"
#include "reports/render/formats.h"

/* '#' begins a directive, and readers differ in how it is escaped; '\' is what it would be escaped with. No
 * case id has either. */
static void put_description(struct dp_text *out, const char *string)
{
    for (const char *at = string; *at; at++) {
        dp_text_add(out, *at == '#' || *at == '\\' ? "_" : at, 1);
    }
}

static void put_member(struct dp_text *out, const char *name, const char *value)
{
    json_t *string = json_string(value);
    char *quoted = string ? json_dumps(string, JSON_ENCODE_ANY) : NULL;
    dp_text_printf(out, "  %s: %s\n", name, quoted ? quoted : "\"\"");
    free(quoted);
    json_decref(string);
}

/* Readers of version 13 know only strings on one line: a member for each line of the detail. */
static void put_detail(struct dp_text *out, const char *detail)
{
    char *copy = dp_strdup(detail), *rest = copy;
    size_t number = 1;
    for (char *line; (line = strsep(&rest, "\n")) != NULL; number++) {
        char *name = dp_printf("detail_%zu", number);
        if (line[0]) {
            put_member(out, name, line);
        }
        free(name);
    }
    free(copy);
}

static void put_block(struct dp_text *out, const struct dp_check *check)
{
    static const char *const severities[DP_CHECK_STATE_MAX] = {
        [DP_CHECK_FAIL] = "fail", [DP_CHECK_ERROR] = "error", [DP_CHECK_NOTE] = "comment"};
    dp_text_put(out, "  ---\n");
    put_member(out, "message", check->line);
    put_member(out, "severity", severities[check->state]);
    put_member(out, "kind", check->kind);
    if (check->reproduce[0]) {
        put_member(out, "reproduce", check->reproduce);
    }
    put_detail(out, check->detail);
    dp_text_put(out, "  ...\n");
}

static void put_check(struct dp_text *out, size_t number, const struct dp_check *check)
{
    const bool failed = check->state == DP_CHECK_FAIL || check->state == DP_CHECK_ERROR;
    dp_text_printf(out, "%s %zu - ", failed ? "not ok" : "ok", number);
    put_description(out, check->group);
    dp_text_put(out, "/");
    put_description(out, check->name);
    if (check->state == DP_CHECK_SKIP) {
        dp_text_printf(out, " # SKIP %s", check->line);
    }
    dp_text_put(out, "\n");
    if (failed || check->state == DP_CHECK_NOTE) {
        put_block(out, check);
    }
}

void dp_render_tap(const json_t *document, const struct dp_render_options *options, struct dp_text *out)
{
    struct dp_checks checks = dp_checks_of(document);
    dp_text_printf(out, "TAP version 14\n1..%zu\n", checks.count);
    for (size_t i = 0; i < checks.count; i++) {
        put_check(out, i + 1, &checks.items[i]);
    }
    dp_checks_free(&checks);
}
