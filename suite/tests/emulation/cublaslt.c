/* SPDX-License-Identifier: Apache-2.0
 *
 * An emulated libcublasLt: three algorithms that sum in as many parts of k as they are configured for and
 * combine them by their scheme, so that heuristic results differ in bits. Reduction in place takes the parts
 * as they arrive where atomics=yes. Descriptors, types, workspaces and pointers that the real library refuses
 * are refused.
 */
#include <cublasLt.h>
#include <stdlib.h>
#include <string.h>

#include "suite/tests/emulation/emulation.h"
#include "suite/tests/emulation/sums.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define ALIGNED 256
#define TILE 64

enum magic { LAYOUT = 0x1a407, OPERATION, PREFERENCE, ALGORITHM };

struct cublasLtContext {
    int unused;
};

struct layout {
    enum magic magic;
    cudaDataType type;
    int64_t rows, columns, ld;
};

struct operation {
    enum magic magic;
    cublasComputeType_t compute;
    cudaDataType_t scale;
    int32_t op_a, op_b;
    uint32_t epilogue;
    void *bias;
};

struct preference {
    enum magic magic;
    uint64_t workspace;
    uint32_t schemes, alignment[4];
};

/* What stands in the opaque cublasLtMatmulAlgo_t. */
struct algorithm {
    enum magic magic;
    int32_t id, splits;
    uint32_t tile, stages, scheme, swizzle, custom;
    uint16_t inner, cluster;
    int32_t compute, scale, types[4];
};
_Static_assert(sizeof(struct algorithm) <= sizeof(cublasLtMatmulAlgo_t), "an algorithm fits");

static const uint32_t tiles[] = {CUBLASLT_MATMUL_TILE_64x64, CUBLASLT_MATMUL_TILE_128x64,
                                 CUBLASLT_MATMUL_TILE_128x128};
static const uint32_t stages[] = {CUBLASLT_MATMUL_STAGES_32x3, CUBLASLT_MATMUL_STAGES_64x3};

static const struct known {
    int32_t id;
    uint32_t schemes; /* by which it combines parts; none: it does not split k */
} known[] = {
    {0, CUBLASLT_REDUCTION_SCHEME_NONE},
    {6, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE | CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE},
    {21, CUBLASLT_REDUCTION_SCHEME_INPLACE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE},
};

static const struct known *find_known(int32_t id)
{
    for (size_t i = 0; i < COUNT(known); i++) {
        if (known[i].id == id) {
            return &known[i];
        }
    }
    return NULL;
}

/* --- the handle and descriptors --- */

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
    *handle = calloc(1, sizeof(**handle));
    emulate_log("cublasLtCreate");
    return *handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

size_t cublasLtGetVersion(void)
{
    return (size_t)emulate_number("cublas", EMULATED_CUBLAS);
}

const char *cublasLtGetStatusString(cublasStatus_t status)
{
    return status == CUBLAS_STATUS_EXECUTION_FAILED ? "the function failed to launch on the GPU"
           : status == CUBLAS_STATUS_INVALID_VALUE
               ? "an unsupported value or parameter was passed to the function"
           : status == CUBLAS_STATUS_NOT_SUPPORTED ? "the functionality requested is not supported"
                                                   : "unknown";
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *ret, cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t ld)
{
    struct layout *const layout = calloc(1, sizeof(*layout));
    *layout = (struct layout){LAYOUT, type, (int64_t)rows, (int64_t)columns, ld};
    *ret = (cublasLtMatrixLayout_t)(void *)layout;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout)
{
    free(layout);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *ret, cublasComputeType_t compute,
                                        cudaDataType_t scale)
{
    struct operation *const operation = calloc(1, sizeof(*operation));
    *operation = (struct operation){
        .magic = OPERATION, .compute = compute, .scale = scale, .epilogue = CUBLASLT_EPILOGUE_DEFAULT};
    *ret = (cublasLtMatmulDesc_t)(void *)operation;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t operation)
{
    free(operation);
    return CUBLAS_STATUS_SUCCESS;
}

/* A member of an opaque object, by its attribute. */
struct field {
    int attribute;
    void *at;
    size_t size;
};

static cublasStatus_t set_field(const struct field *fields, size_t count, int attribute, const void *value,
                                size_t size)
{
    for (size_t i = 0; i < count; i++) {
        if (fields[i].attribute == attribute && value && size == fields[i].size) {
            memcpy(fields[i].at, value, size);
            return CUBLAS_STATUS_SUCCESS;
        }
    }
    return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t opaque,
                                              cublasLtMatmulDescAttributes_t attribute, const void *value,
                                              size_t size)
{
    struct operation *const o = (struct operation *)(void *)opaque;
    const struct field fields[] = {
        {CUBLASLT_MATMUL_DESC_TRANSA, &o->op_a, sizeof(o->op_a)},
        {CUBLASLT_MATMUL_DESC_TRANSB, &o->op_b, sizeof(o->op_b)},
        {CUBLASLT_MATMUL_DESC_EPILOGUE, &o->epilogue, sizeof(o->epilogue)},
        {CUBLASLT_MATMUL_DESC_BIAS_POINTER, &o->bias, sizeof(o->bias)},
    };
    return set_field(fields, COUNT(fields), (int)attribute, value, size);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *ret)
{
    struct preference *const preference = calloc(1, sizeof(*preference));
    *preference = (struct preference){PREFERENCE, 0, CUBLASLT_REDUCTION_SCHEME_MASK, {256, 256, 256, 256}};
    *ret = (cublasLtMatmulPreference_t)(void *)preference;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference)
{
    free(preference);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t opaque,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void *value, size_t size)
{
    struct preference *const p = (struct preference *)(void *)opaque;
    const struct field fields[] = {
        {CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &p->workspace, sizeof(p->workspace)},
        {CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &p->schemes, sizeof(p->schemes)},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &p->alignment[0], sizeof(p->alignment[0])},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &p->alignment[1], sizeof(p->alignment[1])},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &p->alignment[2], sizeof(p->alignment[2])},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &p->alignment[3], sizeof(p->alignment[3])},
    };
    return set_field(fields, COUNT(fields), (int)attribute, value, size);
}

/* --- the problem --- */

/* A product, its descriptors read. */
struct problem {
    const struct operation *operation;
    const struct layout *a, *b, *c, *d;
    int64_t m, n, k;
    bool trans_a, trans_b;
};

static bool is_byte(cudaDataType type)
{
    return type == CUDA_R_8I || type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2;
}

static cublasStatus_t check_types(const struct problem *p)
{
    static const struct {
        cublasComputeType_t compute;
        cudaDataType scale, a, b, c;
    } rows[] = {
        {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F},
        {CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F},
        {CUBLAS_COMPUTE_64F, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F},
        {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F},
        {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16F, CUDA_R_16F, CUDA_R_32F},
        {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16BF, CUDA_R_16BF, CUDA_R_16BF},
        {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F},
        {CUBLAS_COMPUTE_32I, CUDA_R_32I, CUDA_R_8I, CUDA_R_8I, CUDA_R_32I},
        {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_8F_E4M3, CUDA_R_8F_E4M3, CUDA_R_16BF},
        {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_8F_E4M3, CUDA_R_8F_E4M3, CUDA_R_16F},
        {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_8F_E4M3, CUDA_R_8F_E4M3, CUDA_R_32F},
        {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_8F_E4M3, CUDA_R_8F_E5M2, CUDA_R_16BF},
        {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_8F_E4M3, CUDA_R_8F_E5M2, CUDA_R_16F},
        {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_8F_E4M3, CUDA_R_8F_E5M2, CUDA_R_32F},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (rows[i].compute == p->operation->compute && rows[i].scale == p->operation->scale &&
            rows[i].a == p->a->type && rows[i].b == p->b->type && rows[i].c == p->c->type) {
            return CUBLAS_STATUS_SUCCESS;
        }
    }
    return CUBLAS_STATUS_NOT_SUPPORTED;
}

/* Types of eight bits: A transposed alone, rows of whole words, fp8 from capability 8.9 on. */
static cublasStatus_t check_bytes(const struct problem *p)
{
    const int64_t multiple = p->a->type == CUDA_R_8I ? 4 : 16;
    if (!p->trans_a || p->trans_b || p->a->ld % multiple || p->b->ld % multiple || p->m % multiple ||
        p->k % multiple) {
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    return p->a->type != CUDA_R_8I && emulate_number("capability", 90) < 89 ? CUBLAS_STATUS_NOT_SUPPORTED
                                                                            : CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t read_problem(struct problem *p, cublasLtMatmulDesc_t operation,
                                   cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                   cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d)
{
    *p = (struct problem){.operation = (const void *)operation,
                          .a = (const void *)a,
                          .b = (const void *)b,
                          .c = (const void *)c,
                          .d = (const void *)d};
    if (!operation || !a || !b || !c || !d || p->operation->magic != OPERATION || p->a->magic != LAYOUT ||
        p->b->magic != LAYOUT || p->c->magic != LAYOUT || p->d->magic != LAYOUT) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    p->trans_a = p->operation->op_a != CUBLAS_OP_N;
    p->trans_b = p->operation->op_b != CUBLAS_OP_N;
    p->m = p->trans_a ? p->a->columns : p->a->rows;
    p->k = p->trans_a ? p->a->rows : p->a->columns;
    p->n = p->trans_b ? p->b->rows : p->b->columns;
    if ((p->trans_b ? p->b->columns : p->b->rows) != p->k || p->d->rows != p->m || p->d->columns != p->n ||
        p->c->type != p->d->type || p->c->rows != p->m || p->c->columns != p->n) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    const bool has_gradient = p->operation->epilogue != CUBLASLT_EPILOGUE_DEFAULT;
    if (has_gradient && (p->operation->compute != CUBLAS_COMPUTE_32F || is_byte(p->a->type))) {
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    const cublasStatus_t status = check_types(p);
    return status == CUBLAS_STATUS_SUCCESS && is_byte(p->a->type) ? check_bytes(p) : status;
}

/* --- algorithms --- */

static size_t workspace_of(const struct problem *p, const struct algorithm *algorithm)
{
    const size_t cells = (size_t)(p->m * p->n) * (size_t)algorithm->splits;
    switch (algorithm->scheme) {
    case CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE:
        return cells * emulate_size(p->operation->scale);
    case CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE:
        return cells * emulate_size(p->c->type);
    case CUBLASLT_REDUCTION_SCHEME_INPLACE: /* a counter for each tile */
        return (size_t)((p->m + TILE - 1) / TILE * ((p->n + TILE - 1) / TILE)) * sizeof(uint32_t);
    default:
        return 0;
    }
}

static bool is_listed(uint32_t value, const uint32_t *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (list[i] == value) {
            return true;
        }
    }
    return false;
}

static cublasStatus_t check_algorithm(const struct problem *p, const struct algorithm *algorithm)
{
    const struct known *const k = algorithm->magic == ALGORITHM ? find_known(algorithm->id) : NULL;
    const int32_t types[] = {p->a->type, p->b->type, p->c->type, p->d->type};
    if (!k || memcmp(types, algorithm->types, sizeof(types)) != 0 ||
        algorithm->compute != (int32_t)p->operation->compute ||
        algorithm->scale != (int32_t)p->operation->scale) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    const bool splits = algorithm->splits > 1;
    return !is_listed(algorithm->tile, tiles, COUNT(tiles)) ||
                   !is_listed(algorithm->stages, stages, COUNT(stages)) || algorithm->splits < 1 ||
                   algorithm->splits > p->k || splits != (algorithm->scheme != 0) ||
                   (splits && !(algorithm->scheme & k->schemes))
               ? CUBLAS_STATUS_NOT_SUPPORTED
               : CUBLAS_STATUS_SUCCESS;
}

static struct algorithm configure(int32_t id, uint32_t tile, int32_t splits, uint32_t scheme,
                                  cublasComputeType_t compute, cudaDataType scale, const int32_t types[4])
{
    struct algorithm algorithm = {.magic = ALGORITHM,
                                  .id = id,
                                  .splits = splits,
                                  .tile = tile,
                                  .stages = stages[0],
                                  .scheme = scheme,
                                  .compute = (int32_t)compute,
                                  .scale = (int32_t)scale};
    memcpy(algorithm.types, types, sizeof(algorithm.types));
    return algorithm;
}

/* In the order of their estimated time where k is long; where it is short, from the first that does not
 * split. Reduction in place is named only where a narrower mask asks for it. */
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t opaque, int requested,
                                              cublasLtMatmulHeuristicResult_t results[], int *ret_count)
{
    static const struct {
        int32_t id;
        int tile;
        int32_t splits;
        uint32_t scheme;
    } rows[] = {
        {6, 1, 4, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE}, {6, 2, 2, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE},
        {6, 1, 8, CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE},  {0, 0, 1, CUBLASLT_REDUCTION_SCHEME_NONE},
        {0, 1, 1, CUBLASLT_REDUCTION_SCHEME_NONE},         {21, 1, 8, CUBLASLT_REDUCTION_SCHEME_INPLACE},
    };
    const struct preference *const preference = (const void *)opaque;
    struct problem p;
    *ret_count = 0;
    if (!handle || !preference || preference->magic != PREFERENCE || requested <= 0) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    emulate_log("cublasLtMatmulAlgoGetHeuristic requested=%d workspace=%llu schemes=%u alignment=%u,%u,%u,%u",
                requested, (unsigned long long)preference->workspace, preference->schemes,
                preference->alignment[0], preference->alignment[1], preference->alignment[2],
                preference->alignment[3]);
    const cublasStatus_t status = read_problem(&p, operation, a, b, c, d);
    const size_t first = p.k >= 4 * p.m && p.k >= 4 * p.n ? 0 : 3;
    for (size_t i = 0; status == CUBLAS_STATUS_SUCCESS && i < COUNT(rows) && *ret_count < requested; i++) {
        const size_t row = (first + i) % COUNT(rows);
        const struct algorithm algorithm = configure(
            rows[row].id, tiles[rows[row].tile], rows[row].splits, rows[row].scheme, p.operation->compute,
            p.operation->scale, (const int32_t[]){p.a->type, p.b->type, p.c->type, p.d->type});
        const size_t workspace = workspace_of(&p, &algorithm);
        const bool unasked = rows[row].scheme == CUBLASLT_REDUCTION_SCHEME_INPLACE &&
                             preference->schemes == CUBLASLT_REDUCTION_SCHEME_MASK;
        if (!unasked && (rows[row].scheme & preference->schemes) == rows[row].scheme &&
            workspace <= preference->workspace) {
            cublasLtMatmulHeuristicResult_t *const result = &results[(*ret_count)++];
            memset(result, 0, sizeof(*result));
            memcpy(&result->algo, &algorithm, sizeof(algorithm));
            result->workspaceSize = workspace;
            result->state = CUBLAS_STATUS_SUCCESS;
        }
    }
    return status == CUBLAS_STATUS_SUCCESS && *ret_count == 0 ? CUBLAS_STATUS_NOT_SUPPORTED : status;
}

cublasStatus_t cublasLtMatmulAlgoGetIds(cublasLtHandle_t handle, cublasComputeType_t compute,
                                        cudaDataType_t scale, cudaDataType_t a, cudaDataType_t b,
                                        cudaDataType_t c, cudaDataType_t d, int requested, int ids[],
                                        int *ret_count)
{
    *ret_count = 0;
    if (requested <= 0) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    while (*ret_count < requested && *ret_count < (int)COUNT(known)) {
        ids[*ret_count] = known[*ret_count].id;
        ++*ret_count;
    }
    return CUBLAS_STATUS_SUCCESS;
}

/* Tile and stages are still undefined. */
cublasStatus_t cublasLtMatmulAlgoInit(cublasLtHandle_t handle, cublasComputeType_t compute,
                                      cudaDataType_t scale, cudaDataType_t a, cudaDataType_t b,
                                      cudaDataType_t c, cudaDataType_t d, int id, cublasLtMatmulAlgo_t *ret)
{
    if (!ret || !find_known(id)) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    struct algorithm algorithm =
        configure(id, CUBLASLT_MATMUL_TILE_UNDEFINED, 1, 0, compute, scale, (const int32_t[]){a, b, c, d});
    algorithm.stages = CUBLASLT_MATMUL_STAGES_UNDEFINED;
    memset(ret, 0, sizeof(*ret));
    memcpy(ret, &algorithm, sizeof(algorithm));
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                                       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                       cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t *opaque,
                                       cublasLtMatmulHeuristicResult_t *result)
{
    const struct algorithm *const algorithm = (const void *)opaque;
    struct problem p;
    cublasStatus_t status = read_problem(&p, operation, a, b, c, d);
    status = status == CUBLAS_STATUS_SUCCESS ? check_algorithm(&p, algorithm) : status;
    if (status == CUBLAS_STATUS_SUCCESS) {
        result->workspaceSize = workspace_of(&p, algorithm);
        result->state = status;
    }
    return status;
}

static cublasStatus_t answer(const void *value, size_t bytes, void *ret, size_t size, size_t *written)
{
    if (size == 0 ? !written : !ret || size < bytes) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    if (size) {
        memcpy(ret, value, bytes);
    }
    if (written) {
        *written = bytes;
    }
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCapGetAttribute(const cublasLtMatmulAlgo_t *opaque,
                                                 cublasLtMatmulAlgoCapAttributes_t attribute, void *ret,
                                                 size_t size, size_t *written)
{
    const struct known *const k = find_known(((const struct algorithm *)(const void *)opaque)->id);
    const int32_t splits = k && k->schemes != 0;
    const uint32_t schemes = k ? k->schemes : 0;
    switch (attribute) {
    case CUBLASLT_ALGO_CAP_SPLITK_SUPPORT:
        return answer(&splits, sizeof(splits), ret, size, written);
    case CUBLASLT_ALGO_CAP_REDUCTION_SCHEME_MASK:
        return answer(&schemes, sizeof(schemes), ret, size, written);
    case CUBLASLT_ALGO_CAP_TILE_IDS:
        return answer(tiles, sizeof(tiles), ret, size, written);
    case CUBLASLT_ALGO_CAP_STAGES_IDS:
        return answer(stages, sizeof(stages), ret, size, written);
    default:
        return CUBLAS_STATUS_INVALID_VALUE;
    }
}

/* The first is set by cublasLtMatmulAlgoInit alone. */
#define ALGORITHM_FIELDS(algorithm)                                                                          \
    {                                                                                                        \
        {CUBLASLT_ALGO_CONFIG_ID, &(algorithm)->id, sizeof((algorithm)->id)},                                \
            {CUBLASLT_ALGO_CONFIG_TILE_ID, &(algorithm)->tile, sizeof((algorithm)->tile)},                   \
            {CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &(algorithm)->splits, sizeof((algorithm)->splits)},            \
            {CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, &(algorithm)->scheme, sizeof((algorithm)->scheme)},      \
            {CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, &(algorithm)->swizzle, sizeof((algorithm)->swizzle)},       \
            {CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, &(algorithm)->custom, sizeof((algorithm)->custom)},         \
            {CUBLASLT_ALGO_CONFIG_STAGES_ID, &(algorithm)->stages, sizeof((algorithm)->stages)},             \
            {CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, &(algorithm)->inner, sizeof((algorithm)->inner)},          \
        {                                                                                                    \
            CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, &(algorithm)->cluster, sizeof((algorithm)->cluster)       \
        }                                                                                                    \
    }

cublasStatus_t cublasLtMatmulAlgoConfigSetAttribute(cublasLtMatmulAlgo_t *opaque,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute,
                                                    const void *value, size_t size)
{
    struct algorithm *const algorithm = (void *)opaque;
    const struct field fields[] = ALGORITHM_FIELDS(algorithm);
    return set_field(fields + 1, COUNT(fields) - 1, (int)attribute, value, size);
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t *opaque,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute, void *ret,
                                                    size_t size, size_t *written)
{
    struct algorithm algorithm;
    memcpy(&algorithm, opaque, sizeof(algorithm));
    const struct field fields[] = ALGORITHM_FIELDS(&algorithm);
    for (size_t i = 0; i < COUNT(fields); i++) {
        if (fields[i].attribute == (int)attribute) {
            return answer(fields[i].at, fields[i].size, ret, size, written);
        }
    }
    return CUBLAS_STATUS_INVALID_VALUE;
}

/* --- the product --- */

/* Operands as dense vectors of k, in both widths. */
struct vectors {
    double *wide;
    float *narrow;
};

static struct vectors gather(const struct problem *p, bool of_b, const void *matrix)
{
    const struct layout *const layout = of_b ? p->b : p->a;
    const int64_t count = of_b ? p->n : p->m;
    const bool tf32 = p->operation->compute == CUBLAS_COMPUTE_32F_FAST_TF32;
    struct vectors vectors = {.wide = calloc((size_t)(count * p->k), sizeof(double))};
    emulate_gather(layout->type, matrix, layout->ld, of_b ? p->trans_b : !p->trans_a, count, p->k, tf32,
                   vectors.wide);
    vectors.narrow = emulate_narrow(vectors.wide, count * p->k);
    return vectors;
}

static void free_vectors(struct vectors *vectors)
{
    free(vectors->wide);
    free(vectors->narrow);
}

/* The parts of k, their sums' own orders, and the order in which they are combined. */
struct parts {
    int32_t count;
    int32_t *order;
    struct sum_order *inside;
};

static int64_t part_start(int64_t k, const struct parts *parts, int32_t part)
{
    return k * part / parts->count;
}

static struct parts make_parts(const struct problem *p, const struct algorithm *algorithm)
{
    const bool shuffled = emulate_for("reorder", "cublasLtMatmul");
    const bool as_they_arrive = algorithm->scheme == CUBLASLT_REDUCTION_SCHEME_INPLACE &&
                                strcmp(emulate_word("atomics", "yes"), "yes") == 0;
    struct parts parts = {.count = algorithm->splits};
    parts.order = calloc((size_t)parts.count, sizeof(*parts.order));
    parts.inside = calloc((size_t)parts.count, sizeof(*parts.inside));
    emulate_order(parts.order, parts.count, shuffled || as_they_arrive);
    for (int32_t i = 0; i < parts.count; i++) {
        parts.inside[i] =
            emulate_sum_order(part_start(p->k, &parts, i + 1) - part_start(p->k, &parts, i), shuffled);
    }
    return parts;
}

static void free_parts(struct parts *parts)
{
    for (int32_t i = 0; i < parts->count; i++) {
        free(parts->inside[i].place);
    }
    free(parts->inside);
    free(parts->order);
}

static double part_sum(const struct problem *p, const struct parts *parts, int32_t part,
                       const struct vectors *a, const struct vectors *b, int64_t i, int64_t j)
{
    const bool wide =
        p->operation->compute == CUBLAS_COMPUTE_64F || p->operation->compute == CUBLAS_COMPUTE_32I;
    const int64_t from = part_start(p->k, parts, part), count = part_start(p->k, parts, part + 1) - from;
    const int64_t at_a = i * p->k + from, at_b = j * p->k + from;
    return wide ? emulate_dot_double(a->wide + at_a, b->wide + at_b, count, &parts->inside[part])
                : (double)emulate_dot_float(a->narrow + at_a, b->narrow + at_b, count, &parts->inside[part]);
}

/* One cell: parts go through the workspace, or in place through the cell, rounded to the type of each. */
static void combine(const struct problem *p, const struct algorithm *algorithm, const struct parts *parts,
                    const double *sums, int64_t cell, void *c, void *workspace)
{
    const bool in_place = algorithm->scheme == CUBLASLT_REDUCTION_SCHEME_INPLACE;
    const cudaDataType stored =
        algorithm->scheme == CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE ? p->c->type : p->operation->scale;
    double total = 0;
    for (int32_t i = 0; i < parts->count; i++) {
        double sum = sums[parts->order[i]];
        if (parts->count > 1 && !in_place) {
            const int64_t place = cell * parts->count + i;
            emulate_store(stored, workspace, place, sum);
            sum = emulate_load(stored, workspace, place);
        }
        total = p->operation->scale == CUDA_R_32F ? (double)((float)total + (float)sum) : total + sum;
        if (in_place) {
            emulate_store(p->c->type, c, cell, total);
            total = emulate_load(p->c->type, c, cell);
        }
    }
    emulate_store(p->c->type, c, cell, total);
}

static void multiply(const struct problem *p, const struct algorithm *algorithm, const struct vectors *a,
                     const struct vectors *b, void *c, void *workspace)
{
    struct parts parts = make_parts(p, algorithm);
    double *const sums = calloc((size_t)parts.count, sizeof(*sums));
    for (int64_t j = 0; j < p->n; j++) {
        for (int64_t i = 0; i < p->m; i++) {
            for (int32_t part = 0; part < parts.count; part++) {
                sums[part] = part_sum(p, &parts, part, a, b, i, j);
            }
            combine(p, algorithm, &parts, sums, i + j * p->c->ld, c, workspace);
        }
    }
    free(sums);
    free_parts(&parts);
}

/* Sums over k of op(A)'s rows or op(B)'s columns. */
static void sum_gradient(const struct problem *p, const struct vectors *a, const struct vectors *b)
{
    const bool of_b = p->operation->epilogue == CUBLASLT_EPILOGUE_BGRADB;
    float *const ones = calloc((size_t)p->k, sizeof(*ones));
    struct sum_order order = emulate_sum_order(p->k, emulate_for("reorder", "cublasLtMatmul"));
    for (int64_t l = 0; l < p->k; l++) {
        ones[l] = 1;
    }
    for (int64_t i = 0; i < (of_b ? p->n : p->m); i++) {
        emulate_store(p->c->type, p->operation->bias, i,
                      (double)emulate_dot_float((of_b ? b : a)->narrow + i * p->k, ones, p->k, &order));
    }
    free(order.place);
    free(ones);
}

static cublasStatus_t check_call(const struct problem *p, const struct algorithm *algorithm, const void *a,
                                 const void *b, const void *c, const void *d, const void *workspace,
                                 size_t bytes)
{
    const struct operation *const o = p->operation;
    const size_t need = workspace_of(p, algorithm);
    const int64_t gradients = o->epilogue == CUBLASLT_EPILOGUE_BGRADB ? p->n : p->m;
    if (!emulate_is_matrix(a, p->a->type, p->a->rows, p->a->columns, p->a->ld) ||
        !emulate_is_matrix(b, p->b->type, p->b->rows, p->b->columns, p->b->ld) || c != d ||
        !emulate_is_matrix(d, p->d->type, p->m, p->n, p->d->ld) ||
        (is_byte(p->a->type) && ((uintptr_t)a | (uintptr_t)b | (uintptr_t)d) % 16)) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    if (bytes < need ||
        (bytes && ((uintptr_t)workspace % ALIGNED || !emulate_is_device_memory(workspace, bytes)))) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    if (o->epilogue != CUBLASLT_EPILOGUE_DEFAULT &&
        !emulate_is_matrix(o->bias, p->c->type, gradients, 1, gradients)) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    return emulate_for("status", "cublasLtMatmul") ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}

/* alpha 1 and beta 0, in the type of the scale, which is all that probes use. */
static bool are_plain_scalars(cudaDataType type, const void *alpha, const void *beta)
{
    return !emulate_is_device_memory(alpha, 1) && emulate_load(type, alpha, 0) == 1 &&
           emulate_load(type, beta, 0) == 0;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, const void *alpha,
                              const void *a, cublasLtMatrixLayout_t a_layout, const void *b,
                              cublasLtMatrixLayout_t b_layout, const void *beta, const void *c,
                              cublasLtMatrixLayout_t c_layout, void *d, cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t *opaque, void *workspace, size_t bytes,
                              cudaStream_t stream)
{
    struct algorithm algorithm;
    struct problem p;
    if (!handle || !opaque) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    memcpy(&algorithm, opaque, sizeof(algorithm));
    cublasStatus_t status = read_problem(&p, operation, a_layout, b_layout, c_layout, d_layout);
    status = status == CUBLAS_STATUS_SUCCESS ? check_algorithm(&p, &algorithm) : status;
    status =
        status == CUBLAS_STATUS_SUCCESS ? check_call(&p, &algorithm, a, b, c, d, workspace, bytes) : status;
    if (status != CUBLAS_STATUS_SUCCESS || !are_plain_scalars(p.operation->scale, alpha, beta)) {
        return status != CUBLAS_STATUS_SUCCESS ? status : CUBLAS_STATUS_INVALID_VALUE;
    }
    struct vectors of_a = gather(&p, false, a), of_b = gather(&p, true, b);
    const size_t size = emulate_size(p.c->type), elements = (size_t)(p.c->ld * p.n);
    char last[8];
    memcpy(last, (const char *)d + (elements - 1) * size, size);
    multiply(&p, &algorithm, &of_a, &of_b, d, workspace);
    if (p.operation->epilogue != CUBLASLT_EPILOGUE_DEFAULT) {
        sum_gradient(&p, &of_a, &of_b);
    }
    emulate_harm("cublasLtMatmul", d, elements, size, last);
    emulate_log("cublasLtMatmul %c%c m=%lld n=%lld k=%lld types=%d,%d,%d compute=%d scale=%d algorithm=%d "
                "split-k=%d reduction=%u epilogue=%u workspace=%zu stream=%p",
                p.trans_a ? 't' : 'n', p.trans_b ? 't' : 'n', (long long)p.m, (long long)p.n, (long long)p.k,
                (int)p.a->type, (int)p.b->type, (int)p.c->type, (int)p.operation->compute,
                (int)p.operation->scale, algorithm.id, algorithm.splits, algorithm.scheme,
                p.operation->epilogue, bytes, (void *)stream);
    free_vectors(&of_a);
    free_vectors(&of_b);
    return CUBLAS_STATUS_SUCCESS;
}
