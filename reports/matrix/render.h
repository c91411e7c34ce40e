/* SPDX-License-Identifier: Apache-2.0
 *
 * Renderers of a matrix. In the one table of formats, reports/render/render.c, they are the last column; a
 * page (html) would stand in its row there.
 */
#ifndef DP_REPORTS_MATRIX_RENDER_H
#define DP_REPORTS_MATRIX_RENDER_H

#include "reports/matrix/matrix.h"
#include "reports/render/render.h"

void dp_matrix_text(const json_t *matrix, const struct dp_render_options *options, struct dp_text *out);
void dp_matrix_markdown(const json_t *matrix, const struct dp_render_options *options, struct dp_text *out);

/* What they share. "the results differ in 45 of 65 cases; 2 could not be compared". Owned. */
char *dp_matrix_sentence(const json_t *matrix);
/* "cpu/gemm: 21 cases", or the id of a single one. Owned. */
char *dp_matrix_title(const json_t *group);
/* "OPENBLAS_CORETYPE, cblas instruction set", "" where nothing splits the reports alike. Owned. */
char *dp_matrix_follows(const json_t *matrix, const json_t *group);
/* "OPENBLAS_CORETYPE", "cblas version". Owned. */
char *dp_matrix_subject(const json_t *difference);
/* One value in few characters; "none" for null. Owned. */
char *dp_matrix_value(const json_t *value);

#endif
