/* SPDX-License-Identifier: Apache-2.0
 *
 * detprobe gate: whether a report lets a pipeline pass.
 */
#include <stdlib.h>

#include "reports/model.h"
#include "suite/command/command.h"
#include "suite/command/delivery.h"
#include "suite/command/gating.h"
#include "suite/command/signing.h"
#include "suite/judge/judge.h"

struct gate_options {
    struct dp_delivery delivery;
    struct dp_gating gating;
    struct dp_strings reports, operands;
    struct dp_verifying verifying;
    bool json, require_signed;
    json_t *loaded; /* the report */
};

static const struct dp_option option_table[] = {
    {.kind = DP_OPTION_STRING,
     .letter = 'p',
     .name = "policy",
     .argument = "FILE",
     .help = "what fails, what is allowed until when, how much must have been measured; without it broken "
             "guarantees and wrong bits fail",
     .offset = offsetof(struct gate_options, gating.policy)},
    {.kind = DP_OPTION_STRING,
     .letter = 'b',
     .name = "baseline",
     .argument = "REPORT",
     .help = "a report or what 'detprobe baseline' made: what it knows is told from what is new",
     .offset = offsetof(struct gate_options, gating.baseline)},
    {.kind = DP_OPTION_CHOICE,
     .name = "fail-on",
     .argument = "WHAT",
     .help = "instead of what the policy says: a guarantee is broken or bits are wrong (broken), any case "
             "varies (varies), a case is worse than in the baseline or has other bits (changes), never",
     .offset = offsetof(struct gate_options, gating.fail_on),
     .choices = "broken|varies|changes|never"},
    {.kind = DP_OPTION_FLAG,
     .name = "any-device",
     .help = "compare with a baseline of another processor or GPU",
     .offset = offsetof(struct gate_options, gating.any_device)},
    {.kind = DP_OPTION_FLAG,
     .name = "require-signed",
     .help = "REPORT is what 'detprobe sign' wrote: judge what --key signed, refuse anything else",
     .offset = offsetof(struct gate_options, require_signed)},
    {.kind = DP_OPTION_STRING,
     .letter = 'k',
     .name = "key",
     .argument = "FILE",
     .help = "the public key of --require-signed: Ed25519, PEM",
     .offset = offsetof(struct gate_options, verifying.key)},
    {.kind = DP_OPTION_DURATION,
     .name = "max-age",
     .argument = "TIME",
     .help =
         "with --require-signed, refuse what was signed or measured longer ago (7d, 12h), or in the future",
     .offset = offsetof(struct gate_options, verifying.most_age)},
    {.kind = DP_OPTION_CHOICE,
     .letter = 'f',
     .name = "format",
     .argument = "FORMAT",
     .help = "text (at most ten lines), json (the document), or what --report names",
     .offset = offsetof(struct gate_options, delivery.format),
     .choices_of = dp_format_names_gate},
    {.kind = DP_OPTION_FLAG,
     .name = "json",
     .help = "the same as --format json",
     .offset = offsetof(struct gate_options, json)},
    {.kind = DP_OPTION_STRING,
     .letter = 'o',
     .name = "output",
     .argument = "FILE",
     .help = "write there; - is standard output",
     .offset = offsetof(struct gate_options, delivery.output)},
    {.kind = DP_OPTION_LIST,
     .name = "report",
     .argument = "FORMAT:FILE",
     .help = "write the decision in this format too, whole or not at all; repeatable",
     .offset = offsetof(struct gate_options, reports),
     .choices_of = dp_format_names_gate},
    {.kind = DP_OPTION_FLAG,
     .letter = 'v',
     .name = "verbose",
     .help = "every finding, those that are allowed too",
     .offset = offsetof(struct gate_options, delivery.verbose)},
};

static const struct gate_options defaults = {
    .delivery = {.format = "text", .output = "-", .colour = "never"}};

static const struct dp_command_line command_line = {
    .usage = "detprobe gate REPORT [OPTION...]",
    .summary =
        "Decides whether a report lets a pipeline pass. Without a policy it fails on broken guarantees "
        "and wrong bits; a run that is not valid never passes. - reads the report from standard input.",
    .options = option_table,
    .count = sizeof(option_table) / sizeof(option_table[0]),
    .defaults = &defaults,
    .exits = {{DP_EXIT_OK, "the gate passes"},
              {DP_EXIT_FINDINGS, "it fails"},
              {DP_EXIT_NO_VERDICT,
               "no verdict: the run is not valid, or too little was measured; the output was not written"},
              {DP_EXIT_DATA, "bad report, policy or baseline, a baseline that cannot be compared, a "
                             "signature that is not the key's"}},
    .examples = {{"detprobe gate report.json", "fails on broken guarantees and wrong bits"},
                 {"detprobe gate after.json --baseline before.json --fail-on changes",
                  "fails on whatever is worse than it was, or has other bits"}},
};

static int deliver(struct gate_options *o, const json_t *gate, struct dp_err *err)
{
    o->delivery.format = o->json ? "json" : o->delivery.format;
    o->delivery.source = o->operands.items[0];
    int rc = dp_delivery_write(&o->reports, DP_DOCUMENT_GATE, gate, o->delivery.source, err);
    if (dp_deliver(&o->delivery, DP_DOCUMENT_GATE, gate, rc == 0 ? err : NULL) != 0) {
        rc = -1;
    }
    return rc;
}

/* A signature nobody asks for is not passed over in silence. */
static int check_signing(const struct gate_options *o, struct dp_err *err)
{
    const bool key = o->verifying.key, age = o->verifying.most_age > 0;
    if (o->require_signed && !key) {
        return dp_err_set(err, DP_EXIT_USAGE,
                          "'--require-signed' needs the public key, '--key FILE' names it");
    }
    return o->require_signed || !(key || age)
               ? 0
               : dp_err_set(err, DP_EXIT_USAGE, "'%s' goes with '--require-signed'",
                            key ? "--key" : "--max-age");
}

/* The report that is judged: where a signature is required, exactly what it is of. */
static json_t *load(const struct gate_options *o, struct dp_err *err)
{
    struct dp_signed given;
    if (!o->require_signed) {
        return dp_report_load(o->operands.items[0], err);
    }
    if (dp_signing_verify(&o->verifying, o->operands.items[0], &given, err) != 0) {
        return NULL;
    }
    json_t *report = json_incref(given.report);
    dp_signed_free(&given);
    return report;
}

/* The exit code, or -1 and the error. */
static int decide(struct gate_options *o, struct dp_err *err)
{
    if (o->operands.count != 1) {
        return dp_err_set(err, DP_EXIT_USAGE, "%s, see 'detprobe gate --help'",
                          o->operands.count == 0 ? "no report named" : "more than one report named");
    }
    const char *const read[] = {o->operands.items[0], o->gating.policy, o->gating.baseline, o->verifying.key};
    if (check_signing(o, err) != 0 ||
        dp_delivery_check(&o->reports, o->delivery.output, DP_DOCUMENT_GATE, err) != 0 ||
        dp_delivery_spares(&o->reports, o->delivery.output, read, sizeof(read) / sizeof(read[0]), err) != 0 ||
        dp_gating_open(&o->gating, err) != 0) {
        return -1;
    }
    o->loaded = load(o, err);
    json_t *gate = o->loaded ? dp_gating_decide(&o->gating, o->loaded, o->operands.items[0], err) : NULL;
    int code = -1;
    if (gate && deliver(o, gate, err) == 0) {
        const struct dp_verdict verdict = {.gate = dp_gate_verdict(gate)};
        code = dp_exit_code(&verdict);
    }
    json_decref(gate);
    return code;
}

static int cmd_gate(int argc, char **argv)
{
    /* Reports are kept to the end: to free their values one by one takes longer than to decide. */
    static struct gate_options o;
    o = defaults;
    struct dp_err err = {.code = DP_EXIT_USAGE};
    bool help = false;
    int code = DP_EXIT_OK;
    if (dp_options_parse(&command_line, argc, argv, &o, &o.operands, &help, &err) != 0) {
        code = -1;
    } else if (!help) {
        code = decide(&o, &err);
    }
    free(o.operands.items);
    free(o.reports.items);
    return dp_command_end(code, &err);
}

const struct dp_command dp_command_gate = {"gate", "decide whether a report lets a pipeline pass",
                                           &command_line, cmd_gate};
