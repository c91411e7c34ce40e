/* SPDX-License-Identifier: Apache-2.0
 *
 * What is documented for each operation where given versions are, beside what a report observed: a document
 * (schema/guarantees.schema.json) that renderers take alone. The commands say what counts; nothing here reads
 * a catalogue.
 */
#ifndef DP_REPORTS_GUARANTEES_H
#define DP_REPORTS_GUARANTEES_H

#include <jansson.h>

/* One operation; all borrowed. */
struct dp_guarantees_entry {
    const char *id;          /* backend/family/name */
    const json_t *guarantee; /* of the catalogue: library, covers, invariant, conditions */
    const json_t *stated;    /* what of it counts: level, source, said_of, reason, depends_on, alternatives */
    const json_t *versions;  /* role -> {name, version, from} */
    const json_t *result;    /* what a report has of it, NULL: no report */
    const json_t *measured;  /* and its evidence, NULL: none */
};

/* Of a report with this digest, or of none (NULL). Owned. */
json_t *dp_guarantees_open(const char *digest);
void dp_guarantees_add(json_t *document, const struct dp_guarantees_entry *entry);
/* Counts what was added. */
void dp_guarantees_close(json_t *document);

#endif
