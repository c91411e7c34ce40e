/* SPDX-License-Identifier: Apache-2.0
 *
 * Dense matrix products through cublasLtMatmul with a workspace of the caller's. Which algorithm runs is
 * known before: the first that the heuristics name, another one of their results (a choice), the first that
 * combines a split of k by a given scheme, or one that is made to split k. Fast accumulation of 8-bit floats
 * stays off.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/cuda/cublaslt.h"
#include "probes/cuda/product.h"
#include "probes/kit/dtype.h"

#define MAX_CHOICES 8
#define MAX_RESULTS 32
#define MAX_ALGORITHMS 256
#define MAX_OPTIONS 1024 /* tiles or stages of one algorithm */
#define ALIGNED 256

enum { GRADIENT = PRODUCT_C + 1 };

static const struct type {
    const char *name;
    enum kit_dtype dtypes[3];
    cublasComputeType_t compute;
    enum product_sum sum;
} types[] = {
    {"f32", {KIT_F32, KIT_F32, KIT_F32}, CUBLAS_COMPUTE_32F, IN_OUTPUT_TYPE},
    {"tf32", {KIT_F32, KIT_F32, KIT_F32}, CUBLAS_COMPUTE_32F_FAST_TF32, OF_TF32},
    {"f64", {KIT_F64, KIT_F64, KIT_F64}, CUBLAS_COMPUTE_64F, IN_OUTPUT_TYPE},
    {"f16", {KIT_F16, KIT_F16, KIT_F16}, CUBLAS_COMPUTE_32F, WIDER},
    {"f16-f32", {KIT_F16, KIT_F16, KIT_F32}, CUBLAS_COMPUTE_32F, IN_OUTPUT_TYPE},
    {"bf16", {KIT_BF16, KIT_BF16, KIT_BF16}, CUBLAS_COMPUTE_32F, WIDER},
    {"bf16-f32", {KIT_BF16, KIT_BF16, KIT_F32}, CUBLAS_COMPUTE_32F, IN_OUTPUT_TYPE},
    {"s8-s32", {KIT_S8, KIT_S8, KIT_S32}, CUBLAS_COMPUTE_32I, IN_OUTPUT_TYPE},
    {"e4m3-bf16", {KIT_F8E4M3, KIT_F8E4M3, KIT_BF16}, CUBLAS_COMPUTE_32F, OF_F8},
    {"e4m3-f16", {KIT_F8E4M3, KIT_F8E4M3, KIT_F16}, CUBLAS_COMPUTE_32F, OF_F8},
    {"e4m3-f32", {KIT_F8E4M3, KIT_F8E4M3, KIT_F32}, CUBLAS_COMPUTE_32F, OF_F8},
    {"e5m2-e4m3-bf16", {KIT_F8E5M2, KIT_F8E4M3, KIT_BF16}, CUBLAS_COMPUTE_32F, OF_F8},
    {"e5m2-e4m3-f16", {KIT_F8E5M2, KIT_F8E4M3, KIT_F16}, CUBLAS_COMPUTE_32F, OF_F8},
    {"e5m2-e4m3-f32", {KIT_F8E5M2, KIT_F8E4M3, KIT_F32}, CUBLAS_COMPUTE_32F, OF_F8},
};

/* How the parts of a split k are combined. */
static const struct scheme {
    const char *name;
    uint32_t mask;
} schemes[] = {
    {"any", CUBLASLT_REDUCTION_SCHEME_MASK},
    {"none", CUBLASLT_REDUCTION_SCHEME_NONE},
    {"inplace", CUBLASLT_REDUCTION_SCHEME_INPLACE},
    {"compute-type", CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE},
    {"output-type", CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE},
};
enum { ANY_SCHEME };
enum epilogue { NO_EPILOGUE, BGRADA, BGRADB };

struct state {
    struct product product;
    const struct type *type;
    int scheme, epilogue;
    int64_t splits; /* forced; 0: as the algorithm is */
    uint64_t workspace_limit;
    union product_scalar one, zero;
    cublasLtHandle_t handle;
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t a, b, c; /* as the library numbers them */
    cublasLtMatmulAlgo_t algorithm;
    size_t workspace_bytes;
};

/* --- params --- */

static int read_params(const struct kit_params *params, struct state *ret)
{
    const char *name;
    int64_t kib;
    *ret = (struct state){0};
    if (kit_param_string(params, "type", &name) || product_read(params, false, &ret->product) ||
        kit_param_word_or(params, "scheme", "any|none|inplace|compute-type|output-type", &ret->scheme) ||
        kit_param_word_or(params, "epilogue", "none|bgrada|bgradb", &ret->epilogue) ||
        kit_param_int_or(params, "splits", 0, &ret->splits) ||
        kit_param_int_or(params, "workspace_kib", 32 << 10, &kib)) {
        return KIT_FAILED;
    }
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        ret->type = strcmp(types[i].name, name) == 0 ? &types[i] : ret->type;
    }
    if (!ret->type) {
        return kit_fail("unknown type '%s'", name);
    }
    if (ret->splits < 0 || ret->splits == 1 || ret->splits > INT32_MAX || kib < 0 || kib > (1 << 24)) {
        return kit_fail("bad params: 'splits' is 0 or at least 2, 'workspace_kib' within 0 and 2^24");
    }
    if (ret->splits && schemes[ret->scheme].mask != CUBLASLT_REDUCTION_SCHEME_INPLACE &&
        schemes[ret->scheme].mask != CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE &&
        schemes[ret->scheme].mask != CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE) {
        return kit_fail("bad params: 'splits' needs a 'scheme' that combines them");
    }
    ret->workspace_limit = (uint64_t)kib << 10;
    return KIT_OK;
}

static int describe(const struct kit_params *params, struct kit_shape *ret)
{
    struct state state;
    if (read_params(params, &state)) {
        return KIT_FAILED;
    }
    const struct product *const p = &state.product;
    product_describe(p, state.type->dtypes, ret);
    if (state.epilogue) { /* of the library's A, our B, or of its B */
        ret->operand[GRADIENT] = (struct kit_operand){.name = "gradient",
                                                      .role = KIT_OUT,
                                                      .dtype = state.type->dtypes[PRODUCT_C],
                                                      .ndim = 1,
                                                      .shape = {state.epilogue == BGRADA ? p->n : p->m},
                                                      .align = ALIGNED,
                                                      .batch_dim = state.epilogue == BGRADA ? -1 : 0};
        ret->count++;
    }
    return KIT_OK;
}

static const char *const choice_names[MAX_CHOICES] = {"heuristic-0", "heuristic-1", "heuristic-2",
                                                      "heuristic-3", "heuristic-4", "heuristic-5",
                                                      "heuristic-6", "heuristic-7"};

static int choices(const struct kit_params *params, const char *const **ret_names, int *ret_count)
{
    *ret_names = choice_names;
    *ret_count = MAX_CHOICES;
    return KIT_OK;
}

/* --- descriptors --- */

static int set(struct state *s, cublasLtMatmulDescAttributes_t attribute, const void *value, size_t size)
{
    return cublaslt_check(cublaslt.cublasLtMatmulDescSetAttribute(s->operation, attribute, value, size),
                          "cublasLtMatmulDescSetAttribute");
}

static int set_epilogue(struct state *s)
{
    const uint32_t epilogue = s->epilogue == BGRADA ? CUBLASLT_EPILOGUE_BGRADA : CUBLASLT_EPILOGUE_BGRADB;
    /* until the buffer is known: the heuristics look at its alignment alone */
    const void *const aligned = (const void *)(uintptr_t)ALIGNED;
    int rc = set(s, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof(epilogue));
    rc = rc ? rc : set(s, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &aligned, sizeof(aligned));
    return rc;
}

static int make_layout(cublasLtMatrixLayout_t *ret, cudaDataType_t type, int rows, int columns, int ld)
{
    return cublaslt_check(
        cublaslt.cublasLtMatrixLayoutCreate(ret, type, (uint64_t)rows, (uint64_t)columns, ld),
        "cublasLtMatrixLayoutCreate");
}

static int make_descriptors(struct state *s)
{
    const struct product_seen seen = product_seen(&s->product);
    const struct type *const t = s->type;
    const int32_t op_a = (int32_t)seen.op_a, op_b = (int32_t)seen.op_b;
    const bool plain_a = seen.op_a == CUBLAS_OP_N, plain_b = seen.op_b == CUBLAS_OP_N;
    int rc = cublaslt_check(
        cublaslt.cublasLtMatmulDescCreate(&s->operation, t->compute, product_scalar_type(t->compute)),
        "cublasLtMatmulDescCreate");
    rc = rc ? rc : set(s, CUBLASLT_MATMUL_DESC_TRANSA, &op_a, sizeof(op_a));
    rc = rc ? rc : set(s, CUBLASLT_MATMUL_DESC_TRANSB, &op_b, sizeof(op_b));
    rc = rc || !s->epilogue ? rc : set_epilogue(s);
    rc = rc ? rc
            : make_layout(&s->a, product_type(t->dtypes[PRODUCT_B]), plain_a ? seen.m : seen.k,
                          plain_a ? seen.k : seen.m, seen.lda);
    rc = rc ? rc
            : make_layout(&s->b, product_type(t->dtypes[PRODUCT_A]), plain_b ? seen.k : seen.n,
                          plain_b ? seen.n : seen.k, seen.ldb);
    return rc ? rc : make_layout(&s->c, product_type(t->dtypes[PRODUCT_C]), seen.m, seen.n, seen.ldc);
}

static int prefer(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute,
                  const void *value, size_t size)
{
    return cublaslt_check(cublaslt.cublasLtMatmulPreferenceSetAttribute(preference, attribute, value, size),
                          "cublasLtMatmulPreferenceSetAttribute");
}

static int set_preference(const struct state *s, const struct kit_shape *shape,
                          cublasLtMatmulPreference_t preference)
{
    const uint32_t mask = schemes[s->scheme].mask;
    const struct {
        cublasLtMatmulPreferenceAttributes_t attribute;
        int operand;
    } alignments[] = {
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, PRODUCT_B},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, PRODUCT_A},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, PRODUCT_C},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, PRODUCT_C},
    };
    int rc = prefer(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &s->workspace_limit,
                    sizeof(s->workspace_limit));
    rc = rc ? rc : prefer(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &mask, sizeof(mask));
    for (size_t i = 0; i < sizeof(alignments) / sizeof(alignments[0]) && !rc; i++) {
        const uint32_t bytes = (uint32_t)shape->operand[alignments[i].operand].align;
        rc = prefer(preference, alignments[i].attribute, &bytes, sizeof(bytes));
    }
    return rc;
}

/* --- algorithms --- */

struct configuration {
    int32_t id, splits;
    uint32_t tile, stages, scheme, swizzle, custom;
    uint16_t inner, cluster;
};

static int read_configuration(const cublasLtMatmulAlgo_t *algorithm, struct configuration *ret)
{
    const struct {
        cublasLtMatmulAlgoConfigAttributes_t attribute;
        void *value;
        size_t size;
    } fields[] = {
        {CUBLASLT_ALGO_CONFIG_ID, &ret->id, sizeof(ret->id)},
        {CUBLASLT_ALGO_CONFIG_TILE_ID, &ret->tile, sizeof(ret->tile)},
        {CUBLASLT_ALGO_CONFIG_STAGES_ID, &ret->stages, sizeof(ret->stages)},
        {CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &ret->splits, sizeof(ret->splits)},
        {CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, &ret->scheme, sizeof(ret->scheme)},
        {CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, &ret->swizzle, sizeof(ret->swizzle)},
        {CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, &ret->custom, sizeof(ret->custom)},
        {CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, &ret->inner, sizeof(ret->inner)},
        {CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, &ret->cluster, sizeof(ret->cluster)},
    };
    int rc = KIT_OK;
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]) && !rc; i++) {
        size_t written = 0;
        rc = cublaslt_check(cublaslt.cublasLtMatmulAlgoConfigGetAttribute(
                                algorithm, fields[i].attribute, fields[i].value, fields[i].size, &written),
                            "cublasLtMatmulAlgoConfigGetAttribute");
    }
    return rc;
}

static int take(struct state *s, const cublasLtMatmulAlgo_t *algorithm, size_t workspace_bytes)
{
    s->algorithm = *algorithm;
    s->workspace_bytes = workspace_bytes;
    return KIT_OK;
}

/* The wanted one of the results that run: of those that combine parts by the given scheme, if one is. */
static int pick(struct state *s, const cublasLtMatmulHeuristicResult_t *results, int count, int wanted)
{
    int seen = 0;
    for (int i = 0; i < count; i++) {
        struct configuration configuration;
        if (results[i].state != CUBLAS_STATUS_SUCCESS) {
            continue;
        }
        const int rc = read_configuration(&results[i].algo, &configuration);
        if (rc) {
            return rc;
        }
        if (s->scheme != ANY_SCHEME && configuration.scheme != schemes[s->scheme].mask) {
            continue;
        }
        if (seen++ == wanted) {
            return take(s, &results[i].algo, results[i].workspaceSize);
        }
    }
    return s->scheme == ANY_SCHEME
               ? kit_skip("unsupported", "the heuristics name %d algorithms", seen)
               : kit_skip("unsupported", "the heuristics name %d algorithms with reduction scheme %s", seen,
                          schemes[s->scheme].name);
}

static int ask_heuristics(struct state *s, const struct kit_shape *shape, int wanted)
{
    /* as many as are needed: frameworks ask for one */
    const int requested = s->scheme != ANY_SCHEME ? MAX_RESULTS : wanted + 1;
    cublasLtMatmulHeuristicResult_t results[MAX_RESULTS];
    cublasLtMatmulPreference_t preference = NULL;
    int count = 0;
    int rc = cublaslt_check(cublaslt.cublasLtMatmulPreferenceCreate(&preference),
                            "cublasLtMatmulPreferenceCreate");
    if (rc) {
        return rc;
    }
    rc = set_preference(s, shape, preference);
    rc = rc ? rc
            : cublaslt_check(cublaslt.cublasLtMatmulAlgoGetHeuristic(s->handle, s->operation, s->a, s->b,
                                                                     s->c, s->c, preference, requested,
                                                                     results, &count),
                             "cublasLtMatmulAlgoGetHeuristic");
    cublaslt.cublasLtMatmulPreferenceDestroy(preference);
    return rc ? rc : pick(s, results, count, wanted);
}

/* Ids that an algorithm offers, `undefined` where it offers none. Returns their count. */
static int options_of(const cublasLtMatmulAlgo_t *algorithm, cublasLtMatmulAlgoCapAttributes_t attribute,
                      uint32_t undefined, uint32_t ret[MAX_OPTIONS])
{
    size_t bytes = 0, written = 0;
    ret[0] = undefined;
    if (cublaslt.cublasLtMatmulAlgoCapGetAttribute(algorithm, attribute, NULL, 0, &bytes) !=
            CUBLAS_STATUS_SUCCESS ||
        bytes == 0 || bytes > MAX_OPTIONS * sizeof(ret[0]) ||
        cublaslt.cublasLtMatmulAlgoCapGetAttribute(algorithm, attribute, ret, bytes, &written) !=
            CUBLAS_STATUS_SUCCESS) {
        return 1;
    }
    return (int)(written / sizeof(ret[0]));
}

static bool can_split(const cublasLtMatmulAlgo_t *algorithm, uint32_t scheme)
{
    int32_t splits = 0;
    uint32_t mask = 0;
    size_t written;
    return cublaslt.cublasLtMatmulAlgoCapGetAttribute(algorithm, CUBLASLT_ALGO_CAP_SPLITK_SUPPORT, &splits,
                                                      sizeof(splits), &written) == CUBLAS_STATUS_SUCCESS &&
           cublaslt.cublasLtMatmulAlgoCapGetAttribute(algorithm, CUBLASLT_ALGO_CAP_REDUCTION_SCHEME_MASK,
                                                      &mask, sizeof(mask),
                                                      &written) == CUBLAS_STATUS_SUCCESS &&
           splits && (mask & scheme);
}

/* Whether the algorithm runs, configured so, within the workspace; then it is taken. */
static bool try_split(struct state *s, cublasLtMatmulAlgo_t *algorithm, uint32_t tile, uint32_t stages)
{
    const int32_t splits = (int32_t)s->splits;
    const uint32_t scheme = schemes[s->scheme].mask;
    const struct {
        cublasLtMatmulAlgoConfigAttributes_t attribute;
        const void *value;
        size_t size;
    } fields[] = {
        {CUBLASLT_ALGO_CONFIG_TILE_ID, &tile, sizeof(tile)},
        {CUBLASLT_ALGO_CONFIG_STAGES_ID, &stages, sizeof(stages)},
        {CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &splits, sizeof(splits)},
        {CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, &scheme, sizeof(scheme)},
    };
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (cublaslt.cublasLtMatmulAlgoConfigSetAttribute(algorithm, fields[i].attribute, fields[i].value,
                                                          fields[i].size) != CUBLAS_STATUS_SUCCESS) {
            return false;
        }
    }
    cublasLtMatmulHeuristicResult_t result;
    if (cublaslt.cublasLtMatmulAlgoCheck(s->handle, s->operation, s->a, s->b, s->c, s->c, algorithm,
                                         &result) != CUBLAS_STATUS_SUCCESS ||
        result.workspaceSize > s->workspace_limit) {
        return false;
    }
    take(s, algorithm, result.workspaceSize);
    return true;
}

/* The first algorithm, tile and stages that the library lets split k so. */
static int force_split(struct state *s)
{
    static uint32_t tiles[MAX_OPTIONS], stages[MAX_OPTIONS];
    const cublasComputeType_t compute = s->type->compute;
    const cudaDataType_t scale = product_scalar_type(compute), a = product_type(s->type->dtypes[PRODUCT_B]),
                         b = product_type(s->type->dtypes[PRODUCT_A]),
                         c = product_type(s->type->dtypes[PRODUCT_C]); /* as the library numbers them */
    int ids[MAX_ALGORITHMS], count = 0;
    const int rc = cublaslt_check(
        cublaslt.cublasLtMatmulAlgoGetIds(s->handle, compute, scale, a, b, c, c, MAX_ALGORITHMS, ids, &count),
        "cublasLtMatmulAlgoGetIds");
    for (int i = 0; i < count && !rc; i++) {
        cublasLtMatmulAlgo_t algorithm;
        if (cublaslt.cublasLtMatmulAlgoInit(s->handle, compute, scale, a, b, c, c, ids[i], &algorithm) !=
                CUBLAS_STATUS_SUCCESS ||
            !can_split(&algorithm, schemes[s->scheme].mask)) {
            continue;
        }
        const int tile_count =
            options_of(&algorithm, CUBLASLT_ALGO_CAP_TILE_IDS, CUBLASLT_MATMUL_TILE_UNDEFINED, tiles);
        const int stage_count =
            options_of(&algorithm, CUBLASLT_ALGO_CAP_STAGES_IDS, CUBLASLT_MATMUL_STAGES_UNDEFINED, stages);
        for (int j = 0; j < tile_count * stage_count; j++) {
            if (try_split(s, &algorithm, tiles[j / stage_count], stages[j % stage_count])) {
                return KIT_OK;
            }
        }
    }
    return rc ? rc
              : kit_skip("unsupported", "none of %d algorithms splits k in %lld parts with scheme %s", count,
                         (long long)s->splits, schemes[s->scheme].name);
}

/* --- the operation --- */

static int find_algorithm(struct kit_call *call, struct state *s)
{
    int wanted = 0;
    if (s->type->sum == OF_F8 && kit_cuda_capability() < 89) {
        return kit_skip("unsupported", "8-bit floats need compute capability 8.9, the device has %d.%d",
                        kit_cuda_capability() / 10, kit_cuda_capability() % 10);
    }
    if (s->splits) {
        return call->choice ? kit_skip("unsupported", "the algorithm is given by the split of k")
                            : force_split(s);
    }
    for (int i = 0; call->choice && i < MAX_CHOICES; i++) {
        wanted = strcmp(choice_names[i], call->choice) == 0 ? i : wanted;
    }
    return ask_heuristics(s, call->shape, wanted);
}

static const char *scheme_name(uint32_t mask)
{
    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        if (schemes[i].mask == mask) {
            return schemes[i].name;
        }
    }
    return "unknown";
}

static int prepare(struct kit_call *call, struct kit_prepared *ret)
{
    struct state *const s = calloc(1, sizeof(*s));
    struct configuration configuration;
    call->state = s;
    int rc = s ? read_params(call->params, s) : kit_fail("out of memory");
    rc = rc ? rc : cublaslt_handle(&s->handle);
    rc = rc ? rc : make_descriptors(s);
    rc = rc ? rc : find_algorithm(call, s);
    rc = rc ? rc : read_configuration(&s->algorithm, &configuration);
    if (rc) {
        return rc;
    }
    s->one = product_one(s->type->compute);
    ret->workspace_bytes = s->workspace_bytes;
    snprintf(
        ret->chosen, sizeof(ret->chosen),
        "algorithm=%d tile=%u stages=%u split-k=%d reduction=%s swizzle=%u custom=%u inner=%u cluster=%u "
        "workspace=%zu",
        configuration.id, configuration.tile, configuration.stages, configuration.splits,
        scheme_name(configuration.scheme), configuration.swizzle, configuration.custom, configuration.inner,
        configuration.cluster, s->workspace_bytes);
    return KIT_OK;
}

static int run(struct kit_call *call, const struct kit_buffers *buffers)
{
    struct state *const s = call->state;
    void *const c = buffers->data[PRODUCT_C];
    const int rc = s->epilogue ? set(s, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &buffers->data[GRADIENT],
                                     sizeof(buffers->data[GRADIENT]))
                               : KIT_OK;
    return rc ? rc
              : cublaslt_check(cublaslt.cublasLtMatmul(
                                   s->handle, s->operation, &s->one, buffers->data[PRODUCT_B], s->a,
                                   buffers->data[PRODUCT_A], s->b, &s->zero, c, s->c, c, s->c, &s->algorithm,
                                   buffers->workspace, s->workspace_bytes, kit_cuda_stream()),
                               "cublasLtMatmul");
}

/* Parts of a split k that are stored in the output's type round once more each. */
static int64_t bound_k(const struct state *s)
{
    struct configuration configuration = {0};
    read_configuration(&s->algorithm, &configuration);
    const bool stored_narrow = configuration.scheme == CUBLASLT_REDUCTION_SCHEME_INPLACE ||
                               configuration.scheme == CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;
    return product_terms(s->type->sum, s->type->dtypes[PRODUCT_C], s->product.k,
                         stored_narrow ? configuration.splits : 0);
}

/* Sums over k of columns of op(B), or of rows of op(A). */
static void reference_gradient(const struct state *s, const void *const *in, const int64_t *cells,
                               size_t count, struct kit_cell *ret)
{
    const struct product *const p = &s->product;
    const bool of_b = s->epilogue == BGRADA;
    const int operand = of_b ? PRODUCT_B : PRODUCT_A;
    const enum kit_dtype dtype = s->type->dtypes[operand], wide = dtype == KIT_F64 ? KIT_F64 : KIT_F32;
    void *const lines =
        product_matrix(dtype, in[operand], of_b ? p->n : p->m, p->k, of_b ? !p->trans_b : p->trans_a);
    for (size_t i = 0; i < count; i++) {
        ret[i] = (struct kit_cell){0};
        for (int64_t l = 0; l < p->k; l++) {
            const long double value = kit_value(wide, lines, cells[i] * p->k + l);
            ret[i].value += value;
            ret[i].scale += fabsl(value);
        }
    }
    free(lines);
}

static int reference(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                     size_t count, struct kit_cell *ret)
{
    const struct state *const s = call->state;
    const int64_t k = bound_k(s);
    if (output == GRADIENT) {
        reference_gradient(s, in, cells, count, ret);
    } else {
        product_reference(&s->product, s->type->dtypes, in, cells, count, ret);
    }
    for (size_t i = 0; i < count; i++) {
        ret[i].k = k;
    }
    return KIT_OK;
}

static void release(struct kit_call *call)
{
    struct state *const s = call->state;
    if (!s) {
        return;
    }
    const cublasLtMatrixLayout_t layouts[] = {s->a, s->b, s->c};
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
        if (layouts[i]) {
            cublaslt.cublasLtMatrixLayoutDestroy(layouts[i]);
        }
    }
    if (s->operation) {
        cublaslt.cublasLtMatmulDescDestroy(s->operation);
    }
    free(s);
    call->state = NULL;
}

static const struct op matmul = {
    .name = "matmul",
    .describe = describe,
    .choices = choices,
    .prepare = prepare,
    .run = run,
    .reference = reference,
    .release = release,
};

int main(void)
{
    static const struct op *const ops[] = {&matmul, NULL};
    static const struct kit_program program = {.name = "gemm-lt",
                                               .backend = "cuda",
                                               .ops = ops,
                                               .memory = &kit_cuda,
                                               .open = cublaslt_open,
                                               .libraries = cublaslt_libraries,
                                               .set_threads = kit_cuda_set_threads};
    return kit_main(&program);
}
