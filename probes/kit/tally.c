/* SPDX-License-Identifier: Apache-2.0
 *
 * Class table: XXH3-128 tells outputs apart (chance of a collision among 1024: under 2^-108), SHA-256 names
 * the first ones for comparison with other settings, processes and machines.
 */
#include "probes/kit/tally.h"

#include <stdlib.h>
#include <string.h>

#include "suite/base/text.h"

void kit_tally_init(struct kit_tally *tally)
{
    *tally = (struct kit_tally){.classes = dp_alloc(KIT_MAX_CLASSES, sizeof(struct kit_class))};
}

void kit_tally_free(struct kit_tally *tally)
{
    free(tally->classes);
    tally->classes = NULL;
}

int kit_tally_count(struct kit_tally *tally, int run, const void *bytes, size_t length, bool *ret_new)
{
    const struct dp_hash128 hash = dp_xxh3_128(bytes, length);
    *ret_new = false;
    tally->total++;
    for (int i = 0; i < tally->count; i++) {
        if (tally->classes[i].hash.low == hash.low && tally->classes[i].hash.high == hash.high) {
            tally->classes[i].runs++;
            return i;
        }
    }
    if (tally->count == KIT_MAX_CLASSES) {
        return -1;
    }
    struct kit_class *const added = &tally->classes[tally->count];
    *added = (struct kit_class){.hash = hash, .runs = 1, .first_run = run};
    if (tally->count < KIT_MAX_DIGESTS) {
        dp_sha256_hex(bytes, length, added->sha256);
    }
    *ret_new = true;
    return tally->count++;
}

void kit_tally_same(struct kit_tally *tally)
{
    tally->total++;
    tally->classes[0].runs++;
}

/* A caller's name is part of the name of what it got, so no two callers share one. */
static struct kit_class named(const struct kit_class *found, int caller)
{
    struct kit_class ret = *found;
    ret.hash.high ^= dp_xxh3_64(&caller, sizeof(caller));
    if (ret.sha256[0]) {
        char *const name = dp_printf("caller %d %s", caller, found->sha256);
        dp_sha256_hex(name, strlen(name), ret.sha256);
        free(name);
    }
    return ret;
}

static int by_first_run(const void *a, const void *b)
{
    return ((const struct kit_class *)a)->first_run - ((const struct kit_class *)b)->first_run;
}

void kit_tally_add(struct kit_tally *to, const struct kit_tally *from, int caller)
{
    to->total += from->total;
    to->classes[0].runs += from->classes[0].runs;
    for (int i = 1; i < from->count && to->count < KIT_MAX_CLASSES; i++) {
        to->classes[to->count++] = named(&from->classes[i], caller);
    }
    qsort(to->classes + 1, (size_t)to->count - 1, sizeof(*to->classes), by_first_run);
    kit_difference_merge(&to->worst, &from->worst);
}

int kit_tally_mismatches(const struct kit_tally *tally)
{
    int largest = 0;
    for (int i = 0; i < tally->count; i++) {
        largest = tally->classes[i].runs > largest ? tally->classes[i].runs : largest;
    }
    return tally->total - largest;
}

json_t *kit_tally_json(const struct kit_tally *tally)
{
    json_t *const classes = json_array();
    for (int i = 0; i < tally->count && i < KIT_MAX_DIGESTS; i++) {
        const struct kit_class *item = &tally->classes[i];
        json_array_append_new(classes, json_pack("{s:s, s:i, s:i}", "sha256", item->sha256, "runs",
                                                 item->runs, "first_run", item->first_run));
    }
    return classes;
}
