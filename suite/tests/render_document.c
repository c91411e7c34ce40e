/* SPDX-License-Identifier: Apache-2.0
 *
 * usage: render_document report|diff|gate|matrix FORMAT FILE
 *
 * Renders a document without the checks that the commands do first, so that a test can put anything into any
 * of its strings.
 */
#include <stdio.h>
#include <string.h>

#include "reports/render/render.h"
#include "suite/base/json.h"

int main(int argc, char **argv)
{
    static const char *const kinds[DP_DOCUMENT_MAX] = {"report", "diff", "gate", "matrix"};
    struct dp_err err = {0};
    int kind = 0;
    while (argc == 4 && kind < DP_DOCUMENT_MAX && strcmp(argv[1], kinds[kind]) != 0) {
        kind++;
    }
    json_t *document =
        argc == 4 && kind < DP_DOCUMENT_MAX ? dp_json_load(argv[3], (size_t)1 << 28, &err) : NULL;
    struct dp_text out = DP_TEXT((size_t)1 << 28);
    const struct dp_render_options options = {.source = argc == 4 ? argv[3] : NULL};
    const bool done =
        document && dp_render((enum dp_document)kind, argv[2], document, &options, &out, &err) == 0;
    if (done) {
        fwrite(out.data, 1, out.length, stdout);
    } else {
        fprintf(stderr, "render_document: %s\n", err.text[0] ? err.text : "bad usage");
    }
    dp_text_free(&out);
    json_decref(document);
    return done ? 0 : 1;
}
