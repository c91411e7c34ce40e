/* SPDX-License-Identifier: Apache-2.0
 *
 * Which implementations of an operation agree, from what ran at each setting of axis algorithm.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/render/sheet.h"
#include "reports/render/words.h"
#include "suite/base/json.h"

#define NAMES_MOST 1000 /* characters of the names that share their bits; a library has a dozen */

/* Result -> "jit:avx512_core = jit:avx2": what gave it with the first seed, in the order of the settings.
 * Owned. */
static json_t *names_by_result(const json_t *settings)
{
    const char *seed = dp_json_string(json_array_get(settings, 0), "seed", "");
    json_t *names = json_object();
    for (size_t i = 0; i < json_array_size(settings); i++) {
        const json_t *setting = json_array_get(settings, i);
        const char *chosen = dp_json_string(setting, "chosen", NULL);
        const char *sha256 = dp_json_string(setting, "sha256", NULL);
        const char *before = sha256 ? dp_json_string(names, sha256, NULL) : NULL;
        const bool first_seed = strcmp(dp_json_string(setting, "seed", ""), seed) == 0;
        if (chosen && sha256 && first_seed && !(before && strlen(before) > NAMES_MOST)) {
            char *all = before ? dp_printf("%s = %s", before, chosen) : dp_strdup(chosen);
            json_object_set_new(names, sha256, json_string(all));
            free(all);
        }
    }
    return names;
}

char *dp_algorithms_note(const json_t *entry)
{
    const json_t *axis = json_object_get(json_object_get(entry, "axes"), "algorithm");
    const bool moved = json_is_true(json_object_get(axis, "moved"));
    json_t *names = names_by_result(moved ? json_object_get(axis, "settings") : NULL);
    struct dp_text line = DP_TEXT(65536);
    const char *sha256;
    json_t *value;
    json_object_foreach(names, sha256, value)
    {
        dp_words_join(&line, ", ", json_string_value(value));
    }
    char *note = json_object_size(names) > 1 ? dp_printf("bits by algorithm: %s", line.data) : dp_strdup("");
    dp_text_free(&line);
    json_decref(names);
    return note;
}
