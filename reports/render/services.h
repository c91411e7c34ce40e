/* SPDX-License-Identifier: Apache-2.0
 *
 * What the services that read our formats take: the vendors' documentation, as of 2026-11. What passes a
 * limit is refused or dropped there without a word, so it is cut here, and said.
 */
#ifndef DP_RENDER_SERVICES_H
#define DP_RENDER_SERVICES_H

/* GitHub shows 10 annotations of each severity a step, and none of the others. */
#define DP_GITHUB_ANNOTATIONS ((size_t)10)
/* GitHub refuses a step's summary as a whole beyond 1 MiB. */
#define DP_GITHUB_SUMMARY ((size_t)900000)
/* GitHub takes 25 000 results of a SARIF run. */
#define DP_GITHUB_SARIF ((size_t)25000)
/* GitLab takes 30 MB of a JUnit file: beyond this many bytes the details are left out. */
#define DP_GITLAB_JUNIT ((size_t)15000000)

#endif
