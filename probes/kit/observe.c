/* SPDX-License-Identifier: Apache-2.0
 *
 * The run loop. The first output stays where it was made and is what later ones are compared with, by native
 * bytes; only a run that differs is looked at closer. Distinct outputs are told apart by the bytes that are
 * digested: the written region (on axis batch, the sample of interest), dense and row-major.
 */
#include "probes/kit/observe.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "probes/kit/callers.h"
#include "probes/kit/check.h"
#include "probes/kit/dtype.h"
#include "probes/kit/outcome.h"
#include "probes/kit/shape.h"
#include "probes/kit/stopwatch.h"
#include "probes/kit/tally.h"
#include "suite/base/clock.h"
#include "suite/base/text.h"

#define FIRST_ROUNDS 4                /* after which it is looked whether any was made at once */
#define BESIDE_NS INT64_C(2000000000) /* of tries to have other work beside a run */
#define LEAST_FOREIGN 4               /* bytes of another caller's */
#define MAX_EXPLAINED 16              /* distinct outputs whose distance from the first is measured */

/* What is kept of one output operand. */
struct watched {
    int index;        /* operand number */
    uint8_t *mask;    /* digested elements, NULL: all; owned */
    uint8_t *written; /* written elements, NULL: all; owned */
    int64_t elements; /* digested */
    struct kit_tally tally;
    bool broken;
    int64_t unwritten;
    double error_over_bound; /* negative: not checked */
    bool from_caller;        /* what differs holds what another caller at the same time should have got */
};

struct observation {
    struct kit_operands *operands;
    struct kit_call *call;
    const struct kit_request *request;
    struct watched outputs[KIT_MAX_OPERANDS];
    int count;
    int rounds, at_once; /* of runs at once: made, and seen to be so */
    int64_t first_ns, min_ns, total_ns;
    struct kit_stopwatch *watch;   /* on axis price; else NULL */
    const struct company *company; /* of callers at once; NULL: there are none */
};

/* Callers at once: what each sees, and whose turn it is to look at an output that is not its own. */
struct company {
    struct observation *o; /* by caller */
    int count;
    pthread_mutex_t looking;
};

static const struct kit_operand *operand_of(const struct observation *o, const struct watched *output)
{
    return &o->operands->shape.operand[output->index];
}

static uint8_t *written_mask(const struct kit_shape *shape, int index, void *const *logical)
{
    const struct kit_operand *operand = &shape->operand[index];
    if (operand->written == KIT_FULL) {
        return NULL;
    }
    uint8_t *const mask = dp_alloc((size_t)kit_elements(operand), 1);
    kit_written_mask(shape, index, logical[operand->list], mask);
    return mask;
}

/* The digested elements: what is written, on axis batch only of the sample at its place. */
static uint8_t *digest_mask(const struct kit_operand *operand, const uint8_t *written,
                            const struct kit_setting *setting)
{
    if (!written && !setting->batch) {
        return NULL;
    }
    const size_t elements = (size_t)kit_elements(operand);
    uint8_t *const mask = dp_alloc(elements, 1);
    if (written) {
        memcpy(mask, written, elements);
    } else {
        memset(mask, 1, elements);
    }
    if (setting->batch) {
        kit_slice_mask(operand, setting->place, mask);
    }
    return mask;
}

static void watch_outputs(struct observation *o)
{
    const struct kit_shape *shape = &o->operands->shape;
    for (int i = 0; i < shape->count; i++) {
        const struct kit_operand *operand = &shape->operand[i];
        if (!kit_is_output(operand) || (o->request->setting.batch && operand->batch_dim < 0)) {
            continue;
        }
        struct watched *const output = &o->outputs[o->count++];
        output->index = i;
        output->error_over_bound = -1;
        output->written = written_mask(shape, i, o->operands->logical);
        output->mask = digest_mask(operand, output->written, &o->request->setting);
        output->elements = kit_elements(operand);
        for (int64_t e = 0; output->mask && e < kit_elements(operand); e++) {
            output->elements -= !output->mask[e];
        }
        kit_tally_init(&output->tally);
    }
}

static void unwatch_outputs(struct observation *o)
{
    for (int i = 0; i < o->count; i++) {
        kit_tally_free(&o->outputs[i].tally);
        free(o->outputs[i].mask);
        free(o->outputs[i].written);
    }
}

/* The digested bytes of a native buffer, in `dense`. */
static int gather(struct observation *o, const struct watched *output, const void *native, void *dense,
                  size_t *ret_length)
{
    const struct kit_operand *operand = operand_of(o, output);
    const size_t size = kit_dtype_size(operand->dtype);
    const int64_t count = kit_elements(operand);
    const int rc = kit_operands_unpack(o->operands, o->call, output->index, native, dense);
    char *to = dense;
    for (int64_t i = 0; output->mask && !rc && i < count; i++) {
        if (output->mask[i]) {
            memmove(to, (const char *)dense + (size_t)i * size, size);
            to += size;
        }
    }
    *ret_length = (size_t)output->elements * size;
    return rc;
}

static int take_first(struct observation *o, struct watched *output)
{
    struct kit_operands *const operands = o->operands;
    void *const first = operands->first[output->index];
    size_t length;
    bool is_new;
    if (operands->backend->copy(first, operands->lane[0].work[output->index].data,
                                operands->bytes[output->index]) ||
        gather(o, output, first, operands->dense, &length)) {
        return KIT_FAILED;
    }
    kit_tally_count(&output->tally, 0, operands->dense, length, &is_new);
    return KIT_OK;
}

/* Padding of strides and elements outside the written region, in the buffer given. */
static int check_outside(struct observation *o, struct watched *output, const void *native)
{
    const int kept = kit_operands_outside_kept(o->operands, o->call, output->index, native, output->written,
                                               &o->request->setting.pattern);
    output->broken = output->broken || kept == 0;
    return kept < 0 ? kept : KIT_OK;
}

/* How far the output in `native`, of a class of its own, is from the first: whole tensors, so that places in
 * them are their coordinates. */
static int explain(struct observation *o, struct watched *output, const void *native)
{
    struct kit_operands *const operands = o->operands;
    const void *const first = operands->first[output->index];
    struct kit_difference difference;
    if (kit_operands_unpack(operands, o->call, output->index, native, operands->dense) ||
        kit_operands_unpack(operands, o->call, output->index, first, operands->dense_other)) {
        return KIT_FAILED;
    }
    kit_explain(operand_of(o, output), output->mask, operands->dense_other, operands->dense, &difference);
    kit_check_different(operands, o->call, o->request, output->index, operands->dense_other, operands->dense,
                        &difference);
    kit_difference_merge(&output->tally.worst, &difference);
    return KIT_OK;
}

/* Whether every element of an output, in operands->dense, that is not its caller's own is what another got
 * alone: more than a few bits, which could be so by chance. */
static bool is_foreign(struct observation *o, const struct watched *output, size_t length)
{
    const size_t size = kit_dtype_size(operand_of(o, output)->dtype);
    const size_t whole = kit_dense_bytes(operand_of(o, output));
    char *const left = dp_alloc(whole, 1), *const theirs =
                                               dp_alloc(whole, 1); /* elements not explained yet */
    size_t got = length, differ = 0, known = 0;
    int rc = gather(o, output, o->operands->first[output->index], theirs, &got);
    for (size_t at = 0; at < length && !rc; at += size) {
        left[at] = memcmp((const char *)o->operands->dense + at, theirs + at, size) != 0;
        differ += left[at] != 0;
    }
    for (int i = 0; i < o->company->count && !rc; i++) {
        struct observation *const of = &o->company->o[i];
        const struct watched *const same = &of->outputs[output - o->outputs];
        rc = gather(of, same, of->operands->first[same->index], theirs, &got);
        for (size_t at = 0; at < length && got == length && !rc; at += size) {
            const bool is = left[at] && memcmp((const char *)o->operands->dense + at, theirs + at, size) == 0;
            known += is;
            left[at] = left[at] && !is;
        }
    }
    free(left);
    free(theirs);
    return known == differ && known * size >= LEAST_FOREIGN;
}

/* A later output whose native bytes are not the first's. */
static int take_different(struct observation *o, struct watched *output, const void *native, int run)
{
    struct kit_operands *const operands = o->operands;
    size_t length;
    bool is_new;
    if (gather(o, output, native, operands->dense, &length)) {
        return KIT_FAILED;
    }
    kit_tally_count(&output->tally, run, operands->dense, length, &is_new);
    if (is_new && output->tally.count <= MAX_EXPLAINED && o->company) {
        output->from_caller = output->from_caller || is_foreign(o, output, length);
    }
    if (is_new && output->tally.count <= MAX_EXPLAINED && explain(o, output, native)) {
        return KIT_FAILED;
    }
    return check_outside(o, output, native);
}

/* What run number `run` left in the buffers of its lane; run 0 is of lane 0. */
static int take_outputs(struct observation *o, int lane, int run)
{
    struct kit_operands *const operands = o->operands;
    for (int i = 0; i < o->count; i++) {
        struct watched *const output = &o->outputs[i];
        const int index = output->index;
        const void *const native = operands->lane[lane].work[index].data;
        int rc;
        if (run == 0) {
            rc = take_first(o, output);
        } else {
            rc = operands->backend->differs(native, operands->first[index], operands->bytes[index]);
            if (rc == 0) {
                kit_tally_same(&output->tally);
            } else {
                rc = rc < 0 ? rc : take_different(o, output, native, run);
            }
        }
        if (rc) {
            return rc;
        }
    }
    return KIT_OK;
}

static int run_once(struct observation *o, const struct kit_pattern *pattern, int64_t *ret_ns)
{
    struct kit_buffers buffers;
    kit_operands_buffers(o->operands, 0, &buffers);
    int rc = kit_operands_restore(o->operands, pattern);
    if (rc) {
        return rc;
    }
    rc = o->request->setting.busy ? o->operands->backend->busy(o->request->setting.busy) : KIT_OK;
    if (rc) {
        return rc;
    }
    const int calls = o->watch ? o->watch->calls : 1;
    const int64_t start = dp_now_ns();
    for (int i = 0; i < calls && !rc; i++) {
        rc = o->operands->op->run(o->call, &buffers);
    }
    rc = rc ? rc : o->operands->backend->sync();
    *ret_ns = dp_now_ns() - start;
    return rc;
}

/* Axis busy: a run that nothing went on beside is made again. */
static int run_beside(struct observation *o, const struct kit_pattern *pattern, int64_t *ret_ns)
{
    const struct kit_backend *const backend = o->operands->backend;
    const int64_t since = dp_now_ns();
    int rc = run_once(o, pattern, ret_ns);
    while (!rc && o->request->setting.busy && backend->beside && !backend->beside()) {
        rc = dp_now_ns() - since < BESIDE_NS
                 ? run_once(o, pattern, ret_ns)
                 : kit_skip("unsupported", "no other work went on during a run, as often as it was made");
    }
    return rc;
}

struct round {
    struct observation *o;
    struct kit_buffers buffers[KIT_MAX_LANES];
};

static int run_lane(void *context, int lane)
{
    const struct round *round = context;
    return round->o->operands->op->run(round->o->call, &round->buffers[lane]);
}

/* Axis concurrency: one run on each of so many lanes. */
static int run_at_once(struct observation *o, int lanes, int64_t *ret_ns)
{
    struct kit_operands *const operands = o->operands;
    struct round round = {.o = o};
    bool at_once = false;
    for (int lane = 0; lane < lanes; lane++) {
        kit_operands_buffers(operands, lane, &round.buffers[lane]);
    }
    int rc = kit_operands_restore(operands, &o->request->setting.pattern);
    if (rc) {
        return rc;
    }
    const int64_t start = dp_now_ns();
    rc = operands->backend->at_once(lanes, run_lane, &round, &at_once);
    *ret_ns = (dp_now_ns() - start) / lanes;
    o->rounds++;
    o->at_once += at_once;
    return rc;
}

static void take_time(struct observation *o, int run, int64_t ns)
{
    if (o->watch) {
        ns = kit_stopwatch_take(o->watch, run, ns);
    }
    o->first_ns = run == 0 ? ns : o->first_ns;
    o->min_ns = run == 0 || ns < o->min_ns ? ns : o->min_ns;
    o->total_ns += run == 0 && o->request->runs > 1 ? 0 : ns;
}

/* Runs that were one after the other say nothing of runs at once. */
static int check_at_once(const struct observation *o)
{
    return 2 * o->at_once < o->rounds
               ? kit_skip("unsupported", "runs that were to happen at once did so in %d of %d rounds",
                          o->at_once, o->rounds)
               : KIT_OK;
}

static int run_all(struct observation *o)
{
    const int runs = o->request->runs, wanted = o->request->setting.lanes;
    int lanes = 1;
    for (int run = 0; run < runs; run += lanes) {
        int64_t ns = 0;
        lanes = !wanted ? 1 : wanted < runs - run ? wanted : runs - run;
        int rc = wanted ? run_at_once(o, lanes, &ns) : run_beside(o, &o->request->setting.pattern, &ns);
        for (int lane = 0; lane < lanes && !rc; lane++) {
            rc = take_outputs(o, lane, run + lane);
            take_time(o, run + lane, ns);
        }
        if (!rc && o->rounds == FIRST_ROUNDS && o->at_once == 0) {
            rc = check_at_once(o); /* each may have waited for its gate's limit */
        }
        if (rc) {
            return rc;
        }
    }
    return check_at_once(o);
}

/* Also after a failure, whose text is kept. */
static int end_busy(const struct observation *o, int rc)
{
    if (!o->request->setting.busy) {
        return rc;
    }
    const struct kit_outcome kept = *kit_outcome();
    const int ended = o->operands->backend->busy(KIT_IDLE);
    if (rc) {
        kit_outcome_restore(&kept);
    }
    return rc ? rc : ended;
}

/* Bands and inputs belong to no output; damage there is told with each. */
static int check_guards(struct observation *o)
{
    const int intact = kit_operands_intact(o->operands);
    o->operands->damaged = intact == 0;
    for (int i = 0; i < o->count && intact == 0; i++) {
        o->outputs[i].broken = true;
    }
    return intact < 0 ? intact : KIT_OK;
}

static int check_all_outside(struct observation *o)
{
    for (int i = 0; i < o->count; i++) {
        const int rc = check_outside(o, &o->outputs[i], o->operands->first[o->outputs[i].index]);
        if (rc) {
            return rc;
        }
    }
    return KIT_OK;
}

/* One more run from another pattern: what holds poison after both was not written. */
static int check_written(struct observation *o)
{
    const struct kit_pattern *pattern = &o->request->setting.pattern;
    const bool is_5a = pattern->size == 1 && pattern->bytes[0] == 0x5a;
    const struct kit_pattern other = KIT_PATTERN_BYTE((uint8_t)(is_5a ? 0xa5 : 0x5a));
    struct kit_operands *const operands = o->operands;
    int64_t ns;
    int rc = run_once(o, &other, &ns);
    for (int i = 0; i < o->count && !rc; i++) {
        struct watched *const output = &o->outputs[i];
        const struct kit_operand *operand = operand_of(o, output);
        if (operand->role == KIT_INOUT) {
            continue; /* put back before each run, so there is no poison to find */
        }
        rc = kit_operands_unpack(operands, o->call, output->index, operands->first[output->index],
                                 operands->dense);
        rc = rc ? rc
                : kit_operands_unpack(operands, o->call, output->index,
                                      operands->lane[0].work[output->index].data, operands->dense_other);
        output->unwritten = rc ? 0
                               : kit_check_unwritten(operand, output->written, operands->dense, pattern,
                                                     operands->dense_other, &other);
    }
    return rc;
}

/* An op that judges its outputs together gets them all, so on axis batch, where some may not be watched, it
 * does not. */
static int check_together(struct observation *o)
{
    const struct kit_shape *shape = &o->operands->shape;
    void *logical[KIT_MAX_OPERANDS] = {NULL};
    double ratios[KIT_MAX_OPERANDS];
    int rc = KIT_OK;
    if (o->request->setting.batch) {
        return KIT_OK;
    }
    for (int i = 0; i < o->count && !rc; i++) {
        const int index = o->outputs[i].index;
        logical[index] = dp_alloc(kit_dense_bytes(&shape->operand[index]), 1);
        rc = kit_operands_unpack(o->operands, o->call, index, o->operands->first[index], logical[index]);
    }
    rc = rc ? rc : kit_check_residual(o->operands, o->call, o->request, (const void *const *)logical, ratios);
    for (int i = 0; i < o->count && !rc; i++) {
        o->outputs[i].error_over_bound = ratios[o->outputs[i].index];
    }
    for (int i = 0; i < shape->count; i++) {
        free(logical[i]);
    }
    return rc;
}

static int check_right(struct observation *o)
{
    if (o->operands->op->residual) {
        return check_together(o);
    }
    for (int i = 0; i < o->count; i++) {
        struct watched *const output = &o->outputs[i];
        int rc = kit_operands_unpack(o->operands, o->call, output->index, o->operands->first[output->index],
                                     o->operands->dense);
        rc = rc ? rc
                : kit_check_reference(o->operands, o->call, o->request, output->index, o->operands->dense,
                                      output->written, &output->error_over_bound);
        if (rc < 0) {
            return rc;
        }
    }
    return KIT_OK;
}

/* Which checks are due: guards always, the rest where values are such that a bound means something. */
static int check_all(struct observation *o)
{
    int rc = check_all_outside(o);
    if (!rc && o->request->set != KIT_WIDE) {
        rc = check_written(o);
        rc = rc ? rc : check_right(o);
    }
    return rc ? rc : check_guards(o);
}

static json_t *shape_json(const struct kit_operand *operand, bool slice)
{
    json_t *const shape = json_array();
    for (int d = 0; d < operand->ndim; d++) {
        json_array_append_new(shape, json_integer(slice && d == operand->batch_dim ? 1 : operand->shape[d]));
    }
    return shape;
}

static json_t *output_json(const struct observation *o, const struct watched *output)
{
    const struct kit_operand *operand = operand_of(o, output);
    json_t *const object = json_pack(
        "{s:s, s:s, s:o, s:i, s:o, s:s}", "name", operand->name, "dtype", kit_dtype_name(operand->dtype),
        "shape", shape_json(operand, o->request->setting.batch > 0), "distinct", output->tally.count,
        "classes", kit_tally_json(&output->tally), "guard", output->broken ? "broken" : "intact");
    if (o->request->set != KIT_WIDE) {
        json_object_set_new(object, "unwritten", json_integer(output->unwritten));
    }
    if (output->error_over_bound >= 0) {
        json_object_set_new(object, "error_over_bound", json_real(output->error_over_bound));
    }
    return object;
}

/* Of the output with the most mismatching runs; ties: of the one that differs first. */
static json_t *mismatch_json(const struct observation *o)
{
    const struct watched *worst = NULL;
    int runs = 0;
    for (int i = 0; i < o->count; i++) {
        const struct watched *const output = &o->outputs[i];
        const int mismatches = kit_tally_mismatches(&output->tally);
        if (mismatches > runs || (worst && mismatches == runs &&
                                  kit_difference_is_earlier(&output->tally.worst, &worst->tally.worst))) {
            runs = mismatches;
            worst = output;
        }
    }
    if (!worst) {
        return NULL;
    }
    const bool slice = o->request->setting.batch > 0;
    json_t *const mismatch = kit_difference_json(&worst->tally.worst, slice);
    json_object_set_new(mismatch, "runs", json_integer(runs));
    json_object_set_new(mismatch, "output", json_string(operand_of(o, worst)->name));
    json_object_set_new(mismatch, "shape", shape_json(operand_of(o, worst), slice));
    if (worst->from_caller) {
        json_object_set_new(mismatch, "from_caller", json_true());
    }
    return mismatch;
}

static json_t *observation_json(const struct observation *o)
{
    json_t *const outputs = json_array();
    for (int i = 0; i < o->count; i++) {
        json_array_append_new(outputs, output_json(o, &o->outputs[i]));
    }
    const int timed = o->request->runs > 1 ? o->request->runs - 1 : 1;
    json_t *const object =
        json_pack("{s:s, s:I, s:o, s:{s:I, s:I, s:I}}", "type", "observation", "id", o->request->id,
                  "outputs", outputs, "time", "first_ns", (json_int_t)o->first_ns, "min_ns",
                  (json_int_t)o->min_ns, "mean_ns", (json_int_t)(o->total_ns / timed));
    json_t *const mismatch = mismatch_json(o);
    if (mismatch) {
        json_object_set_new(object, "mismatch", mismatch);
    }
    if (o->watch) {
        kit_stopwatch_tell(o->watch, json_object_get(object, "time"));
    }
    return object;
}

int kit_observe(struct kit_operands *operands, struct kit_call *call, const struct kit_request *request,
                json_t **ret_observation)
{
    struct kit_stopwatch watch;
    struct observation o = {.operands = operands, .call = call, .request = request};
    if (request->setting.price) {
        kit_stopwatch_start(&watch, &operands->shape, request->runs);
        o.watch = &watch;
    }
    watch_outputs(&o);
    int rc = o.count ? KIT_OK : kit_skip("unsupported", "no output has a batch dimension");
    rc = rc ? rc : run_all(&o);
    rc = rc ? rc : check_all(&o);
    rc = end_busy(&o, rc);
    if (!rc) {
        *ret_observation = observation_json(&o);
    }
    unwatch_outputs(&o);
    if (o.watch) {
        kit_stopwatch_free(o.watch);
    }
    return rc;
}

static int caller_alone(void *context, int caller)
{
    struct observation *const o = &((struct company *)context)->o[caller];
    int64_t ns = 0;
    int rc = run_once(o, &o->request->setting.pattern, &ns);
    rc = rc ? rc : take_outputs(o, 0, 0);
    take_time(o, 0, ns);
    return rc;
}

static int caller_before(void *context, int caller)
{
    struct observation *const o = &((struct company *)context)->o[caller];
    return kit_operands_restore(o->operands, &o->request->setting.pattern);
}

static int caller_run(void *context, int caller)
{
    struct observation *const o = &((struct company *)context)->o[caller];
    struct kit_buffers buffers;
    kit_operands_buffers(o->operands, 0, &buffers);
    return o->operands->op->run(o->call, &buffers);
}

/* Runs are numbered over all callers, those alone first. What differs is unpacked by the operation's own
 * means, one caller at a time. */
static int caller_after(void *context, int caller, int run)
{
    struct company *const company = context;
    pthread_mutex_lock(&company->looking);
    const int rc = take_outputs(&company->o[caller], 0, run * company->count + caller);
    pthread_mutex_unlock(&company->looking);
    return rc;
}

/* What the others saw, to what the first did. */
static int add_callers(struct company *company)
{
    struct observation *const all = &company->o[0];
    int rc = KIT_OK;
    for (int i = 1; i < company->count && !rc; i++) {
        struct observation *const o = &company->o[i];
        rc = check_all_outside(o);
        rc = rc ? rc : check_guards(o);
        for (int k = 0; k < all->count; k++) {
            struct watched *const to = &all->outputs[k], *const from = &o->outputs[k];
            kit_tally_add(&to->tally, &from->tally, i);
            to->broken = to->broken || from->broken;
            to->from_caller = to->from_caller || from->from_caller;
        }
    }
    return rc;
}

int kit_observe_callers(const struct kit_caller *callers, int count, const struct kit_request *request,
                        json_t **ret_observation)
{
    struct company company = {.o = dp_alloc((size_t)count, sizeof(*company.o)), .count = count};
    const struct kit_callers what = {count,      request->runs, caller_alone, caller_before,
                                     caller_run, caller_after,  &company};
    pthread_mutex_init(&company.looking, NULL);
    for (int i = 0; i < count; i++) {
        company.o[i] = (struct observation){.operands = callers[i].operands,
                                            .call = callers[i].call,
                                            .request = request,
                                            .company = &company};
        watch_outputs(&company.o[i]);
    }
    int rc = request->runs <= count
                 ? kit_skip("unsupported", "%d runs: after one alone none is left for %d callers",
                            request->runs, count)
                 : kit_callers_do(&what);
    rc = rc ? rc : check_all(&company.o[0]);
    rc = rc ? rc : add_callers(&company);
    company.o[0].total_ns =
        company.o[0].first_ns * (request->runs - 1); /* times are those of the run alone */
    if (!rc) {
        *ret_observation = observation_json(&company.o[0]);
    }
    for (int i = 0; i < count; i++) {
        unwatch_outputs(&company.o[i]);
    }
    pthread_mutex_destroy(&company.looking);
    free(company.o);
    return rc;
}

/* What is launched to restore the operands comes before the trace. A run that fails under it alone is none of
 * the operation's business; a context that it costs shows by itself. */
json_t *kit_observe_kernels(struct kit_operands *operands, struct kit_call *call,
                            const struct kit_request *request)
{
    struct kit_buffers buffers;
    const struct kit_backend *const backend = operands->backend;
    kit_operands_buffers(operands, 0, &buffers);
    if (!backend->trace || kit_operands_restore(operands, &request->setting.pattern) || backend->sync() ||
        !backend->trace()) {
        return NULL;
    }
    int rc = operands->op->run(call, &buffers);
    rc = rc ? rc : backend->sync();
    json_t *const kernels = backend->traced();
    if (rc) {
        json_decref(kernels);
        return NULL;
    }
    return kernels;
}
