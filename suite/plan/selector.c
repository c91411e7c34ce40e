/* SPDX-License-Identifier: Apache-2.0
 *
 * Selectors over the catalogue's cases.
 */
#include <stdlib.h>
#include <string.h>

#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/plan/selector.h"

const char *const dp_backends[] = {"cpu", "cuda", "mpi", "python", NULL};
#define BACKEND_COUNT (sizeof(dp_backends) / sizeof(dp_backends[0]) - 1)

static bool is_known_backend(const char *selector)
{
    for (size_t i = 0; i < BACKEND_COUNT; i++) {
        if (selector[0] == '@' && strcmp(selector + 1, dp_backends[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool has_tag(const struct dp_case *item, const char *tag)
{
    return strcmp(item->backend, tag) == 0 || strcmp(item->family, tag) == 0 ||
           dp_json_array_has(json_object_get(item->json, "tags"), tag);
}

static bool is_match(const struct dp_case *item, const char *selector)
{
    return selector[0] == '@' ? has_tag(item, selector + 1) : dp_glob_match(selector, item->id);
}

/* A growing list of words that a selector could have meant. */
struct words {
    char **items;
    size_t count;
};

static void add_word(struct words *words, char *word)
{
    words->items = dp_realloc(words->items, words->count + 1, sizeof(*words->items));
    words->items[words->count++] = word;
}

static struct words selectable_words(const struct dp_catalogue *catalogue, bool tags)
{
    struct words words = {0};
    for (size_t b = 0; tags && b < BACKEND_COUNT; b++) {
        add_word(&words, dp_printf("@%s", dp_backends[b]));
    }
    for (size_t i = 0; i < catalogue->case_count; i++) {
        const struct dp_case *item = &catalogue->cases[i];
        if (item->control) {
            continue;
        }
        if (!tags) {
            add_word(&words, dp_strdup(item->id));
            continue;
        }
        add_word(&words, dp_printf("@%s", item->family));
        size_t t;
        json_t *tag;
        json_array_foreach(json_object_get(item->json, "tags"), t, tag)
        {
            add_word(&words, dp_printf("@%s", json_string_value(tag)));
        }
    }
    return words;
}

/* What was most likely meant: a tag without its '@', a folder of ids without its star, a slip of the pen.
 * Owned or NULL. */
static char *suggest(const struct dp_catalogue *catalogue, const char *selector)
{
    char *tag = dp_printf("@%s", selector);
    if (is_known_backend(tag)) {
        return tag;
    }
    free(tag);
    char *folder =
        dp_printf("%s%s*", selector, selector[0] && selector[strlen(selector) - 1] == '/' ? "" : "/");
    for (size_t i = 0; i < catalogue->case_count; i++) {
        const struct dp_case *item = &catalogue->cases[i];
        if (!item->control && selector[0] != '@' && has_tag(item, selector)) {
            free(folder);
            return dp_printf("@%s", selector);
        }
        if (!item->control && dp_glob_match(folder, item->id)) {
            return folder;
        }
    }
    free(folder);
    struct words words = selectable_words(catalogue, selector[0] == '@');
    const char *near = dp_suggest(selector, (const char *const *)words.items, words.count);
    char *result = near ? dp_strdup(near) : NULL;
    for (size_t i = 0; i < words.count; i++) {
        free(words.items[i]);
    }
    free(words.items);
    return result;
}

static int no_match(const struct dp_catalogue *catalogue, const char *selector, bool control,
                    struct dp_err *err)
{
    if (control) {
        return dp_err_set(err, DP_EXIT_USAGE,
                          "'%.200s' names only controls, which take part in every run by themselves",
                          selector);
    }
    char *meant = suggest(catalogue, selector);
    if (meant) {
        dp_err_set(err, DP_EXIT_USAGE, "no case matches '%.200s', did you mean '%.200s'?", selector, meant);
    } else {
        dp_err_set(err, DP_EXIT_USAGE, "no case matches '%.200s', see 'detprobe list'", selector);
    }
    free(meant);
    return -1;
}

/* Writes `chosen` to every case that the selector matches. */
static int apply(const struct dp_catalogue *catalogue, const char *selector, bool chosen, bool *ret_chosen,
                 struct dp_err *err)
{
    bool any = is_known_backend(selector);
    bool control = false;
    for (size_t i = 0; i < catalogue->case_count; i++) {
        const struct dp_case *item = &catalogue->cases[i];
        if (!is_match(item, selector)) {
            continue;
        }
        control = control || item->control;
        if (!item->control) {
            any = true;
            ret_chosen[i] = chosen;
        }
    }
    return any ? 0 : no_match(catalogue, selector, control, err);
}

int dp_select(const struct dp_catalogue *catalogue, const struct dp_strings *include,
              const struct dp_strings *exclude, bool *ret_chosen, struct dp_err *err)
{
    for (size_t i = 0; i < catalogue->case_count; i++) {
        ret_chosen[i] = include->count == 0 && !catalogue->cases[i].control;
    }
    for (size_t s = 0; s < include->count; s++) {
        if (apply(catalogue, include->items[s], true, ret_chosen, err) != 0) {
            return -1;
        }
    }
    for (size_t s = 0; s < exclude->count; s++) {
        if (apply(catalogue, exclude->items[s], false, ret_chosen, err) != 0) {
            return -1;
        }
    }
    return 0;
}
