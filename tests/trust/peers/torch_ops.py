"""What PyTorch computes for a call of an op: the expression of its row (tests/ops.h), with these functions."""
import math

import torch
import torch.nn.functional as F

from pytorch_models import ACTIVATIONS


def value_of(name, text):
    """An option: a list, a name, a real number or a whole one."""
    if name in ('dims', 'sizes', 'order'):
        return [int(word) for word in text.split(',') if word]
    if name == 'activation' or name.startswith('same.'):
        return text
    return int(text) if text.lstrip('-').isdigit() else float(text)


class Call(dict):
    """Inputs, constants and options by their names; None for others."""

    def __init__(self, words, tensors, kept, start):
        self.op, self.expression, options = words.split('\t')
        options = dict(option.split('=', 1) for option in options.split())
        super().__init__(tensors | {name: value_of(name, text) for name, text in options.items()}, c=self)
        for name in options:  # two inputs may be one tensor: same.b=a
            if name.startswith('same.'):
                self[name[5:]] = self[self[name]]
        for name in 'ab' if 'number' in options else '':  # one operand is a number
            if name not in self:
                self[name] = torch.tensor(self['number'], dtype=self['a' if name == 'b' else 'b'].dtype)
        self.kept = kept  # weights of attention that our dropout has left
        self.start = start  # the gradient of the first result, or None
        # A gradient is a sum of terms that are up to so many times as large as those of the results.
        self.stretch = 1.0

    def __missing__(self, name):
        if name in globals():
            return globals()[name]
        return None

    def result(self):
        return eval(self.expression, {}, self)

    def ids(self, name):
        return self[name].long()


# ---- bfloat16

def to_bf16(x):
    """Rounds as PyTorch does; but a subnormal number becomes 0."""
    x = torch.where(x.abs() < 2.0 ** -126, 0, x)
    return x.bfloat16().to(x.dtype)


class ToBf16(torch.autograd.Function):
    @staticmethod
    def forward(_, x):
        return to_bf16(x)

    @staticmethod
    def backward(_, gradient):
        return gradient


class GradientToBf16(torch.autograd.Function):
    """Of gradient / scale, times scale."""

    @staticmethod
    def forward(context, x, scale=1.0):
        context.scale = scale
        return x.clone()

    @staticmethod
    def backward(context, gradient):
        scale = context.scale
        return (to_bf16(gradient / scale) * scale if scale != 0 else gradient), None


def product(c, a, b, scale=1.0):
    if not c['bf16']:
        return a @ b
    return GradientToBf16.apply(ToBf16.apply(a) @ ToBf16.apply(b), scale)


# ---- reductions

def reduced(f, x, dims, keep):
    if dims is None:
        return f(x)
    return f(x, dim=dims, keepdim=bool(keep)) if dims else x.clone()  # PyTorch takes none for all


def argmax(x, dim):
    found = x.argmax(dim)
    return found.reshape(found.shape if found.ndim == 2 else (-1, 1))


# ---- rows

def entropy(c, logits):
    return F.cross_entropy(logits.flatten(0, -2), c.ids('targets').flatten(), ignore_index=c['ignore'],
                           label_smoothing=c['smoothing'])


def linear_entropy(c):
    """The gradient of logits is rounded before it is multiplied by the loss's own."""
    return entropy(c, with_bias(product(c, c['x'], c['weight'].mT, c.start.item()), c['bias']))


def real_ids(c):
    """Which ids are not padding."""
    return c.ids('ids') != c['ids_pad']


def embedding(c):
    return F.embedding(c.ids('ids'), c['table']) * real_ids(c)[..., None]


def gather(c):
    ids = c.ids('ids').reshape(c['x'].shape[:-1])
    return c['x'].gather(-1, ids[..., None]).squeeze(-1) * real_ids(c).reshape(ids.shape)


def check_rate(kept, p):
    """What our dropout has left, which both sides use, must be as many as the rate says: up to six standard deviations."""
    n, left = kept.numel(), kept.count_nonzero().item()
    if abs(left - n * (1 - p)) > 6 * math.sqrt(n * p * (1 - p)) + 1e-9 * n:
        raise RuntimeError(f'dropout of {p} has left {left} of {n} numbers')


def dropped(c, x):
    check_rate(c['kept'], c['p'])
    return x * c['kept'] / (1 - c['p'])


def stretch(c, centred):
    """What comes from above, times the gain, over the root of the mean square: terms that may cancel."""
    root = (centred.detach().square().mean(-1) + c['eps']).sqrt()
    if root.numel():
        c.stretch = max(1.0, (c['gain'].detach().abs().max() / root.min()).item())


def layer_norm(c, x):
    stretch(c, x - x.mean(-1, keepdim=True))
    return F.layer_norm(x, x.shape[-1:], c['gain'], c['bias'], c['eps'])


def rms_norm(c, x):
    stretch(c, x)
    return F.rms_norm(x, x.shape[-1:], c['gain'], c['eps'])


# ---- layers

def with_bias(y, bias):
    return y if bias is None else y + bias


def activation(c, x):
    return ACTIVATIONS[c['activation']](x)


def glu(c, x):
    gate, up = x.chunk(2, -1)
    return activation(c, gate) * up


def feed_forward(c):
    hidden = (glu if c['gated'] else activation)(c, with_bias(product(c, c['x'], c['w1']), c['b1']))
    return with_bias(product(c, hidden, c['w2']), c['b2'])


def rotary(c):
    """Pairs are complex numbers, which a product turns."""
    x, heads, size = c['x'], c['n_heads'], c['head_dim']
    half = c['turns'].shape[1] // 2
    turns = c['turns'][c['first']:][:x.shape[1]]
    turns = torch.complex(turns[:, :half], turns[:, half:])[:, None, :]  # (T, 1, R/2)
    h = x[..., :heads * size].unflatten(-1, (heads, size))
    turned = torch.complex(h[..., :half], h[..., half:2 * half]) * turns
    h = torch.cat([turned.real, turned.imag, h[..., 2 * half:]], -1)
    return torch.cat([h.flatten(-2), x[..., heads * size:]], -1)


def allowed(c, batch, queries, keys):
    """(B, 1, T, S): where a query may see a key."""
    see = torch.ones(batch, queries, keys, dtype=torch.bool)
    if c['counts'] is not None:
        see = see & (torch.arange(keys) < c['counts'][:, None])[:, None, :]
    if c['allowed'] is not None:
        see = see & (c['allowed'] != 0)
    return (see.tril(keys - queries) if c['causal'] else see)[:, None]


def attention(c, q, k, v):
    """Without dropout by torch's own attention, else by its formula. A query that sees no key gives zeros."""
    heads = c['n_heads']
    groups = c['n_kv_heads'] or heads
    split = lambda x, n: x.unflatten(-1, (n, x.shape[-1] // n)).transpose(1, 2)  # (B, H, T, D)
    q = split(q, heads)
    k, v = (split(x, groups).repeat_interleave(heads // groups, 1) for x in (k, v))
    see = allowed(c, q.shape[0], q.shape[2], k.shape[2])
    sees = see.any(-1, keepdim=True)
    scores = (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(~(see | ~sees), -math.inf)
    weights = scores.softmax(-1) * sees
    if c['p'] > 0:
        check_rate(c.kept[weights > 1e-30], c['p'])  # smaller ones are 0 in float
        weights = weights * c.kept / (1 - c['p'])
        y = weights @ v
    else:
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=see | ~sees) * sees
    y = y.transpose(1, 2).flatten(-2)
    return (y, weights.detach()) if c['weights'] else y


def cross_attention(c):
    kv = c['kv'] if c['rows'] is None else c['kv'][c.ids('rows')]
    return attention(c, c['q'], *kv.chunk(2, -1))


def self_attention(c):
    heads = c['n_heads']
    groups = c['n_kv_heads'] or heads
    size = c['qkv'].shape[-1] // (heads + 2 * groups)
    return attention(c, *c['qkv'].split([heads * size, groups * size, groups * size], -1))
