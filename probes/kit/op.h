/* SPDX-License-Identifier: Apache-2.0
 *
 * struct op: what a probe is. The author of a probe describes one operation; the kit owns its operands, fills
 * them, loops, varies, compares, hashes and speaks the protocol. A probe never allocates an operand, never
 * loops over runs, never compares and never prints.
 *
 * Order of calls, all from one thread:
 *   (the kit sets threads) -> describe -> prepare -> [pack inputs] -> run, run, ... -> [unpack outputs]
 *   -> reference -> release.
 * `prepare` is called anew whenever parameters, choice, batch or threads change, `run` many times, also with
 * other inputs. `release` is called also after a failed prepare. Errors: a function returns 0, or one of enum
 * kit_rc through kit_fail / kit_skip, which also keep the one-line text.
 */
#ifndef KIT_OP_H
#define KIT_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised whenever a struct of this file changes: a program that was compiled with another one is refused. */
#define KIT_INTERFACE 3

#define KIT_MAX_DIMS 6
#define KIT_MAX_OPERANDS 16

enum kit_dtype {
    KIT_F32,
    KIT_F64,
    KIT_F16,
    KIT_BF16,
    KIT_F8E4M3, /* without infinities, NaN is all ones */
    KIT_F8E5M2,
    KIT_S8,
    KIT_U8,
    KIT_S32,
    KIT_S64,
    KIT_DTYPE_MAX
};
size_t kit_dtype_size(enum kit_dtype dtype);
const char *kit_dtype_name(enum kit_dtype dtype); /* "f32", "bf16", "f8e4m3", "s8" and so on */
int kit_dtype_parse(const char *name);            /* a kit_dtype or -1 */

/* CONSUMED: an input that `run` may destroy. It is put back before each run, and what it then holds is no
 * result. */
enum kit_role { KIT_IN, KIT_OUT, KIT_INOUT, KIT_CONSUMED };

/* Which elements `run` writes. The rest must keep what it held, and is not digested.
 * UPPER and LOWER speak of the last two dimensions (diagonal included). LIST: row r (first dimension) is
 * written iff r stands in the operand numbered `list`. */
enum kit_written { KIT_FULL, KIT_UPPER, KIT_LOWER, KIT_LIST };

enum kit_fill {
    KIT_VALUES,      /* by the set: wide, unit or exact; integer dtypes: small integers */
    KIT_INDICES,     /* below `below`; `multiplicity` m > 0: every index that occurs occurs exactly m times,
                        shuffled */
    KIT_PERMUTATION, /* of 0 .. elements - 1 */
    KIT_TIES,        /* integers from `below` distinct levels around 0 in every set: equal maxima are common,
                        sums are exact */
    KIT_BOUNDED,   /* KIT_VALUES scaled to at most 2^`exponent` in every set: for functions that saturate. Of
                      f32, f64 and bf16, whose exponents reach far enough */
    KIT_TRIANGLE,  /* last two dimensions n x n, well-conditioned triangle (`upper`), the other half NaN: it
                      must not be read; in set `exact` solving with it is exact */
    KIT_SYMMETRIC, /* values in one half (`upper`) of the last two dimensions n x n, the other half NaN */
    KIT_DEFINITE   /* the same, and positive definite: what stands beside the diagonal sums to less than it */
};

struct kit_operand {
    const char *name; /* static; "a", "b", "c", "src", "indices": the tensor's part of the input key */
    enum kit_role role;
    enum kit_dtype dtype;
    int ndim;
    int64_t shape[KIT_MAX_DIMS];  /* logical extents, outermost first */
    int64_t stride[KIT_MAX_DIMS]; /* in elements; all zero: dense row-major. Padding that strides leave is
                                     guard */
    bool chosen;                  /* the library chooses the layout: native bytes are known after prepare */
    bool
        leading; /* of a matrix: run asks kit_leading for its leading dimension, so axis align may widen it */
    size_t align;  /* of the first byte; 0: 64 */
    int batch_dim; /* which dimension is N, or -1. Only operands with one are compared on axis batch */
    enum kit_written written;    /* of out and inout */
    int list;                    /* operand number, for KIT_LIST */
    enum kit_fill fill;          /* of inputs */
    int64_t below, multiplicity; /* for KIT_INDICES; `below` = levels for KIT_TIES */
    int exponent;                /* for KIT_BOUNDED; -8 .. 0 */
    bool upper;                  /* for KIT_TRIANGLE, KIT_SYMMETRIC, KIT_DEFINITE */
};

/* What describe fills: the operands in the order `run` gets them. Zeroed before the call, batch_dim -1. */
struct kit_shape {
    int count;
    struct kit_operand operand[KIT_MAX_OPERANDS];
    double flops; /* multiply-adds behind all output cells; decides whether all cells are checked */
};

/* Buffers of one run, by operand number. Native layout: strided as described, or the library's. */
struct kit_buffers {
    void *data[KIT_MAX_OPERANDS];
    void *workspace; /* workspace_bytes of it, 256-byte aligned, poisoned before each run; NULL if none was
                        asked for */
};

/* What prepare reports back to the kit. Zeroed before the call. */
struct kit_prepared {
    size_t workspace_bytes;
    size_t native_bytes[KIT_MAX_OPERANDS]; /* of operands that are `chosen` */
    char chosen[480]; /* what the library chose: algorithm or implementation name; "" if it does not say */
    /* What the library itself says of what it chose: "deterministic" or "nondeterministic"; NULL: nothing */
    const char *declared;
};

/* One cell of the reference. `value` is computed in higher precision from the same inputs. The bound on the
 * error is, with c the catalogue's `bound`, gamma_k = k u / (1 - k u) and u of the output's dtype,
 *   direct              c * gamma_k * scale         per cell; scale usually sum |a||b| (Higham, Accuracy and
 *                                                   Stability of Numerical Algorithms, section 3.1)
 *   transform, reduced  c * gamma_k * max(scale)    over the checked cells (normwise)
 *   direct, set exact   c * gamma_2 * |value|       sums are exact, so only a final rounding may remain
 *   none                0                           the value itself
 * An operation whose terms themselves round (a share of 1/9, a scaled square) is not direct: its sums are not
 * exact in set exact.
 * Integer outputs have u = 0: they must be equal. k u must stay below 1/2. */
struct kit_cell {
    long double value;
    long double scale;
    int64_t k;
};

struct kit_backend;
struct kit_params; /* the case's params; read with the functions below */

/* One prepared operation. `state` is the probe's own. */
struct kit_call {
    const struct kit_params *params;
    const struct kit_shape *shape;
    const char *choice;              /* NULL: the library's own */
    int threads;                     /* as read back */
    size_t offset[KIT_MAX_OPERANDS]; /* bytes from its alignment at which each operand begins: axis align */
    int lanes; /* so many runs are under way at once, with outputs and workspaces of their own: handles
                  that only one may use are made for each lane. 1 but on axis concurrency */
    void *state;
};

struct op {
    const char *name; /* the catalogue's `op` */

    /* params -> operands. Unknown or missing params are found by the kit after this returns: what was not
     * read is an error. Must depend on params alone. */
    int (*describe)(const struct kit_params *params, struct kit_shape *ret);
    /* Names of the implementations the library offers, static or living until release; NULL: only its own
     * choice. */
    int (*choices)(const struct kit_params *params, const char *const **ret_names, int *ret_count);
    /* Handles, descriptors, plans into call->state. */
    int (*prepare)(struct kit_call *call, struct kit_prepared *ret);
    /* With chosen operands only: pure permutations logical dense row-major <-> native. */
    int (*pack)(struct kit_call *call, int operand, const void *logical, void *native);
    int (*unpack)(struct kit_call *call, int operand, const void *native, void *logical);
    /* The operation, once. No allocation, no copy, no check beyond what the library does. */
    int (*run)(struct kit_call *call, const struct kit_buffers *buffers);
    /* Values of `count` cells (logical row-major offsets, ascending) of one output. `in` are the operands'
     * logical dense row-major contents before the run, by operand number. */
    int (*reference)(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                     size_t count, struct kit_cell *ret);
    /* Optional, instead of `reference` where several values are right (last writer wins, append by counter):
     * looks at the whole logical output and returns in *ret_wrong how many cells hold a value that is none of
     * them. */
    int (*accepts)(struct kit_call *call, int output, const void *const *in, const void *logical,
                   int64_t *ret_wrong);
    /* Optional, instead of `reference` where outputs are right only together and many are (a factorization,
     * eigenvectors of any sign): looks at all logical outputs, `out` by operand number, and gives each of
     * them a cell whose value is what should be 0. Its bound is c * gamma_k * scale, whatever the arithmetic
     * and the set. */
    int (*residual)(struct kit_call *call, const void *const *in, const void *const *out,
                    struct kit_cell *ret);
    void (*release)(struct kit_call *call);
};
/* Elements from one row of a matrix to the next, from one column where columns are dense: lda. */
int64_t kit_leading(const struct kit_call *call, int operand);
/* For `release`, of a state that is one block of calloc. */
void kit_free_state(struct kit_call *call);

/* Parameters. A missing or mistyped one is kit_fail with the parameter's name. */
int kit_param_int(const struct kit_params *params, const char *name, int64_t *ret);
int kit_param_int_or(const struct kit_params *params, const char *name, int64_t fallback, int64_t *ret);
int kit_param_string(const struct kit_params *params, const char *name, const char **ret);
int kit_param_bool_or(const struct kit_params *params, const char *name, bool fallback, bool *ret);
/* One of the words in `words` ("n|t"); returns its index through *ret. */
int kit_param_word(const struct kit_params *params, const char *name, const char *words, int *ret);
/* The same where the words are names of types. */
int kit_param_dtype(const struct kit_params *params, const char *name, const char *words,
                    enum kit_dtype *ret);
/* The first of them where the parameter is missing. */
int kit_param_word_or(const struct kit_params *params, const char *name, const char *words, int *ret);

enum kit_rc { KIT_OK = 0, KIT_FAILED = -1, KIT_SKIPPED = -2 };
/* `reason` is one of the closed list: no_device library_missing not_built unsupported memory device_busy
 * version. */
int kit_skip(const char *reason, const char *format, ...) __attribute__((format(printf, 2, 3)));
int kit_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A library that the program measures, for hello and the report. */
struct kit_library {
    const char *role; /* "cblas", "onednn", "openmp" */
    char name[64], version[64], path[512], config[256];
    char isa[64]; /* the instruction set that it runs on, in its own word; "": it does not say */
};

/* The program: one per executable or shared object. `main` is `return kit_main(&program);`. */
struct kit_program {
    const char *name;                 /* "gemm" */
    const char *backend;              /* "cpu" */
    const struct op *const *ops;      /* NULL-terminated */
    const struct kit_backend *memory; /* where operands live; NULL: the host's memory */
    int default_threads;              /* at the base setting; 0: what the library starts with */
    /* Opens the stack (once, before hello). KIT_SKIPPED: no hello is sent, the process ends, as
     * library_missing with 127, else with a skip that speaks for all requests. */
    int (*open)(void);
    /* Libraries opened; returns the count. The kit adds an OpenMP runtime that the process carries; NULL:
     * that one alone. */
    int (*libraries)(struct kit_library *ret, int max);
    /* Sets the library's thread count (0: changes nothing) and returns what it reads back, 0 where there is
     * none to set. NULL: OpenMP's alone. */
    int (*set_threads)(int threads);
    /* `run` may be called from several host threads at once, each with a call that was prepared for it alone:
     * it keeps nothing outside of the call. Axis concurrency is varied then. */
    bool concurrent;
};
int kit_main_of(const struct kit_program *program, int interface);
#define kit_main(program) kit_main_of(program, KIT_INTERFACE)

/* Opens the library of a role: $DETPROBE_LIB_<ROLE>, else (not under $DETPROBE_STACK) the first of `sonames`
 * (NULL-terminated) that loads and exports one of `probe_symbols` ("name|other"). NULL with
 * kit_skip("library_missing", ...) kept. Also watches the floating-point control register: a library that
 * changes MXCSR is named in hello. */
void *kit_open_role(const char *role, const char *const *sonames, const char *probe_symbols);
/* Path of the file that defines `address`, into ret. */
void kit_path_of(const void *address, char *ret, size_t size);
/* The OpenMP runtime that defines `address`; for a library that brings its own. */
void kit_openmp_at(const void *address, struct kit_library *ret);

#ifdef __cplusplus
}
#endif

#endif
