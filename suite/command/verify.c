/* SPDX-License-Identifier: Apache-2.0
 *
 * detprobe verify: whether a signed report is of a key, and the report that was signed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/command/command.h"
#include "suite/command/signing.h"

struct verify_options {
    struct dp_verifying verifying;
    const char *output;
    struct dp_strings operands;
};

static const struct dp_option option_table[] = {
    {.kind = DP_OPTION_STRING,
     .letter = 'k',
     .name = "key",
     .argument = "FILE",
     .help = "the public key: Ed25519, PEM",
     .offset = offsetof(struct verify_options, verifying.key)},
    {.kind = DP_OPTION_DURATION,
     .name = "max-age",
     .argument = "TIME",
     .help = "refuse what was signed or measured longer ago (7d, 12h), or in the future",
     .offset = offsetof(struct verify_options, verifying.most_age)},
    {.kind = DP_OPTION_STRING,
     .letter = 'o',
     .name = "output",
     .argument = "FILE",
     .help = "write the report that was signed there, byte for byte; - is standard output",
     .offset = offsetof(struct verify_options, output)},
};

static const struct dp_command_line command_line = {
    .usage = "detprobe verify --key FILE SIGNED [OPTION...]",
    .summary =
        "Verifies what 'detprobe sign' wrote, then reads the report out of exactly the bytes that were "
        "verified. It is enough that one of several signatures is the key's. - is standard input.",
    .options = option_table,
    .count = sizeof(option_table) / sizeof(option_table[0]),
    .exits = {{DP_EXIT_OK, "signed by the key, and a valid report"},
              {DP_EXIT_NO_VERDICT, "the output was not written"},
              {DP_EXIT_DATA, "not signed, signed by another key, changed, too old, or no valid report"}},
    .examples = {{"detprobe verify --key p.pem --max-age 1d report.json.dsse.json -o report.json",
                  "takes the report out if the key signed it since yesterday"}},
};

/* The words of the statement are those of whoever signed it. */
static void print_line(const struct dp_signed *given)
{
    char *line = dp_printf("verified: '%s', result %s, signed %s on '%s'", given->name, given->result,
                           given->time, given->host);
    char *shown = dp_printable(line, strlen(line));
    puts(shown);
    free(shown);
    free(line);
}

static int deliver(const struct verify_options *o, const struct dp_signed *given, struct dp_err *err)
{
    const char *file = o->operands.items[0];
    if (dp_signing_same_file(o->output, file) || dp_signing_same_file(o->output, o->verifying.key)) {
        return dp_err_set(err, DP_EXIT_USAGE, "the report would replace '%.200s', name another place",
                          o->output);
    }
    if (o->output && dp_file_write(o->output, given->bytes, given->length, err) != 0) {
        return -1;
    }
    if (!o->output || !dp_file_is_stdout(o->output)) {
        print_line(given);
    }
    return 0;
}

static int verify(const struct verify_options *o, struct dp_err *err)
{
    struct dp_signed given;
    if (o->operands.count != 1) {
        return dp_err_set(err, DP_EXIT_USAGE, "%s, see 'detprobe verify --help'",
                          o->operands.count == 0 ? "no signed report named" : "more than one file named");
    }
    if (dp_signing_verify(&o->verifying, o->operands.items[0], &given, err) != 0) {
        return -1;
    }
    const int rc = deliver(o, &given, err);
    dp_signed_free(&given);
    return rc;
}

static int cmd_verify(int argc, char **argv)
{
    struct verify_options o = {.output = NULL};
    struct dp_err err = {.code = DP_EXIT_USAGE};
    bool help = false;
    int rc = dp_options_parse(&command_line, argc, argv, &o, &o.operands, &help, &err);
    rc = rc == 0 && !help ? verify(&o, &err) : rc;
    free(o.operands.items);
    return dp_command_end(rc, &err);
}

const struct dp_command dp_command_verify = {"verify", "verify a signed report and take it out",
                                             &command_line, cmd_verify};
