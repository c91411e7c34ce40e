/* SPDX-License-Identifier: Apache-2.0
 *
 * Walks a schema breadth first, so that a reader meets the outer objects before what is in them.
 */
#include "suite/docs/members.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "suite/base/json.h"
#include "suite/base/schema_builtin.h"
#include "suite/docs/roff.h"

enum { OBJECTS_MOST = 200, TEXT_MOST = 1 << 16, TWIN_MEMBERS = 8 };

/* Objects that have been met, in the order in which they will be described. An object that several members
 * refer to is described once. */
struct walk {
    const json_t *root;
    struct object {
        char *path;
        json_t *schema;
    } objects[OBJECTS_MOST];
    size_t count;
    struct dp_text *out;
};

/* The schema itself, or the definition that it refers to. */
static json_t *resolve(const struct walk *walk, json_t *schema)
{
    for (const char *to; (to = dp_json_string(schema, "$ref", NULL)) && strncmp(to, "#/$defs/", 8) == 0;) {
        schema = json_object_get(json_object_get(walk->root, "$defs"), to + 8);
    }
    return schema;
}

/* What describes it: its own words before those of what it refers to. */
static const char *description(const struct walk *walk, json_t *schema)
{
    const char *own = dp_json_string(schema, "description", NULL);
    return own ? own : dp_json_string(resolve(walk, schema), "description", NULL);
}

static json_t *members_by_pattern(json_t *schema)
{
    json_t *patterns = json_object_get(schema, "patternProperties");
    json_t *other = json_object_get(schema, "additionalProperties");
    return patterns                ? json_object_iter_value(json_object_iter(patterns))
           : json_is_object(other) ? other
                                   : NULL;
}

static bool is_object(json_t *schema)
{
    return json_object_get(schema, "properties") || members_by_pattern(schema);
}

/* Remembers an object; the path of the one that describes it. */
static const char *meet(struct walk *walk, const char *path, json_t *schema)
{
    for (size_t i = 0; i < walk->count; i++) {
        if (walk->objects[i].schema == schema) {
            return walk->objects[i].path;
        }
    }
    if (walk->count == OBJECTS_MOST) {
        return path;
    }
    walk->objects[walk->count] = (struct object){dp_strdup(path), schema};
    return walk->objects[walk->count++].path;
}

static void put_words(struct dp_text *text, json_t *words)
{
    size_t i;
    json_t *word;
    json_array_foreach(words, i, word)
    {
        char *shown = json_dumps(word, JSON_ENCODE_ANY);
        dp_text_printf(text, "%s%s", i ? ", " : "", json_is_string(word) ? json_string_value(word) : shown);
        free(shown);
    }
}

/* "string", "string or null"; of an array's items "strings". */
static void put_type(struct dp_text *text, json_t *schema, const char *plural)
{
    json_t *type = json_object_get(schema, "type");
    size_t i;
    json_t *word;
    if (json_is_string(type)) {
        dp_text_printf(text, "%s%s", json_string_value(type), plural);
    }
    json_array_foreach(type, i, word)
    {
        dp_text_printf(text, "%s%s%s", i ? " or " : "", json_string_value(word), plural);
    }
}

static void put_kind(struct walk *walk, const char *path, json_t *given, const char *plural,
                     struct dp_text *text);

static void put_array(struct walk *walk, const char *path, json_t *items, const char *plural,
                      struct dp_text *text)
{
    char *inside = dp_printf("%s[]", path);
    dp_text_printf(text, "array%s of ", plural);
    put_kind(walk, inside, items, "s", text);
    free(inside);
}

static void put_either(struct walk *walk, const char *path, json_t *schemas, struct dp_text *text)
{
    size_t i;
    json_t *schema;
    json_array_foreach(schemas, i, schema)
    {
        dp_text_put(text, i ? " or " : "");
        put_kind(walk, path, schema, "", text);
    }
}

static void put_constant(struct dp_text *text, json_t *value)
{
    char *shown = json_dumps(value, JSON_ENCODE_ANY);
    dp_text_printf(text, "always %s", shown);
    free(shown);
}

/* What a value is, in words; `path` is where it stands, `plural` is "s" where there are several. */
static void put_kind(struct walk *walk, const char *path, json_t *given, const char *plural,
                     struct dp_text *text)
{
    json_t *schema = resolve(walk, given);
    json_t *items = json_object_get(schema, "items"), *words = json_object_get(schema, "enum");
    json_t *either = json_object_get(schema, "anyOf"), *constant = json_object_get(schema, "const");
    if (items) {
        put_array(walk, path, items, plural, text);
    } else if (is_object(schema)) {
        dp_text_printf(text, "object%s, see %s", plural, meet(walk, path, schema));
    } else if (either) {
        put_either(walk, path, either, text);
    } else if (words) {
        dp_text_put(text, *plural ? "words out of " : "one of ");
        put_words(text, words);
    } else if (constant) {
        put_constant(text, constant);
    } else {
        put_type(text, schema, plural);
    }
}

static void put_member(struct walk *walk, const char *path, const char *name, json_t *schema, bool required)
{
    char *inside = dp_printf("%s%s%s", path, *path ? "." : "", name);
    struct dp_text line = DP_TEXT(TEXT_MOST);
    put_kind(walk, inside, schema, "", &line);
    const char *text = description(walk, schema);
    dp_text_printf(&line, "%s%s%s", required ? "" : " (optional)", text ? ": " : "", text ? text : "");
    dp_roff_entry(walk->out);
    dp_roff_put(walk->out, DP_ROFF_BOLD, name);
    dp_roff_end(walk->out);
    dp_roff_put(walk->out, DP_ROFF_PLAIN, line.data);
    dp_roff_end(walk->out);
    dp_text_free(&line);
    free(inside);
}

static bool has_same(json_t *object, const char *name, json_t *member)
{
    json_t *other = json_object_get(json_object_get(object, "properties"), name);
    return other && json_equal(other, member);
}

/* An object that has been described and has many members in the same form; NULL: none. */
static const struct object *twin(const struct walk *walk, json_t *schema)
{
    for (size_t i = 0; i < walk->count && walk->objects[i].schema != schema; i++) {
        size_t same = 0;
        const char *name;
        json_t *member;
        json_object_foreach(json_object_get(schema, "properties"), name, member)
        {
            same += has_same(walk->objects[i].schema, name, member);
        }
        if (same >= TWIN_MEMBERS) {
            return &walk->objects[i];
        }
    }
    return NULL;
}

static void put_object(struct walk *walk, const char *path, json_t *schema)
{
    const struct object *other = twin(walk, schema);
    json_t *required = json_object_get(schema, "required");
    struct dp_text shared = DP_TEXT(TEXT_MOST);
    const char *name;
    json_t *member;
    json_object_foreach(json_object_get(schema, "properties"), name, member)
    {
        if (other && has_same(other->schema, name, member)) {
            dp_text_printf(&shared, "%s%s", shared.length ? ", " : "", name);
        } else {
            put_member(walk, path, name, member, dp_json_array_has(required, name));
        }
    }
    json_t *others = members_by_pattern(schema);
    if (others) {
        put_member(walk, path, "NAME", others, /* required= */ false);
    }
    if (other) {
        dp_roff_paragraph(walk->out);
        dp_text_put(&shared, ": as in ");
        dp_text_put(&shared, other->path);
        dp_roff_put(walk->out, DP_ROFF_PLAIN, shared.data);
        dp_roff_end(walk->out);
    }
    dp_text_free(&shared);
}

static const char *schema_text(const char *name)
{
    for (const struct dp_schema_text *row = dp_schema_texts; row->name; row++) {
        if (strcmp(row->name, name) == 0) {
            return row->text;
        }
    }
    return NULL;
}

int dp_members_put(const char *name, struct dp_text *out, struct dp_err *err)
{
    const char *text = schema_text(name);
    json_t *root = text ? dp_json_parse(text, strlen(text), name, err) : NULL;
    if (!root) {
        return text ? -1 : dp_err_set(err, DP_EXIT_DATA, "no schema '%s' is built in", name);
    }
    struct walk walk = {.root = root, .out = out};
    dp_roff_paragraph(out);
    dp_roff_put(out, DP_ROFF_PLAIN, dp_json_string(root, "description", ""));
    dp_roff_end(out);
    put_object(&walk, "", root);
    for (size_t i = 0; i < walk.count; i++) {
        dp_roff_subsection(out, walk.objects[i].path);
        put_object(&walk, walk.objects[i].path, walk.objects[i].schema);
    }
    for (size_t i = 0; i < walk.count; i++) {
        free(walk.objects[i].path);
    }
    json_decref(root);
    return 0;
}
