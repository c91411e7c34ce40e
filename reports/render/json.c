/* SPDX-License-Identifier: Apache-2.0
 *
 * Format json: the document as it stands in a file.
 */
#include <stdlib.h>

#include "reports/render/formats.h"
#include "suite/base/json.h"

int dp_render_json(const json_t *report, const struct dp_render_options *options, struct dp_text *out,
                   struct dp_err *err)
{
    char *text = dp_json_pretty(report);
    dp_text_put(out, text);
    free(text);
    return out->truncated ? dp_err_set(err, DP_EXIT_NO_VERDICT, "cannot render the report: it is too long")
                          : 0;
}
