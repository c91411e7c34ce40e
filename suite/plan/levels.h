/* SPDX-License-Identifier: Apache-2.0
 *
 * What the levels of a run mean: amounts, axes and their settings, as tables.
 */
#ifndef DP_PLAN_LEVELS_H
#define DP_PLAN_LEVELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "suite/base/err.h"
#include "suite/plan/catalogue.h"

enum {
    DP_SETTING_MAX = 64, /* settings of one axis, products included */
    DP_FRESH_MAX = 1000,
    DP_SEEDS_MAX = 1000,
    DP_RUNS_MAX = 1000000,
    DP_CHOICES_MAX = 32,            /* that a case may offer to axis algorithm */
    DP_ORDER_RUNS_MAX = DP_RUNS_MAX /* that revealing an order may take where nothing bounds them */
};

#define DP_ORDER_SUMMANDS "512" /* how many an order is revealed of, where there are more */

/* Where the inputs of an axis come from, and how often it runs. */
enum dp_extent {
    DP_EXTENT_FULL,     /* every seed, every run */
    DP_EXTENT_FIRST,    /* every run, on the first seeds */
    DP_EXTENT_FRESH,    /* once in each fresh process, on the first seeds */
    DP_EXTENT_DEVICE,   /* as INVARIANT, in a process for each device; planned when the devices are known */
    DP_EXTENT_ISA,      /* the same in a process for each cap of an instruction set, and on inputs that are
                         * checked */
    DP_EXTENT_ORDER,    /* once; its runs are the most that it may take */
    DP_EXTENT_INVARIANT /* a few runs on the first seeds */
};

struct dp_level {
    const char *name;
    int seeds, runs, fresh;
    int64_t case_limit_ns;  /* what one case may cost before its seeds and runs are cut */
    int64_t order_limit_ns; /* what revealing one order may cost; 0: only where asked for */
    int side_runs;          /* of the sets `unit` and `exact`; 0: as many as the case's runs */
    int rounds;             /* in which a pair of cases is timed; odd, so that one is the middle one */
    /* settings, each list ended by NULL */
    const char *const *poison, *const *busy, *const *concurrency, *const *threads, *const *batch,
                                                                                       *const *align;
    bool products; /* takes the product axes by itself */
    bool machine; /* and those that wait for what is known of the machine, device and isa, or that are dear */
};

struct dp_axis {
    const char *name;
    enum dp_extent extent;
    bool product;            /* of other axes: only where asked for ... */
    bool deep;               /* ... or at a level with products */
    bool reveals;            /* an order; a product with what is taken where both factors are */
    size_t list;             /* where a level has its settings, an offset; 0: nowhere */
    const char *needs;       /* only for cases with this catalogue member; NULL: for all */
    const char *backends[2]; /* whose programs vary it; others are not asked by themselves. Empty: all */
    const char *dear; /* the backend on whose programs it takes time: from level default on, and few runs
                       * unless it is asked for or the level has products; NULL: none */
    bool at_once; /* the setting is how many runs are made at once: so many times the runs, all of them where
                   * the guarantee speaks of the axis, fewer elsewhere, where a level with products asks */
};

/* NULL for an unknown name. */
const struct dp_level *dp_level_find(const char *name);

/* The axes that this version can vary, in the order of the design; ended by a row without name. The first is
 * `repeat`. */
const struct dp_axis *dp_plan_axes(void);
/* Their names for --axis, "repeat|fresh|..."; static. */
const char *dp_axis_names(void);
/* The axis that the user means: products in either order and with '*', 'x' or the multiplication sign. NULL
 * with code 64. */
const struct dp_axis *dp_axis_find(const char *word, struct dp_err *err);

/* Is it an order that this axis asks for ("order", or a product that ends in it)? */
bool dp_axis_reveals(const char *name);

/* The settings of an axis at a level for a case (all axes but `fresh`, device and isa), static strings.
 * Returns their number. */
size_t dp_axis_settings(const struct dp_axis *axis, const struct dp_level *level, const struct dp_case *item,
                        const char *ret_settings[DP_SETTING_MAX]);
/* Whether programs of the backend vary the axis. */
bool dp_axis_is_of(const struct dp_axis *axis, const char *backend);
/* A setting that is a number (of a fresh process, a device, a choice), 0 <= n <= DP_FRESH_MAX: a static
 * string. */
const char *dp_number_setting(int n);

#endif
