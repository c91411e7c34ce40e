/* SPDX-License-Identifier: Apache-2.0
 *
 * The command that no --help names: completions of a selector, one on a line.
 */
#ifndef DP_COMMAND_COMPLETE_H
#define DP_COMMAND_COMPLETE_H

#define DP_COMPLETE_NAME "__complete"

/* Prints the ids that begin with the prefix, part by part, or the tags where it begins with '@'. Returns the
 * exit code. */
int dp_complete(const char *prefix);

#endif
