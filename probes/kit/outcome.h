/* SPDX-License-Identifier: Apache-2.0
 *
 * What the last failing call said: kit_skip and kit_fail keep one line of text here until the request loop
 * sends it.
 */
#ifndef KIT_OUTCOME_H
#define KIT_OUTCOME_H

struct kit_outcome {
    char reason[32]; /* of a skip: one of the protocol's closed list */
    char text[480];
};

void kit_outcome_clear(void);
const struct kit_outcome *kit_outcome(void);
/* Puts back what was kept before a call whose own failure is of no interest. */
void kit_outcome_restore(const struct kit_outcome *kept);

#endif
