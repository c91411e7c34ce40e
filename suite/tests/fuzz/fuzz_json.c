/* SPDX-License-Identifier: Apache-2.0
 *
 * Text that may be JSON. The fast reader takes nothing that jansson refuses and reads nothing else than it
 * does; canonical bytes are read back as what they were made of.
 */
#include <stdlib.h>
#include <string.h>

#include "suite/base/json.h"
#include "suite/base/json_plain.h"
#include "suite/tests/fuzz/fuzz.h"

static void check_canonical(const json_t *value)
{
    struct dp_err err = {0};
    size_t length = 0;
    char *bytes = dp_json_canonical(value, &length, &err);
    if (!bytes) {
        fuzz_expect_refusal(&err, 0);
        return;
    }
    fuzz_expect(length == strlen(bytes), "canonical bytes hold a NUL");
    json_t *again = json_loadb(bytes, length, JSON_DECODE_ANY, NULL);
    fuzz_expect(json_equal(again, value), "canonical bytes are of another value");
    json_decref(again);
    free(bytes);
}

void fuzz_one(const char *text, size_t length)
{
    struct dp_err err = {0};
    json_t *value = dp_json_parse(text, length, "input", &err);
    if (!value) {
        fuzz_expect_refusal(&err, 0);
    }
    if (!memchr(text, '\0', length)) {
        json_t *plain = dp_json_parse_plain(text, length),
               *whole = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
        fuzz_expect(whole ? json_equal(whole, value) : !value, "not read as jansson reads it");
        fuzz_expect(!plain || json_equal(plain, whole), "the fast reader reads something else");
        json_decref(plain);
        json_decref(whole);
    } else {
        fuzz_expect(!value, "a NUL was taken");
    }
    if (value) {
        check_canonical(value);
    }
    json_decref(value);
}
