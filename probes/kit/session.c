/* SPDX-License-Identifier: Apache-2.0
 *
 * Serving a request: setting, shape, preparation, inputs, observation. What the last request left is reused
 * where its key is equal.
 */
#include "probes/kit/session.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "probes/kit/dtype.h"
#include "probes/kit/library.h"
#include "probes/kit/observe.h"
#include "probes/kit/outcome.h"
#include "probes/kit/prove.h"
#include "probes/kit/reveal.h"
#include "probes/kit/shape.h"
#include "probes/kit/threads.h"
#include "suite/base/text.h"

void kit_session_init(struct kit_session *session, const struct kit_program *program,
                      const struct kit_backend *backend)
{
    memset(session, 0, sizeof(*session));
    session->program = program;
    session->backend = backend;
    session->initial_threads = kit_threads(program, 0);
}

static void drop_inputs(struct kit_session *session)
{
    free(session->input_key);
    session->input_key = NULL;
}

void kit_free_state(struct kit_call *call)
{
    free(call->state);
    call->state = NULL;
}

void kit_session_drop(struct kit_session *session)
{
    if (session->op && session->op->release) {
        session->op->release(&session->call);
    }
    kit_operands_free(&session->operands);
    kit_heap_forget(&session->heap);
    kit_params_free(&session->params);
    free(session->choice);
    free(session->prepared_key);
    drop_inputs(session);
    json_decref(session->kernels);
    session->kernels = NULL;
    session->traced = false;
    session->op = NULL;
    session->choice = NULL;
    session->prepared_key = NULL;
    memset(&session->call, 0, sizeof(session->call));
}

static const struct op *find_op(const struct kit_program *program, const char *name)
{
    for (int i = 0; program->ops[i]; i++) {
        if (strcmp(program->ops[i]->name, name) == 0) {
            return program->ops[i];
        }
    }
    return NULL;
}

/* Puts the wanted thread count in force; *ret_threads is what was read back. */
static int set_threads(struct kit_session *session, const struct kit_setting *setting, int *ret_threads)
{
    const int own =
        session->program->default_threads ? session->program->default_threads : session->initial_threads;
    const int wanted = setting->threads ? setting->threads : own;
    *ret_threads = wanted ? kit_threads(session->program, wanted) : session->initial_threads;
    if (setting->threads && *ret_threads == 0) {
        return kit_skip("unsupported", "threads %d: the library has no thread count to set",
                        setting->threads);
    }
    if (setting->threads && *ret_threads != setting->threads) {
        return kit_skip("unsupported", "threads %d: the library runs %d", setting->threads, *ret_threads);
    }
    return KIT_OK;
}

static void set_perturb(struct kit_session *session, int perturb)
{
#ifdef M_PERTURB
    if (session->perturb != perturb) {
        mallopt(M_PERTURB, perturb);
        session->perturb = perturb;
    }
#endif
}

/* The case's params, on axis batch with another N. */
static int make_params(const struct kit_request *request, struct kit_params *ret)
{
    const int64_t samples = request->setting.batch;
    const int rc = kit_params_init(ret, request->params);
    if (rc || !samples) {
        return rc;
    }
    if (!request->batch) {
        kit_params_free(ret);
        return kit_skip("unsupported", "the case has no batch parameter");
    }
    if (!json_is_integer(json_object_get(ret->object, request->batch))) {
        kit_params_free(ret);
        return kit_fail("bad batch '%s': no integer param of that name", request->batch);
    }
    json_object_set_new(ret->object, request->batch, json_integer(samples));
    return KIT_OK;
}

/* Operands with a batch dimension must have N samples, else they are not of this batch parameter. */
static int check_batch(const struct kit_shape *shape, const struct kit_request *request)
{
    for (int i = 0; i < shape->count && request->setting.batch; i++) {
        const struct kit_operand *operand = &shape->operand[i];
        if (operand->batch_dim >= 0 && operand->shape[operand->batch_dim] != request->setting.batch) {
            return kit_fail("bad batch '%s': operand '%s' has %lld samples, not %lld", request->batch,
                            operand->name, (long long)operand->shape[operand->batch_dim],
                            (long long)request->setting.batch);
        }
    }
    return KIT_OK;
}

/* The choice that the case fixes or axis algorithm asks for, as the op names it; NULL: the library's own. */
static int find_choice(const struct op *op, const struct kit_params *params,
                       const struct kit_request *request, const char **ret)
{
    const int index = request->setting.algorithm - 1;
    const char *const *names = NULL;
    int count = 0;
    *ret = NULL;
    if (!request->choice && index < 0) {
        return KIT_OK;
    }
    const int rc = op->choices ? op->choices(params, &names, &count) : KIT_OK;
    for (int i = 0; i < count && !rc && !*ret; i++) {
        const bool named = request->choice && strcmp(names[i], request->choice) == 0;
        *ret = named || (!request->choice && i == index) ? names[i] : NULL;
    }
    if (rc || *ret) {
        return rc;
    }
    return request->choice ? kit_skip("unsupported", "the library offers no choice '%s'", request->choice)
                           : kit_skip("unsupported", "algorithm %d: the library offers %d", index, count);
}

/* Runs at once that share what is prepared; callers have all of it for themselves. */
static int lanes_of(const struct kit_session *session, const struct kit_setting *setting)
{
    return setting->lanes && session->backend->at_once ? setting->lanes : 1;
}

/* Calls the op's prepare and allocates. session->params holds the params already. */
static int prepare(struct kit_session *session, const struct op *op, const struct kit_request *request,
                   const char *choice, int threads)
{
    const struct kit_align *const align = &request->setting.align;
    int rc = kit_shape_make(op, &session->params, &session->shape);
    rc = rc ? rc : check_batch(&session->shape, request);
    rc = rc || !align->widen ? rc : kit_shape_widen(&session->shape, align->widen);
    if (rc) {
        return rc;
    }
    memset(&session->prepared, 0, sizeof(session->prepared));
    const int lanes = lanes_of(session, &request->setting);
    const int64_t least = kit_operands_need(&session->shape, &session->prepared, lanes);
    if (least > session->backend->available()) {
        return kit_skip("memory", "needs at least %lld MiB of memory", (long long)(least >> 20));
    }
    session->choice = choice ? dp_strdup(choice) : NULL;
    session->call = (struct kit_call){.params = &session->params,
                                      .shape = &session->shape,
                                      .choice = session->choice,
                                      .threads = threads,
                                      .lanes = lanes};
    for (int i = 0; i < session->shape.count && align->offsets; i++) {
        const size_t offset = (size_t)align->offset[i % align->offsets];
        session->call.offset[i] = kit_operand_offset(&session->shape.operand[i], offset);
    }
    if (align->heap) {
        kit_heap_shuffle(&session->heap);
    }
    session->op = op; /* from here on release is due */
    rc = op->prepare ? op->prepare(&session->call, &session->prepared) : KIT_OK;
    rc = rc ? rc
            : kit_operands_alloc(&session->operands, session->backend, op, &session->shape,
                                 &session->prepared, lanes, session->call.offset);
    return rc ? rc : kit_prove_compare(&session->operands);
}

/* Makes sure that what `key` names is prepared. Takes over `params`. */
static int ensure_prepared(struct kit_session *session, const struct op *op,
                           const struct kit_request *request, struct kit_params *params, int threads)
{
    const char *choice;
    const int rc = find_choice(op, params, request, &choice);
    if (rc) {
        kit_params_free(params);
        return rc;
    }
    char *const text = json_dumps(params->object, JSON_COMPACT | JSON_SORT_KEYS);
    char *const key = dp_printf("%s\n%s\n%s\n%d\n%d\n%d\n%s", op->name, text, choice ? choice : "", threads,
                                request->setting.perturb, lanes_of(session, &request->setting),
                                request->setting.align.setting);
    free(text);
    if (session->prepared_key && strcmp(session->prepared_key, key) == 0) {
        free(key);
        kit_params_free(params);
        return KIT_OK;
    }
    kit_session_drop(session);
    session->params = *params;
    session->prepared_key = key;
    set_perturb(session, request->setting.perturb);
    return prepare(session, op, request, choice, threads);
}

/* A number that every type holds, for all elements of what caller number `caller` gets. */
static void fill_constant(const struct kit_operand *operand, int caller, void *ret_logical)
{
    for (int64_t i = 0; i < kit_elements(operand); i++) {
        kit_store(operand->dtype, ret_logical, i, (long double)(caller + 1) / 2);
    }
}

/* Caller 0 has the inputs of the case. Of the others every second has one constant, so that a stranger's
 * value shows wherever it stands; but for a factorization, which such a matrix has not. */
static int fill_inputs(const struct kit_request *request, int caller, struct kit_operands *operands,
                       struct kit_call *call)
{
    char *const own = dp_printf("%s, caller %d", request->problem, caller);
    const struct kit_source source = {.seed = request->seed,
                                      .problem = caller ? own : request->problem,
                                      .set = request->set,
                                      .place = request->setting.place};
    int rc = KIT_OK;
    for (int i = 0; i < operands->shape.count && !rc; i++) {
        const struct kit_operand *operand = &operands->shape.operand[i];
        if (kit_is_input(operand) && caller % 2 && operand->fill == KIT_VALUES && !operands->op->residual) {
            fill_constant(operand, caller, operands->logical[i]);
        } else if (kit_is_input(operand)) {
            rc = kit_input_fill(operand, &source, operands->logical[i]);
        }
    }
    free(own);
    return rc ? rc : kit_operands_pack(operands, call);
}

static int ensure_inputs(struct kit_session *session, const struct kit_request *request)
{
    char *const key = dp_printf("%s\n%s\n%d\n%lld", request->seed, request->problem, (int)request->set,
                                (long long)request->setting.place);
    if (session->input_key && strcmp(session->input_key, key) == 0) {
        free(key);
        return KIT_OK;
    }
    drop_inputs(session);
    session->input_key = key;
    return fill_inputs(request, 0, &session->operands, &session->call);
}

static bool is_base(const struct kit_setting *setting)
{
    static const struct kit_pattern base = KIT_PATTERN_BYTE_BASE;
    return !setting->threads && !setting->batch && !setting->perturb && setting->busy == KIT_IDLE &&
           !setting->lanes && !setting->align.setting[0] && !setting->price &&
           setting->pattern.size == base.size && setting->pattern.bytes[0] == base.bytes[0];
}

/* At the base setting, once for what is prepared: the library chooses its kernels by shapes, not by values.
 */
static void add_kernels(struct kit_session *session, const struct kit_request *request, json_t *observation)
{
    if (!is_base(&request->setting) || session->operands.damaged) {
        return;
    }
    if (!session->traced) {
        session->kernels = kit_observe_kernels(&session->operands, &session->call, request);
        session->traced = true;
    }
    if (session->kernels) {
        json_object_set(observation, "kernels", session->kernels);
    }
}

static void add_facts(struct kit_session *session, json_t *observation)
{
    if (session->prepared.chosen[0] || session->choice) {
        const char *const chosen = session->prepared.chosen[0] ? session->prepared.chosen : session->choice;
        json_object_set_new(observation, "chosen", json_string(chosen));
    }
    if (session->prepared.declared) {
        json_object_set_new(observation, "declared", json_string(session->prepared.declared));
    }
    if (session->call.threads) {
        json_object_set_new(observation, "threads", json_integer(session->call.threads));
    }
    if (!session->ran) {
        const size_t known = kit_float_changes();
        session->ran = true;
        kit_float_watch("first run");
        json_t *const change = kit_float_change_since(known);
        if (change) {
            json_object_set(observation, "float_control", json_object_get(change, "control"));
            json_decref(change);
        }
    }
}

/* What callers beside the first have. */
struct spare {
    struct kit_prepared prepared;
    struct kit_call call;
    struct kit_operands operands;
};

static int open_spare(struct kit_session *session, const struct kit_request *request, int caller,
                      struct spare *ret)
{
    *ret = (struct spare){.call = session->call};
    ret->call.state = NULL;
    const struct op *const op = session->op;
    int rc = op->prepare ? op->prepare(&ret->call, &ret->prepared) : KIT_OK;
    rc = rc ? rc
            : kit_operands_alloc(&ret->operands, session->backend, op, &session->shape, &ret->prepared, 1,
                                 ret->call.offset);
    return rc ? rc : fill_inputs(request, caller, &ret->operands, &ret->call);
}

static int observe_callers(struct kit_session *session, const struct kit_request *request,
                           json_t **ret_observation)
{
    const int count = request->setting.lanes;
    struct spare *const spares = dp_alloc((size_t)count, sizeof(*spares));
    struct kit_caller callers[KIT_MAX_LANES] = {{&session->call, &session->operands}};
    int opened = 1, rc = KIT_OK;
    for (; opened < count && !rc; opened++) {
        rc = open_spare(session, request, opened, &spares[opened]);
        callers[opened] = (struct kit_caller){&spares[opened].call, &spares[opened].operands};
    }
    rc = rc ? rc : kit_observe_callers(callers, count, request, ret_observation);
    const struct kit_outcome kept = *kit_outcome();
    for (int i = 1; i < opened; i++) {
        if (session->op->release) {
            session->op->release(&spares[i].call);
        }
        kit_operands_free(&spares[i].operands);
    }
    kit_outcome_restore(&kept);
    free(spares);
    return rc;
}

/* Axes that a backend may lack. */
static int check_backend(const struct kit_session *session, const struct kit_setting *setting)
{
    const struct kit_backend *const backend = session->backend;
    if (setting->lanes && backend->callers && !session->program->concurrent) {
        return kit_skip("unsupported", "program '%s' is not one to be called from several threads at once",
                        session->program->name);
    }
    const char *const axis = setting->busy && !backend->busy                            ? "busy"
                             : setting->lanes && !backend->at_once && !backend->callers ? "concurrency"
                                                                                        : NULL;
    if (axis) {
        return kit_skip("unsupported", "backend '%s' does not vary axis %s", backend->name, axis);
    }
    if (setting->device && (!backend->ordinal || backend->ordinal() != setting->device - 1)) {
        return kit_skip("unsupported", "device %d is not the one that this process opened",
                        setting->device - 1);
    }
    return KIT_OK;
}

/* Indices stay as the seed has them; what floats then hold is of no further use. */
static int reveal(struct kit_session *session, const struct kit_request *request, json_t **ret_answer)
{
    if (request->arithmetic != KIT_DIRECT) {
        return kit_skip("unsupported", "only of arithmetic 'direct' an order can be revealed");
    }
    drop_inputs(session);
    return kit_reveal(&session->operands, &session->call, request, ret_answer);
}

static int serve(struct kit_session *session, const struct kit_request *request, json_t **ret_observation)
{
    const struct op *const op = find_op(session->program, request->op);
    struct kit_params params;
    int threads = 0;
    if (!op) {
        return kit_fail("unknown operation '%s'", request->op);
    }
    int rc = check_backend(session, &request->setting);
    rc = rc ? rc : set_threads(session, &request->setting, &threads);
    rc = rc ? rc : make_params(request, &params);
    rc = rc ? rc : ensure_prepared(session, op, request, &params, threads);
    rc = rc ? rc : ensure_inputs(session, request);
    const bool order = request->setting.order > 0;
    rc = rc      ? rc
         : order ? reveal(session, request, ret_observation)
         : request->setting.lanes && session->backend->callers
             ? observe_callers(session, request, ret_observation)
             : kit_observe(&session->operands, &session->call, request, ret_observation);
    if (!rc) {
        add_facts(session, *ret_observation);
    }
    if (!rc && !order) {
        add_kernels(session, request, *ret_observation);
    }
    return rc;
}

int kit_session_serve(struct kit_session *session, const struct kit_request *request,
                      json_t **ret_observation)
{
    const int rc = serve(session, request, ret_observation);
    if (rc || session->operands.damaged) {
        kit_session_drop(session);
    }
    return rc;
}
