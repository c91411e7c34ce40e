/* SPDX-License-Identifier: Apache-2.0
 *
 * Frames filled from a catalogue's template and an explanation.
 */
#include "suite/attribute/standalone.h"

#include <stdlib.h>
#include <string.h>

#include "suite/attribute/sides.h"
#include "suite/base/json.h"
#include "suite/base/text.h"

#define TEXT_MOST ((size_t)1 << 16)
#define TRIES "50" /* of what varies by itself */

extern const char dp_standalone_c[], dp_standalone_python[];

struct filling;
struct language {
    const char *name, *end, *frame;
    const char *single, *twice; /* types of elements */
    bool links; /* can call what sets the number of threads of a library that it is linked to */
    void (*build)(const struct filling *f, struct dp_text *out);
    /* a line that gives the array of this place its values */
    void (*values)(const struct filling *f, const char *name, const char *count, int place,
                   struct dp_text *out);
};

static const json_t *template_of(const struct dp_case *item)
{
    const json_t *template = json_object_get(item->json, "standalone");
    return json_object_get(template, "call") ? template : NULL;
}

/* --- filling --- */

static bool is_single(const struct dp_case *item)
{
    const json_t *params = json_object_get(item->json, "params");
    return dp_json_string(params, "routine", "d")[0] == 's' ||
           strcmp(dp_json_string(params, "dtype", ""), "f32") == 0;
}

/* A template's words: {name} of a param or {real}; other braces are those of the language. */
static void put_template(struct dp_text *out, const struct dp_case *item, const struct language *language,
                         const char *template)
{
    for (const char *at = template; *at;) {
        const size_t plain = strcspn(at, "{"), length = at[plain] ? strcspn(at + plain + 1, "}") : 0;
        char *name = dp_printf("%.*s", (int)length, at[plain] ? at + plain + 1 : "");
        const json_t *value = json_object_get(json_object_get(item->json, "params"), name);
        dp_text_add(out, at, plain);
        at += plain;
        if (*at && (value || strcmp(name, "real") == 0)) {
            char *number =
                json_is_integer(value) ? dp_printf("%lld", (long long)json_integer_value(value)) : NULL;
            dp_text_put(out, number                  ? number
                             : json_is_string(value) ? json_string_value(value)
                             : value                 ? json_is_true(value) ? "1" : "0"
                             : is_single(item)       ? language->single
                                                     : language->twice);
            free(number);
            at += length + 2;
        } else if (*at) {
            dp_text_add(out, at++, 1);
        }
        free(name);
    }
}

static void put_lines(struct dp_text *out, const struct dp_case *item, const struct language *language,
                      const json_t *lines, const char *between)
{
    for (size_t i = 0; i < json_array_size(lines); i++) {
        dp_text_put(out, i ? between : "");
        put_template(out, item, language, json_string_value(json_array_get(lines, i)));
    }
}

/* Nothing that could end a comment, or a line. */
static void put_plain(struct dp_text *out, const char *text)
{
    for (; *text; text++) {
        const bool plain = (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') ||
                           (*text >= '0' && *text <= '9') || strchr(" ._/+:,;=()-&'", *text);
        dp_text_add(out, plain ? text : "?", 1);
    }
}

/* A word of a line for a shell, within a comment: a quote or anything else that could end either is '?'. */
static void put_argument(struct dp_text *out, const char *text)
{
    struct dp_text plain = DP_TEXT(TEXT_MOST);
    put_plain(&plain, text);
    for (size_t i = 0; i < plain.length; i++) {
        plain.data[i] = plain.data[i] == '\'' ? '?' : plain.data[i];
    }
    dp_text_put_word(out, plain.data ? plain.data : "");
    dp_text_free(&plain);
}

/* Between double quotes, of C and of Python. */
static void put_quoted(struct dp_text *out, const char *text)
{
    for (; *text; text++) {
        dp_text_put(out, strchr("\"\\", *text) ? "\\" : "");
        dp_text_add(out, text, 1);
    }
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static const json_t *library_of(const json_t *document, const char *role)
{
    size_t i;
    json_t *library;
    json_array_foreach(json_object_get(document, "libraries"), i, library)
    {
        if (!role || strcmp(dp_json_string(library, "role", ""), role) == 0) {
            return library;
        }
    }
    return NULL;
}

/* Everything that a frame asks for. */
struct filling {
    const struct dp_case *item;
    const json_t *template, *document, *library;
    const struct language *language;
    const char *path;
    struct dp_sides sides;
    bool varies;
};

static void put_build_python(const struct filling *f, struct dp_text *out)
{
    dp_text_put(out, "python3 ");
    put_argument(out, name_of(f->path));
}

static void put_build_c(const struct filling *f, struct dp_text *out)
{
    const char *flags = dp_json_string(f->template, "flags", NULL);
    dp_text_printf(out, "cc -O2 %s%s", flags ? flags : "", flags ? " " : "");
    put_argument(out, name_of(f->path));
    if (json_object_get(f->template, "role")) {
        const char *path = dp_json_string(f->library, "path", ""), *end = strrchr(path, '/');
        char *folder = dp_printf("%.*s", end ? (int)(end - path) : 0, path);
        /* a distribution's libblas.so.3 has the library behind it, whose other functions are called too */
        dp_text_put(out, " -Wl,--copy-dt-needed-entries ");
        put_argument(out, path);
        dp_text_put(out, " -Wl,-rpath,");
        put_argument(out, folder);
        free(folder);
    }
    dp_text_put(out, " -o reproduce && ./reproduce");
}

static void put_build(const struct filling *f, struct dp_text *out)
{
    f->language->build(f, out);
}

static void put_what(const struct filling *f, struct dp_text *out)
{
    if (f->varies) {
        dp_text_put(out, "other bits from run to run");
        return;
    }
    dp_text_put(out, "other bits with '");
    put_plain(out, f->sides.from.data);
    dp_text_put(out, "' than with '");
    put_plain(out, f->sides.to.data);
    dp_text_put(out, "'");
}

static void put_library(const struct filling *f, struct dp_text *out)
{
    put_plain(out, dp_json_string(f->library, "name", "the machine's own"));
    dp_text_put(out, " ");
    put_plain(out, dp_json_string(f->library, "version", ""));
}

static void put_array(const struct filling *f, const char *name, const json_t *count, bool first,
                      struct dp_text *out)
{
    dp_text_printf(out, "%s%s[", first ? "static real " : ", ", name);
    put_template(out, f->item, f->language, json_string_value(count));
    dp_text_put(out, "]");
}

/* "static real x[100], out[1];": an output that is no input has no values. */
static void put_arrays(const struct filling *f, struct dp_text *out)
{
    json_t *inputs = json_object_get(f->template, "inputs"), *output = json_object_get(f->template, "output"),
           *count;
    const char *name;
    bool first = true;
    json_object_foreach(inputs, name, count)
    {
        put_array(f, name, count, first, out);
        first = false;
    }
    json_object_foreach(output, name, count)
    {
        if (!json_object_get(inputs, name)) {
            put_array(f, name, count, first, out);
        }
    }
    dp_text_put(out, ";");
}

static void put_values_c(const struct filling *f, const char *name, const char *count, int place,
                         struct dp_text *out)
{
    (void)place;
    dp_text_printf(out, "fill(%s, ", name);
    put_template(out, f->item, f->language, count);
    dp_text_put(out, ", &state);");
}

static void put_values_python(const struct filling *f, const char *name, const char *count, int place,
                              struct dp_text *out)
{
    dp_text_printf(out, "%s = values(", name);
    put_template(out, f->item, f->language, count);
    dp_text_printf(out, ", %d * INPUTS + i)", place);
}

static void put_fill(const struct filling *f, struct dp_text *out)
{
    const char *name;
    json_t *count;
    int place = 0;
    json_object_foreach(json_object_get(f->template, "inputs"), name, count)
    {
        dp_text_put(out, place ? "\n        " : "        ");
        f->language->values(f, name, json_string_value(count), place++, out);
    }
}

static void put_case(const struct filling *f, struct dp_text *out)
{
    dp_text_put(out, f->item->id);
}

static void put_expression(const struct filling *f, struct dp_text *out)
{
    put_template(out, f->item, f->language, dp_json_string(f->template, "version", "\"the compiler's own\""));
}

static void put_version(const struct filling *f, struct dp_text *out)
{
    (void)f;
    dp_text_put(out, DP_VERSION);
}

static void put_real(const struct filling *f, struct dp_text *out)
{
    put_template(out, f->item, f->language, "{real}");
}

static void put_declare(const struct filling *f, struct dp_text *out)
{
    const struct dp_threads *function = f->sides.function;
    const char *prototype = dp_json_string(f->template, "prototype", NULL);
    put_lines(out, f->item, f->language, json_object_get(f->template, "declare"), "\n");
    if (prototype) {
        dp_text_put(out, "\n");
        put_template(out, f->item, f->language, prototype);
    }
    if (function) {
        dp_text_printf(out, "\nvoid %s(%s);", function->function, function->type);
    }
}

static void put_function(const struct filling *f, struct dp_text *out)
{
    const struct dp_threads *function = f->sides.function;
    if (function) {
        dp_text_printf(out, "    %s(atoi(getenv(\"" DP_THREADS_NAME "\")));\n", function->function);
    }
}

static void put_call(const struct filling *f, struct dp_text *out)
{
    put_lines(out, f->item, f->language, json_object_get(f->template, "call"), "\n        ");
}

static void put_output(const struct filling *f, struct dp_text *out)
{
    dp_text_put(out, json_object_iter_key(json_object_iter(json_object_get(f->template, "output"))));
}

static void put_count(const struct filling *f, struct dp_text *out)
{
    json_t *count = json_object_iter_value(json_object_iter(json_object_get(f->template, "output")));
    put_template(out, f->item, f->language, json_string_value(count));
}

static void put_one(const struct filling *f, struct dp_text *out)
{
    put_quoted(out, f->sides.from.data);
}

static void put_other(const struct filling *f, struct dp_text *out)
{
    put_quoted(out, f->sides.to.data);
}

static void put_tries(const struct filling *f, struct dp_text *out)
{
    dp_text_put(out, f->varies ? TRIES : "1");
}

/* What a frame has between two '@'. */
static const struct {
    const char *name;
    void (*put)(const struct filling *f, struct dp_text *out);
} places[] = {
    {"CASE", put_case},
    {"WHAT", put_what},
    {"BUILD", put_build},
    {"LIBRARY", put_library},
    {"VERSION", put_version},
    {"REAL", put_real},
    {"DECLARE", put_declare},
    {"ARRAYS", put_arrays},
    {"FILL", put_fill},
    {"CALL", put_call},
    {"OUTPUT", put_output},
    {"COUNT", put_count},
    {"ONE", put_one},
    {"OTHER", put_other},
    {"TRIES", put_tries},
    {"THREADS", put_function},
    {"LIBRARY_EXPRESSION", put_expression},
};

static void put_place(const struct filling *f, const char *name, size_t length, struct dp_text *out)
{
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        if (strlen(places[i].name) == length && memcmp(places[i].name, name, length) == 0) {
            places[i].put(f, out);
        }
    }
}

static char *fill_frame(const struct filling *f)
{
    struct dp_text out = DP_TEXT(TEXT_MOST);
    for (const char *at = f->language->frame; *at;) {
        const size_t plain = strcspn(at, "@");
        dp_text_add(&out, at, plain);
        at += plain;
        if (*at) {
            const size_t length = strcspn(at + 1, "@");
            put_place(f, at + 1, length, &out);
            at += length + 2;
        }
    }
    return out.data;
}

/* --- the whole --- */

static const struct language languages[] = {
    {"c", ".c", dp_standalone_c, "float", "double", true, put_build_c, put_values_c},
    {"python", ".py", dp_standalone_python, "float32", "float64", false, put_build_python, put_values_python},
};

static bool ends_in(const char *path, const char *end)
{
    return strlen(path) > strlen(end) && strcmp(path + strlen(path) - strlen(end), end) == 0;
}

static const struct language *language_of(const json_t *template)
{
    const char *name = dp_json_string(template, "language", "");
    const struct language *found = NULL;
    for (size_t i = 0; i < sizeof(languages) / sizeof(languages[0]); i++) {
        found = strcmp(languages[i].name, name) == 0 ? &languages[i] : found;
    }
    return found;
}

int dp_standalone_check(const struct dp_case *item, const char *path, struct dp_err *err)
{
    const json_t *template = template_of(item);
    const struct language *language = language_of(template);
    if (!template || !language) {
        return dp_err_set(err, DP_EXIT_USAGE,
                          "no file can be made of '%.120s', its catalogue has no 'standalone' for it, see "
                          "probes/README.md",
                          item->id);
    }
    return ends_in(path, language->end)
               ? 0
               : dp_err_set(err, DP_EXIT_USAGE, "cannot write '%.300s', a file of '%.120s' is called NAME%s",
                            path, item->id, language->end);
}

/* Its symbols are not those of the prototypes, or its integers longer. */
static bool is_renamed(const json_t *library)
{
    const char *config = dp_json_string(library, "config", "");
    return strstr(config, "symbols=") || strstr(config, "USE64BITINT") || strstr(config, "ilp64");
}

char *dp_standalone_text(const struct dp_case *item, const json_t *document, const char *path,
                         struct dp_err *err)
{
    const json_t *template = template_of(item);
    const char *role = dp_json_string(template, "role", NULL);
    struct filling filling = {.item = item,
                              .template = template,
                              .document = document,
                              .library = library_of(document, role),
                              .language = language_of(template),
                              .path = path,
                              .varies = dp_json_string(document, "reproduce", NULL) != NULL};
    char *text = NULL;
    dp_sides_open(&filling.sides);
    if (role && (!filling.library || is_renamed(filling.library))) {
        dp_err_set(err, DP_EXIT_NO_VERDICT,
                   "no file can be made for this library of role '%.40s': its names are others", role);
    } else if (filling.varies ||
               dp_sides_find(document, role && filling.language->links, &filling.sides, err) == 0) {
        text = fill_frame(&filling);
    }
    dp_sides_free(&filling.sides);
    return text;
}
