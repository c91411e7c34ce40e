/* SPDX-License-Identifier: Apache-2.0
 *
 * The formats of the table of guarantees, for the table of formats.
 */
#ifndef DP_REPORTS_GUARANTEES_RENDER_H
#define DP_REPORTS_GUARANTEES_RENDER_H

#include "reports/render/render.h"

dp_render_function dp_guarantees_text;
dp_render_function dp_guarantees_markdown;

#endif
