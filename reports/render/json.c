/* SPDX-License-Identifier: Apache-2.0
 *
 * Format json: the document as it stands in a file.
 */
#include <stdlib.h>

#include "reports/render/formats.h"
#include "suite/base/json.h"

void dp_render_json(const json_t *document, const struct dp_render_options *options, struct dp_text *out)
{
    char *text = dp_json_pretty(document);
    dp_text_put(out, text);
    free(text);
}
