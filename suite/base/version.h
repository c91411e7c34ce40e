/* SPDX-License-Identifier: Apache-2.0
 *
 * Versions as libraries state them: numbers with dots between them, and whatever a build adds behind.
 */
#ifndef DP_BASE_VERSION_H
#define DP_BASE_VERSION_H

#include <stdbool.h>

/* Does it begin with a number? Of another nobody can tell whether it is older. */
bool dp_version_known(const char *version);
/* "2.10.1" against "2.9": negative, 0 or positive. Compared number by number, those that are missing are 0;
 * what follows the numbers ("+cu121", "-Product", "rc1") does not count. */
int dp_version_compare(const char *a, const char *b);

#endif
