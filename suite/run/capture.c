/* SPDX-License-Identifier: Apache-2.0
 *
 * Head and tail of a program's output.
 */
#include "suite/run/capture.h"

#include <stdlib.h>
#include <string.h>

#include "suite/base/text.h"

void dp_capture_add(struct dp_capture *capture, const char *bytes, size_t length)
{
    if (capture->total < DP_CAPTURE_HEAD) {
        size_t room = DP_CAPTURE_HEAD - capture->total;
        size_t taken = length < room ? length : room;
        memcpy(capture->head + capture->total, bytes, taken);
        capture->total += taken;
        bytes += taken;
        length -= taken;
    }
    if (length > DP_CAPTURE_TAIL) { /* only the last bytes can stay */
        capture->total += length - DP_CAPTURE_TAIL;
        bytes += length - DP_CAPTURE_TAIL;
        length = DP_CAPTURE_TAIL;
    }
    while (length > 0) {
        size_t place = (capture->total - DP_CAPTURE_HEAD) % DP_CAPTURE_TAIL;
        size_t taken = length < DP_CAPTURE_TAIL - place ? length : DP_CAPTURE_TAIL - place;
        memcpy(capture->tail + place, bytes, taken);
        capture->total += taken;
        bytes += taken;
        length -= taken;
    }
}

/* The kept bytes in order, with the note about dropped ones between. */
static struct dp_text kept(const struct dp_capture *capture)
{
    struct dp_text text = DP_TEXT(DP_CAPTURE_HEAD + DP_CAPTURE_TAIL + 128);
    if (capture->total <= DP_CAPTURE_HEAD) {
        dp_text_add(&text, capture->head, capture->total);
        return text;
    }
    dp_text_add(&text, capture->head, DP_CAPTURE_HEAD);
    size_t beyond = capture->total - DP_CAPTURE_HEAD;
    if (beyond <= DP_CAPTURE_TAIL) {
        dp_text_add(&text, capture->tail, beyond);
        return text;
    }
    dp_text_printf(&text, "\n[%zu bytes left out]\n", beyond - DP_CAPTURE_TAIL);
    size_t start = beyond % DP_CAPTURE_TAIL;
    dp_text_add(&text, capture->tail + start, DP_CAPTURE_TAIL - start);
    dp_text_add(&text, capture->tail, start);
    return text;
}

char *dp_capture_text(const struct dp_capture *capture)
{
    struct dp_text raw = kept(capture);
    struct dp_text text = DP_TEXT(4 * (raw.length + 1));
    for (size_t start = 0; start < raw.length;) {
        const char *end = memchr(raw.data + start, '\n', raw.length - start);
        size_t length = end ? (size_t)(end - (raw.data + start)) : raw.length - start;
        char *line = dp_printable(raw.data + start, length);
        dp_text_put(&text, line);
        free(line);
        if (end) {
            dp_text_put(&text, "\n");
        }
        start += length + 1;
    }
    dp_text_free(&raw);
    return dp_text_take(&text);
}

char *dp_capture_last_line(const struct dp_capture *capture)
{
    struct dp_text raw = kept(capture);
    size_t end = raw.length;
    while (end > 0 && (raw.data[end - 1] == '\n' || raw.data[end - 1] == '\r' || raw.data[end - 1] == ' ')) {
        end--;
    }
    size_t start = end;
    while (start > 0 && raw.data[start - 1] != '\n' && end - start < 400) {
        start--;
    }
    char *line = end > start ? dp_printable(raw.data + start, end - start) : dp_strdup("");
    dp_text_free(&raw);
    return line;
}
