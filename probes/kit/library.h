/* SPDX-License-Identifier: Apache-2.0
 *
 * What opening libraries did to the floating-point control register (flush to zero, rounding): a library that
 * changes it changes the results of everything after it.
 */
#ifndef KIT_LIBRARY_H
#define KIT_LIBRARY_H

#include <jansson.h>

/* Looks at the register and keeps a note when it changed since the last look. */
void kit_float_watch(const char *after);
/* {"default": "0x1f80", "changes": [{"after", "control"}]}, control the value of MXCSR (x86-64) or FPCR
 * (arm64); NULL where the register is not known. Owned. */
json_t *kit_float_json(void);
/* The change noted since `count` changes were known, a row of the above; NULL: none. Owned. */
json_t *kit_float_change_since(size_t count);
size_t kit_float_changes(void);

#endif
