/* SPDX-License-Identifier: Apache-2.0
 *
 * What the whole run may have missed, in a sentence: of one operation, and of all of them together.
 */
#include <stdlib.h>

#include "reports/render/render.h"
#include "reports/render/words.h"
#include "suite/base/json.h"
#include "suite/base/text.h"

char *dp_report_strength(const json_t *measurements)
{
    const json_t *strength = json_object_get(measurements, "strength");
    const size_t cases = (size_t)dp_json_int(strength, "cases", 0);
    if (cases == 0) {
        return NULL;
    }
    const double missed = 100.0 * dp_json_number(strength, "missed", 1.0);
    const double rate = 100.0 * dp_json_number(strength, "rate", 1.0);
    char *operations = dp_words_count(cases, "operation repeats", "operations repeat");
    char *all = cases > 1 ? dp_printf("; for all %zu together the same holds at %.2g %%", cases,
                                      100.0 * dp_json_number(strength, "rate_of_all", 1.0))
                          : dp_strdup("");
    char *text = dp_printf("%s in at least %lld comparisons; one that varies in %.2g %% of runs was "
                           "missed with a probability of at most %.2g %%%s",
                           operations, (long long)dp_json_int(strength, "comparisons", 0), rate, missed, all);
    free(operations);
    free(all);
    return text;
}
