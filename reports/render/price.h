/* SPDX-License-Identifier: Apache-2.0
 *
 * What determinism costs, in words: measurements.prices of a report that was made with --price.
 */
#ifndef DP_RENDER_PRICE_H
#define DP_RENDER_PRICE_H

#include <jansson.h>

/* NULL where none were asked for. Borrowed. */
const json_t *dp_prices_of(const json_t *measurements);
/* "1.07Ã [1.05, 1.10]", or "no price: the rounds are too far apart". Owned. */
char *dp_price_text(const json_t *price);
/* "81.2 Âµs against 75.9 Âµs, 15 rounds"; "" where it was not timed. Owned. */
char *dp_price_times(const json_t *price);
/* Of those of some cases (array of ids): "the deterministic form costs 1.07Ã [1.05, 1.10]", "3
 * deterministic forms cost 0.98Ã to 1.40Ã"; "" where none was timed. Owned. */
char *dp_prices_text(const json_t *prices, const json_t *cases);

#endif
