/* SPDX-License-Identifier: Apache-2.0
 *
 * The members of a document, from its JSON Schema: a subsection for each object, an entry for each member.
 */
#ifndef DP_DOCS_MEMBERS_H
#define DP_DOCS_MEMBERS_H

#include "suite/base/err.h"
#include "suite/base/text.h"

/* `schema` is the name of one that is built in ("report"). With `top`, a definition of the schema is
 * described instead of the whole, under that heading. */
int dp_members_put(const char *schema, struct dp_text *out, struct dp_err *err);

#endif
