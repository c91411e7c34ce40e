# SPDX-License-Identifier: Apache-2.0
"""TensorFlow: layers and their gradients, losses, reductions, scatters, sorts, random numbers and tf.data, with op
determinism off and on.

Op determinism is of the process and cannot be taken back, so what a process runs under is a variable of the case:
DETPROBE_SETTING names a call (SETTINGS), the others are TensorFlow's own.

(The file is not called tensorflow.py: a program stands in front of installed modules, and would be imported instead.)
"""

import contextlib
import functools
import itertools
import math
import os
import random as python_random
import time

import kit

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # its log is long, and says nothing of the cases
tf = kit.require("tensorflow")
BINS = 64
KINDS = {"cuda": "GPU"}  # TensorFlow's word for a kind of device, where it is another


def late_variable():
    """As scripts do that set the variable below their imports and first lines: the first op that asks has read it."""
    tf.random.normal([1])
    os.environ["TF_DETERMINISTIC_OPS"] = "1"


SETTINGS = {
    "op-determinism": tf.config.experimental.enable_op_determinism,
    "late-variable": late_variable,
}


@contextlib.contextmanager
def on_device(params):
    """The first device of the kind that the case names (cpu, cuda, ...). What TensorFlow refuses there under op
    determinism is a skip that says so; any other error is the case's."""
    kind = KINDS.get(params["device"], params["device"].upper())
    if not tf.config.list_physical_devices(kind):
        raise kit.Skip("no_device", f"TensorFlow finds no device of kind '{kind}'")
    try:
        with tf.device(f"/{kind}:0"):
            yield
    except (RuntimeError, tf.errors.UnimplementedError) as error:
        if "determinis" not in str(error).lower():
            raise
        why = next(line for line in str(error).splitlines() if "determinis" in line.lower())
        raise kit.Skip("unsupported", f"TensorFlow refuses: {why.strip()}") from None


def operand(inputs, name, shape):
    return tf.reshape(tf.io.decode_raw(inputs.array(name, math.prod(shape), "f32").tobytes(), tf.float32), shape)


def indices(inputs, name, count, below):
    return tf.constant([word % below for word in inputs.words(name, count)], tf.int32)


def outputs(**tensors):
    """Types of 16 bits that only TensorFlow has are told as f32, which holds each of their values."""
    ready = {name: tf.cast(y, tf.float32) if y.dtype == tf.bfloat16 else tf.convert_to_tensor(y)
             for name, y in tensors.items()}
    return {name: kit.from_memory(y.numpy()) for name, y in ready.items()}


@functools.cache
def form(function, how):
    """A function as it is: called step by step; as one graph; or compiled by XLA."""
    return function if how == "eager" else tf.function(function, autograph=False, jit_compile=how == "xla")


@kit.op("matmul")
def matmul(params, inputs):
    m, n, k = params["m"], params["n"], params["k"]
    with on_device(params):
        factors = (operand(inputs, "a", (m, k)), operand(inputs, "b", (k, n)))
        return outputs(c=form(tf.linalg.matmul, params["how"])(*(tf.cast(x, params["dtype"]) for x in factors)))


def dense(x, w):
    return tf.linalg.matmul(x, tf.reshape(w, (-1, 32))[:16]) + w[0, 0, 0]


def conv_transpose(x, w):
    return tf.nn.conv2d_transpose(x[:, ::2, ::2], tf.transpose(w, (0, 1, 3, 2)), (4, 16, 16, 32), 2)


def depthwise(x, w):
    return tf.nn.depthwise_conv2d(x, w[..., :1], [1, 1, 1, 1], "SAME")


def batch_norm(x, w):
    return tf.compat.v1.nn.fused_batch_norm(x, w[0, 0, :, 0], w[0, 0, :, 1])[0]


def layer_norm(x, w):
    mean, variance = tf.nn.moments(x, [-1], keepdims=True)
    return tf.nn.batch_normalization(x, mean, variance, w[0, 0, :, 0], w[0, 0, :, 1], 1e-5)


def attention(x, w):
    heads = tf.reshape(x, (4, 2, 64, 32))  # batch, heads, length, width
    query, key, value = heads * w[0, 0, 0], heads[:, :, ::-1], heads * w[0, 0, 1]
    return tf.nn.softmax(tf.linalg.matmul(query, key, transpose_b=True) / 32**0.5) @ value


@functools.cache
def recurrent_layer(kind):
    layer = getattr(tf.keras.layers, kind)(16, return_sequences=True)
    layer.build((16, 16, 16))
    return layer


def recurrent(kind, x, w):
    """16 sequences of 16 steps; all weights are taken from w."""
    layer, flat = recurrent_layer(kind), tf.reshape(w, [-1])
    ends = [0, *itertools.accumulate(math.prod(v.shape) for v in layer.trainable_variables)]
    weights = [tf.reshape(flat[start:end], v.shape) for v, start, end in zip(layer.trainable_variables, ends, ends[1:])]
    return layer.stateless_call(weights, layer.non_trainable_variables, tf.reshape(x, (16, 16, 64))[..., :16])[0]


LAYERS = {
    "dense": dense,
    "conv": lambda x, w: tf.nn.conv2d(x, w, 1, "SAME"),
    "conv-transpose": conv_transpose,
    "depthwise-conv": depthwise,
    "max-pool": lambda x, w: tf.nn.max_pool2d(x, 3, 2, "SAME") * w[0, 0, 0, 0],
    "average-pool": lambda x, w: tf.nn.avg_pool2d(x, 3, 2, "SAME") * w[0, 0, 0, 0],
    "batch-norm": batch_norm,
    "layer-norm": layer_norm,
    "attention": attention,
    "resize-bilinear": lambda x, w: tf.image.resize(x, (22, 22)) * w[0, 0, 0, 0],
    "resize-nearest": lambda x, w: tf.image.resize(x, (22, 22), "nearest") * w[0, 0, 0, 0],
    "lstm": functools.partial(recurrent, "LSTM"),
    "gru": functools.partial(recurrent, "GRU"),
}


@functools.cache
def gradients(function):
    """The values of a function, and the gradients of their sum, each times its upstream gradient."""

    def forward_and_back(upstream, *operands):
        watched = [operand for operand in operands if operand.dtype.is_floating]
        with tf.GradientTape() as tape:
            tape.watch(watched)
            y = function(*operands)
        given = tf.reshape(upstream[: tf.size(y)], tf.shape(y))
        return y, *tape.gradient(y, watched, given, unconnected_gradients="zero")

    return forward_and_back


@kit.op("layer")
def layer_gradients(params, inputs):
    """Forward and backward with random upstream gradients: equal ones would hide the order of their sum."""
    with on_device(params):
        x, w = operand(inputs, "x", (4, 16, 16, 16)), operand(inputs, "w", (3, 3, 16, 32))
        upstream = operand(inputs, "upstream", (4 * 16 * 16 * 32,))
        y, dx, dw = form(gradients(LAYERS[params["layer"]]), params["how"])(upstream, x, w)
        return outputs(y=y, dx=dx, dw=dw)


@kit.op("crop")
def crop_gradient(params, inputs):
    """Of 1024 regions of four images, each place of an image in many of them. The regions themselves are no output:
    16 MB that no order moves."""
    side = params["side"]
    with on_device(params):
        x = operand(inputs, "x", (4, 16, 16, 16))
        corners = tf.sin(operand(inputs, "corners", (1024, 4))) / 2 + 0.5
        upstream = tf.tile(operand(inputs, "upstream", (1, side, side, 16)), (1024, 1, 1, 1))
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.image.crop_and_resize(x, corners, tf.range(1024) % 4, (side, side))
        return outputs(dx=tape.gradient(y, x, upstream))


def ctc(logits, labels, sparse):
    """Eight sequences of 50 steps, each with ten labels between 1 and 9; either kind of labels has code of its own."""
    steps = tf.transpose(tf.reshape(tf.reshape(logits, [-1])[:4000], (8, 50, 10)), (1, 0, 2))
    words = 1 + tf.reshape(labels[:80] % 9, (8, 10))
    if sparse:
        return tf.nn.ctc_loss(tf.sparse.from_dense(words), steps, None, tf.fill([8], 50), blank_index=0)
    return tf.nn.ctc_loss(words, steps, tf.fill([8], 10), tf.fill([8], 50), blank_index=0)


LOSSES = {
    "softmax-cross-entropy": lambda logits, labels: tf.nn.softmax_cross_entropy_with_logits(
        tf.one_hot(labels, 250), logits),
    "sparse-softmax-cross-entropy": lambda logits, labels: tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels, logits),
    "ctc-dense": functools.partial(ctc, sparse=False),
    "ctc-sparse": functools.partial(ctc, sparse=True),
}


@kit.op("loss")
def loss(params, inputs):
    with on_device(params):
        logits, labels = operand(inputs, "logits", (128, 250)), indices(inputs, "labels", 128, 250)
        function = form(gradients(LOSSES[params["loss"]]), params["how"])
        y, dlogits = function(operand(inputs, "upstream", (128,)), logits, labels)
        return outputs(loss=y, dlogits=dlogits)


REDUCTIONS = {
    "sum": tf.reduce_sum,
    "mean": tf.reduce_mean,
    "variance": tf.math.reduce_variance,
    "cumsum": tf.cumsum,
    "logsumexp": tf.reduce_logsumexp,
    "softmax": tf.nn.softmax,
}


@kit.op("reduce")
def reduce(params, inputs):
    with on_device(params):
        x = operand(inputs, "x", (params["rows"], params["columns"]))
        return outputs(y=form(REDUCTIONS[params["function"]], params["how"])(x, axis=params["axis"]))


@kit.op("norm")
def norm(params, inputs):
    """Of all elements, as gradients are clipped by it."""
    with on_device(params):
        x = operand(inputs, "x", (params["n"],))
        return outputs(y=tf.linalg.global_norm([x[:1000], x[1000:]]), sum=tf.reduce_sum(x))


def gather_gradient(table, index, updates):
    with tf.GradientTape() as tape:
        tape.watch(table)
        y = tf.gather(table, index)
    return tf.convert_to_tensor(tape.gradient(y, table, updates))


def sparse_product(table, index, updates):
    """Several elements of one row times rows of the table."""
    places = tf.stack((index, tf.range(len(index)) % BINS), axis=1)
    return tf.sparse.sparse_dense_matmul(tf.SparseTensor(tf.cast(places, tf.int64), updates[:, 0], (BINS, BINS)), table)


SCATTERS = {
    "unsorted-segment-sum": lambda table, index, updates: tf.math.unsorted_segment_sum(updates, index, BINS),
    "unsorted-segment-mean": lambda table, index, updates: tf.math.unsorted_segment_mean(updates, index, BINS),
    "segment-sum": lambda table, index, updates: tf.math.segment_sum(updates, tf.sort(index)),
    "scatter-nd": lambda table, index, updates: tf.scatter_nd(index[:, None], updates, table.shape),
    "tensor-scatter-nd-add": lambda table, index, updates: tf.tensor_scatter_nd_add(table, index[:, None], updates),
    "tensor-scatter-nd-update": lambda table, index, updates: tf.tensor_scatter_nd_update(
        table, index[:, None], updates),
    "variable-scatter-add": lambda table, index, updates: tf.Variable(table).scatter_add(
        tf.IndexedSlices(updates, index)),
    "bincount": lambda table, index, updates: tf.math.bincount(index, updates[:, 0], minlength=BINS),
    "gather-gradient": gather_gradient,
    "sparse-dense-matmul": sparse_product,
}


@kit.op("scatter")
def scatter(params, inputs):
    n, width = params["n"], params["width"]
    with on_device(params):
        table, updates = operand(inputs, "table", (BINS, width)), operand(inputs, "updates", (n, width))
        return outputs(y=SCATTERS[params["function"]](table, indices(inputs, "index", n, BINS), updates))


SORTS = {
    "argsort-stable": lambda keys: tf.argsort(keys, stable=True),
    "argsort": tf.argsort,
    "top-k": lambda keys: tf.math.top_k(keys, 100)[1],
    "argmax": lambda keys: tf.argmax(tf.reshape(keys, (-1, 50)), axis=1),
    "unique": lambda keys: tf.unique(keys)[0],
}


@kit.op("sort")
def sort(params, inputs):
    with on_device(params):
        return outputs(places=SORTS[params["function"]](indices(inputs, "keys", params["n"], params["distinct"])))


LINALG = {  # each gives a tuple of tensors
    "svd": tf.linalg.svd,
    "eigh": tf.linalg.eigh,
    "qr": tf.linalg.qr,
    "solve": lambda a: (tf.linalg.solve(a, a[:, :1]),),
    "fft": lambda a: (tf.signal.rfft(a),),
}


@kit.op("linalg")
def linalg(params, inputs):
    with on_device(params):
        a = operand(inputs, "a", (params["n"], params["n"]))
        return outputs(**{f"y{i}": y for i, y in enumerate(LINALG[params["function"]]((a + tf.transpose(a)) / 2))})


def keras_layer():
    """Weights as a new layer draws them, and what dropout lets through."""
    layer = tf.keras.layers.Dense(50)
    layer.build((None, 20))
    return tf.concat((tf.reshape(layer.kernel, [-1]), tf.keras.layers.Dropout(0.1)(tf.ones([1000]), training=True)), 0)


DRAWS = {  # of two words
    "stateless-uniform": lambda seed: tf.random.stateless_uniform([1000], seed),
    "stateless-normal": lambda seed: tf.random.stateless_normal([1000], seed),
    "stateless-dropout": lambda seed: tf.nn.experimental.stateless_dropout(tf.ones([1000]), 0.1, seed),
    "generator": lambda seed: tf.random.Generator.from_seed(seed[0]).normal([1000]),
    "normal": lambda seed: tf.random.normal([1000]),
    "dropout": lambda seed: tf.nn.dropout(tf.ones([1000]), 0.1),
    "shuffle": lambda seed: tf.random.shuffle(tf.range(1000)),
    "op-seed": lambda seed: tf.random.normal([1000], seed=seed[1]),
    "keras": lambda seed: keras_layer(),
}


def unseed():
    """What Keras draws without a seed follows Python's generator, where TensorFlow has a seed of its own."""
    python_random.seed()
    tf.random.set_seed(None)
    tf.keras.backend.clear_session(free_memory=False)


SEEDING = {  # how the seed of the process is set, and taken back: the next case may have none
    "none": (lambda seed: None, lambda: None),
    "global": (tf.random.set_seed, lambda: tf.random.set_seed(None)),
    "keras": (tf.keras.utils.set_random_seed, unseed),
}


@contextlib.contextmanager
def seeded(params, inputs):
    seed = [word % 2**31 for word in inputs.words("seed", 2)]
    start, end = SEEDING[params["seeding"]]
    start(seed[0])
    try:
        yield seed
    finally:
        end()


@kit.op("random")
def random(params, inputs):
    with on_device(params), seeded(params, inputs) as seed:
        return outputs(draws=DRAWS[params["draw"]](seed))


def loaded(i):
    """The number itself, after a wait as for a file: several threads are done at about the same time."""
    def wait(number):
        time.sleep(1e-3)
        return number

    return tf.ensure_shape(tf.numpy_function(wait, [i], tf.int64, stateful=False), [])


def numbered_files(deterministic):
    return NUMBERS(8).interleave(lambda i: NUMBERS(8 * i, 8 * i + 8).map(loaded), cycle_length=4, num_parallel_calls=4,
                                 deterministic=deterministic)


NUMBERS = tf.data.Dataset.range
PIPELINES = {  # of a seed
    "map-ordered": lambda seed: NUMBERS(64).map(loaded, num_parallel_calls=4, deterministic=True),
    "map-unordered": lambda seed: NUMBERS(64).map(loaded, num_parallel_calls=4, deterministic=False),
    "map-default": lambda seed: NUMBERS(64).map(loaded, num_parallel_calls=4),
    "map-random": lambda seed: NUMBERS(64).map(
        lambda i: loaded(i) + tf.random.uniform([], 0, 2**40, tf.int64), num_parallel_calls=4),
    "map-stateless": lambda seed: NUMBERS(64).map(
        lambda i: loaded(i) + tf.random.stateless_uniform([], (seed, i), 0, 2**40, tf.int64), num_parallel_calls=4),
    "interleave-ordered": lambda seed: numbered_files(True),
    "interleave-unordered": lambda seed: numbered_files(False),
    "shuffle-op-seed": lambda seed: NUMBERS(200).shuffle(50, seed=seed).repeat(2),
    "shuffle": lambda seed: NUMBERS(200).shuffle(50).repeat(2),
}


@kit.op("data")
def data(params, inputs):
    """The elements of a pipeline made anew, in the order in which they come."""
    with on_device(params), seeded(params, inputs) as seed:
        return {"elements": kit.s64(list(PIPELINES[params["pipeline"]](seed[1]).as_numpy_iterator()))}


if __name__ == "__main__":
    kit.main("tensorflow-probe", [kit.library("TensorFlow", tf)], settings=SETTINGS)
