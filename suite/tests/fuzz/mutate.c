/* SPDX-License-Identifier: Apache-2.0
 *
 * Mutations that keep JSON well-formed: bytes flipped at random end in the parser, these end behind it. A
 * place of the document is deleted, replaced (by something awkward, or by what stands elsewhere under the
 * same name or any), doubled or nested. An input of lines has one of its lines mutated.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "suite/base/text.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

static uint64_t state;

/* Below `count`. */
static size_t draw(size_t count)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (size_t)((state >> 33) % count);
}

/* Where a value hangs: a member of an object or an element of an array. */
struct slot {
    json_t *parent;
    const char *key; /* NULL: an element; borrowed from the parent */
    size_t index;
};

struct search {
    const char *key; /* only members of this name; NULL: every place */
    size_t seen;
    struct slot found; /* each place that was seen with equal chance */
};

static void offer(struct search *search, const struct slot *slot)
{
    if (search->key && (!slot->key || strcmp(slot->key, search->key) != 0)) {
        return;
    }
    if (draw(++search->seen) == 0) {
        search->found = *slot;
    }
}

static void walk(json_t *value, struct search *search, int depth)
{
    if (depth > 60) {
        return;
    }
    if (json_is_array(value)) {
        for (size_t i = 0; i < json_array_size(value); i++) {
            offer(search, &(struct slot){.parent = value, .index = i});
            walk(json_array_get(value, i), search, depth + 1);
        }
    }
    const char *key;
    json_t *member;
    json_object_foreach(value, key, member)
    {
        offer(search, &(struct slot){.parent = value, .key = key});
        walk(member, search, depth + 1);
    }
}

static json_t *at(const struct slot *slot)
{
    return slot->key ? json_object_get(slot->parent, slot->key) : json_array_get(slot->parent, slot->index);
}

/* Takes `value`. */
static void put(const struct slot *slot, json_t *value)
{
    if (slot->key) {
        char *key = dp_strdup(slot->key);
        json_object_set_new(slot->parent, key, value);
        free(key);
    } else {
        json_array_set_new(slot->parent, slot->index, value);
    }
}

static json_t *awkward(void)
{
    static const char *const strings[] = {"",
                                          "../../../../tmp/x",
                                          "/etc/passwd",
                                          "-",
                                          "%s%n%d",
                                          "a\nb\x1b[31m\a",
                                          "\xe2\x80\xae\xe2\x80\x8b\xef\xbb\xbf",
                                          "\xf0\x9f\x92\xa9",
                                          "]]>--><script>alert(1)</script>&amp;\"'",
                                          "'$(x)`x`;|\\",
                                          "::error::|#>*_[x](javascript:x)",
                                          "cpu/gemm/x",
                                          "1.1",
                                          "2.0",
                                          "2026-11-30T00:00:00Z",
                                          "0000-00-00T99:99:99Z",
                                          "0x1f80",
                                          "18446744073709551616",
                                          "varies",
                                          "repeats",
                                          "skipped",
                                          "error"};
    static const json_int_t integers[] = {0,
                                          1,
                                          -1,
                                          2,
                                          3,
                                          8,
                                          255,
                                          1024,
                                          2147483647,
                                          -2147483648,
                                          4294967296,
                                          1000000000,
                                          9007199254740991,
                                          9007199254740992,
                                          INT64_MAX,
                                          INT64_MIN};
    static const double reals[] = {0.0, -0.0, 0.5, 1.0, 1e-300, 5e-324, 1e15, 1e18, 1e19, 1.7e308, -1e300};
    json_t *value;
    switch (draw(12)) {
    case 0:
        return json_null();
    case 1:
        return json_boolean(draw(2));
    case 2:
        return json_array();
    case 3:
        return json_object();
    case 4:
        return json_real(reals[draw(sizeof(reals) / sizeof(reals[0]))]);
    case 5: /* long */
    {
        const size_t length = (size_t)1 << draw(13);
        char *text = dp_alloc(length + 1, 1);
        memset(text, "aA0 /\xc3"[draw(5)], length);
        value = json_string(text);
        free(text);
        return value;
    }
    case 6: /* deep */
        value = json_array();
        for (size_t depth = (size_t)1 << draw(9); depth > 0; depth--) {
            json_t *outer = json_array();
            json_array_append_new(outer, value);
            value = outer;
        }
        return value;
    case 7:
    case 8:
        return json_integer(integers[draw(sizeof(integers) / sizeof(integers[0]))]);
    default:
        return json_string(strings[draw(sizeof(strings) / sizeof(strings[0]))]);
    }
}

/* Something near the value itself. */
static json_t *near(const json_t *value)
{
    if (json_is_integer(value)) {
        static const json_int_t steps[] = {1, -1, 7, -100};
        const json_int_t number = json_integer_value(value);
        return number > INT32_MAX || number < INT32_MIN ? json_integer(-(number / 2))
                                                        : json_integer(number + steps[draw(4)]);
    }
    if (json_is_real(value)) {
        return json_real(json_real_value(value) * (draw(2) ? -1 : 1e3));
    }
    if (json_is_string(value)) {
        const size_t length = json_string_length(value), room = length + 16;
        uint8_t *bytes = dp_alloc(room, 1);
        memcpy(bytes, json_string_value(value), length);
        const size_t now = LLVMFuzzerMutate(bytes, length, room);
        json_t *string = json_stringn((const char *)bytes, now); /* NULL where that is no UTF-8 */
        free(bytes);
        return string ? string : json_string("");
    }
    return awkward();
}

static void double_element(const struct slot *slot, size_t times)
{
    for (; times > 0; times--) {
        json_array_insert_new(slot->parent, slot->index, json_deep_copy(at(slot)));
    }
}

static void drop(const struct slot *slot)
{
    if (slot->key) {
        char *key = dp_strdup(slot->key);
        json_object_del(slot->parent, key);
        free(key);
    } else {
        json_array_remove(slot->parent, slot->index);
    }
}

static void mutate_once(json_t *root)
{
    struct search here = {0}, there = {0};
    walk(root, &here, 0);
    if (here.seen == 0) {
        return;
    }
    const struct slot *slot = &here.found;
    there.key = slot->key && draw(3) ? slot->key : NULL;
    walk(root, &there, 0);
    switch (draw(10)) {
    case 0:
        drop(slot);
        break;
    case 1:
        put(slot, awkward());
        break;
    case 2:
    case 3:
        put(slot, near(at(slot)));
        break;
    case 4:
        if (!slot->key) {
            double_element(slot, draw(8) ? 1 : draw(200));
            break;
        }
        json_object_set_new(slot->parent, draw(2) ? "unknown" : "../x", awkward());
        break;
    case 5: /* a member of another place comes here as well */
        if (there.found.key && json_is_object(slot->parent)) {
            char *key = dp_strdup(there.found.key);
            json_object_set_new(slot->parent, key, json_deep_copy(at(&there.found)));
            free(key);
            break;
        }
        /* fall through */
    default:
        put(slot, json_deep_copy(at(&there.found)));
    }
}

/* The mutated text of some JSON, NULL where it is none. Owned. */
static char *mutated(const char *text, size_t length)
{
    json_t *root = json_loadb(text, length, 0, NULL);
    if (!root) {
        return NULL;
    }
    for (size_t n = 1 + draw(3); n > 0; n--) {
        mutate_once(root);
    }
    char *dumped = json_dumps(root, JSON_COMPACT);
    json_decref(root);
    return dumped;
}

/* Replaces data[start, end). 0 where there is no room. */
static size_t splice(uint8_t *data, size_t size, size_t max_size, size_t start, size_t end, const char *text)
{
    const size_t length = strlen(text);
    if (size - (end - start) + length > max_size) {
        return 0;
    }
    memmove(data + start + length, data + end, size - end);
    memcpy(data + start, text, length);
    return size - (end - start) + length;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    draw(2);
    if (size == 0 || draw(8) == 0) {
        return LLVMFuzzerMutate(data, size, max_size);
    }
    size_t start = 0, end = size;
    char *text = mutated((const char *)data, size);
    if (!text) { /* one of the lines */
        const size_t place = draw(size);
        for (start = place; start > 0 && data[start - 1] != '\n';) {
            start--;
        }
        for (end = place; end < size && data[end] != '\n';) {
            end++;
        }
        text = mutated((const char *)data + start, end - start);
    }
    const size_t now = text ? splice(data, size, max_size, start, end, text) : 0;
    free(text);
    return now ? now : LLVMFuzzerMutate(data, size, max_size);
}
