/* SPDX-License-Identifier: Apache-2.0
 *
 * A library with the names that the program fft asks FFTW for, in double precision: sums as the transform is
 * defined, so it is right, but for one cell where KIND is WRONG. It knows one dimension, and no threads.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum kind { RIGHT, WRONG };

struct plan {
    int n, howmany, distance, sign;
};

const char fftw_version[] = "fftw-9.8.7-fake";

void *fftw_plan_many_dft(int rank, const int *n, int howmany, void *in, const int *inembed, int istride,
                         int idist, void *out, const int *onembed, int ostride, int odist, int sign,
                         unsigned flags)
{
    struct plan *plan = rank == 1 ? malloc(sizeof(*plan)) : NULL;
    if (plan) {
        *plan = (struct plan){*n, howmany, idist, sign};
    }
    return plan;
}

void *fftw_plan_many_dft_r2c(int rank, const int *n, int howmany, void *in, const int *inembed, int istride,
                             int idist, void *out, const int *onembed, int ostride, int odist, unsigned flags)
{
    return NULL;
}

void *fftw_plan_many_dft_c2r(int rank, const int *n, int howmany, void *in, const int *inembed, int istride,
                             int idist, void *out, const int *onembed, int ostride, int odist, unsigned flags)
{
    return NULL;
}

static void transform(const struct plan *plan, const double *x, double *y)
{
    const double step = 2 * acos(-1) / plan->n * plan->sign;
    for (int k = 0; k < plan->n; k++) {
        y[2 * k] = y[2 * k + 1] = 0;
        for (int j = 0; j < plan->n; j++) {
            const double angle = step * (double)((long)j * k % plan->n);
            y[2 * k] += x[2 * j] * cos(angle) - x[2 * j + 1] * sin(angle);
            y[2 * k + 1] += x[2 * j] * sin(angle) + x[2 * j + 1] * cos(angle);
        }
    }
    y[1] += KIND == WRONG ? 1e-9 : 0;
}

void fftw_execute_dft(const void *made, void *in, void *out)
{
    const struct plan *plan = made;
    for (int i = 0; i < plan->howmany; i++) {
        transform(plan, (const double *)in + 2L * i * plan->distance,
                  (double *)out + 2L * i * plan->distance);
    }
}

void fftw_execute_dft_r2c(const void *plan, void *in, void *out)
{
}

void fftw_execute_dft_c2r(const void *plan, void *in, void *out)
{
}

void fftw_destroy_plan(void *plan)
{
    free(plan);
}

void fftw_forget_wisdom(void)
{
}

char *fftw_sprint_plan(const void *plan)
{
    return strdup("(fake\n    part\n  part)");
}
