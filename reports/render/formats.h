/* SPDX-License-Identifier: Apache-2.0
 *
 * The formats: one function per file, named here for the table in render.c.
 */
#ifndef DP_RENDER_FORMATS_H
#define DP_RENDER_FORMATS_H

#include "reports/render/render.h"

int dp_render_text(const json_t *report, const struct dp_render_options *options, struct dp_text *out,
                   struct dp_err *err);
int dp_render_json(const json_t *report, const struct dp_render_options *options, struct dp_text *out,
                   struct dp_err *err);

#endif
