/* SPDX-License-Identifier: Apache-2.0
 *
 * One file per image, named by the digest of all that it follows from, put there whole by a rename. What
 * cannot be read or written is compiled again: keeping is for time alone.
 */
#include "probes/kit/cuda_kept.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "suite/base/digest.h"
#include "suite/base/text.h"

#define MOST ((size_t)64 << 20)

/* Owned; NULL: nothing is kept. */
static char *path_of(const char *compiler, const char *options, const char *text)
{
    const char *const folder = getenv("DETPROBE_SCRATCH");
    char digest[DP_SHA256_HEX];
    if (!folder || !*folder) {
        return NULL;
    }
    char *all = dp_printf("%s\n%s\n%s", compiler, options, text);
    dp_sha256_hex(all, strlen(all), digest);
    free(all);
    return dp_printf("%s/%s.kernels", folder, digest);
}

bool kit_kept_find(const char *compiler, const char *options, const char *text, struct kit_image *ret)
{
    char *path = path_of(compiler, options, text);
    FILE *const file = path ? fopen(path, "rbe") : NULL;
    struct dp_text bytes = DP_TEXT(MOST);
    char piece[65536];
    for (size_t got; file && (got = fread(piece, 1, sizeof(piece), file)) > 0;) {
        dp_text_add(&bytes, piece, got);
    }
    const bool found = file && !ferror(file) && !bytes.truncated && bytes.length > 0;
    if (found) {
        ret->bytes = bytes.data;
        ret->size = bytes.length;
    } else {
        dp_text_free(&bytes);
    }
    if (file) {
        fclose(file);
    }
    free(path);
    return found;
}

void kit_kept_put(const char *compiler, const char *options, const char *text, const struct kit_image *image)
{
    char *path = path_of(compiler, options, text);
    char *temporary = path ? dp_printf("%s.%ld", path, (long)getpid()) : NULL;
    FILE *const file = temporary ? fopen(temporary, "wbe") : NULL;
    if (file) {
        const bool whole = fwrite(image->bytes, 1, image->size, file) == image->size;
        if (fclose(file) != 0 || !whole || rename(temporary, path) != 0) {
            unlink(temporary);
        }
    }
    free(temporary);
    free(path);
}
