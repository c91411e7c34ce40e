/* SPDX-License-Identifier: Apache-2.0
 *
 * Format sarif: SARIF 2.1.0, for code scanning. A rule is a family and a kind of finding, a fingerprint a
 * case and a kind: neither moves with numbers, so an alert stays the same one from run to run. SARIF wants a
 * file to point at; it is the baseline of a gate, which lies in the user's repository, else the report.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/checks/checks.h"
#include "reports/render/formats.h"
#include "reports/render/services.h"
#include "suite/base/digest.h"
#include "suite/base/json.h"

#define SCHEMA "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

static bool is_result(const struct dp_check *check)
{
    return check->subject[0] &&
           (check->state == DP_CHECK_FAIL || check->state == DP_CHECK_ERROR || check->state == DP_CHECK_NOTE);
}

static const char *level_of(const struct dp_check *check)
{
    return check->state == DP_CHECK_NOTE ? "note" : "error";
}

static json_t *message(const char *text)
{
    return json_pack("{s:s}", "text", text);
}

/* A relative reference: the service resolves it against the repository, wherever that was checked out. What
 * points out of it is taken by its last part. Owned. */
static char *uri_of(const char *path)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
    const char *slash = strrchr(path, '/');
    const bool outside = path[0] == '/' || strncmp(path, "../", 3) == 0 || strstr(path, "/../");
    const char *from = outside && slash ? slash + 1 : path;
    struct dp_text uri = DP_TEXT(4096);
    for (const char *at = from; *at; at++) {
        if (strchr(plain, *at)) {
            dp_text_add(&uri, at, 1);
        } else {
            dp_text_printf(&uri, "%%%02X", (unsigned char)*at);
        }
    }
    const bool named = uri.data && strcmp(uri.data, "-") != 0;
    char *owned = dp_strdup(named ? uri.data : "detprobe-report.json");
    dp_text_free(&uri);
    return owned;
}

static json_t *location(const char *uri, const char *subject)
{
    json_t *physical =
        json_pack("{s:{s:s},s:{s:i}}", "artifactLocation", "uri", uri, "region", "startLine", 1);
    json_t *logical = json_pack("{s:s,s:s}", "fullyQualifiedName", subject, "kind", "element");
    return json_pack("{s:o,s:[o]}", "physicalLocation", physical, "logicalLocations", logical);
}

/* "cpu/gemm/broken" and its place among the rules, which it is added to. */
static char *rule_of(const struct dp_check *check, json_t *rules, json_t *places, json_int_t *ret_index)
{
    char *id = dp_printf("%s/%s", check->group, check->kind);
    const json_t *known = json_object_get(places, id);
    *ret_index = known ? json_integer_value(known) : (json_int_t)json_array_size(rules);
    if (!known) {
        char *words = dp_printf("%s: %s", check->group, check->kind);
        json_array_append_new(rules,
                              json_pack("{s:s,s:o,s:{s:s}}", "id", id, "shortDescription", message(words),
                                        "defaultConfiguration", "level", level_of(check)));
        json_object_set_new(places, id, json_integer(*ret_index));
        free(words);
    }
    return id;
}

static json_t *result_of(const struct dp_check *check, const char *uri, json_t *rules, json_t *places)
{
    char fingerprint[DP_SHA256_HEX];
    json_int_t index = 0;
    char *rule = rule_of(check, rules, places, &index);
    char *key = dp_printf("%s %s %s", check->subject, check->name, check->kind);
    char *text =
        dp_printf("%s: %s%s%s%s%s", check->subject, check->line, check->reproduce[0] ? "\nreproduce: " : "",
                  check->reproduce, check->detail[0] ? "\n" : "", check->detail);
    dp_sha256_hex(key, strlen(key), fingerprint);
    json_t *result =
        json_pack("{s:s,s:I,s:s,s:o,s:[o],s:{s:s}}", "ruleId", rule, "ruleIndex", index, "level",
                  level_of(check), "message", message(text), "locations", location(uri, check->subject),
                  "partialFingerprints", "detprobe/v1", fingerprint);
    free(rule);
    free(key);
    free(text);
    return result;
}

static json_t *notification(const char *text)
{
    return json_pack("{s:s,s:o}", "level", "error", "message", message(text));
}

/* What stood in the way of a verdict speaks of no case: it is a notification of the tool. */
static json_t *invocation_of(const struct dp_checks *checks, size_t dropped)
{
    json_t *notifications = json_array();
    bool valid = true;
    for (size_t i = 0; i < checks->count; i++) {
        const struct dp_check *check = &checks->items[i];
        if (!check->subject[0] && check->state == DP_CHECK_ERROR) {
            json_array_append_new(notifications, notification(check->line));
            valid = false;
        }
    }
    if (dropped > 0) {
        char *text = dp_printf("%zu results are left out: services take no more", dropped);
        json_array_append_new(notifications, notification(text));
        free(text);
    }
    return json_pack("{s:b,s:o}", "executionSuccessful", valid, "toolExecutionNotifications", notifications);
}

static int by_weight(const struct dp_check *a, const struct dp_check *b)
{
    return (a->state > b->state) - (a->state < b->state);
}

void dp_render_sarif(const json_t *document, const struct dp_render_options *options, struct dp_text *out)
{
    struct dp_checks checks = dp_checks_of(document);
    const struct dp_check **sorted = dp_checks_sorted(&checks, by_weight);
    const char *baseline = dp_json_string(json_object_get(document, "baseline"), "name", NULL);
    char *uri = uri_of(baseline ? baseline : options->source ? options->source : "-");
    json_t *rules = json_array(), *places = json_object(), *results = json_array();
    size_t dropped = 0;
    for (size_t i = 0; i < checks.count; i++) {
        if (is_result(sorted[i]) && json_array_size(results) < DP_GITHUB_SARIF) {
            json_array_append_new(results, result_of(sorted[i], uri, rules, places));
        } else {
            dropped += is_result(sorted[i]);
        }
    }
    char *category = dp_printf("detprobe/%s/", checks.document);
    json_t *driver = json_pack("{s:s,s:s*,s:o}", "name", "detprobe", "version",
                               dp_json_string(checks.facts, "detprobe", NULL), "rules", rules);
    json_t *run = json_pack("{s:{s:o},s:{s:s},s:[o],s:o,s:O}", "tool", "driver", driver, "automationDetails",
                            "id", category, "invocations", invocation_of(&checks, dropped), "results",
                            results, "properties", checks.facts);
    json_t *log = json_pack("{s:s,s:s,s:[o]}", "$schema", SCHEMA, "version", "2.1.0", "runs", run);
    char *text = dp_json_pretty(log);
    dp_text_put(out, text);
    free(text);
    json_decref(log);
    json_decref(places);
    free(category);
    free(uri);
    free(sorted);
    dp_checks_free(&checks);
}
