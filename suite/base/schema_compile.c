/* SPDX-License-Identifier: Apache-2.0
 *
 * What is looked up once per schema: the functions of its keywords, where its references lead, its regular
 * expressions. A large report passes each schema a hundred thousand times.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "suite/base/schema_internal.h"
#include "suite/base/text.h"

struct pattern {
    const char *source; /* by address: the strings of a schema outlive what is compiled of it */
    regex_t regex;
    bool good;
};

struct schema_compiled {
    const json_t *root;
    struct schema_node
        *slots; /* by address of the schema, open addressing; a power of two, half of it free */
    size_t size, used;
    struct pattern *patterns;
    size_t pattern_count;
};

struct schema_compiled *schema_compiled_new(const json_t *root)
{
    struct schema_compiled *compiled = dp_alloc(1, sizeof(*compiled));
    compiled->root = root;
    compiled->size = 64;
    compiled->slots = dp_alloc(compiled->size, sizeof(*compiled->slots));
    return compiled;
}

void schema_compiled_free(struct schema_compiled *compiled)
{
    if (!compiled) {
        return;
    }
    for (size_t i = 0; i < compiled->size; i++) {
        free(compiled->slots[i].rules);
    }
    for (size_t i = 0; i < compiled->pattern_count; i++) {
        if (compiled->patterns[i].good) {
            regfree(&compiled->patterns[i].regex);
        }
    }
    free(compiled->patterns);
    free(compiled->slots);
    free(compiled);
}

const regex_t *schema_pattern_of(struct schema_compiled *compiled, const char *source)
{
    size_t i = 0;
    while (i < compiled->pattern_count && compiled->patterns[i].source != source) {
        i++;
    }
    if (i == compiled->pattern_count) {
        compiled->patterns =
            dp_realloc(compiled->patterns, ++compiled->pattern_count, sizeof(struct pattern));
        struct pattern *pattern = &compiled->patterns[i];
        pattern->source = source;
        pattern->good = regcomp(&pattern->regex, source, REG_EXTENDED | REG_NOSUB) == 0;
    }
    return compiled->patterns[i].good ? &compiled->patterns[i].regex : NULL;
}

static const json_t *target_of(const json_t *root, const json_t *reference)
{
    static const char prefix[] = "#/$defs/";
    const char *name = json_string_value(reference);
    return name && strncmp(name, prefix, sizeof(prefix) - 1) == 0
               ? json_object_get(json_object_get(root, "$defs"), name + sizeof(prefix) - 1)
               : NULL;
}

/* Bits of the types that a word stands for. "integer" is also a number without a fraction: the bit of
 * JSON_INTEGER, and schema_key_type looks at the number. */
static unsigned types_of(const json_t *word)
{
    static const struct {
        const char *name;
        unsigned types;
    } words[] = {{"object", 1u << JSON_OBJECT},
                 {"array", 1u << JSON_ARRAY},
                 {"string", 1u << JSON_STRING},
                 {"null", 1u << JSON_NULL},
                 {"integer", 1u << JSON_INTEGER},
                 {"number", 1u << JSON_INTEGER | 1u << JSON_REAL},
                 {"boolean", 1u << JSON_TRUE | 1u << JSON_FALSE}};
    unsigned types = 0;
    for (size_t i = 0; json_is_string(word) && i < sizeof(words) / sizeof(words[0]); i++) {
        types |= strcmp(words[i].name, json_string_value(word)) == 0 ? words[i].types : 0;
    }
    for (size_t i = 0; i < json_array_size(word); i++) {
        types |= types_of(json_array_get(word, i));
    }
    return types;
}

static struct schema_node node_new(const json_t *root, const json_t *schema)
{
    struct schema_node node = {.schema = schema,
                               .rules = dp_alloc(json_object_size(schema) + 1, sizeof(*node.rules))};
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)schema, name, value)
    {
        struct schema_rule rule = {.value = value};
        if (!schema_keyword_find(name, &rule.check)) {
            node.unknown = name;
            break;
        }
        if (!rule.check) {
            continue;
        }
        rule.target = strcmp(name, "$ref") == 0 ? target_of(root, value) : NULL;
        rule.types = strcmp(name, "type") == 0 ? types_of(value) : 0;
        node.rules[node.count++] = rule;
    }
    return node;
}

/* The slot of a schema, or the free one where it belongs. */
static struct schema_node *slot_of(struct schema_node *slots, size_t size, const json_t *schema)
{
    size_t at = ((uintptr_t)schema >> 4) * (uintptr_t)0x9e3779b97f4a7c15u >> 20;
    while (slots[at & (size - 1)].schema && slots[at & (size - 1)].schema != schema) {
        at++;
    }
    return &slots[at & (size - 1)];
}

static void grow(struct schema_compiled *compiled)
{
    const size_t size = 2 * compiled->size;
    struct schema_node *slots = dp_alloc(size, sizeof(*slots));
    for (size_t i = 0; i < compiled->size; i++) {
        if (compiled->slots[i].schema) {
            *slot_of(slots, size, compiled->slots[i].schema) = compiled->slots[i];
        }
    }
    free(compiled->slots);
    compiled->slots = slots;
    compiled->size = size;
}

const struct schema_node *schema_node_of(struct schema_compiled *compiled, const json_t *schema)
{
    struct schema_node *slot = slot_of(compiled->slots, compiled->size, schema);
    if (!slot->schema) {
        if (2 * ++compiled->used > compiled->size) {
            grow(compiled);
            slot = slot_of(compiled->slots, compiled->size, schema);
        }
        *slot = node_new(compiled->root, schema);
    }
    return slot;
}
