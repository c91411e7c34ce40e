/* SPDX-License-Identifier: Apache-2.0
 *
 * Host threads that call one library at once. Each first runs alone, by turns; then all of them run until
 * everyone has made its runs, so that whoever still has some to make is never the only one that calls. A run
 * counts only if a call of another was under way during it; else it is made again.
 */
#ifndef KIT_CALLERS_H
#define KIT_CALLERS_H

/* What they do, each in a thread of its own; 0 or kit_rc. */
struct kit_callers {
    int count;
    int runs;                                 /* of all together, the first of each included */
    int (*alone)(void *context, int caller);  /* nobody else does anything */
    int (*before)(void *context, int caller); /* puts back what a run changes */
    int (*run)(void *context, int caller);
    int (*after)(void *context, int caller, int run); /* looks at what run `run`, from 1 on, left */
    void *context;
};

/* KIT_SKIPPED where runs were not at once in spite of many tries. After a failure its text is kept. */
int kit_callers_do(const struct kit_callers *callers);

#endif
