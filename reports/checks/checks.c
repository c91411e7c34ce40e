/* SPDX-License-Identifier: Apache-2.0
 *
 * The list itself: copies made harmless, names made unique.
 */
#include "reports/checks/checks.h"

#include <stdlib.h>
#include <string.h>

#include "reports/checks/parts.h"

/* Bytes. A text of a report may have 100 000, and services cut or refuse what is long. */
#define MOST_LINE 2000
#define MOST_DETAIL 16000
#define MOST_COMMAND 8000

static char *one_line(const char *string, size_t most)
{
    char *line = dp_printable(string ? string : "", string ? strlen(string) : 0);
    line[dp_text_fit(line, most)] = '\0';
    return line;
}

static char *lines(const char *string)
{
    struct dp_text out = DP_TEXT(MOST_DETAIL);
    char *copy = dp_strdup(string ? string : ""), *rest = copy;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        char *shown = one_line(line, MOST_LINE);
        if (out.length + strlen(shown) + 1 <= out.limit) {
            dp_text_put(&out, out.length > 0 && shown[0] ? "\n" : "");
            dp_text_put(&out, shown);
        }
        free(shown);
    }
    free(copy);
    return out.data;
}

/* A command that is cut says something else. */
static char *command(const char *string)
{
    return one_line(string && strlen(string) <= MOST_COMMAND ? string : "", MOST_COMMAND);
}

static const char *keep(struct dp_checks *checks, char *owned)
{
    if (checks->string_count == checks->string_capacity) {
        checks->string_capacity = checks->string_capacity ? 2 * checks->string_capacity : 64;
        checks->strings = dp_realloc(checks->strings, checks->string_capacity, sizeof(checks->strings[0]));
    }
    checks->strings[checks->string_count++] = owned;
    return owned;
}

const char *dp_checks_string(struct dp_checks *checks, const char *string)
{
    return keep(checks, one_line(string, MOST_LINE));
}

void dp_checks_fact(struct dp_checks *checks, const char *name, const char *value)
{
    char *shown = one_line(value, MOST_LINE);
    if (shown[0]) {
        json_object_set_new(checks->facts, name, json_string(shown));
    }
    free(shown);
}

void dp_checks_line(struct dp_text *detail, const char *label, const char *line)
{
    if (line && line[0]) {
        dp_text_printf(detail, "%s%s%s", detail->length > 0 ? "\n" : "", label, line);
    }
}

void dp_checks_add(struct dp_checks *checks, const struct dp_check *check)
{
    if (checks->count == checks->capacity) {
        checks->capacity = checks->capacity ? 2 * checks->capacity : 64;
        checks->items = dp_realloc(checks->items, checks->capacity, sizeof(checks->items[0]));
    }
    checks->items[checks->count++] = (struct dp_check){
        .state = check->state,
        .group = dp_checks_string(checks, check->group),
        .name = dp_checks_string(checks, check->name),
        .kind = dp_checks_string(checks, check->kind),
        .subject = dp_checks_string(checks, check->subject),
        .line = dp_checks_string(checks, check->line),
        .detail = keep(checks, lines(check->detail)),
        .reproduce = keep(checks, command(check->reproduce)),
        .seconds = check->seconds,
    };
    checks->counts[check->state]++;
}

void dp_checks_add_case(struct dp_checks *checks, struct dp_check check, const char *suffix)
{
    const char *slash = strchr(check.subject, '/');
    slash = slash ? strchr(slash + 1, '/') : NULL;
    char *group = slash ? dp_printf("%.*s", (int)(slash - check.subject), check.subject) : dp_strdup("other");
    char *name = dp_printf(suffix ? "%s (%s)" : "%s", slash ? slash + 1 : check.subject, suffix);
    check.group = group;
    check.name = name;
    dp_checks_add(checks, &check);
    free(group);
    free(name);
}

/* Services keep the first of two tests with one name, or the last. */
static void make_unique(struct dp_checks *checks)
{
    json_t *seen = json_object(); /* name -> how many were called so */
    for (size_t i = 0; i < checks->count; i++) {
        struct dp_check *check = &checks->items[i];
        char *key = dp_printf("%s/%s", check->group, check->name);
        json_t *before = json_object_get(seen, key);
        while (before) {
            const json_int_t number = json_integer_value(before) + 1;
            json_integer_set(before, number);
            free(key);
            key = dp_printf("%s/%s #%lld", check->group, check->name, (long long)number);
            before = json_object_get(seen, key);
            if (!before) {
                check->name = keep(checks, dp_printf("%s #%lld", check->name, (long long)number));
            }
        }
        json_object_set_new(seen, key, json_integer(1));
        free(key);
    }
    json_decref(seen);
}

struct dp_checks dp_checks_of(const json_t *document)
{
    struct dp_checks checks = {.facts = json_object()};
    if (json_object_get(document, "body")) {
        dp_checks_of_report(document, &checks);
    } else if (json_object_get(document, "sides")) {
        dp_checks_of_diff(document, &checks);
    } else {
        dp_checks_of_gate(document, &checks);
    }
    make_unique(&checks);
    return checks;
}

void dp_checks_free(struct dp_checks *checks)
{
    for (size_t i = 0; i < checks->string_count; i++) {
        free(checks->strings[i]);
    }
    free(checks->strings);
    free(checks->items);
    json_decref(checks->facts);
    *checks = (struct dp_checks){.count = 0};
}

/* --- in another order --- */

struct sorted {
    const struct dp_check *check;
    int (*compare)(const struct dp_check *a, const struct dp_check *b);
};

static int compare_sorted(const void *a, const void *b)
{
    const struct sorted *one = a, *other = b;
    const int order = one->compare(one->check, other->check);
    /* qsort is not stable; the items stand in one array. */
    return order ? order : (one->check > other->check) - (one->check < other->check);
}

const struct dp_check **dp_checks_sorted(const struct dp_checks *checks,
                                         int (*compare)(const struct dp_check *a, const struct dp_check *b))
{
    struct sorted *sorted = dp_alloc(checks->count, sizeof(sorted[0]));
    const struct dp_check **ret = dp_alloc(checks->count, sizeof(ret[0]));
    for (size_t i = 0; i < checks->count; i++) {
        sorted[i] = (struct sorted){&checks->items[i], compare};
    }
    qsort(sorted, checks->count, sizeof(sorted[0]), compare_sorted);
    for (size_t i = 0; i < checks->count; i++) {
        ret[i] = sorted[i].check;
    }
    free(sorted);
    return ret;
}

int dp_check_by_group(const struct dp_check *a, const struct dp_check *b)
{
    return strcmp(a->group, b->group);
}
