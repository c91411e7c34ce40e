/* SPDX-License-Identifier: Apache-2.0
 *
 * detprobe __complete PREFIX: what shells ask for while a selector is typed. Reads the catalogue and nothing
 * else, so that it is there before the finger has left the key; says nothing where it fails, because what is
 * printed would land in the user's command line.
 */
#include "suite/command/complete.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite/base/text.h"
#include "suite/plan/catalogue.h"
#include "suite/plan/selector.h"

struct words {
    char **items;
    size_t count;
};

static bool begins(const char *word, const char *prefix)
{
    return strncmp(word, prefix, strlen(prefix)) == 0;
}

static void add(struct words *words, char *word, const char *prefix)
{
    if (!begins(word, prefix)) {
        free(word);
        return;
    }
    words->items = dp_realloc(words->items, words->count + 1, sizeof(*words->items));
    words->items[words->count++] = word;
}

static void add_tags(const struct dp_case *item, const char *prefix, struct words *words)
{
    size_t i;
    json_t *tag;
    add(words, dp_printf("@%s", item->family), prefix);
    json_array_foreach(json_object_get(item->json, "tags"), i, tag)
    {
        add(words, dp_printf("@%s", json_string_value(tag)), prefix);
    }
}

/* An id up to its next slash: a family of hundreds is one word until it is asked for. */
static void add_part(const struct dp_case *item, const char *prefix, struct words *words)
{
    if (begins(item->id, prefix)) {
        const char *rest = item->id + strlen(prefix);
        const size_t length = strlen(prefix) + strcspn(rest, "/");
        add(words, dp_printf("%.*s", (int)(length + (item->id[length] == '/')), item->id), prefix);
    }
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorts, and leaves one of each. */
static void unite(struct words *words)
{
    if (words->count > 0) {
        qsort(words->items, words->count, sizeof(*words->items), compare);
    }
    size_t kept = 0;
    for (size_t i = 0; i < words->count; i++) {
        if (kept > 0 && strcmp(words->items[kept - 1], words->items[i]) == 0) {
            free(words->items[i]);
        } else {
            words->items[kept++] = words->items[i];
        }
    }
    words->count = kept;
}

static void drop(struct words *words)
{
    for (size_t i = 0; i < words->count; i++) {
        free(words->items[i]);
    }
    free(words->items);
    *words = (struct words){0};
}

/* What completes the prefix. */
static struct words collect(const struct dp_catalogue *catalogue, const char *prefix)
{
    struct words words = {0};
    const bool tags = prefix[0] == '@';
    for (size_t i = 0; tags && dp_backends[i]; i++) {
        add(&words, dp_printf("@%s", dp_backends[i]), prefix);
    }
    for (size_t i = 0; i < catalogue->case_count; i++) {
        const struct dp_case *item = &catalogue->cases[i];
        if (!item->control) { /* no selector names one */
            (tags ? add_tags : add_part)(item, prefix, &words);
        }
    }
    unite(&words);
    return words;
}

int dp_complete(const char *prefix)
{
    struct dp_catalogue catalogue = {0};
    struct dp_err err = {0};
    if (dp_catalogue_load(&catalogue, &err) != 0) {
        dp_catalogue_free(&catalogue);
        return err.code;
    }
    struct words words = collect(&catalogue, prefix);
    /* Where there is one way to go on, it is gone. */
    while (words.count == 1 && words.items[0][strlen(words.items[0]) - 1] == '/') {
        struct words next = collect(&catalogue, words.items[0]);
        drop(&words);
        words = next;
    }
    for (size_t i = 0; i < words.count; i++) {
        puts(words.items[i]);
    }
    drop(&words);
    dp_catalogue_free(&catalogue);
    return DP_EXIT_OK;
}
