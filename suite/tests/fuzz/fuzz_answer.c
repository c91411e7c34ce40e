/* SPDX-License-Identifier: Apache-2.0
 *
 * One line of a probe program. What is let pass can be kept in a log and is let pass again, unchanged.
 */
#include <stdlib.h>
#include <string.h>

#include "suite/run/protocol.h"
#include "suite/tests/fuzz/fuzz.h"

static void check_again(const struct dp_message *message, int runs)
{
    struct dp_err err = {0};
    json_t *again = message->type == DP_MESSAGE_HELLO ? dp_hello_check(message->body, &err)
                                                      : dp_answer_check(message->body, runs, &err);
    fuzz_expect(again != NULL, "what was let pass is refused the second time");
    fuzz_expect(json_equal(again, message->body), "what was let pass is changed the second time");
    char *line = json_dumps(message->body, JSON_COMPACT);
    fuzz_expect(line != NULL, "what was let pass cannot be kept");
    free(line);
    json_decref(again);
}

void fuzz_one(const char *text, size_t length)
{
    static const int runs[] = {8, 1};
    for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
        struct dp_message message;
        struct dp_err err = {0};
        if (dp_message_read(text, length, runs[i], &message, &err) != 0) {
            fuzz_expect(err.text[0] && !strchr(err.text, '\n'), "a refusal that is no line");
            fuzz_expect_printable(err.text, strlen(err.text));
        } else if (message.body) {
            check_again(&message, runs[i]);
        }
        json_decref(message.body);
    }
}
