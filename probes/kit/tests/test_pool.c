/* SPDX-License-Identifier: Apache-2.0
 *
 * What a pooling result may be: values on planes small enough to follow, and gradients of the maximum, of
 * which several are right where maxima tie.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "probes/kit/pool.h"

/* Two windows of 3 x 3 that share a column: stride 2 over 3 x 5. */
static struct kit_pool two_windows(int kind)
{
    return (struct kit_pool){
        .n = 1, .c = 1, .h = 3, .w = 5, .oh = 1, .ow = 2, .window = 3, .stride = 2, .kind = kind};
}

static int64_t wrong_cells(struct kit_pool *pool, const float *src, const float *gradients,
                           const float *result)
{
    struct kit_call call = {.state = pool};
    const void *const in[] = {[KIT_POOL_DIFF_DST] = gradients, [KIT_POOL_BACKWARD_SRC] = src};
    int64_t wrong = -1;
    assert_int_equal(kit_pool_accepts_max_backward(&call, KIT_POOL_DIFF_SRC, in, result, &wrong), KIT_OK);
    return wrong;
}

static void a_shared_maximum_gets_both_gradients(void **state)
{
    struct kit_pool pool = two_windows(KIT_POOL_MAX);
    const float src[15] = {[7] = 1}, gradients[2] = {3, -1};
    const float right[15] = {[7] = 2}, one_lost[15] = {[7] = 3}, elsewhere[15] = {[8] = 2},
                moved[15] = {[7] = 1, [8] = 1};
    assert_int_equal(wrong_cells(&pool, src, gradients, right), 0);
    assert_true(wrong_cells(&pool, src, gradients, one_lost) > 0);
    assert_true(wrong_cells(&pool, src, gradients, elsewhere) > 0);
    assert_true(wrong_cells(&pool, src, gradients, moved) > 0);
    pool.any_tied = true; /* of what does not tie it asks the same */
    assert_int_equal(wrong_cells(&pool, src, gradients, right), 0);
    assert_true(wrong_cells(&pool, src, gradients, one_lost) > 0);
}

static void tied_maxima_share_as_they_like(void **state)
{
    struct kit_pool pool = two_windows(KIT_POOL_MAX);
    const float src[15] = {[0] = 1, [1] = 1, [9] = 1}, gradients[2] = {4, 8};
    const float first[15] = {[0] = 4, [9] = 8}, halves[15] = {[0] = 2, [1] = 2, [9] = 8},
                each[15] = {[0] = 4, [1] = 4, [9] = 8}, lost[15] = {[9] = 8},
                beyond[15] = {[0] = 5, [1] = -1, [9] = 8};
    for (int any = 0; any < 2; any++) {
        pool.any_tied = any;
        assert_int_equal(wrong_cells(&pool, src, gradients, first), 0);
        assert_int_equal(wrong_cells(&pool, src, gradients, halves), 0);
        assert_true(wrong_cells(&pool, src, gradients, lost) > 0);
        assert_true(wrong_cells(&pool, src, gradients, beyond) > 0);
    }
    assert_int_equal(wrong_cells(&pool, src, gradients, each), 0);
    pool.any_tied = false;
    assert_true(wrong_cells(&pool, src, gradients, each) > 0);
}

static void averages_count_what_they_say(void **state)
{
    struct kit_pool pool = two_windows(KIT_POOL_AVERAGE_INCLUDE);
    struct kit_call call = {.state = &pool};
    const int64_t cells[3] = {0, 1, 2};
    const float src[15] = {[0] = 9, [2] = 18}, gradients[3] = {9, 18, 27};
    const void *const in[] = {src}, *const back[] = {gradients};
    struct kit_cell cell[3];
    pool.pad = 1; /* 2 x 3 outputs, each of the first row over two rows */
    pool.oh = 2;
    pool.ow = 3;
    assert_int_equal(kit_pool_reference_forward(&call, KIT_POOL_DST, in, cells, 3, cell), KIT_OK);
    assert_true(cell[0].value == 1 && cell[1].value == 2 && cell[2].value == 0);
    assert_int_equal(kit_pool_reference_backward(&call, KIT_POOL_DIFF_SRC, back, cells, 3, cell), KIT_OK);
    assert_true(cell[0].value == 1 && cell[1].value == 3 && cell[2].value == 2);
    pool.kind = KIT_POOL_AVERAGE_EXCLUDE; /* corners have four inputs, the middle six */
    assert_int_equal(kit_pool_reference_forward(&call, KIT_POOL_DST, in, cells, 3, cell), KIT_OK);
    assert_true(cell[0].value == 2.25L && cell[1].value == 3 && cell[2].value == 0);
    assert_int_equal(kit_pool_reference_backward(&call, KIT_POOL_DIFF_SRC, back, cells, 3, cell), KIT_OK);
    assert_true(cell[0].value == 2.25L && cell[1].value == 2.25L + 3 && cell[2].value == 3);
    pool.kind = KIT_POOL_MAX;
    assert_int_equal(kit_pool_reference_forward(&call, KIT_POOL_DST, in, cells, 3, cell), KIT_OK);
    assert_true(cell[0].value == 9 && cell[1].value == 18 && cell[2].value == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shared_maximum_gets_both_gradients),
        cmocka_unit_test(tied_maxima_share_as_they_like),
        cmocka_unit_test(averages_count_what_they_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
