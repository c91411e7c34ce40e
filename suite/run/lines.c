/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines from a descriptor. The buffer never holds more than one limit and one read.
 */
#include "suite/run/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "suite/base/text.h"

#define CHUNK ((size_t)65536)

ssize_t dp_lines_fill(struct dp_lines *lines, int fd)
{
    if (lines->start > 0) {
        memmove(lines->data, lines->data + lines->start, lines->end - lines->start);
        lines->end -= lines->start;
        lines->searched -= lines->start;
        lines->start = 0;
    }
    if (lines->capacity - lines->end < CHUNK) {
        lines->capacity = lines->capacity ? 2 * lines->capacity : 2 * CHUNK;
        lines->data = dp_realloc(lines->data, lines->capacity, 1);
    }
    ssize_t got;
    do {
        got = read(fd, lines->data + lines->end, CHUNK);
    } while (got < 0 && errno == EINTR);
    if (got > 0) {
        lines->end += (size_t)got;
    }
    return got;
}

char *dp_lines_next(struct dp_lines *lines, size_t *ret_length, bool *ret_overlong)
{
    *ret_overlong = false;
    if (lines->end == lines->start) {
        return NULL;
    }
    char *newline = memchr(lines->data + lines->searched, '\n', lines->end - lines->searched);
    size_t length = (newline ? (size_t)(newline - lines->data) : lines->end) - lines->start;
    if (length > lines->limit) {
        *ret_overlong = true;
        return NULL;
    }
    if (!newline) {
        lines->searched = lines->end;
        return NULL;
    }
    char *line = lines->data + lines->start;
    line[length] = '\0';
    lines->start += length + 1;
    lines->searched = lines->start;
    *ret_length = length;
    return line;
}

size_t dp_lines_rest(const struct dp_lines *lines)
{
    return lines->end - lines->start;
}

void dp_lines_free(struct dp_lines *lines)
{
    free(lines->data);
    *lines = (struct dp_lines){.limit = lines->limit};
}
