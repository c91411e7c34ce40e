/* SPDX-License-Identifier: Apache-2.0
 *
 * Shell completion: options, their words and the commands are written into the scripts; ids and tags of cases
 * are asked of the program itself ('detprobe __complete PREFIX'), which knows the catalogue of the user.
 */
#ifndef DP_DOCS_COMPLETION_H
#define DP_DOCS_COMPLETION_H

#include "suite/base/text.h"

/* Each takes the text of its frame (completion.bash, ...) and fills the places that stand between two '@'. */
void dp_completion_bash(const char *frame, struct dp_text *out);
void dp_completion_zsh(const char *frame, struct dp_text *out);
void dp_completion_fish(const char *frame, struct dp_text *out);

#endif
