/* SPDX-License-Identifier: Apache-2.0
 *
 * The frame of every page, and the three ways by which a string of a document may enter it.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/html/html.h"
#include "suite/base/json.h"

void dp_html_text(struct dp_text *out, const char *string)
{
    static const struct {
        char character;
        const char *reference;
    } references[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
    char *shown = dp_printable(string, strlen(string));
    for (const char *at = shown; *at;) {
        const size_t plain = strcspn(at, "&<>\"'");
        dp_text_add(out, at, plain);
        at += plain;
        for (size_t i = 0; *at && i < sizeof(references) / sizeof(references[0]); i++) {
            if (references[i].character == *at) {
                dp_text_put(out, references[i].reference);
                at++;
                break;
            }
        }
    }
    free(shown);
}

void dp_html_owned(struct dp_text *out, char *string)
{
    dp_html_text(out, string);
    free(string);
}

void dp_html_attribute(struct dp_text *out, const char *name, const char *value)
{
    dp_text_printf(out, " %s=\"", name);
    dp_html_text(out, value);
    dp_text_put(out, "\"");
}

void dp_html_fragment(struct dp_text *out, const char *string)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
    char *shown = dp_printable(string, strlen(string));
    for (const char *at = shown; *at; at++) {
        if (strchr(plain, *at)) {
            dp_text_add(out, at, 1);
        } else {
            dp_text_printf(out, "%%%02X", (unsigned char)*at);
        }
    }
    free(shown);
}

json_t *dp_html_clean(const json_t *value)
{
    if (json_is_string(value)) {
        char *shown = dp_printable(json_string_value(value), json_string_length(value));
        json_t *copy = json_string(shown);
        free(shown);
        return copy;
    }
    if (json_is_array(value)) {
        json_t *copy = json_array();
        for (size_t i = 0; i < json_array_size(value); i++) {
            json_array_append_new(copy, dp_html_clean(json_array_get(value, i)));
        }
        return copy;
    }
    if (json_is_object(value)) {
        json_t *copy = json_object(), *member;
        const char *key;
        json_object_foreach((json_t *)(uintptr_t)value, key, member)
        {
            char *shown = dp_printable(key, strlen(key));
            json_object_set_new(copy, shown, dp_html_clean(member));
            free(shown);
        }
        return copy;
    }
    return json_deep_copy(value);
}

/* In JSON these characters stand in strings only, so that an escape says the same: nothing in the data can
 * end the element or begin a comment. */
void dp_html_data(struct dp_text *out, const json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(6));
    dp_text_put(out, "<script type=\"application/json\" id=\"data\">");
    for (const char *at = text ? text : "null"; *at;) {
        const size_t plain = strcspn(at, "<>&");
        dp_text_add(out, at, plain);
        at += plain;
        if (*at) {
            dp_text_printf(out, "\\u%04x", (unsigned)*at);
            at++;
        }
    }
    dp_text_put(out, "</script>\n");
    free(text);
}

static void put_head(struct dp_text *out, const struct dp_html_head *head)
{
    dp_text_put(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    dp_text_printf(
        out,
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src '%s'; "
        "script-src '%s'; img-src data:; base-uri 'none'; form-action 'none'; "
        "require-trusted-types-for 'script'\">\n",
        dp_html_style_hash, dp_html_script_hash);
    dp_text_put(out, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                     "<meta name=\"color-scheme\" content=\"light dark\">\n"
                     "<meta name=\"referrer\" content=\"no-referrer\">\n<title>");
    dp_html_text(out, head->about ? head->about : head->kind);
    dp_text_put(out, " · detprobe</title>\n<link rel=\"icon\" href=\"data:image/svg+xml,"
                     "%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E"
                     "%3Cpath fill='%232e9e6b' d='M1 2h14v4H1z'/%3E%3Cpath fill='%23e08a1e' d='M1 "
                     "10h9v4H1z'/%3E%3C/svg%3E\">\n"
                     "<style>");
    dp_text_put(out, dp_html_style);
    dp_text_put(out, "</style>\n</head>\n");
}

void dp_html_open(struct dp_text *out, const struct dp_html_head *head)
{
    put_head(out, head);
    dp_text_printf(out,
                   "<body>\n<a class=\"skip\" href=\"#cases\">Skip to the cases</a>\n<header>\n"
                   "<p class=\"kind\">detprobe %s",
                   head->kind);
    if (head->about) {
        dp_text_put(out, " · ");
        dp_html_text(out, head->about);
    }
    dp_text_printf(out, "</p>\n<h1 class=\"%s\">", head->tone);
    dp_html_text(out, head->sentence);
    dp_text_put(out, "</h1>\n</header>\n<main>\n");
}

void dp_html_close(struct dp_text *out, const char *digest)
{
    dp_text_put(out, "</main>\n<footer>\n<p>");
    if (digest[0]) {
        dp_text_put(out, "report <code>");
        dp_html_text(out, digest);
        dp_text_put(out, "</code> · ");
    }
    dp_text_put(out, "made by detprobe " DP_VERSION "; this file is whole and fetches nothing</p>\n"
                     "<p class=\"hidden-text\" id=\"said\" role=\"status\"></p>\n</footer>\n<script>");
    dp_text_put(out, dp_html_script);
    dp_text_put(out, "</script>\n</body>\n</html>\n");
}

/* --- parts --- */

void dp_html_word(struct dp_text *out, const char *word)
{
    dp_text_put(out, "<td class=\"word-");
    dp_html_text(out, word);
    dp_text_put(out, "\">");
    dp_html_text(out, strcmp(word, "none") == 0 ? "unstated" : word);
    dp_text_put(out, "</td>");
}

void dp_html_tile(struct dp_text *out, const struct dp_html_tile *tile)
{
    dp_text_printf(out, "<li class=\"%s%s\"", tile->look, tile->count == 0 ? " zero" : "");
    if (tile->facet) {
        dp_html_attribute(out, "data-facet", tile->facet);
        dp_html_attribute(out, "data-value", tile->value);
    }
    dp_text_printf(out, "><span><b>%zu</b> %s</span></li>\n", tile->count, tile->shown);
}

void dp_html_filters(struct dp_text *out, const struct dp_html_facet *facets, const char *what)
{
    dp_text_put(out, "<form class=\"filters\" hidden>\n");
    for (const struct dp_html_facet *facet = facets; facet->name; facet++) {
        dp_text_printf(out,
                       "<label>%s <select name=\"%s\"><option value=\"\">any</option></select></label>\n",
                       facet->label, facet->name);
    }
    dp_text_printf(out,
                   "<label>search <input type=\"search\" name=\"text\" autocomplete=\"off\" "
                   "placeholder=\"%s\"></label>\n"
                   "<button type=\"reset\" class=\"button\">Show all</button>\n</form>\n"
                   "<p class=\"count\" id=\"count\" role=\"status\" aria-live=\"polite\"></p>\n",
                   what);
}

void dp_html_pair(struct dp_text *out, const char *name, const char *value)
{
    dp_text_put(out, "<dt>");
    dp_html_text(out, name);
    dp_text_put(out, "</dt><dd>");
    dp_html_text(out, value);
    dp_text_put(out, "</dd>\n");
}

/* A reason, how many cases it holds for, and which. */
static void put_reason(struct dp_text *out, const char *reason, const json_t *cases)
{
    dp_text_printf(out, "<details><summary>%zu: ", json_array_size(cases));
    dp_html_text(out, reason);
    dp_text_put(out, "</summary>\n<p class=\"id\">");
    for (size_t i = 0; i < json_array_size(cases); i++) {
        dp_text_put(out, i > 0 ? "<br>" : "");
        dp_html_text(out, json_string_value(json_array_get(cases, i)));
    }
    dp_text_put(out, "</p></details>\n");
}

/* reason -> cases of those that could not be compared. Owned. */
static json_t *by_reason(const json_t *unlike)
{
    json_t *reasons = json_object();
    for (size_t i = 0; i < json_array_size(unlike); i++) {
        const json_t *row = json_array_get(unlike, i);
        const char *reason = dp_json_string(row, "reason", "");
        dp_json_group(reasons, reason, json_string(dp_json_string(row, "case", "")));
    }
    return reasons;
}

void dp_html_not_compared(struct dp_text *out, const json_t *unlike, const json_t *undecided)
{
    json_t *reasons = by_reason(unlike), *cases;
    const char *reason;
    if (json_object_size(reasons) + json_array_size(undecided) > 0) {
        dp_text_put(out, "<section aria-labelledby=\"h-unlike\">\n<h2 id=\"h-unlike\">Neither the same nor "
                         "changed</h2>\n");
        json_object_foreach(reasons, reason, cases)
        {
            put_reason(out, reason, cases);
        }
        if (json_array_size(undecided) > 0) {
            put_reason(out, "vary on one side alone, which one rate of differences explains", undecided);
        }
        dp_text_put(out, "</section>\n");
    }
    json_decref(reasons);
}
