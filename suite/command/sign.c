/* SPDX-License-Identifier: Apache-2.0
 *
 * detprobe sign: a report in an envelope that says who signed it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "suite/base/clock.h"
#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/command/command.h"
#include "suite/command/signing.h"

#define REPORT_MOST ((size_t)256 << 20) /* as for reports */

struct sign_options {
    const char *key, *passphrase, *output;
    struct dp_strings operands;
};

static const struct dp_option option_table[] = {
    {.kind = DP_OPTION_STRING,
     .letter = 'k',
     .name = "key",
     .argument = "FILE",
     .help = "the private key: Ed25519, PEM, readable by its owner alone",
     .offset = offsetof(struct sign_options, key)},
    {.kind = DP_OPTION_STRING,
     .name = "passphrase-file",
     .argument = "FILE",
     .help = "the passphrase of an encrypted key is this file's first line",
     .offset = offsetof(struct sign_options, passphrase)},
    {.kind = DP_OPTION_STRING,
     .letter = 'o',
     .name = "output",
     .argument = "FILE",
     .help = "the envelope's place instead of REPORT.dsse.json, - for standard output",
     .offset = offsetof(struct sign_options, output)},
};

static const struct dp_command_line command_line = {
    .usage = "detprobe sign --key FILE REPORT [OPTION...]",
    .summary =
        "Signs a report: writes an envelope (DSSE, an in-toto test result) that holds the report byte for "
        "byte, the time, this machine's name and an Ed25519 signature. The signature says who signed and "
        "that nothing was changed since, not that the run was honest.",
    .options = option_table,
    .count = sizeof(option_table) / sizeof(option_table[0]),
    .exits = {{DP_EXIT_OK, "signed"},
              {DP_EXIT_NO_VERDICT, "the output was not written"},
              {DP_EXIT_DATA, "bad report or key"}},
    .examples = {{"openssl genpkey -algorithm ed25519 -out k.pem",
                  "makes a key; 'openssl pkey -in k.pem -pubout -out p.pem' what others verify with"},
                 {"detprobe sign --key k.pem report.json", "writes report.json.dsse.json"}},
};

/* Where the envelope goes, owned; it replaces nothing that it was made of. */
static char *place_of(const struct sign_options *o, const char *report, struct dp_err *err)
{
    const bool standard = strcmp(report, "-") == 0;
    if (standard && !o->output) {
        dp_err_set(err, DP_EXIT_USAGE, "no place for the envelope of standard input, '-o FILE' names one");
        return NULL;
    }
    const char *const inputs[] = {report, o->key, o->passphrase};
    char *place = o->output ? dp_strdup(o->output) : dp_printf("%s.dsse.json", report);
    for (size_t i = 0; i < sizeof(inputs) / sizeof(inputs[0]); i++) {
        if (dp_signing_same_file(place, inputs[i])) {
            dp_err_set(err, DP_EXIT_USAGE,
                       "the envelope would replace '%.200s', name another place with '-o FILE'", inputs[i]);
            free(place);
            return NULL;
        }
    }
    return place;
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strcmp(path, "-") == 0 ? "report.json" : slash ? slash + 1 : path;
}

static json_t *envelope_of(const char *path, const struct dp_key *key, struct dp_err *err)
{
    char time[21], host[256] = "";
    size_t length = 0;
    char *bytes = dp_file_read(path, REPORT_MOST, &length, err);
    dp_utc_now(time);
    gethostname(host, sizeof(host) - 1);
    const struct dp_signing signing = {.name = name_of(path), .time = time, .host = host};
    json_t *envelope = bytes ? dp_report_sign(bytes, length, key, &signing, err) : NULL;
    free(bytes);
    return envelope;
}

static int sign(const struct sign_options *o, struct dp_err *err)
{
    if (o->operands.count != 1) {
        return dp_err_set(err, DP_EXIT_USAGE, "%s, see 'detprobe sign --help'",
                          o->operands.count == 0 ? "no report named" : "more than one report named");
    }
    const char *report = o->operands.items[0];
    struct dp_key *key = dp_signing_key(o->key, o->passphrase, err);
    char *place = key ? place_of(o, report, err) : NULL;
    json_t *envelope = place ? envelope_of(report, key, err) : NULL;
    const int rc = envelope ? dp_json_write(place, envelope, err) : -1;
    json_decref(envelope);
    free(place);
    dp_key_free(key);
    return rc;
}

static int cmd_sign(int argc, char **argv)
{
    struct sign_options o = {0};
    struct dp_err err = {.code = DP_EXIT_USAGE};
    bool help = false;
    int rc = dp_options_parse(&command_line, argc, argv, &o, &o.operands, &help, &err);
    rc = rc == 0 && !help ? sign(&o, &err) : rc;
    free(o.operands.items);
    return dp_command_end(rc, &err);
}

const struct dp_command dp_command_sign = {"sign", "sign a report", &command_line, cmd_sign};
