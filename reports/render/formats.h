/* SPDX-License-Identifier: Apache-2.0
 *
 * The formats of a report, and those that serve every document: one function per file, named here for the
 * table in render.c. What is a comparison's alone is in reports/diff.
 */
#ifndef DP_RENDER_FORMATS_H
#define DP_RENDER_FORMATS_H

#include "reports/render/render.h"

dp_render_function dp_render_text;
dp_render_function dp_render_json; /* any document */

#endif
