/* SPDX-License-Identifier: Apache-2.0
 *
 * Inputs: the generator against its published vectors, the counters, every fill's promise, and digests that
 * pin the bits for every machine.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "probes/kit/dtype.h"
#include "probes/kit/input.h"
#include "probes/kit/outcome.h"
#include "suite/base/digest.h"

static void set_words(struct kit_words *words, int at, const uint32_t counter[4])
{
    for (int w = 0; w < 4; w++) {
        words->word[w][at] = counter[w];
    }
}

/* Random123's kat_vectors for philox4x32, 10 rounds. */
static void published_vectors(void **state)
{
    static const struct {
        uint32_t counter[4];
        uint64_t key;
        uint32_t expected[4];
    } vectors[] = {
        {{0, 0, 0, 0}, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{~0u, ~0u, ~0u, ~0u}, ~(uint64_t)0, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         0x299f31d0a4093822,
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    static struct kit_words words;
    for (size_t v = 0; v < sizeof(vectors) / sizeof(vectors[0]); v++) {
        for (int i = 0; i < KIT_BLOCK; i++) { /* in every lane of a vector */
            set_words(&words, i, vectors[v].counter);
        }
        kit_philox(&words, vectors[v].key);
        for (int i = 0; i < KIT_BLOCK; i++) {
            for (int w = 0; w < 4; w++) {
                assert_int_equal(words.word[w][i], vectors[v].expected[w]);
            }
        }
    }
}

static struct kit_operand tensor(enum kit_dtype dtype, int64_t d0, int64_t d1, int64_t d2, int batch_dim)
{
    return (struct kit_operand){
        .name = "a", .dtype = dtype, .ndim = 3, .shape = {d0, d1, d2}, .batch_dim = batch_dim};
}

static int64_t count_of(const struct kit_operand *operand)
{
    return operand->shape[0] * operand->shape[1] * operand->shape[2];
}

static void *filled(const struct kit_operand *operand, enum kit_set set, int64_t place)
{
    const struct kit_source source = {.seed = "1/0", .problem = "p/q", .set = set, .place = place};
    void *const data = calloc((size_t)count_of(operand), kit_dtype_size(operand->dtype));
    assert_non_null(data);
    assert_int_equal(kit_input_fill(operand, &source, data), KIT_OK);
    return data;
}

/* The counter of an element is (sample, offset in the sample), whatever the position of the batch dimension.
 */
static void counters_follow_the_sample(void **state)
{
    const uint64_t key = dp_xxh3_64("1/0/p/q/a", 9);
    for (int batch_dim = -1; batch_dim < 3; batch_dim++) {
        const struct kit_operand operand = tensor(KIT_F32, 5, 7, 3, batch_dim);
        uint32_t *const bits = filled(&operand, KIT_WIDE, 0);
        for (int64_t e = 0; e < 105; e++) {
            const int64_t index[3] = {e / 21, e / 3 % 7, e % 3};
            uint32_t sample = 0, offset = 0;
            for (int d = 0; d < 3; d++) {
                if (d == batch_dim) {
                    sample = (uint32_t)index[d];
                } else {
                    offset = offset * (uint32_t)operand.shape[d] + (uint32_t)index[d];
                }
            }
            static struct kit_words words;
            set_words(&words, 0, (const uint32_t[4]){sample, 0, offset, 0});
            kit_philox(&words, key);
            const uint32_t w = words.word[0][0];
            assert_int_equal(bits[e], (w & 0x807fffffu) | (111 + (w >> 23 & 31)) << 23);
        }
        free(bits);
    }
}

/* Sample s has the same bits in every batch, at its seat; 0 and the place change seats, the rest stays. */
static void samples_change_seats(void **state)
{
    for (int batch_dim = 0; batch_dim < 3; batch_dim++) {
        struct kit_operand operand = tensor(KIT_F64, 4, 4, 4, batch_dim);
        operand.shape[batch_dim] = 9;
        uint64_t *const home = filled(&operand, KIT_UNIT, 0);
        uint64_t *const moved = filled(&operand, KIT_UNIT, 5);
        operand.shape[batch_dim] = 1;
        uint64_t *const alone = filled(&operand, KIT_UNIT, 0);
        int64_t inner = 1;
        for (int d = batch_dim + 1; d < 3; d++) {
            inner *= 4;
        }
        for (int64_t outer = 0; outer < 16 / inner; outer++) {
            for (int64_t i = 0; i < inner; i++) {
                const uint64_t *const a = home + outer * 9 * inner + i;
                const uint64_t *const b = moved + outer * 9 * inner + i;
                assert_int_equal(alone[outer * inner + i], a[0]);
                for (int64_t s = 0; s < 9; s++) {
                    const int64_t from = s == 5 ? 0 : s == 0 ? 5 : s;
                    assert_int_equal(b[s * inner], a[from * inner]);
                }
                assert_true(a[0] != a[5 * inner]);
            }
        }
        free(home);
        free(moved);
        free(alone);
    }
}

/* Weights are the same whichever seat sample 0 of the activations takes; else every result would be sensitive
 * to the batch. */
static void operands_without_samples_stay(void **state)
{
    struct kit_operand operand = tensor(KIT_F32, 4, 6, 5, -1);
    for (int fill = KIT_VALUES; fill <= KIT_PERMUTATION; fill++) {
        operand.fill = (enum kit_fill)fill;
        operand.dtype = fill == KIT_VALUES ? KIT_F32 : KIT_S32;
        operand.below = 200;
        operand.multiplicity = 1;
        void *const home = filled(&operand, KIT_WIDE, 0);
        void *const moved = filled(&operand, KIT_WIDE, 5);
        assert_memory_equal(home, moved, 4 * 6 * 5 * sizeof(float));
        free(home);
        free(moved);
    }
}

static void seeds_problems_and_names_differ(void **state)
{
    const struct kit_operand a = tensor(KIT_F32, 1, 1, 8, -1);
    struct kit_operand b = a;
    b.name = "b";
    const struct kit_source sources[] = {
        {"1/0", "p", KIT_WIDE, 0}, {"1/1", "p", KIT_WIDE, 0}, {"1/0", "q", KIT_WIDE, 0}};
    uint32_t data[4][8];
    for (int i = 0; i < 3; i++) {
        kit_input_fill(&a, &sources[i], data[i]);
    }
    kit_input_fill(&b, &sources[0], data[3]);
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < i; j++) {
            assert_memory_not_equal(data[i], data[j], sizeof(data[0]));
        }
    }
}

/* Sets keep their promise in every float type. */
static void sets_hold_their_ranges(void **state)
{
    static const enum kit_dtype dtypes[] = {KIT_F32, KIT_F64, KIT_F16, KIT_BF16, KIT_F8E4M3, KIT_F8E5M2};
    for (size_t t = 0; t < sizeof(dtypes) / sizeof(dtypes[0]); t++) {
        const struct kit_operand operand = tensor(dtypes[t], 10, 10, 100, -1);
        const bool narrow = kit_dtype_size(dtypes[t]) == 1, short_reach = dtypes[t] == KIT_F16 || narrow;
        const long double reach = narrow ? 16 : short_reach ? 8 : 65536;
        int integers[9] = {0}, negative = 0, large = 0, small = 0;
        for (int set = 0; set < KIT_SET_MAX; set++) {
            void *const data = filled(&operand, (enum kit_set)set, 0);
            for (int64_t e = 0; e < 10000; e++) {
                const long double value = kit_value(dtypes[t], data, e);
                if (set == KIT_EXACT) {
                    assert_true(value == floorl(value) && fabsl(value) <= 4);
                    integers[(int)value + 4]++;
                } else if (set == KIT_UNIT) {
                    assert_true(value >= -1 && value < 1);
                    negative += value < 0;
                } else {
                    assert_true(fabsl(value) < reach && value != 0);
                    large += fabsl(value) >= reach / 2;
                    small += fabsl(value) < (short_reach ? 0x1p-4L : 0x1p-15L);
                }
            }
            free(data);
        }
        for (int i = 0; i < 9; i++) {
            assert_in_range(integers[i], 1000, 1230);
        }
        assert_in_range(negative, 4800, 5200);
        assert_true(large > 200 && small > 200); /* both ends of the exponent range occur */
    }
}

static int cmp_int(const void *a, const void *b)
{
    return (*(const int32_t *)a > *(const int32_t *)b) - (*(const int32_t *)a < *(const int32_t *)b);
}

static void indices_hold_their_multiplicity(void **state)
{
    struct kit_operand operand = tensor(KIT_S32, 1, 30, 100, -1);
    operand.fill = KIT_INDICES;
    operand.below = 5000;
    operand.multiplicity = 3;
    int32_t *const data = filled(&operand, KIT_WIDE, 0);
    bool sorted = true;
    for (int i = 1; i < 3000; i++) {
        sorted = sorted && data[i] >= data[i - 1];
    }
    assert_false(sorted);
    qsort(data, 3000, sizeof(*data), cmp_int);
    for (int i = 0; i < 3000; i += 3) {
        assert_int_equal(data[i], data[i + 2]);
        assert_true(i == 0 || data[i] != data[i - 1]);
        assert_in_range(data[i], 0, 4999);
    }
    free(data);
    operand.below = 999; /* 1000 distinct ones are needed */
    const struct kit_source source = {"1/0", "p", KIT_WIDE, 0};
    int32_t room[3000];
    assert_int_equal(kit_input_fill(&operand, &source, room), KIT_FAILED);
    assert_non_null(strstr(kit_outcome()->text, "do not fit below 999"));
}

static void free_indices_and_permutations(void **state)
{
    struct kit_operand operand = tensor(KIT_S64, 1, 1, 2000, -1);
    operand.fill = KIT_INDICES;
    operand.below = 10;
    int64_t *data = filled(&operand, KIT_UNIT, 0);
    int seen[10] = {0};
    for (int i = 0; i < 2000; i++) {
        assert_in_range(data[i], 0, 9);
        seen[data[i]]++;
    }
    for (int i = 0; i < 10; i++) {
        assert_in_range(seen[i], 140, 260);
    }
    free(data);
    operand.fill = KIT_PERMUTATION;
    data = filled(&operand, KIT_UNIT, 0);
    bool once[2000] = {false};
    int home = 0;
    for (int i = 0; i < 2000; i++) {
        assert_in_range(data[i], 0, 1999);
        assert_false(once[data[i]]);
        once[data[i]] = true;
        home += data[i] == i;
    }
    assert_true(home < 20);
    free(data);
}

/* Diagonal of magnitude 1 to 2, the rest of a row sums to less than 1, the other half NaN. */
static void triangles_are_well_conditioned(void **state)
{
    for (int set = 0; set < KIT_SET_MAX; set++) {
        for (int upper = 0; upper < 2; upper++) {
            struct kit_operand operand = tensor(KIT_F32, 2, 33, 33, -1);
            operand.fill = KIT_TRIANGLE;
            operand.upper = upper;
            float *const data = filled(&operand, (enum kit_set)set, 0);
            for (int row = 0; row < 66; row++) {
                const int i = row % 33;
                double rest = 0;
                for (int j = 0; j < 33; j++) {
                    const float value = data[row * 33 + j];
                    if (upper ? j < i : j > i) {
                        assert_true(isnan(value));
                    } else if (i == j) {
                        assert_true(fabsf(value) >= 1 && fabsf(value) <= (set == KIT_EXACT ? 1 : 2));
                    } else {
                        assert_true(isfinite(value));
                        rest += fabsf(value);
                        assert_true(set != KIT_EXACT || value == 0 || (i % 2 == 1 && j % 2 == 0));
                    }
                }
                assert_true(set == KIT_EXACT || rest < 1);
            }
            free(data);
        }
    }
}

/* One half of a symmetric matrix; a definite one is dominated by its diagonal. */
static void symmetric_halves_are_filled(void **state)
{
    static const enum kit_fill fills[] = {KIT_SYMMETRIC, KIT_DEFINITE};
    for (int form = 0; form < 4 * KIT_SET_MAX; form++) {
        struct kit_operand operand = tensor(KIT_F32, 1, 33, 33, -1);
        operand.fill = fills[form % 2];
        operand.upper = form / 2 % 2;
        float *const data = filled(&operand, (enum kit_set)(form / 4), 0);
        for (int i = 0; i < 33; i++) {
            double rest = 0;
            for (int j = 0; j < 33; j++) {
                const bool stored = operand.upper ? i <= j : i >= j;
                assert_int_equal(isnan(data[i * 33 + j]), !stored);
                rest += i == j ? 0 : fabsf(stored ? data[i * 33 + j] : data[j * 33 + i]);
            }
            assert_true(operand.fill == KIT_SYMMETRIC || (data[i * 34] >= 1 && rest < 1));
        }
        free(data);
    }
}

static void ties_have_few_levels(void **state)
{
    struct kit_operand operand = tensor(KIT_F32, 1, 10, 100, -1);
    operand.fill = KIT_TIES;
    operand.below = 5;
    float *const data = filled(&operand, KIT_WIDE, 0);
    int seen[5] = {0};
    for (int i = 0; i < 1000; i++) {
        assert_true(data[i] == floorf(data[i]) && fabsf(data[i]) <= 2);
        seen[(int)data[i] + 2]++;
    }
    for (int i = 0; i < 5; i++) {
        assert_in_range(seen[i], 140, 260);
    }
    free(data);
}

static void bounded_values_are_scaled(void **state)
{
    static const enum kit_dtype dtypes[] = {KIT_F32, KIT_F64, KIT_BF16};
    for (size_t d = 0; d < sizeof(dtypes) / sizeof(dtypes[0]); d++) {
        for (int set = 0; set < KIT_SET_MAX; set++) {
            struct kit_operand operand = tensor(dtypes[d], 1, 10, 100, -1);
            void *const values = filled(&operand, set, 0);
            operand.fill = KIT_BOUNDED;
            operand.exponent = -5;
            void *const bounded = filled(&operand, set, 0);
            long double most = 0;
            for (int i = 0; i < 1000; i++) {
                const long double value = kit_value(dtypes[d], bounded, i);
                const int scale = set == KIT_UNIT ? 5 : set == KIT_EXACT ? 7 : 21;
                assert_true(ldexpl(value, scale) == kit_value(dtypes[d], values, i));
                most = fmaxl(most, fabsl(value));
            }
            assert_true(most <= 0x1p-5L && most > 0x1p-6L);
            free(values);
            free(bounded);
        }
    }
}

/* The bits themselves: the same on every machine, or reports of two machines cannot be compared. The digests
 * of float values were computed apart from this code, from the definition. */
static void bits_are_pinned(void **state)
{
    static const struct {
        enum kit_dtype dtype;
        enum kit_set set;
        enum kit_fill fill;
        const char *sha256;
    } pins[] = {
        {KIT_F32, KIT_WIDE, KIT_VALUES, "57a75c978ae23b3d90a177cc73a6a20f11a7856537e453fb9a5194757c7da5a0"},
        {KIT_F32, KIT_UNIT, KIT_VALUES, "c4efb8affe18265c1ac9f04b3d31400c343a6ede25c75d5522ee6f932df6a226"},
        {KIT_F32, KIT_EXACT, KIT_VALUES, "22b4da57fa6492985cc85f5db47e73e889470108503b6883a2a9bb74edf01ffa"},
        {KIT_F64, KIT_WIDE, KIT_VALUES, "88a29e049cd31b4d408085ff510a1cd29b702008b7e8ed8f18876ea1ade99a83"},
        {KIT_F64, KIT_UNIT, KIT_VALUES, "a0fb8ba3c04de21fec0c7d593f66ad8fe072354314aa6423455190200cf2943d"},
        {KIT_F64, KIT_EXACT, KIT_VALUES, "93e53d97270fdd6409c165bc5dd19e29d1cb1248d226b049eeb295370ab0af79"},
        {KIT_F16, KIT_WIDE, KIT_VALUES, "012c50f152d43c1c4cb8654047fb7e4bc519c19c31ccb7fb916d15f2dd18303a"},
        {KIT_F16, KIT_UNIT, KIT_VALUES, "c9b9c954bd26de062b9e2cb6e4966d1b8dfc827bc04007a2c4a99dc68fd3352c"},
        {KIT_F16, KIT_EXACT, KIT_VALUES, "bf8bc756af2eb54b0c58812c4dc39dd0e69833dbc481c8a4cfaa5be312ed01d9"},
        {KIT_BF16, KIT_WIDE, KIT_VALUES, "1b88eac9564a7cb6079394e75f9afc44637326cc09ba62382a555e15c825dc86"},
        {KIT_BF16, KIT_UNIT, KIT_VALUES, "d726bc4193e1a78027fa32b76cd0628a8a37bc3cf4c840d0c40aee1e232b44e3"},
        {KIT_BF16, KIT_EXACT, KIT_VALUES, "9f2620cbafaa54d26965cc89b885e63f990e3b0a2467737f7001eaf5bc915b49"},
        {KIT_F8E4M3, KIT_WIDE, KIT_VALUES,
         "b41edf0ff5f5ae1c49fbea9f2dde1d781f2ca45dfa5a06c73b5f2ebd3a796fbd"},
        {KIT_F8E4M3, KIT_UNIT, KIT_VALUES,
         "4f4ce52de98ce59d5b7c9c7884a9c9ef14b0cc145bd3c641a5c9ddb2933169b0"},
        {KIT_F8E4M3, KIT_EXACT, KIT_VALUES,
         "f8a2b4e2829286d4d7b5d953566e62da1a3d09035f298097972bed85ad97c4b9"},
        {KIT_F8E5M2, KIT_WIDE, KIT_VALUES,
         "3de9cbadf05d8e2595dba98d8d4ae9b2260f188b484fac5a37a6333aa7240304"},
        {KIT_F8E5M2, KIT_UNIT, KIT_VALUES,
         "b6a0def628c6cd8147ae0799fb91bd4f80c439d6cb866739c95b66d988b8e0f2"},
        {KIT_F8E5M2, KIT_EXACT, KIT_VALUES,
         "17bccbf9fec3606c93d756b7d4d6d4410f29eb29ad87ac301dffff97a90e0e93"},
        {KIT_S8, KIT_WIDE, KIT_VALUES, "adbfd61655504ceee57a7024aeca88a8dbf0f1046dc8eed12f89233d34001dcb"},
        {KIT_U8, KIT_WIDE, KIT_VALUES, "f8e909ef4a1908013a81a486f32a74b4eb308985de0081fe772b5a28511ed0dc"},
        {KIT_S32, KIT_WIDE, KIT_VALUES, "1109fe67aa1646bf6f4b0620dcc9c84113077793af0d3f9acd5cc024b69e90e6"},
        {KIT_S64, KIT_WIDE, KIT_VALUES, "09d83efd9e58396c8b980a9720193f944fda15ee2806ec839fa954a729e62448"},
        {KIT_S32, KIT_EXACT, KIT_VALUES, "431f78a6449a5700133e9c2efdccf847d726e8c6b360960abd2982cd1294d720"},
        {KIT_S32, KIT_WIDE, KIT_INDICES, "e0c17302413b0e66cc1bcfec64f46b3b72e71c6f3b0e9b9bf431f696ce904d89"},
        {KIT_S64, KIT_WIDE, KIT_PERMUTATION,
         "9fd83743e35f07407dd76deb25c06343aee393288478f0e44d18e39ffd1d5cc2"},
        {KIT_F32, KIT_WIDE, KIT_TIES, "eb1fbca66ee6c1d38044e2973d8ebb11947ae6427cdc0d8f43260d2a9e32a061"},
        {KIT_F32, KIT_WIDE, KIT_TRIANGLE, "72c73c05c6de2350e532a6f6ee19df2dd143488a8dd22d766e9b71c521ad8304"},
        {KIT_F64, KIT_UNIT, KIT_TRIANGLE, "8d8fe2ba8a9d0c49e220e4625cae6a813ddbf234cd47f4148c456bba2a6a3282"},
        {KIT_F64, KIT_EXACT, KIT_TRIANGLE,
         "c50df6e324acdc3a182dbf5f023281987bf2e1c3edc65b8aafdecd4f77b1c116"},
    };
    for (size_t i = 0; i < sizeof(pins) / sizeof(pins[0]); i++) {
        struct kit_operand operand = tensor(pins[i].dtype, 6, 20, 20, pins[i].fill == KIT_TRIANGLE ? -1 : 1);
        operand.fill = pins[i].fill;
        operand.below = 4096;
        operand.multiplicity = pins[i].fill == KIT_INDICES ? 2 : 0;
        void *const data = filled(&operand, pins[i].set, 3);
        char hex[DP_SHA256_HEX];
        dp_sha256_hex(data, 2400 * kit_dtype_size(pins[i].dtype), hex);
        if (strcmp(hex, pins[i].sha256) != 0) {
            print_error("pin %zu: %s\n", i, hex);
        }
        assert_string_equal(hex, pins[i].sha256);
        free(data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_vectors),
        cmocka_unit_test(counters_follow_the_sample),
        cmocka_unit_test(samples_change_seats),
        cmocka_unit_test(operands_without_samples_stay),
        cmocka_unit_test(seeds_problems_and_names_differ),
        cmocka_unit_test(sets_hold_their_ranges),
        cmocka_unit_test(indices_hold_their_multiplicity),
        cmocka_unit_test(free_indices_and_permutations),
        cmocka_unit_test(triangles_are_well_conditioned),
        cmocka_unit_test(symmetric_halves_are_filled),
        cmocka_unit_test(ties_have_few_levels),
        cmocka_unit_test(bounded_values_are_scaled),
        cmocka_unit_test(bits_are_pinned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
