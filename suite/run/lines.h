/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines from a descriptor, with a ceiling: a line that passes it is reported, never stored.
 */
#ifndef DP_RUN_LINES_H
#define DP_RUN_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct dp_lines {
    char *data;
    size_t start, end, capacity; /* data[start, end) is not yet taken */
    size_t searched;             /* no newline in data[start, searched) */
    size_t limit;                /* most bytes of a line, newline not counted */
};

/* One read() of at most 64 KiB. Returns the bytes read, 0 at the end, -1 with errno (EAGAIN: later). */
ssize_t dp_lines_fill(struct dp_lines *lines, int fd);
/* The next whole line without its newline, NUL-terminated and valid until the next call of either function;
 * NULL: none yet. *ret_overlong: the line at hand is longer than the limit; nothing more can be read. */
char *dp_lines_next(struct dp_lines *lines, size_t *ret_length, bool *ret_overlong);
/* Bytes that are left without a newline. */
size_t dp_lines_rest(const struct dp_lines *lines);
void dp_lines_free(struct dp_lines *lines);

#endif
