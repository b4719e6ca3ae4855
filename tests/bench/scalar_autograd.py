#!/usr/bin/env python3
"""Training steps of an encoder-decoder Transformer in which every number is an object: the lowest stair of
tests/bench/bench_step_staircase.cpp. Nothing but the standard library.

    scalar_autograd.py CASE STEPS

CASE is what bench_step_staircase writes: the sizes, a batch, and the weights by the library's names. Prints the
loss and the seconds of each step, and the gradients of the first one. The model is that of "Attention Is All You
Need", with one layer and without dropout: norms after the sub-layers.
"""
import gc
import math
import sys
import time


class Value:
    """A number, what it was computed from, and how fast it changes with each of these."""
    __slots__ = "data", "grad", "parents", "slopes"
    tape = []  # every computed number, in the order of creation

    def __init__(self, data, parents=(), slopes=()):
        self.data, self.grad, self.parents, self.slopes = data, 0.0, parents, slopes
        if parents:
            Value.tape.append(self)

    def __add__(self, other):
        return Value(self.data + other.data, (self, other), (1.0, 1.0))

    def __sub__(self, other):
        return Value(self.data - other.data, (self, other), (1.0, -1.0))

    def __mul__(self, other):
        return Value(self.data * other.data, (self, other), (other.data, self.data))

    def times(self, constant):
        return Value(self.data * constant, (self,), (constant,))

    def plus(self, constant):
        return Value(self.data + constant, (self,), (1.0,))

    def power(self, p):
        return Value(self.data ** p, (self,), (p * self.data ** (p - 1),))

    def exp(self):
        e = math.exp(self.data)
        return Value(e, (self,), (e,))

    def log(self):
        return Value(math.log(self.data), (self,), (1 / self.data,))

    def relu(self):
        return Value(max(self.data, 0.0), (self,), (1.0 if self.data > 0 else 0.0,))

    def backward(self):
        """Adds the derivatives of self to all `grad`, the last number first: consumers before producers."""
        self.grad = 1.0
        for value in reversed(Value.tape):
            for parent, slope in zip(value.parents, value.slopes):
                parent.grad += slope * value.grad
        Value.tape.clear()


def total(values):
    first, *rest = values
    for value in rest:
        first = first + value
    return first


def dot(a, b):
    return total([x * y for x, y in zip(a, b)])


def softmax(scores):
    most = max(s.data for s in scores)  # a constant: it cancels
    powers = [s.plus(-most).exp() for s in scores]
    scale = total(powers).power(-1)
    return [p * scale for p in powers]


# ------------------------------------------------------------------------------- layers, of lists of vectors
def matmul(xs, weight):  # weight (in, out): a row for each input
    columns = list(zip(*weight))
    return [[dot(x, column) for column in columns] for x in xs]


def norm(x):
    mean = total(x).times(1 / len(x))
    centred = [v - mean for v in x]
    scale = dot(centred, centred).times(1 / len(x)).plus(1e-5).power(-0.5)
    return [v * scale for v in centred]


def residual(xs, ys):  # LayerNorm(x + Sublayer(x))
    return [norm([a + b for a, b in zip(x, y)]) for x, y in zip(xs, ys)]


def attention(queries, keys, values, heads, causal):
    size = len(queries[0]) // heads
    outputs = []
    for t, query in enumerate(queries):
        seen = range(t + 1 if causal else len(keys))
        outputs.append([])
        for head in range(0, heads * size, size):
            part = slice(head, head + size)
            weights = softmax([dot(query[part], keys[s][part]).times(size ** -0.5) for s in seen])
            outputs[-1] += [dot(weights, [values[s][i] for s in seen]) for i in range(head, head + size)]
    return outputs


class Transformer:
    def __init__(self, sizes, weights):
        self.sizes, self.w = sizes, weights
        self.table = weights["src_embedding.tokens.table"]  # of both embeddings, and of the output layer

    def multi_head(self, name, xs, memory=None):
        """Attention to the memory, or causally to xs itself if memory is None."""
        d, of = self.sizes["d_model"], xs if memory is None else memory
        joined = ["in_proj"] if memory is None or name.endswith("self_attention") else ["q_proj", "kv_proj"]
        rows = [sum(parts, []) for parts in zip(*(self.w[f"{name}.{one}.weight"] for one in joined))]
        wq, wk, wv = ([row[i:i + d] for row in rows] for i in (0, d, 2 * d))
        heads = attention(matmul(xs, wq), matmul(of, wk), matmul(of, wv), self.sizes["n_heads"], memory is None)
        return matmul(heads, self.w[name + ".out_proj.weight"])

    def linear(self, name, xs):
        return [[v + b for v, b in zip(row, self.w[name + ".bias"][0])] for row in matmul(xs, self.w[name + ".weight"])]

    def feed_forward(self, name, xs):
        return self.linear(name + ".linear2", [[v.relu() for v in x] for x in self.linear(name + ".linear1", xs)])

    def embed(self, ids):
        d, vectors = self.sizes["d_model"], []
        for position, token in enumerate(ids):
            angles = [position / 10000 ** (i // 2 * 2 / d) for i in range(d)]
            waves = [math.cos(a) if i % 2 else math.sin(a) for i, a in enumerate(angles)]
            vectors.append([v.times(d ** 0.5).plus(wave) for v, wave in zip(self.table[token], waves)])
        return vectors

    def loss(self, source, target, wanted):
        """The sum of -log p of the wanted tokens."""
        encoder, decoder = "encoder.layers.0.", "decoder.layers.0."
        memory = self.embed(source)
        memory = residual(memory, self.multi_head(encoder + "self_attention", memory, memory))
        memory = residual(memory, self.feed_forward(encoder + "feed_forward", memory))
        xs = self.embed(target)
        xs = residual(xs, self.multi_head(decoder + "self_attention", xs))
        xs = residual(xs, self.multi_head(decoder + "cross_attention", xs, memory))
        xs = residual(xs, self.feed_forward(decoder + "feed_forward", xs))
        logits = [[dot(x, row) for row in self.table] for x in xs]
        return total([softmax(row)[token].log().times(-1.0) for row, token in zip(logits, wanted)])


class Adam:
    def __init__(self, parameters, sizes, rates):
        self.parameters, self.sizes, self.rates, self.t = parameters, sizes, rates, 0
        self.mean, self.square = [0.0] * len(parameters), [0.0] * len(parameters)

    def step(self):
        self.t += 1
        rate, (beta1, beta2, eps) = self.rates[self.t - 1], (self.sizes[n] for n in ("beta1", "beta2", "eps"))
        for i, p in enumerate(self.parameters):
            self.mean[i] = beta1 * self.mean[i] + (1 - beta1) * p.grad
            self.square[i] = beta2 * self.square[i] + (1 - beta2) * p.grad ** 2
            mean, square = self.mean[i] / (1 - beta1 ** self.t), self.square[i] / (1 - beta2 ** self.t)
            p.data -= rate * mean / (square ** 0.5 + eps)


def read_case(path):
    """Lines of: size NAME NUMBER; rates, one a step; batch SOURCE / TARGET / WANTED; weight NAME COLUMNS NUMBERS."""
    sizes, rates, batch, weights = {}, [], [], {}
    for line in open(path):
        kind, *words = line.split()
        if kind == "size":
            sizes[words[0]] = float(words[1]) if words[0] in ("beta1", "beta2", "eps") else int(words[1])
        elif kind == "rates":
            rates = [float(word) for word in words]
        elif kind == "batch":
            batch.append([[int(word) for word in part.split()] for part in " ".join(words).split("/")])
        else:
            numbers, columns = [Value(float(word)) for word in words[2:]], int(words[1])
            weights[words[0]] = [numbers[i:i + columns] for i in range(0, len(numbers), columns)]
    return sizes, rates, batch, weights


def main(path, steps):
    sizes, rates, batch, weights = read_case(path)
    model = Transformer(sizes, weights)
    adam = Adam([v for rows in weights.values() for row in rows for v in row], sizes, rates)
    for step in range(int(steps)):
        begin, loss = time.perf_counter(), 0.0
        for p in adam.parameters:
            p.grad = 0.0
        for source, target, wanted in batch:  # one graph after the other: together they would need gigabytes
            one = model.loss(source, target, wanted).times(1 / (len(batch) * len(wanted)))
            one.backward()
            loss += one.data
        adam.step()
        print("step", loss, time.perf_counter() - begin)
        if step == 0:
            print("gradients", *(p.grad for p in adam.parameters))


gc.disable()  # no number refers to itself, so nothing waits for the collector
main(*sys.argv[1:])
