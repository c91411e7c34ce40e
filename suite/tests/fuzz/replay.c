/* SPDX-License-Identifier: Apache-2.0
 *
 * Puts kept inputs through a fuzz target, without a fuzzer: replay FILE|FOLDER...
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "suite/base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t inputs;

static int replay_file(const char *path)
{
    FILE *file = fopen(path, "rbe");
    if (!file) {
        perror(path);
        return -1;
    }
    struct dp_text text = DP_TEXT((size_t)1 << 30);
    char bytes[65536];
    for (size_t got; (got = fread(bytes, 1, sizeof(bytes), file)) > 0;) {
        dp_text_add(&text, bytes, got);
    }
    fclose(file);
    /* The name is the last thing that a failing test says. */
    printf("%s\n", path);
    fflush(stdout);
    LLVMFuzzerTestOneInput((const uint8_t *)(text.data ? text.data : ""), text.length);
    dp_text_free(&text);
    inputs++;
    return 0;
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int replay(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode)) {
        return replay_file(path);
    }
    struct dirent **entries;
    const int count = scandir(path, &entries, is_visible, alphasort);
    int rc = count < 0 ? -1 : 0;
    for (int i = 0; i < count; i++) {
        char *inner = dp_printf("%s/%s", path, entries[i]->d_name);
        rc = replay_file(inner) != 0 ? -1 : rc;
        free(inner);
        free(entries[i]);
    }
    if (count >= 0) {
        free(entries);
    }
    return rc;
}

int main(int argc, char **argv)
{
    int rc = 0;
    for (int i = 1; i < argc; i++) {
        rc = replay(argv[i]) != 0 ? -1 : rc;
    }
    printf("%zu inputs\n", inputs);
    return rc == 0 && inputs > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
