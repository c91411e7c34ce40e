/* SPDX-License-Identifier: Apache-2.0
 *
 * The section on the environment of a report: libraries, devices, the machine, variables.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/html/html.h"
#include "reports/render/words.h"
#include "suite/base/json.h"

/* A value of any kind as one line. Owned. */
static char *shown_value(const json_t *value)
{
    if (json_is_string(value)) {
        return dp_strdup(json_string_value(value));
    }
    if (json_is_array(value)) {
        struct dp_text words = DP_TEXT((size_t)1 << 20);
        for (size_t i = 0; i < json_array_size(value); i++) {
            char *item = shown_value(json_array_get(value, i));
            dp_words_join(&words, " ", item);
            free(item);
        }
        return dp_text_take(&words);
    }
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS);
    char *owned = dp_strdup(text ? text : "");
    free(text);
    return owned;
}

static void put_list(struct dp_text *out, const char *title, json_t *object)
{
    if (json_object_size(object) == 0) {
        return;
    }
    dp_text_put(out, "<h3>");
    dp_html_text(out, title);
    dp_text_put(out, "</h3>\n<dl>\n");
    const char *name;
    json_t *value;
    json_object_foreach(object, name, value)
    {
        char *text = shown_value(value);
        dp_html_pair(out, name, text);
        free(text);
    }
    dp_text_put(out, "</dl>\n");
}

static void put_libraries(struct dp_text *out, const json_t *libraries)
{
    static const char *const members[] = {"version", "role", "families", "path", "config"};
    if (json_array_size(libraries) == 0) {
        return;
    }
    dp_text_put(out,
                "<div class=\"scroll\" role=\"region\" aria-label=\"libraries\" tabindex=\"0\">\n<table>\n"
                "<thead><tr><th scope=\"col\">library</th>");
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        dp_text_printf(out, "<th scope=\"col\">%s</th>", members[i]);
    }
    dp_text_put(out, "</tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < json_array_size(libraries); i++) {
        const json_t *library = json_array_get(libraries, i);
        dp_text_put(out, "<tr><th scope=\"row\">");
        dp_html_text(out, dp_json_string(library, "name", ""));
        dp_text_put(out, "</th>");
        for (size_t k = 0; k < sizeof(members) / sizeof(members[0]); k++) {
            const json_t *member = json_object_get(library, members[k]);
            dp_text_put(out, "<td>");
            dp_html_owned(out, member ? shown_value(member) : dp_strdup(""));
            dp_text_put(out, "</td>");
        }
        dp_text_put(out, "</tr>\n");
    }
    dp_text_put(out, "</tbody>\n</table>\n</div>\n");
}

void dp_html_environment(struct dp_text *out, const json_t *environment)
{
    const json_t *devices = json_object_get(environment, "devices");
    dp_text_put(out,
                "<section aria-labelledby=\"h-environment\">\n<h2 id=\"h-environment\">Environment</h2>\n");
    put_libraries(out, json_object_get(environment, "libraries"));
    put_list(out, "Stack that was asked for", json_object_get(environment, "stack"));
    for (size_t i = 0; i < json_array_size(devices); i++) {
        char *title = dp_printf("Device %zu", i);
        put_list(out, title, json_array_get(devices, i));
        free(title);
    }
    put_list(out, "Machine", json_object_get(environment, "host"));
    put_list(out, "Variables", json_object_get(environment, "variables"));
    put_list(out, "Floating-point environment", json_object_get(environment, "float_environment"));
    dp_text_put(out, "</section>\n");
}
