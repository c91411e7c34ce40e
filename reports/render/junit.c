/* SPDX-License-Identifier: Apache-2.0
 *
 * Format junit: JUnit XML in the dialect that Jenkins, GitLab, GitHub's reporters and most others read. A
 * suite for each family, a test case for each check. `classname` and `name` together are unique: GitLab keeps
 * only the first of equal ones.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/checks/checks.h"
#include "reports/render/formats.h"
#include "reports/render/services.h"

/* Noncharacters are no characters of XML 1.0: U+FFFE, U+FFFF. */
static bool is_nothing(const char *at)
{
    return strncmp(at, "\xef\xbf\xbe", 3) == 0 || strncmp(at, "\xef\xbf\xbf", 3) == 0;
}

static void put(struct dp_text *out, const char *string)
{
    static const struct {
        char character;
        const char *reference;
    } references[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\n', "&#10;"}};
    for (const char *at = string; *at; at++) {
        const char *reference = NULL;
        for (size_t i = 0; i < sizeof(references) / sizeof(references[0]); i++) {
            reference = references[i].character == *at ? references[i].reference : reference;
        }
        if (reference) {
            dp_text_put(out, reference);
        } else if (is_nothing(at)) {
            dp_text_put(out, "?");
            at += 2;
        } else {
            dp_text_add(out, at, 1);
        }
    }
}

static void put_attribute(struct dp_text *out, const char *name, const char *value)
{
    dp_text_printf(out, " %s=\"", name);
    put(out, value);
    dp_text_put(out, "\"");
}

/* "cpu/gemm" -> "cpu.gemm": services fold at dots. */
static void put_class(struct dp_text *out, const char *attribute, const char *group)
{
    char *name = dp_strdup(group);
    for (char *slash = name; (slash = strchr(slash, '/')) != NULL;) {
        *slash = '.';
    }
    put_attribute(out, attribute, name);
    free(name);
}

/* The finding first, then how to see it again: services show the first lines. */
static void put_words(struct dp_text *out, const struct dp_check *check)
{
    put(out, check->line);
    if (check->reproduce[0]) {
        put(out, "\nreproduce: ");
        put(out, check->reproduce);
    }
    if (check->detail[0] && out->length < DP_GITLAB_JUNIT) {
        put(out, "\n");
        put(out, check->detail);
    }
}

static void put_outcome(struct dp_text *out, const struct dp_check *check, const char *element)
{
    dp_text_printf(out, "      <%s", element);
    put_attribute(out, "type", check->kind);
    put_attribute(out, "message", check->line);
    dp_text_put(out, ">");
    put_words(out, check);
    dp_text_printf(out, "</%s>\n", element);
}

static void put_case(struct dp_text *out, const struct dp_check *check)
{
    static const char *const elements[DP_CHECK_STATE_MAX] = {
        [DP_CHECK_FAIL] = "failure", [DP_CHECK_ERROR] = "error", [DP_CHECK_SKIP] = "skipped"};
    dp_text_put(out, "    <testcase");
    put_class(out, "classname", check->group);
    put_attribute(out, "name", check->name);
    dp_text_printf(out, " time=\"%.3f\">\n", check->seconds);
    if (elements[check->state]) {
        put_outcome(out, check, elements[check->state]);
    } else {
        dp_text_put(out, "      <system-out>");
        put_words(out, check);
        dp_text_put(out, "</system-out>\n");
    }
    dp_text_put(out, "    </testcase>\n");
}

static void put_facts(struct dp_text *out, json_t *facts)
{
    const char *name;
    json_t *value;
    dp_text_put(out, "    <properties>\n");
    json_object_foreach(facts, name, value)
    {
        dp_text_put(out, "      <property");
        put_attribute(out, "name", name);
        put_attribute(out, "value", json_string_value(value));
        dp_text_put(out, "/>\n");
    }
    dp_text_put(out, "    </properties>\n");
}

static void put_counts(struct dp_text *out, const size_t counts[DP_CHECK_STATE_MAX], double seconds)
{
    size_t tests = 0;
    for (int state = 0; state < DP_CHECK_STATE_MAX; state++) {
        tests += counts[state];
    }
    dp_text_printf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" time=\"%.3f\"", tests,
                   counts[DP_CHECK_FAIL], counts[DP_CHECK_ERROR], seconds);
}

static void put_suite(struct dp_text *out, const struct dp_checks *checks, const struct dp_check **first,
                      size_t count)
{
    size_t counts[DP_CHECK_STATE_MAX] = {0};
    double seconds = 0;
    for (size_t i = 0; i < count; i++) {
        counts[first[i]->state]++;
        seconds += first[i]->seconds;
    }
    dp_text_put(out, "  <testsuite");
    put_class(out, "name", first[0]->group);
    put_counts(out, counts, seconds);
    dp_text_printf(out, " skipped=\"%zu\"", counts[DP_CHECK_SKIP]);
    if (checks->started[0]) {
        char *time = dp_printf("%.19s", checks->started); /* the dialect knows no zone */
        put_attribute(out, "timestamp", time);
        free(time);
    }
    if (checks->host[0]) {
        put_attribute(out, "hostname", checks->host);
    }
    dp_text_put(out, ">\n");
    if (strcmp(first[0]->group, DP_CHECK_WHOLE) == 0) {
        put_facts(out, checks->facts);
    }
    for (size_t i = 0; i < count; i++) {
        put_case(out, first[i]);
    }
    dp_text_put(out, "  </testsuite>\n");
}

void dp_render_junit(const json_t *document, const struct dp_render_options *options, struct dp_text *out)
{
    struct dp_checks checks = dp_checks_of(document);
    const struct dp_check **sorted = dp_checks_sorted(&checks, dp_check_by_group);
    double seconds = 0;
    for (size_t i = 0; i < checks.count; i++) {
        seconds += sorted[i]->seconds;
    }
    dp_text_put(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites");
    dp_text_printf(out, " name=\"detprobe %s\"", checks.document);
    put_counts(out, checks.counts, seconds);
    dp_text_put(out, ">\n");
    for (size_t first = 0, next; first < checks.count; first = next) {
        for (next = first + 1; next < checks.count && dp_check_by_group(sorted[first], sorted[next]) == 0;) {
            next++;
        }
        put_suite(out, &checks, sorted + first, next - first);
    }
    dp_text_put(out, "</testsuites>\n");
    free(sorted);
    dp_checks_free(&checks);
}
