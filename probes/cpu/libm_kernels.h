/* SPDX-License-Identifier: Apache-2.0
 *
 * A function over a range, LANES elements at a time by the vector library and the rest one by one, as a loop
 * does it that a compiler vectorised. Included once for each vector length and element type with TARGET (what
 * the processor must have), NAME, TYPE, LANES and REST (one by one) set. No include guard on purpose.
 */
typedef TYPE NAME(vector) __attribute__((vector_size(sizeof(TYPE) * LANES)));

TARGET static NAME(vector) NAME(load)(const TYPE *from, bool positive)
{
    NAME(vector) lanes;
    memcpy(&lanes, from, sizeof(lanes));
    for (int i = 0; positive && i < LANES; i++) {
        lanes[i] = lanes[i] < 0 ? -lanes[i] : lanes[i];
    }
    return lanes;
}

TARGET static void NAME(map)(const struct callee *callee, const void *x, const void *y, void *out, int64_t n)
{
    const union {
        void *address;
        NAME(vector) (*one)(NAME(vector));
        NAME(vector) (*two)(NAME(vector), NAME(vector));
    } call = {callee->vector};
    const struct function *f = callee->function;
    const TYPE *first = x, *second = y;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        const NAME(vector) a = NAME(load)(first + i, f->positive);
        const NAME(vector) result = f->two ? call.two(a, NAME(load)(second + i, false)) : call.one(a);
        memcpy((TYPE *)out + i, &result, sizeof(result));
    }
    REST(callee, first + i, f->two ? second + i : NULL, (TYPE *)out + i, n - i);
}

#undef TARGET
#undef NAME
#undef TYPE
#undef LANES
#undef REST
