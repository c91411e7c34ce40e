/* SPDX-License-Identifier: Apache-2.0
 *
 * What a program prints: its head and its tail are kept, everything between is counted and dropped, so that a
 * program that floods costs neither memory nor time.
 */
#ifndef DP_RUN_CAPTURE_H
#define DP_RUN_CAPTURE_H

#include <stddef.h>

#define DP_CAPTURE_HEAD 1024
#define DP_CAPTURE_TAIL 3072

struct dp_capture {
    char head[DP_CAPTURE_HEAD];
    char tail[DP_CAPTURE_TAIL]; /* a ring: the byte number n beyond the head is at n % DP_CAPTURE_TAIL */
    size_t total;
};

void dp_capture_add(struct dp_capture *capture, const char *bytes, size_t length);
/* The kept text, printable, with a line in the middle where something was dropped. Owned. */
char *dp_capture_text(const struct dp_capture *capture);
/* The last line that is not empty; "" if there is none. Owned. */
char *dp_capture_last_line(const struct dp_capture *capture);

#endif
