# SPDX-License-Identifier: Apache-2.0
"""Training in PyTorch: steps of stochastic gradient descent with momentum and dropout, of a network of two layers and
of a small convolutional one, on images that follow from a key. Loss, gradients and weights of every step are outputs,
with the step as first dimension, so that the first difference of two runs names step, tensor and element; equal losses
prove nothing of the weights. Seeds, batch order, loader workers and number formats are varied by parameters; `resume`
trains half, saves, and goes on in a new process.

Loader workers and the process that goes on have nothing of the protocol: the kit takes its descriptors from every
forked process. Batches are small, since they travel through /dev/shm, which in a container may hold 64 MiB only.
"""

import collections
import concurrent.futures
import functools
import inspect
import io
import itertools
import multiprocessing
import os
import random
import time

import kit
import pytorch_common as common

torch = common.torch
np = kit.require("numpy")
from torch import nn  # noqa: E402  (torch may be missing)
from torch.utils.data import DataLoader, Dataset, Sampler, get_worker_info  # noqa: E402

SIDE, PIXELS, CLASSES = 28, 28 * 28, 10
LOADER_TIMEOUT = 60  # seconds that a batch may take to come from a worker
DECAY = 0.05  # of the weights, as a sum of squares in the loss


# ---- data ----


class Images(Dataset):
    """Images with their class. `augment` is called once for each image that is read."""

    def __init__(self, images, labels, augment):
        self.images, self.labels, self.augment = images, labels, augment

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.augment(self.images[i]), self.labels[i]


class ArrivingImages(Images):
    """Threads read the images of a batch, each as long as its disk takes; they are taken as they come."""

    def __getitems__(self, indices):
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            reads = [pool.submit(self.read, i) for i in indices]
            return [read.result() for read in concurrent.futures.as_completed(reads)]

    def read(self, i):
        wait_for_disk(0.005)
        return self[i]


class LateImages(Images):
    """A whole batch takes as long as its disk takes, which is mostly longer than the step before."""

    def __getitems__(self, indices):
        wait_for_disk(0.1)
        return [self[i] for i in indices]


def wait_for_disk(longest):
    time.sleep(os.urandom(1)[0] / 255 * longest)


class NoAugmentation:
    def __call__(self, image):
        return image


class GlobalGenerators:
    """Noise from NumPy's global generator, a flip from Python's."""

    def __call__(self, image):
        noisy = image + 0.1 * torch.from_numpy(np.random.standard_normal(image.shape)).to(image.dtype)
        return noisy.flip(-1) if random.random() < 0.5 else noisy


class OwnGenerator:
    """Noise from a generator of the dataset's own, which nobody but a worker_init_fn seeds anew."""

    def __init__(self, seed=None):
        self.generator = np.random.default_rng(seed)

    def __call__(self, image):
        return image + 0.1 * torch.from_numpy(self.generator.standard_normal(image.shape)).to(image.dtype)


AUGMENTATIONS = {"none": NoAugmentation, "globals": GlobalGenerators, "own": OwnGenerator,
                 "own-seeded": functools.partial(OwnGenerator, 7)}
DATASETS = {"images": Images, "arriving": ArrivingImages, "late": LateImages}


def seed_worker(worker):
    """As PyTorch's documentation has it, and the dataset's own generator too."""
    seed = torch.initial_seed() % 2**32
    np.random.seed(seed)
    random.seed(seed)
    augment = get_worker_info().dataset.augment
    if isinstance(augment, OwnGenerator):
        augment.generator = np.random.default_rng(seed)


def seed_workers_alike(worker):
    np.random.seed(7)
    random.seed(7)


WORKER_INITS = {"none": None, "by-worker": seed_worker, "alike": seed_workers_alike}


class Batches(Sampler):
    """The batches of each epoch, in an order from a generator of its own. It knows where it is, so that it can go on."""

    def __init__(self, count, size, shuffle, generator):
        self.count, self.size, self.shuffle, self.generator = count, size, shuffle, generator
        self.position, self.at_start = 0, generator.get_state()

    def __len__(self):
        return self.count // self.size

    def __iter__(self):
        self.at_start = self.generator.get_state()
        order = torch.randperm(self.count, generator=self.generator) if self.shuffle else torch.arange(self.count)
        for batch in order.split(self.size)[self.position :]:
            self.position += 1
            yield batch.tolist()
        self.position = 0


def make_loader(params, dataset, seed):
    """The generator of the order is seeded, or as the system likes it; that of the workers always is."""
    order = torch.Generator().manual_seed(seed)
    if params["order"] == "unseeded":
        order.seed()
    workers = params["workers"]
    extra = {"timeout": LOADER_TIMEOUT, "persistent_workers": params["persistent"],
             "worker_init_fn": WORKER_INITS[params["worker_init"]]} if workers else {}
    if not params["in_order"]:
        if "in_order" not in inspect.signature(DataLoader).parameters:
            raise kit.Skip("version", "this PyTorch's DataLoader has no 'in_order', which is of 2.6")
        extra["in_order"] = False
    batches = Batches(len(dataset), params["n"], params["order"] != "fixed", order)
    return DataLoader(dataset, batch_sampler=batches, num_workers=workers, generator=torch.Generator().manual_seed(seed),
                      **extra)


def make_data(params, inputs):
    """Images that tell their class, enough for an epoch, as arrays: whoever trains makes tensors of them."""
    count = params["epoch"] * params["n"]
    words = np.array(inputs.words("pixels", count * PIXELS), dtype=np.uint64)
    labels = np.array(inputs.words("labels", count), dtype=np.uint64) % CLASSES
    pixels = (words >> 40).astype(np.float32).reshape(count, PIXELS) * 2.0**-23 - 1
    pixels += 0.5 * (np.arange(PIXELS) % CLASSES == labels[:, None])
    return pixels.reshape(count, 1, SIDE, SIDE), labels.astype(np.int64)


# ---- networks ----


class Mlp(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        self.hidden, self.scores, self.dropout = nn.Linear(PIXELS, 256), nn.Linear(256, CLASSES), nn.Dropout(dropout)

    def forward(self, x):
        return self.scores(self.dropout(self.hidden(x.flatten(1)).relu()))


class Conv(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        self.filters, self.norm, self.dropout = nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.Dropout(dropout)
        self.scores = nn.Linear(8 * 13 * 13, CLASSES)

    def forward(self, x):
        return self.scores(self.dropout(nn.functional.avg_pool2d(self.norm(self.filters(x)).relu(), 2).flatten(1)))


NETS = {"mlp": Mlp, "conv": Conv}


# ---- one training ----


SEEDERS = {"torch": torch.manual_seed, "numpy": np.random.seed, "random": random.seed}


def falling_rate(step):
    return 1 / (1 + step)


class Training:
    """All that a training goes on from. It begins as a script does: seeds, network, optimiser, loader."""

    def __init__(self, params, data, seed):
        self.params, self.device = params, params["device"]
        for name in params["seeded"].split():
            SEEDERS[name](seed)
        layout = {"memory_format": torch.channels_last} if params["channels_last"] else {}
        dtype = getattr(torch, params["dtype"])
        self.model = NETS[params["net"]](0.5 if params["dropout"] else 0).to(self.device, dtype, **layout)
        self.optimiser = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimiser, falling_rate)
        self.scaler = torch.amp.GradScaler(self.device, init_scale=2.0**20, enabled=params["amp"] == "float16")
        pixels, labels = map(torch.from_numpy, data)
        images = DATASETS[params["dataset"]](pixels.to(dtype), labels, AUGMENTATIONS[params["augment"]]())
        self.loader = make_loader(params, images, seed)
        self.batches = self.loader.batch_sampler

    def autocast(self):
        return torch.autocast(self.device, getattr(torch, self.params["amp"], None), self.params["amp"] != "none")

    def epochs(self):
        while True:
            yield from self.loader

    def step(self, images, labels):
        """The loss before the step; the gradients stay with the weights."""
        images, labels = images.to(self.device), labels.to(self.device)
        if self.params["channels_last"]:
            images = images.contiguous(memory_format=torch.channels_last)
        self.optimiser.zero_grad()
        with self.autocast():
            loss = nn.functional.cross_entropy(self.model(images), labels)
        loss = loss + DECAY * sum(weights.square().sum() for weights in self.model.parameters())
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimiser)
        self.scaler.step(self.optimiser)
        self.scaler.update()
        self.scheduler.step()
        return loss.detach()

    def train(self, steps):
        """{name: one value or tensor for each step}."""
        history = collections.defaultdict(list)
        for images, labels in itertools.islice(self.epochs(), steps):
            history["loss"].append(self.step(images, labels))
            for name, weights in self.model.named_parameters():
                history[f"gradient.{name}"].append(weights.grad.clone())
                history[f"weights.{name}"].append(weights.detach().clone())
        return {name: torch.stack(values).cpu() for name, values in history.items()}


def seed_of(inputs):
    return inputs.words("seed", 1)[0] % 2**32


@common.op("train")
def train(params, given):
    history = Training(params, make_data(params, given.inputs), seed_of(given.inputs)).train(params["steps"])
    if params["dtype"] == "float64":
        history["loss_to_1e-10"] = (history["loss"] * 1e10).round().long()
    return history


# ---- what a loader's workers draw ----


@common.op("load")
def load(params, given):
    """Two epochs of black images with noise, and how many of them have noise that was there before: within the first
    epoch, and in the second from the first. Which of the two there must be is part of the case."""
    black = torch.zeros(params["epoch"] * params["n"], 1, SIDE, SIDE)
    images = DATASETS[params["dataset"]](black, torch.arange(len(black)), AUGMENTATIONS[params["augment"]]())
    loader = make_loader(params, images, seed_of(given.inputs))
    epochs = [torch.cat([batch for batch, _ in loader]) for _ in range(2)]
    first, second = ({image.max().item() for image in epoch} for epoch in epochs)  # a flip does not change it
    again = [len(black) - len(first), len(first & second)]
    expected = params["noise_again"].split()
    right = [(count > 0) == (where in expected) for count, where in zip(again, ("workers", "epochs"))]
    return {"images": torch.stack(epochs), "noise_again": kit.checked(kit.s64(again), all(right))}


# ---- resume ----

State = collections.namedtuple("State", ("save", "restore"))


def of_member(name):
    """What has a state_dict."""
    return State(lambda t: getattr(t, name).state_dict(), lambda t, state: getattr(t, name).load_state_dict(state))


STATES = {
    "weights": of_member("model"),
    "optimiser": of_member("optimiser"),
    "scheduler": of_member("scheduler"),
    "scaler": of_member("scaler"),
    "position": State(lambda t: t.batches.position, lambda t, state: setattr(t.batches, "position", state)),
    "order": State(lambda t: t.batches.at_start, lambda t, state: t.batches.generator.set_state(state)),
    "torch": State(lambda t: torch.get_rng_state(), lambda t, state: torch.set_rng_state(state)),
    "numpy": State(lambda t: np.random.get_state(), lambda t, state: np.random.set_state(state)),
    "random": State(lambda t: random.getstate(), lambda t, state: random.setstate(state)),
    "device": State(lambda t: getattr(torch, t.device).get_rng_state(),
                    lambda t, state: getattr(torch, t.device).set_rng_state(state)),
}
# Steps that are still the same without a state that acts on weights alone. The next loss is the same then, too.
DELAY = {"optimiser": 0, "scaler": 0, "scheduler": 1}  # the rate of the next step is in the optimiser's state


def save(training):
    file = io.BytesIO()
    torch.save({name: state.save(training) for name, state in STATES.items()
                if name != "device" or training.device != "cpu"}, file)
    return file.getvalue()


def go_on(params, data, seed, checkpoint, steps, threads):
    """In a new process: the script from its beginning, then what the checkpoint has, but for what was left out. Arrays
    are given back, since tensors would be left behind in shared memory."""
    torch.set_num_threads(threads)
    with common.switched(params):
        training = Training(params, data, seed)
        for name, state in torch.load(io.BytesIO(checkpoint), weights_only=False).items():
            if name != params["left_out"]:
                STATES[name].restore(training, state)
        return {name: values.numpy() for name, values in training.train(steps).items()}


@functools.cache
def new_processes():
    """Forked from a process that has imported PyTorch, with what its first optimiser asks for, and done nothing else:
    to import it anew takes seconds."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["numpy", "torch", "torch._dynamo"])
    return context


def in_new_process(function, *arguments):
    with concurrent.futures.ProcessPoolExecutor(1, new_processes()) as pool:
        return pool.submit(function, *arguments).result()


def count_differing(one, other):
    """For each step, how many elements have other bits."""
    bits = (x.numpy().view(f"u{x.element_size()}").reshape(len(x), -1) for x in (one, other))
    return np.count_nonzero(np.not_equal(*bits), axis=1)


def is_right(left_out, name, step, differ):
    """Whether a history may differ, or not, at a step after the checkpoint: a whole one goes on as if nothing had
    happened, what is left out must be seen in the weights."""
    if left_out == "nothing" or step < 0:
        return not differ
    if name.startswith("weights"):
        return differ == (step >= DELAY.get(left_out, 0))
    return not (differ and name == "loss" and step <= DELAY.get(left_out, -1))


@common.op("resume")
def resume(params, given):
    """How many elements of each step and history differ from those of a training in one go."""
    data, seed, steps = make_data(params, given.inputs), seed_of(given.inputs), params["steps"]
    half = steps // 2
    straight = Training(params, data, seed).train(steps)
    training = Training(params, data, seed)
    first = training.train(half)
    rest = in_new_process(go_on, params, data, seed, save(training), steps - half, torch.get_num_threads())
    counts = {name: count_differing(values, torch.cat([first[name], torch.from_numpy(rest[name])]))
              for name, values in straight.items()}
    right = all(is_right(params["left_out"], name, step - half, count > 0)
                for name, row in counts.items() for step, count in enumerate(row))
    return {"differing": kit.checked(kit.from_memory(np.stack(list(counts.values()), axis=1)), right)}


# ---- the program ----


def libraries():
    return [*common.libraries(), kit.library("NumPy", np)]


if __name__ == "__main__":
    kit.main("pytorch-train", libraries(), common.threads)
