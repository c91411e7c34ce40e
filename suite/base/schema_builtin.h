/* SPDX-License-Identifier: Apache-2.0
 *
 * The table that reports/schema/embed.py writes: the texts of the schema files, ended by a row of NULLs.
 */
#ifndef DP_BASE_SCHEMA_BUILTIN_H
#define DP_BASE_SCHEMA_BUILTIN_H

struct dp_schema_text {
    const char *name;
    const char *text;
};
extern const struct dp_schema_text dp_schema_texts[];

#endif
