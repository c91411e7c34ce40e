/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of renderers: a new format is a row here.
 */
#include <string.h>

#include "reports/render/formats.h"
#include "reports/render/render.h"

static const struct dp_renderer renderers[] = {
    {"text", dp_render_text},
    {"json", dp_render_json},
};

const struct dp_renderer *dp_renderer_find(const char *name)
{
    for (size_t i = 0; i < sizeof(renderers) / sizeof(renderers[0]); i++) {
        if (strcmp(renderers[i].name, name) == 0) {
            return &renderers[i];
        }
    }
    return NULL;
}

const char *dp_renderer_names(void)
{
    static char names[256];
    names[0] = '\0';
    for (size_t i = 0; i < sizeof(renderers) / sizeof(renderers[0]); i++) {
        strncat(names, i > 0 ? "|" : "", sizeof(names) - strlen(names) - 1);
        strncat(names, renderers[i].name, sizeof(names) - strlen(names) - 1);
    }
    return names;
}
