"""Each op of autograd/ops.h as PyTorch computes it, by name: OPS[name](c) is what the call c returns."""
import math

import torch
import torch.nn.functional as F

from pytorch_models import ACTIVATIONS

# Ops that PyTorch has no counterpart of, with the reason.
WITHOUT = {}


class Call:
    """c['x'] is a tensor, or None; c.number('p'), c.flag('keep') and c.list('dims') are options."""

    def __init__(self, words, tensors, kept, start):
        self.op, *options = words.split()
        self.options = dict(option.split('=', 1) for option in options)
        self.tensors, self.kept = dict(tensors), kept  # kept: weights of attention that our dropout has left
        for name, other in self.options.items():  # two inputs may be one tensor: same.b=a
            if name.startswith('same.'):
                self.tensors[name[5:]] = self.tensors[other]
        self.start = start  # the gradient of the first result, or None
        # A gradient is a sum of terms that are up to so many times as large as those of the results.
        self.stretch = 1.0

    def __getitem__(self, name):
        return self.tensors.get(name)

    def ids(self, name):
        return self[name].long()

    def number(self, name, kind=int):
        return kind(self.options[name])

    def real(self, name):
        return self.number(name, float)

    def flag(self, name):
        return self.options.get(name) == '1'

    def list(self, name):
        return [int(word) for word in self.options[name].split(',') if word]


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
    if not c.flag('bf16'):
        return a @ b
    return GradientToBf16.apply(ToBf16.apply(a) @ ToBf16.apply(b), scale)


# ---- elementwise, reductions, shapes

def of_two(f):
    def call(c):
        a, way = c['a'], c.number('way')
        if way == 0:
            return f(a, c['b'])
        other = a if way == 1 else torch.tensor(c.real('number'), dtype=a.dtype)
        return f(other, a) if way == 3 else f(a, other)
    return call


def compared(f):
    return of_two(lambda a, b: f(a, b).to(a.dtype))


def minus(c):
    return -c['x'] if c.flag('unary') else of_two(torch.sub)(c)


def reduced(f):
    def call(c):
        if 'dims' not in c.options:
            return f(c['x'])
        dims = c.list('dims')
        return f(c['x'], dim=dims, keepdim=c.flag('keep')) if dims else c['x'].clone()  # PyTorch takes none for all
    return call


def argmax(c):
    found = c['x'].argmax(c.number('dim'))
    return found.reshape(found.shape if found.ndim == 2 else (-1, 1))


# ---- rows

def entropy(c, logits):
    return F.cross_entropy(logits.flatten(0, -2), c.ids('targets').flatten(), ignore_index=c.number('ignore'),
                           label_smoothing=c.real('smoothing'))


def linear_entropy(c):
    """The gradient of logits is rounded before it is multiplied by the loss's own."""
    return entropy(c, with_bias(product(c, c['x'], c['weight'].mT, c.start.item()), c['bias']))


def real_ids(c):
    """Which ids are not padding."""
    return c.ids('ids') != c.number('ids_pad')


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
    check_rate(c['kept'], c.real('p'))
    return x * c['kept'] / (1 - c.real('p'))


def residual(c):
    return c['x'] + dropped(c, c['y'])


def stretch(c, centred):
    """What comes from above, times the gain, over the root of the mean square: terms that may cancel."""
    root = (centred.detach().square().mean(-1) + c.real('eps')).sqrt()
    if root.numel():
        c.stretch = max(1.0, (c['gain'].detach().abs().max() / root.min()).item())


def layer_norm(c, x):
    stretch(c, x - x.mean(-1, keepdim=True))
    return F.layer_norm(x, x.shape[-1:], c['gain'], c['bias'], c.real('eps'))


def rms_norm(c, x):
    stretch(c, x)
    return F.rms_norm(x, x.shape[-1:], c['gain'], c.real('eps'))


# ---- layers

def with_bias(y, bias):
    return y if bias is None else y + bias


def linear(c):
    return with_bias(product(c, c['x'], c['weight']), c['bias'])


def activation(c, x):
    return ACTIVATIONS[c.options['activation']](x)


def glu(c, x):
    gate, up = x.chunk(2, -1)
    return activation(c, gate) * up


def feed_forward(c):
    hidden = (glu if c.flag('gated') else activation)(c, with_bias(product(c, c['x'], c['w1']), c['b1']))
    return with_bias(product(c, hidden, c['w2']), c['b2'])


def rotary(c):
    """Pairs are complex numbers, which a product turns."""
    x, heads, size = c['x'], c.number('n_heads'), c.number('head_dim')
    half = c['turns'].shape[1] // 2
    turns = c['turns'][c.number('first'):][:x.shape[1]]
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
    return (see.tril(keys - queries) if c.flag('causal') else see)[:, None]


def attention(c, q, k, v):
    """Without dropout by torch's own attention, else by its formula. A query that sees no key gives zeros."""
    heads = c.number('n_heads')
    groups = c.number('n_kv_heads') or heads
    split = lambda x, n: x.unflatten(-1, (n, x.shape[-1] // n)).transpose(1, 2)  # (B, H, T, D)
    q = split(q, heads)
    k, v = (split(x, groups).repeat_interleave(heads // groups, 1) for x in (k, v))
    see = allowed(c, q.shape[0], q.shape[2], k.shape[2])
    sees = see.any(-1, keepdim=True)
    scores = (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(~(see | ~sees), -math.inf)
    weights = scores.softmax(-1) * sees
    if c.real('p') > 0:
        check_rate(c.kept[weights > 1e-30], c.real('p'))  # smaller ones are 0 in float
        weights = weights * c.kept / (1 - c.real('p'))
        y = weights @ v
    else:
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=see | ~sees) * sees
    y = y.transpose(1, 2).flatten(-2)
    return (y, weights.detach()) if c.flag('weights') else y


def cross_attention(c):
    kv = c['kv'] if c['rows'] is None else c['kv'][c.ids('rows')]
    return attention(c, c['q'], *kv.chunk(2, -1))


def self_attention(c):
    heads = c.number('n_heads')
    groups = c.number('n_kv_heads') or heads
    size = c['qkv'].shape[-1] // (heads + 2 * groups)
    return attention(c, *c['qkv'].split([heads * size, groups * size, groups * size], -1))


OPS = {
    'add': of_two(torch.add), 'sub': of_two(torch.sub), 'mul': of_two(torch.mul), 'div': of_two(torch.div),
    'operator+': of_two(torch.add), 'operator-': minus, 'operator*': of_two(torch.mul), 'operator/': of_two(torch.div),
    'operator+=': of_two(torch.add), 'operator-=': of_two(torch.sub), 'operator*=': of_two(torch.mul),
    'operator/=': of_two(torch.div), 'maximum': of_two(torch.maximum), 'minimum': of_two(torch.minimum),
    'operator<': compared(torch.lt), 'operator<=': compared(torch.le), 'operator>': compared(torch.gt),
    'operator>=': compared(torch.ge), 'operator==': compared(torch.eq), 'operator!=': compared(torch.ne),
    'where': lambda c: torch.where(c['condition'] != 0, c['a'], c['b']),
    'neg': lambda c: -c['x'], 'exp': lambda c: c['x'].exp(), 'log': lambda c: c['x'].log(),
    'sqrt': lambda c: c['x'].sqrt(), 'tanh': lambda c: c['x'].tanh(), 'sigmoid': lambda c: c['x'].sigmoid(),
    'abs': lambda c: c['x'].abs(), 'pow': lambda c: c['x'].pow(c.real('p')),
    'clamp': lambda c: c['x'].clamp(c.real('low'), c.real('high')),
    'relu': lambda c: F.relu(c['x']), 'silu': lambda c: F.silu(c['x']), 'gelu': lambda c: F.gelu(c['x']),
    'gelu_tanh': lambda c: F.gelu(c['x'], approximate='tanh'), 'activation': lambda c: activation(c, c['x']),
    'matmul': lambda c: product(c, c['a'], c['b'].mT if c.flag('transposed') else c['b']),
    'to_bf16': lambda c: ToBf16.apply(c['x']), 'gradient_to_bf16': lambda c: GradientToBf16.apply(c['x']),
    'sum': reduced(torch.sum), 'mean': reduced(torch.mean), 'argmax': argmax,
    'max': lambda c: c['x'].max(c.number('dim'), keepdim=c.flag('keep')).values,
    'reshape': lambda c: c['x'].reshape(c.list('sizes')), 'squeeze': lambda c: c['x'].squeeze(c.number('dim')),
    'unsqueeze': lambda c: c['x'].unsqueeze(c.number('dim')), 'permute': lambda c: c['x'].permute(c.list('order')),
    'transpose': lambda c: c['x'].transpose(c.number('dim'), c.number('other')),
    'slice': lambda c: c['x'].narrow(c.number('dim'), c.number('begin'), c.number('end') - c.number('begin')),
    'concat': lambda c: torch.cat([c['a'], c['b'], c['a']], c.number('dim')),
    'stack': lambda c: torch.stack([c['a'], c['b']], c.number('dim')),
    'split': lambda c: c['x'].split(c.number('size'), c.number('dim')),
    'softmax': lambda c: c['x'].softmax(c.number('dim')), 'log_softmax': lambda c: c['x'].log_softmax(c.number('dim')),
    'cross_entropy': lambda c: entropy(c, c['x']),
    'linear_cross_entropy': linear_entropy,
    'mse_loss': lambda c: F.mse_loss(c['x'], c['target']),
    'bce_with_logits': lambda c: F.binary_cross_entropy_with_logits(c['x'], c['target']),
    'embedding': embedding, 'gather': gather, 'residual': residual,
    'dropout': lambda c: dropped(c, c['x']),
    'linear': linear,
    'linear_transposed': lambda c: with_bias(product(c, c['x'], c['weight'].mT), c['bias']),
    'feed_forward': feed_forward, 'glu': lambda c: glu(c, c['x']),
    'layer_norm': lambda c: layer_norm(c, c['x']), 'rms_norm': lambda c: rms_norm(c, c['x']),
    'residual_norm': lambda c: layer_norm(c, residual(c)),
    'rotary': rotary, 'self_attention': self_attention,
    'attention': lambda c: attention(c, c['q'], c['k'] * c['growth'] if c.flag('grow') else c['k'], c['v']),
    'cross_attention': cross_attention,
}
