/* SPDX-License-Identifier: Apache-2.0
 *
 * detprobe-report(5), the document, and detprobe-probe(7), the protocol.
 */
#include <string.h>

#include "reports/model.h"
#include "suite/docs/manual.h"
#include "suite/docs/markdown.h"
#include "suite/docs/members.h"
#include "suite/docs/roff.h"

static void put_paragraphs(struct dp_text *out, const char *const *texts)
{
    for (; *texts; texts++) {
        dp_roff_paragraph(out);
        dp_roff_put(out, DP_ROFF_PLAIN, *texts);
        dp_roff_end(out);
    }
}

static const char *const report_is[] = {
    "A report is one JSON document: one run on one machine. Its member 'body' holds what follows from the "
    "stack and "
    "the verdicts alone, with no times and no name of the machine; 'measurements' holds what moves from run "
    "to run. "
    "Bits, digests and numbers beyond 53 bits are strings, times are UTC, words are from closed lists.",
    "The report is written whole or not at all: under a temporary name, then renamed. It is as complete "
    "after a "
    "failure, a skip or an interruption as after a good run, and says which of them it was.",
    "The JSON Schema (2020-12) is installed; detprobe-validate(1) checks a report against it, and its "
    "digest, and "
    "what the schema cannot say.",
    NULL,
};
static const char *const report_digest[] = {
    "SHA-256 over the canonical bytes of 'body': members sorted, no blanks, UTF-8, no real numbers, which on "
    "this "
    "subset is what RFC 8785 says. Two runs of one command on one machine and stack that behaved the same "
    "have the "
    "same digest. It covers plan and environment too, so reports of different stacks never share one; "
    "detprobe-diff(1) compares those.",
    "With jq(1) and sha256sum(1):",
    NULL,
};
static const char *const report_versions[] = {
    "'schema_version' is MAJOR.MINOR. A minor version adds members; a major one may change them. A reader "
    "refuses a "
    "major version that it does not know and names it. Members are never renamed, ids of cases neither.",
    NULL,
};

int dp_manual_report(const struct dp_manual *manual, struct dp_text *out, struct dp_err *err)
{
    dp_manual_name(manual, "detprobe-report", "5", "the report that detprobe writes, and its digest", out);
    dp_roff_section(out, "DESCRIPTION");
    put_paragraphs(out, report_is);
    dp_roff_section(out, "WORDS");
    if (dp_markdown_section(manual->readme, "What is observed, what is guaranteed", /* shallow= */ true, out,
                            err) != 0) {
        return -1;
    }
    dp_roff_section(out, "DIGEST");
    put_paragraphs(out, report_digest);
    dp_roff_indent(out);
    dp_roff_example(out, "jq -jcS .body report.json | sha256sum");
    dp_roff_outdent(out);
    dp_roff_section(out, "VERSIONS");
    put_paragraphs(out, report_versions);
    dp_roff_section(out, "MEMBERS");
    if (dp_members_put("report", out, err) != 0) {
        return -1;
    }
    dp_manual_surroundings("report", out);
    dp_manual_see_also("detprobe-report", out);
    return 0;
}

/* Sections of probes/README.md. */
static const struct {
    const char *heading, *title;
    bool whole; /* with what stands under deeper headings */
} probe_sections[] = {
    {"PROTOCOL", "Protocol 1", true},
    {"CATALOGUE FILES", "The catalogue file", true},
    {"SHAPES OF YOUR OWN", "Your own shapes", true},
    {"THE FIRST TEN MINUTES", "Ten minutes", true},
    {"THE PYTHON KIT", "The Python kit", true},
    {"THE C KIT", "The C kit", true},
};

static const char *const probe_is[] = {
    "A probe program does operations of one family on one backend; its catalogue file, beside it, lists the "
    "cases: "
    "what each does, what is guaranteed for it and where that is said, and the remedy. Planning, judging and "
    "reporting are the suite's: a program never judges and never prints for people. Any executable that "
    "speaks the "
    "protocol below is a probe program, in whatever language, from a folder of DETPROBE_PROBE_PATH.",
    NULL,
};

int dp_manual_probe(const struct dp_manual *manual, struct dp_text *out, struct dp_err *err)
{
    dp_manual_name(manual, "detprobe-probe", "7", "probe programs: their protocol and catalogue files", out);
    dp_roff_section(out, "DESCRIPTION");
    put_paragraphs(out, probe_is);
    for (size_t i = 0; i < sizeof(probe_sections) / sizeof(probe_sections[0]); i++) {
        dp_roff_section(out, probe_sections[i].heading);
        if (dp_markdown_section(manual->probes, probe_sections[i].title, !probe_sections[i].whole, out,
                                err) != 0) {
            return dp_err_prefix(err, "probes/README.md");
        }
    }
    dp_roff_section(out, "MEMBERS OF CATALOGUE FILES");
    if (dp_members_put("catalogue", out, err) != 0) {
        return -1;
    }
    dp_manual_surroundings("probe", out);
    dp_manual_see_also("detprobe-probe", out);
    return 0;
}
