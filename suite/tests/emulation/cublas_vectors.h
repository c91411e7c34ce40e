/* SPDX-License-Identifier: Apache-2.0
 *
 * The emulated cuBLAS routines of vectors and triangles for one type: included once per type with TYPE,
 * DOT_OF and NAME(routine) defined, for complex numbers COMPLEX and COMPLEX_NAME(routine). Column-major, as
 * cuBLAS sees them; vectors without gaps. No guard on purpose.
 */
#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)

/* A scalar result goes where the pointer mode says; probes keep it on the device. */
static cublasStatus_t NAME(scalar)(const char *name, cublasHandle_t handle, TYPE *result, TYPE value)
{
    if (handle->pointer != CUBLAS_POINTER_MODE_DEVICE || !emulate_is_device_memory(result, sizeof(*result))) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    const TYPE before = *result;
    *result = value;
    emulate_harm(name, result, 1, sizeof(TYPE), &before);
    emulate_log("%s pointer=%d atomics=%d stream=%p", name, (int)handle->pointer, (int)handle->atomics,
                (void *)handle->stream);
    return emulate_for("status", name) ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t NAME(dot)(cublasHandle_t handle, int n, const TYPE *x, int incx, const TYPE *y, int incy,
                         TYPE *result)
{
    struct sum_order order = emulate_sum_order(n, emulate_for("reorder", TEXT(NAME(dot))));
    order_for_space(TEXT(NAME(dot)), handle, &order);
    const TYPE value = DOT_OF(x, y, n, &order);
    free(order.place);
    return NAME(scalar)(TEXT(NAME(dot)), handle, result, value);
}

cublasStatus_t NAME(nrm2)(cublasHandle_t handle, int n, const TYPE *x, int incx, TYPE *result)
{
    struct sum_order order = emulate_sum_order(n, emulate_for("reorder", TEXT(NAME(nrm2))));
    const TYPE value = (TYPE)sqrt((double)DOT_OF(x, x, n, &order));
    free(order.place);
    return NAME(scalar)(TEXT(NAME(nrm2)), handle, result, value);
}

cublasStatus_t NAME(asum)(cublasHandle_t handle, int n, const TYPE *x, int incx, TYPE *result)
{
    struct sum_order order = emulate_sum_order(n, emulate_for("reorder", TEXT(NAME(asum))));
    TYPE *const signs = calloc((size_t)n, sizeof(*signs));
    for (int i = 0; i < n; i++) {
        signs[i] = x[i] < 0 ? -1 : 1;
    }
    const TYPE value = DOT_OF(x, signs, n, &order);
    free(order.place);
    free(signs);
    return NAME(scalar)(TEXT(NAME(asum)), handle, result, value);
}

/* y = rows of a matrix times x, `at(i, l)` the place of an element. */
static void NAME(rows)(const char *name, cublasHandle_t handle, const TYPE *dense, const TYPE *x, TYPE *y,
                       int rows, int columns, bool shuffled)
{
    const TYPE before = y[rows - 1];
    for (int i = 0; i < rows; i++) {
        struct sum_order order = emulate_sum_order(columns, shuffled);
        order_for_space(name, handle, &order);
        y[i] = DOT_OF(dense + (int64_t)i * columns, x, columns, &order);
        free(order.place);
    }
    emulate_harm(name, y, (size_t)rows, sizeof(*y), &before);
}

cublasStatus_t NAME(gemv)(cublasHandle_t handle, cublasOperation_t op, int m, int n, const TYPE *alpha,
                          const TYPE *a, int lda, const TYPE *x, int incx, const TYPE *beta, TYPE *y,
                          int incy)
{
    const int rows = op == CUBLAS_OP_N ? m : n, columns = op == CUBLAS_OP_N ? n : m;
    if (lda < m || handle->pointer != CUBLAS_POINTER_MODE_HOST || *alpha != 1 || *beta != 0) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    TYPE *const dense = calloc((size_t)m * (size_t)n, sizeof(*dense));
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t l = 0; l < columns; l++) {
            dense[i * columns + l] = op == CUBLAS_OP_N ? a[i + l * lda] : a[l + i * lda];
        }
    }
    NAME(rows)
    (TEXT(NAME(gemv)), handle, dense, x, y, rows, columns, emulate_for("reorder", TEXT(NAME(gemv))));
    emulate_log("%s op=%d m=%d n=%d stream=%p", TEXT(NAME(gemv)), (int)op, m, n, (void *)handle->stream);
    free(dense);
    return emulate_for("status", TEXT(NAME(gemv))) ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}

/* With atomics allowed the faster form is taken, whose order is another one at each call. */
cublasStatus_t NAME(symv)(cublasHandle_t handle, cublasFillMode_t uplo, int n, const TYPE *alpha,
                          const TYPE *a, int lda, const TYPE *x, int incx, const TYPE *beta, TYPE *y,
                          int incy)
{
    const bool free_order =
        handle->atomics == CUBLAS_ATOMICS_ALLOWED && strcmp(emulate_word("atomics", "yes"), "yes") == 0;
    TYPE *const dense = calloc((size_t)n * (size_t)n, sizeof(*dense));
    for (int64_t i = 0; i < n; i++) {
        for (int64_t l = 0; l < n; l++) {
            const bool stored = uplo == CUBLAS_FILL_MODE_LOWER ? i >= l : i <= l;
            dense[i * n + l] = stored ? a[i + l * lda] : a[l + i * lda];
        }
    }
    NAME(rows)
    (TEXT(NAME(symv)), handle, dense, x, y, n, n, free_order || emulate_for("reorder", TEXT(NAME(symv))));
    emulate_log("%s uplo=%d n=%d atomics=%d", TEXT(NAME(symv)), (int)uplo, n, (int)handle->atomics);
    free(dense);
    return emulate_for("status", TEXT(NAME(symv))) ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}

/* Complex numbers are pairs, so a product with a Hermitian matrix is one with a matrix of twice the size. */
static void NAME(hermitian)(const COMPLEX *a, int64_t lda, int64_t n, bool lower, TYPE *dense)
{
    for (int64_t i = 0; i < n; i++) {
        for (int64_t l = 0; l < n; l++) {
            const bool stored = lower ? i >= l : i <= l;
            const COMPLEX element = stored ? a[i + l * lda] : a[l + i * lda];
            const TYPE imaginary = i == l ? 0 : stored ? element.y : -element.y;
            TYPE *const real_row = dense + 4 * i * n + 2 * l, *const imaginary_row = real_row + 2 * n;
            real_row[0] = imaginary_row[1] = element.x;
            real_row[1] = -imaginary;
            imaginary_row[0] = imaginary;
        }
    }
}

/* As symv. */
cublasStatus_t COMPLEX_NAME(hemv)(cublasHandle_t handle, cublasFillMode_t uplo, int n, const COMPLEX *alpha,
                                  const COMPLEX *a, int lda, const COMPLEX *x, int incx, const COMPLEX *beta,
                                  COMPLEX *y, int incy)
{
    const char *const name = TEXT(COMPLEX_NAME(hemv));
    const bool free_order =
        handle->atomics == CUBLAS_ATOMICS_ALLOWED && strcmp(emulate_word("atomics", "yes"), "yes") == 0;
    const bool plain =
        alpha->x == 1 && alpha->y == 0 && beta->x == 0 && beta->y == 0 && incx == 1 && incy == 1;
    if (n < 1 || lda < n || handle->pointer != CUBLAS_POINTER_MODE_HOST || !plain ||
        !emulate_is_device_memory(a, sizeof(*a) * (size_t)lda * (size_t)n) ||
        !emulate_is_device_memory(x, sizeof(*x) * (size_t)n) ||
        !emulate_is_device_memory(y, sizeof(*y) * (size_t)n)) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    TYPE *const dense = calloc(4 * (size_t)n * (size_t)n, sizeof(*dense));
    NAME(hermitian)(a, lda, n, uplo == CUBLAS_FILL_MODE_LOWER, dense);
    NAME(rows)
    (name, handle, dense, &x->x, &y->x, 2 * n, 2 * n, free_order || emulate_for("reorder", name));
    emulate_log("%s uplo=%d n=%d atomics=%d", name, (int)uplo, n, (int)handle->atomics);
    free(dense);
    return emulate_for("status", name) ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t NAME(ger)(cublasHandle_t handle, int m, int n, const TYPE *alpha, const TYPE *x, int incx,
                         const TYPE *y, int incy, TYPE *a, int lda)
{
    const TYPE before = a[(n - 1) * (int64_t)lda + m - 1];
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = 0; i < m; i++) {
            a[i + j * lda] += *alpha * x[i] * y[j];
        }
    }
    emulate_harm(TEXT(NAME(ger)), a, (size_t)lda * (size_t)n, sizeof(*a), &before);
    return emulate_for("status", TEXT(NAME(ger))) ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}

/* C = op(A) op(A)^T, one triangle. */
cublasStatus_t NAME(syrk)(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t op, int n, int k,
                          const TYPE *alpha, const TYPE *a, int lda, const TYPE *beta, TYPE *c, int ldc)
{
    const bool shuffled = emulate_for("reorder", TEXT(NAME(syrk)));
    TYPE *const dense = calloc((size_t)n * (size_t)k, sizeof(*dense));
    for (int64_t i = 0; i < n; i++) {
        for (int64_t l = 0; l < k; l++) {
            dense[i * k + l] = op == CUBLAS_OP_N ? a[i + l * lda] : a[l + i * lda];
        }
    }
    struct sum_order order = emulate_sum_order(k, shuffled);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            if (uplo == CUBLAS_FILL_MODE_LOWER ? i >= j : i <= j) {
                c[i + j * ldc] = DOT_OF(dense + i * k, dense + j * k, k, &order);
            }
        }
    }
    free(order.place);
    free(dense);
    return emulate_for("status", TEXT(NAME(syrk))) ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}

/* X op(A) = B from the right, the one form that probes use; X over B. */
cublasStatus_t NAME(trsm)(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,
                          cublasOperation_t op, cublasDiagType_t diagonal, int m, int n, const TYPE *alpha,
                          const TYPE *a, int lda, TYPE *b, int ldb)
{
    if (side != CUBLAS_SIDE_RIGHT || diagonal != CUBLAS_DIAG_NON_UNIT || *alpha != 1) {
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    /* column j of op(A) holds rows up to j where op(A) is upper */
    const bool upper = (uplo == CUBLAS_FILL_MODE_UPPER) == (op == CUBLAS_OP_N);
    for (int64_t step = 0; step < n; step++) {
        const int64_t j = upper ? step : n - 1 - step;
        for (int64_t i = 0; i < m; i++) {
            TYPE sum = b[i + j * ldb];
            for (int64_t done = 0; done < step; done++) {
                const int64_t l = upper ? done : n - 1 - done;
                sum -= b[i + l * ldb] * (op == CUBLAS_OP_N ? a[l + j * lda] : a[j + l * lda]);
            }
            b[i + j * ldb] = sum / a[j + j * lda];
        }
    }
    return emulate_for("status", TEXT(NAME(trsm))) ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}
#undef TEXT
#undef TEXT_OF
