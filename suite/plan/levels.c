/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables behind --level and --axis.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/plan/levels.h"

/* The base fills outputs and workspace with 0xa5, so these are the other patterns. */
static const char *const poison_quick[] = {"nan", NULL};
static const char *const poison_all[] = {"0x5a", "nan", NULL};
static const char *const busy_quick[] = {"compute", NULL};
static const char *const busy_all[] = {"compute", "memory", "process", NULL};
static const char *const concurrency_quick[] = {"4", NULL};
static const char *const concurrency_all[] = {"2", "4", "8", "16", NULL};
static const char *const threads_quick[] = {"1", "2", "4", NULL};
static const char *const threads_all[] = {"1", "2", "4", "8", NULL};
static const char *const batch_quick[] = {"1/0", "16/15", NULL};
static const char *const batch_all[] = {"1/0",   "2/1",   "4/0",  "8/7",   "16/0",
                                        "16/15", "32/13", "64/0", "64/63", NULL};
static const char *const align_quick[] = {"4", "24", NULL};
/* Bytes, odd multiples of an element too; every second operand; leading dimensions; where allocations land.
 */
static const char *const align_all[] = {"4",  "8",   "16",  "24",   "32",   "60",
                                        "64", "0,4", "4,0", "ld+1", "heap", NULL};
static const char *const once[] = {"", NULL};
static const char *const order_once[] = {DP_ORDER_SUMMANDS, NULL};

static const struct dp_level levels[] = {
    {.name = "quick",
     .seeds = 3,
     .runs = 8,
     .fresh = 2,
     .case_limit_ns = 100000000,
     .side_runs = 2,
     .rounds = 15,
     .poison = poison_quick,
     .busy = busy_quick,
     .concurrency = concurrency_quick,
     .threads = threads_quick,
     .batch = batch_quick,
     .align = align_quick},
    {.name = "default",
     .seeds = 8,
     .runs = 25,
     .fresh = 5,
     .case_limit_ns = 600000000,
     .rounds = 31,
     .poison = poison_all,
     .busy = busy_all,
     .concurrency = concurrency_all,
     .threads = threads_all,
     .batch = batch_all,
     .align = align_all,
     .order_limit_ns = 100000000,
     .machine = true},
    {.name = "deep",
     .seeds = 32,
     .runs = 200,
     .fresh = 20,
     .case_limit_ns = 20000000000,
     .rounds = 101,
     .poison = poison_all,
     .busy = busy_all,
     .concurrency = concurrency_all,
     .threads = threads_all,
     .batch = batch_all,
     .align = align_all,
     .order_limit_ns = 5000000000,
     .products = true,
     .machine = true},
};

#define LIST(member) offsetof(struct dp_level, member)

/* `batch*repeat` is left out of the deep level: it repeats what `batch` with two runs and `repeat` show
 * apart. */
static const struct dp_axis axes[] = {
    {.name = "repeat", .extent = DP_EXTENT_FULL},
    {.name = "fresh", .extent = DP_EXTENT_FRESH},
    {.name = "poison", .list = LIST(poison), .extent = DP_EXTENT_INVARIANT},
    {.name = "busy",
     .list = LIST(busy),
     .extent = DP_EXTENT_FIRST,
     .backends = {"cpu", "cuda"},
     .dear = "cpu"},
    {.name = "concurrency",
     .list = LIST(concurrency),
     .extent = DP_EXTENT_FIRST,
     .backends = {"cpu", "cuda"},
     .at_once = true},
    {.name = "threads", .list = LIST(threads), .extent = DP_EXTENT_INVARIANT},
    {.name = "batch", .list = LIST(batch), .extent = DP_EXTENT_INVARIANT, .needs = "batch"},
    {.name = "align", .list = LIST(align), .extent = DP_EXTENT_INVARIANT, .needs = "align"},
    {.name = "algorithm", .extent = DP_EXTENT_INVARIANT, .needs = "choices"},
    {.name = "isa", .extent = DP_EXTENT_ISA, .needs = "isa"},
    {.name = "device", .extent = DP_EXTENT_DEVICE, .backends = {"cuda"}},
    {.name = "order", .extent = DP_EXTENT_ORDER, .reveals = true},
    {.name = "threads*repeat", .extent = DP_EXTENT_FULL, .product = true, .deep = true},
    {.name = "batch*repeat", .extent = DP_EXTENT_FULL, .product = true, .needs = "batch"},
    {.name = "threads*batch", .extent = DP_EXTENT_INVARIANT, .product = true, .deep = true, .needs = "batch"},
    {.name = "threads*order", .extent = DP_EXTENT_ORDER, .product = true, .reveals = true},
    {.name = "batch*order", .extent = DP_EXTENT_ORDER, .product = true, .reveals = true, .needs = "batch"},
    {.name = "algorithm*order",
     .extent = DP_EXTENT_ORDER,
     .product = true,
     .deep =
         true, /* the slowest of a library are among them, and that another one adds otherwise is no news */
     .reveals = true,
     .needs = "choices"},
    {.name = "isa*order", .extent = DP_EXTENT_ISA, .product = true, .reveals = true, .needs = "isa"},
    {.name = NULL},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const struct dp_level *dp_level_find(const char *name)
{
    for (size_t i = 0; i < COUNT(levels); i++) {
        if (strcmp(levels[i].name, name) == 0) {
            return &levels[i];
        }
    }
    return NULL;
}

const struct dp_axis *dp_plan_axes(void)
{
    return axes;
}

const char *dp_axis_names(void)
{
    static char names[400];
    size_t length = 0;
    for (const struct dp_axis *axis = axes; axis->name && length < sizeof(names); axis++) {
        length +=
            (size_t)snprintf(names + length, sizeof(names) - length, "%s%s", length ? "|" : "", axis->name);
    }
    return names;
}

static const struct dp_axis *find(const char *name)
{
    for (const struct dp_axis *axis = axes; axis->name; axis++) {
        if (strcmp(axis->name, name) == 0) {
            return axis;
        }
    }
    return NULL;
}

static bool is_axis_word(const char *word, size_t length)
{
    for (const struct dp_axis *axis = axes; axis->name; axis++) {
        if (!axis->product && strlen(axis->name) == length && strncmp(axis->name, word, length) == 0) {
            return true;
        }
    }
    return false;
}

/* Two factors of a product, owned; false when the word is none. No axis' name ends where an 'x' could be
 * taken for the sign, because both sides must be axes. */
static bool split_product(const char *word, char **ret_left, char **ret_right)
{
    static const char *const signs[] = {"*", "x", "\xc3\x97"};
    for (size_t s = 0; s < COUNT(signs); s++) {
        for (const char *at = word; (at = strstr(at, signs[s])); at++) {
            const char *right = at + strlen(signs[s]);
            if (is_axis_word(word, (size_t)(at - word)) && is_axis_word(right, strlen(right))) {
                *ret_left = dp_printf("%.*s", (int)(at - word), word);
                *ret_right = dp_strdup(right);
                return true;
            }
        }
    }
    return false;
}

static const struct dp_axis *find_product(const char *left, const char *right)
{
    char *name = dp_printf("%s*%s", left, right);
    const struct dp_axis *axis = find(name);
    free(name);
    return axis;
}

static void no_axis(const char *word, struct dp_err *err)
{
    const char *names[COUNT(axes)];
    size_t count = 0;
    for (const struct dp_axis *axis = axes; axis->name; axis++) {
        names[count++] = axis->name;
    }
    const char *near = dp_suggest(word, names, count);
    if (near) {
        dp_err_set(err, DP_EXIT_USAGE, "unknown axis '%.80s', did you mean '%s'?", word, near);
        return;
    }
    struct dp_text all = DP_TEXT(400);
    for (size_t i = 0; i < count; i++) {
        dp_text_printf(&all, "%s%s", i ? ", " : "", names[i]);
    }
    dp_err_set(err, DP_EXIT_USAGE, "unknown axis '%.80s', there are %s", word, all.data);
    dp_text_free(&all);
}

const struct dp_axis *dp_axis_find(const char *word, struct dp_err *err)
{
    const struct dp_axis *axis = find(word);
    char *left = NULL;
    char *right = NULL;
    if (!axis && split_product(word, &left, &right)) {
        axis = find_product(left, right);
        axis = axis ? axis : find_product(right, left);
        free(left);
        free(right);
        if (!axis) {
            dp_err_set(err, DP_EXIT_USAGE, "the product '%.80s' is not available in this version", word);
            return NULL;
        }
    }
    if (!axis) {
        no_axis(word, err);
    }
    return axis;
}

bool dp_axis_reveals(const char *name)
{
    const char *const last = strrchr(name, '*');
    return strcmp(last ? last + 1 : name, "order") == 0;
}

/* "4*16/15": every one is kept, of the factors' settings, which are few. */
static const char *both(const char *left, const char *right)
{
    static char names[256][32];
    char name[sizeof(names[0])];
    size_t i = 0;
    snprintf(name, sizeof(name), "%s*%s", left, right);
    while (i + 1 < COUNT(names) && names[i][0] && strcmp(names[i], name) != 0) {
        i++;
    }
    memcpy(names[i], name, sizeof(name));
    return names[i];
}

bool dp_axis_is_of(const struct dp_axis *axis, const char *backend)
{
    bool any = false;
    for (size_t i = 0; i < COUNT(axis->backends) && axis->backends[i]; i++) {
        any = true;
        if (strcmp(axis->backends[i], backend) == 0) {
            return true;
        }
    }
    return !any;
}

/* Some settings only the programs of one backend know. */
static bool is_of(const char *axis, const char *setting, const char *backend)
{
    static const struct {
        const char *axis, *setting, *backend;
    } own[] = {{"busy", "process", "cpu"}};
    for (size_t i = 0; i < COUNT(own); i++) {
        if (strcmp(own[i].axis, axis) == 0 && strcmp(own[i].setting, setting) == 0) {
            return strcmp(own[i].backend, backend) == 0;
        }
    }
    return true;
}

/* Of both factors; that of repeat is none. */
static size_t product_settings(const struct dp_axis *axis, const struct dp_level *level,
                               const struct dp_case *item, const char *ret_settings[DP_SETTING_MAX])
{
    const char *lefts[DP_SETTING_MAX], *rights[DP_SETTING_MAX];
    char *left = NULL, *right = NULL;
    size_t count = 0;
    split_product(axis->name, &left, &right);
    const size_t left_count = dp_axis_settings(find(left), level, item, lefts);
    const size_t right_count = dp_axis_settings(find(right), level, item, rights);
    for (size_t l = 0; l < left_count; l++) {
        for (size_t r = 0; r < right_count && count < DP_SETTING_MAX; r++) {
            ret_settings[count++] = rights[r][0] ? both(lefts[l], rights[r]) : lefts[l];
        }
    }
    free(left);
    free(right);
    return count;
}

static size_t choice_settings(const struct dp_case *item, const char *ret_settings[DP_SETTING_MAX])
{
    const int choices = (int)dp_json_int(item->json, "choices", 0);
    const int count = choices < DP_CHOICES_MAX ? choices : DP_CHOICES_MAX;
    for (int i = 0; i < count; i++) {
        ret_settings[i] = dp_number_setting(i);
    }
    return (size_t)count;
}

size_t dp_axis_settings(const struct dp_axis *axis, const struct dp_level *level, const struct dp_case *item,
                        const char *ret_settings[DP_SETTING_MAX])
{
    if (axis->product) {
        return product_settings(axis, level, item, ret_settings);
    }
    if (strcmp(axis->name, "algorithm") == 0) {
        return choice_settings(item, ret_settings);
    }
    const char *const *list = axis->reveals ? order_once : once;
    size_t count = 0;
    if (axis->list) {
        memcpy(&list, (const char *)level + axis->list, sizeof(list));
    }
    for (; *list; list++) {
        if (is_of(axis->name, *list, item->backend)) {
            ret_settings[count++] = *list;
        }
    }
    return count;
}

const char *dp_number_setting(int n)
{
    static char names[DP_FRESH_MAX + 1][8];
    if (!names[n][0]) {
        snprintf(names[n], sizeof(names[n]), "%d", n);
    }
    return names[n];
}
