# SPDX-License-Identifier: Apache-2.0
"""PyTorch: operators forward and every gradient, updates of places that repeat, choices among ties, random numbers.

Each case names its device (cpu, cuda, xpu, mps) and its switches: the flag of torch.use_deterministic_algorithms (off,
warn, on), cudnn.benchmark, autocast, fill_uninitialized_memory. So the catalogue asks, with the flag and without: do the
bits repeat, do they vary, or does PyTorch refuse?

Everything here is what a user of PyTorch would write; the switches are set around it by pytorch_common.py.
"""

import contextlib
import functools
import os
import re

import kit
import pytorch_common as common

torch = common.torch
F = torch.nn.functional
BINS = 64
SMALL = 2.0**-15  # brings the values of set `wide` below 2 where a function would saturate


def attention(backend, given):
    """Queries, keys and values of 4 heads, and the one implementation that may be taken."""
    q, k, v = (given.leaf(name, 2, 4, 128, 32, scale=SMALL) for name in "qkv")
    try:
        with torch.nn.attention.sdpa_kernel(getattr(torch.nn.attention.SDPBackend, backend)):
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    except RuntimeError as error:
        if re.match("No (viable backend|available kernel)", str(error)):
            raise kit.Skip("unsupported", common.first_line(error)) from error
        raise


def lstm(given):
    layer = torch.nn.LSTM(32, 48, num_layers=2, bidirectional=True, device="meta").to_empty(device=given.device)
    for name, weight in layer.named_parameters():
        weight.data.copy_(given.values(name, *weight.shape, scale=SMALL))
        given.leaves[name] = weight
    return layer(given.leaf("x", 24, 8, 32, scale=SMALL))[0]


def norm_weights(given, size):
    return given.leaf("w", size), given.leaf("b", size)


def batch_norm(given):
    return F.batch_norm(given.leaf("x", 8, 32, 16, 16), None, None, *norm_weights(given, 32), training=True)


def ctc_loss(given):
    """50 steps, 16 samples of 20 labels out of 19 and blank, which repeat."""
    scores = F.log_softmax(given.leaf("x", 50, 16, 20, scale=SMALL), dim=-1)
    labels = given.indices("labels", 16, 20, below=19) + 1
    lengths = [torch.full((16,), steps, device=given.device) for steps in (50, 20)]
    return F.ctc_loss(scores, labels, *lengths, reduction="none")


def grid_sample(given):
    return F.grid_sample(given.leaf("x", 2, 8, 16, 16), given.leaf("grid", 2, 32, 32, 2, scale=2.0**-16),
                         align_corners=False)


def interpolate(mode, dims, given):
    shape = {1: (2, 8, 64), 2: (2, 8, 16, 16), 3: (2, 4, 8, 8, 8)}[dims]
    corners = None if mode == "nearest" else False
    return F.interpolate(given.leaf("x", *shape), size=[2 * n + 1 for n in shape[2:]], mode=mode, align_corners=corners)


def max_unpool(given):
    """Places of maxima as a network hands them on: each at most once."""
    places = F.max_pool2d(given.values("p", 2, 8, 16, 16), 2, return_indices=True)[1]
    return F.max_unpool2d(given.leaf("x", 2, 8, 8, 8), places, 2)


def rows(given):
    """A table of 64 rows, each of which is looked up about 64 times."""
    return given.leaf("w", BINS, 32), given.indices("i", 4096, below=BINS)


def embedding_bag(mode, given):
    weights, places = rows(given)
    return F.embedding_bag(places.reshape(512, 8), weights, mode=mode)


def gather(given):
    weights, places = rows(given)
    return weights.gather(0, places[:, None].expand(-1, 32))


def sparse(layout, given):
    """A matrix of 128 rows and about 2000 elements, some of them at one place, times a dense one."""
    places = torch.stack([given.indices(name, 2000, below=128) for name in ("rows", "columns")])
    matrix = torch.sparse_coo_tensor(places, given.values("a", 2000), (128, 128)).coalesce()
    return torch.sparse.mm(matrix.to_sparse_csr() if layout == "csr" else matrix, given.leaf("x", 128, 64))


def sparse_bmm(given):
    names = (("batch", 4), ("rows", 64), ("columns", 64))
    places = torch.stack([given.indices(name, 4000, below=below) for name, below in names])
    matrix = torch.sparse_coo_tensor(places, given.values("a", 4000), (4, 64, 64)).coalesce()
    return torch.bmm(matrix, given.leaf("x", 4, 64, 32))


def convolved(function, shape, weight, given, bias=32, **options):
    return function(given.leaf("x", *shape), given.leaf("w", *weight), given.leaf("b", bias), **options)


def pooled(function, *options, shape=(4, 16, 32, 32), **more):
    return lambda given: function(given.leaf("x", *shape), *options, **more)


def reduced(function):
    return lambda given: function(given.leaf("x", 300, 500))


def multiplied(function, *shapes):
    return lambda given: function(*(given.leaf(name, *shape) for name, shape in zip("abc", shapes)))


VOLUME = (2, 4, 12, 12, 12)
LAYERS = {  # each gives the result, and leaves to take gradients of in what it was given
    "linear": multiplied(F.linear, (256, 512), (64, 512), (64,)),
    "matmul": multiplied(torch.matmul, (256, 512), (512, 64)),
    "addmm": multiplied(torch.addmm, (256, 64), (256, 512), (512, 64)),
    "bmm": multiplied(torch.bmm, (8, 64, 256), (8, 256, 32)),
    "baddbmm": multiplied(torch.baddbmm, (8, 64, 32), (8, 64, 256), (8, 256, 32)),
    "sparse-mm-coo": functools.partial(sparse, "coo"),
    "sparse-mm-csr": functools.partial(sparse, "csr"),
    "sparse-bmm": sparse_bmm,
    "conv1d": functools.partial(convolved, F.conv1d, (4, 32, 256), (32, 32, 5), padding=2),
    "conv2d": functools.partial(convolved, F.conv2d, (4, 16, 32, 32), (32, 16, 3, 3), padding=1),
    "conv2d-depthwise": functools.partial(convolved, F.conv2d, (4, 32, 32, 32), (32, 1, 3, 3), padding=1, groups=32),
    "conv3d": functools.partial(convolved, F.conv3d, VOLUME, (8, 4, 3, 3, 3), bias=8, padding=1),
    "conv-transpose1d": functools.partial(convolved, F.conv_transpose1d, (4, 32, 64), (32, 32, 4), stride=2, padding=1),
    "conv-transpose2d": functools.partial(convolved, F.conv_transpose2d, (4, 16, 16, 16), (16, 32, 4, 4), stride=2,
                                          padding=1),
    "max-pool2d": pooled(F.max_pool2d, 3, 2, 1),
    "max-pool3d": pooled(F.max_pool3d, 3, 2, 1, shape=VOLUME),
    "avg-pool2d": pooled(F.avg_pool2d, 3, 2, 1),
    "avg-pool3d": pooled(F.avg_pool3d, 3, 2, 1, shape=VOLUME),
    "adaptive-avg-pool2d": pooled(F.adaptive_avg_pool2d, 5),
    "adaptive-avg-pool3d": pooled(F.adaptive_avg_pool3d, 5, shape=VOLUME),
    "adaptive-max-pool2d": pooled(F.adaptive_max_pool2d, 5),
    "max-unpool2d": max_unpool,
    "batch-norm": batch_norm,
    "layer-norm": lambda given: F.layer_norm(given.leaf("x", 512, 128), (128,), *norm_weights(given, 128)),
    "group-norm": lambda given: F.group_norm(given.leaf("x", 8, 32, 16, 16), 8, *norm_weights(given, 32)),
    "embedding": lambda given: F.embedding(*reversed(rows(given))),
    "embedding-bag-sum": functools.partial(embedding_bag, "sum"),
    "embedding-bag-mean": functools.partial(embedding_bag, "mean"),
    "embedding-bag-max": functools.partial(embedding_bag, "max"),
    "gather": gather,
    "index-select": lambda given: (lambda w, i: w.index_select(0, i))(*rows(given)),
    "getitem": lambda given: (lambda w, i: w[i])(*rows(given)),
    "repeat-interleave": lambda given: given.leaf("x", BINS, 32).repeat_interleave(60, dim=0),
    "interpolate-nearest": functools.partial(interpolate, "nearest", 2),
    "interpolate-linear": functools.partial(interpolate, "linear", 1),
    "interpolate-bilinear": functools.partial(interpolate, "bilinear", 2),
    "interpolate-bicubic": functools.partial(interpolate, "bicubic", 2),
    "interpolate-trilinear": functools.partial(interpolate, "trilinear", 3),
    "reflection-pad1d": pooled(F.pad, (9, 9), mode="reflect", shape=(4, 16, 64)),
    "reflection-pad2d": pooled(F.pad, (9, 9, 9, 9), mode="reflect"),
    "replication-pad1d": pooled(F.pad, (9, 9), mode="replicate", shape=(4, 16, 64)),
    "replication-pad2d": pooled(F.pad, (9, 9, 9, 9), mode="replicate"),
    "grid-sample": grid_sample,
    "ctc-loss": ctc_loss,
    "nll-loss": lambda given: F.nll_loss(given.leaf("x", 4096, 20), given.indices("t", 4096, below=20)),
    "nll-loss2d": lambda given: F.nll_loss(given.leaf("x", 4, 20, 32, 32), given.indices("t", 4, 32, 32, below=20)),
    "cross-entropy": lambda given: F.cross_entropy(given.leaf("x", 512, 200, scale=SMALL),
                                                   given.indices("t", 512, below=200)),
    "lstm": lstm,
    "attention-math": functools.partial(attention, "MATH"),
    "attention-flash": functools.partial(attention, "FLASH_ATTENTION"),
    "attention-efficient": functools.partial(attention, "EFFICIENT_ATTENTION"),
    "attention-cudnn": functools.partial(attention, "CUDNN_ATTENTION"),
    "sum": reduced(lambda x: x.sum(1)),
    "mean": reduced(torch.mean),
    "norm": reduced(torch.linalg.vector_norm),
    "softmax": reduced(lambda x: torch.softmax(x, dim=-1)),
    "cumsum": reduced(lambda x: torch.cumsum(x.reshape(-1), dim=0)),
}


def autocast(params):
    name = params.get("autocast")
    return torch.autocast(params["device"], dtype=getattr(torch, name)) if name else contextlib.nullcontext()


@common.op("layer")
def layer(params, given):
    """Forward and backward with random upstream gradients: equal ones would hide the order of their sum."""
    with autocast(params):
        y = LAYERS[params["function"]](given)
    gradients = torch.autograd.grad(y, list(given.leaves.values()), given.values("upstream", *y.shape).to(y.dtype))
    return {"y": y, **{f"d_{name}": gradient for name, gradient in zip(given.leaves, gradients)}}


UPDATES = {  # of a table, by values that fall on each of its places about 600 times
    "index-add": lambda table, places, values: table.index_add(0, places, values),
    "index-copy": lambda table, places, values: table.index_copy(0, places, values),
    "index-put": lambda table, places, values: table.index_put((places,), values),
    "index-put-accumulate": lambda table, places, values: table.index_put((places,), values, accumulate=True),
    "put": lambda table, places, values: table.put(places, values),
    "put-accumulate": lambda table, places, values: table.put(places, values, accumulate=True),
    "scatter": lambda table, places, values: table.scatter(0, places, values),
    "scatter-add": lambda table, places, values: table.scatter_add(0, places, values),
    "scatter-reduce-sum": lambda table, places, values: table.scatter_reduce(0, places, values, "sum"),
    "scatter-reduce-mean": lambda table, places, values: table.scatter_reduce(0, places, values, "mean"),
    "scatter-reduce-prod": lambda table, places, values: (table + 1).scatter_reduce(0, places, 1 + values / 2**24, "prod"),
    "scatter-reduce-amax": lambda table, places, values: table.scatter_reduce(0, places, values, "amax"),
    "bincount": lambda table, places, values: torch.bincount(places, values, minlength=len(table)),
    "bincount-unweighted": lambda table, places, values: torch.bincount(places, minlength=len(table)),
    "histc": lambda table, places, values: torch.histc(values, bins=len(table), min=-2.0, max=2.0),
}


@common.op("update")
def update(params, given):
    places = given.indices("places", params["n"], below=BINS)
    return {"y": UPDATES[params["function"]](given.values("table", BINS), places, given.values("values", params["n"]))}


SELECTIONS = {
    "sort-stable": lambda keys: torch.sort(keys, stable=True).indices,
    "sort-unstable": lambda keys: torch.sort(keys).indices,
    "topk": lambda keys: torch.topk(keys, 100).indices,
    "median": lambda keys: torch.median(keys, dim=-1).indices,
    "kthvalue": lambda keys: torch.kthvalue(keys, keys.shape[-1] // 3, dim=-1).indices,
    "mode": lambda keys: torch.mode(keys, dim=-1).indices,
    "argmax": lambda keys: torch.argmax(keys, dim=-1),
}


@common.op("select")
def select(params, given):
    """Places, not values: keys that compare as equal can be told apart by nothing else."""
    keys = given.indices("keys", 8, params["n"], below=params["distinct"]).float()
    return {"places": SELECTIONS[params["function"]](keys)}


DRAWS = {  # of n numbers by a generator, or by the device's default where it is None
    "rand": lambda n, generator, device: torch.rand(n, generator=generator, device=device),
    "randn": lambda n, generator, device: torch.randn(n, generator=generator, device=device),
    "randperm": lambda n, generator, device: torch.randperm(n, generator=generator, device=device),
    "multinomial": lambda n, generator, device: torch.multinomial(torch.arange(1.0, 101, device=device), n,
                                                                  replacement=True, generator=generator),
    "bernoulli": lambda n, generator, device: torch.empty(n, device=device).bernoulli_(0.9, generator=generator),
}


def by_generator(device, seed):
    return torch.Generator(device).manual_seed(seed)


def by_default(device, seed):
    torch.manual_seed(seed)


def by_default_after_fork(device, seed):
    """What is drawn inside a fork leaves no trace outside."""
    torch.manual_seed(seed)
    with forked(device):
        torch.rand(1000, device=device)


def forked(device):
    """A fork of the default generators of the CPU and of a device."""
    cpu = device == "cpu"
    return torch.random.fork_rng([] if cpu else [0], device_type="cuda" if cpu else device)


def resumed(generator):
    """Another generator that goes on where this one is, as after a restart from a checkpoint."""
    other = torch.Generator(generator.device)
    other.set_state(generator.get_state())
    return other


SEEDS = {"generator": by_generator, "resumed": by_generator, "manual-seed": by_default, "forked": by_default_after_fork}


@common.op("random")
def random(params, given):
    """Two draws after one another. Every way of seeding gives the same ones; without a seed nothing says which."""
    how, draw, device = params["how"], DRAWS[params["draw"]], given.device
    if how == "unseeded":
        return {name: draw(params["n"], None, device) for name in ("first", "second")}
    with forked(device):  # the program's own generators stay as they are
        generator = SEEDS[how](device, given.seed())
        first = draw(params["n"], generator, device)
        return {"first": first, "second": draw(params["n"], resumed(generator) if how == "resumed" else generator, device)}


@common.op("dropout")
def dropout(params, given):
    """Forward and backward of a layer that draws from the default generator."""
    with forked(given.device):
        torch.manual_seed(given.seed())
        y = F.dropout(given.leaf("x", 256, 512), 0.1)
        return {"y": y, "d_x": torch.autograd.grad(y, given.leaves["x"], given.values("upstream", *y.shape))[0]}


EMPTIES = {
    "empty": lambda n, device: torch.empty(n, device=device),
    "resize": lambda n, device: torch.zeros(1, device=device).resize_(n),
}


@common.op("uninitialized")
def uninitialized(params, given):
    """Memory that nobody has written, as bits. A block of its size is released before, and what that held is another in
    each run, as in a program that has done other work; its neighbours stay, so that it is the one that fits."""
    work = torch.frombuffer(bytearray(os.urandom(4 * params["n"])), dtype=torch.int32).to(given.device)
    blocks = [work.clone() for _ in range(32)]
    del blocks[16]
    return {"bits": EMPTIES[params["function"]](params["n"], given.device).view(torch.int32)}


if __name__ == "__main__":
    kit.main("pytorch-probe", common.libraries(), threads=common.threads)
