/* SPDX-License-Identifier: Apache-2.0
 *
 * A file that shows a difference without detprobe, for the tracker of whose library it is. The frame is here
 * (standalone.c.in, standalone.py.in), the call is the catalogue's: member `standalone` of a case.
 */
#ifndef DP_ATTRIBUTE_STANDALONE_H
#define DP_ATTRIBUTE_STANDALONE_H

#include <jansson.h>

#include "suite/base/err.h"
#include "suite/base/text.h"
#include "suite/plan/catalogue.h"

#define DP_STANDALONE_LINES 80 /* a file has no more */

/* Can there be a file of this name for the case? Code 64. */
int dp_standalone_check(const struct dp_case *item, const char *path, struct dp_err *err);
/* The text of the file; `document` is what dp_explain says, with an outcome other than repeats. Owned; NULL
 * with code 2 where no file of its own can make the difference: *err says which axis it needs. */
char *dp_standalone_text(const struct dp_case *item, const json_t *document, const char *path,
                         struct dp_err *err);

#endif
