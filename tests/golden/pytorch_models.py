"""Transformers in PyTorch: the layers of torch.nn where it has them, and formulas where it has not.

The names of their members are those of models/pytorch.h. make_golden.py makes the golden files with them, and
tests/trust/peers/compare_models.py builds random ones. A configuration is a dict, with the names of models/config.h.
"""
import json
import math
import struct

import torch
import torch.nn.functional as F
from torch import nn

PAD = 0


# ---- safetensors: 8 bytes length, a JSON header, the numbers

def write_file(path, tensors):
    header, data = {}, b''
    for name, x in sorted(tensors.items()):
        ids = not x.is_floating_point()
        x = x.detach().contiguous().to(torch.int32 if ids else torch.float32)
        bytes_ = x.numpy().astype('<i4' if ids else '<f4').tobytes()
        header[name] = {'dtype': 'I32' if ids else 'F32', 'shape': list(x.shape),
                        'data_offsets': [len(data), len(data) + len(bytes_)]}
        data += bytes_
    text = json.dumps(header, separators=(',', ':')).encode()
    text += b' ' * (-len(text) % 8)
    with open(path, 'wb') as file:
        file.write(struct.pack('<Q', len(text)) + text + data)


def read_file(path):
    with open(path, 'rb') as file:
        length, = struct.unpack('<Q', file.read(8))
        header = json.loads(file.read(length))
        data = bytearray(file.read())
    metadata = header.pop('__metadata__', {})
    types = {'F32': torch.float32, 'F64': torch.float64, 'I32': torch.int32, 'I64': torch.int64}
    tensors = {}
    for name, entry in header.items():
        begin, end = entry['data_offsets']
        flat = torch.frombuffer(data[begin:end], dtype=types[entry['dtype']]) if end > begin else torch.empty(0)
        x = flat.reshape(entry['shape'])
        tensors[name] = x.double() if x.is_floating_point() else x.long()
    return tensors, metadata


# ---- masks

def causal(length):
    """True where a key is hidden."""
    return torch.ones(length, length).triu(1).bool()


def hidden_keys(counts, length):
    return torch.arange(length)[None, :] >= torch.tensor(counts)[:, None]


# ---- layers

ACTIVATIONS = {'relu': F.relu, 'gelu': F.gelu, 'gelu_erf': F.gelu, 'silu': F.silu,
               'gelu_tanh': lambda x: F.gelu(x, approximate='tanh')}


class Node(nn.Module):
    """Modules by name, where only the names and the parameters matter."""

    def __init__(self, /, **children):
        super().__init__()
        for name, child in children.items():
            setattr(self, name, child)


class RmsNorm(nn.Module):
    """Zhang & Sennrich 2019. (torch.nn.RMSNorm is newer than PyTorch 1.13.)"""

    def __init__(self, d, eps=1e-5):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(d)), eps

    def forward(self, x):
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + self.eps) * self.weight


def heads_attention(q, k, v, n_heads, hidden):
    """Attention by its formula, for the models that are written out here. hidden: True where a key is masked."""
    split = lambda x: x.unflatten(-1, (n_heads, -1)).transpose(-2, -3)  # (B, H, T, D)
    q, k, v = split(q), split(k), split(v)
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    return (scores.masked_fill(hidden, -math.inf).softmax(-1) @ v).transpose(-2, -3).flatten(-2)


def rotary_frequencies(width, base=10000.0, linear=None, llama3=None, exact_power=False):
    """In float32, as transformers computes them (modeling_rope_utils): that is what published models have.
    exact_power: the power is rounded once, as plaingrad's is, not as its float32 function rounds it."""
    exponents = torch.arange(0, width, 2).to(torch.float32) / width
    frequencies = 1.0 / (base ** (exponents.double() if exact_power else exponents)).to(torch.float32)
    if linear:
        frequencies = frequencies / linear
    if llama3:
        factor, low, high, length = llama3
        wave = 2 * math.pi / frequencies
        kept = (length / wave - low) / (high - low)
        between = (1 - kept) * frequencies / factor + kept * frequencies
        frequencies = torch.where(wave > length / low, frequencies / factor,
                                  torch.where(wave < length / high, frequencies, between))
    return frequencies


def turn(x, frequencies, first=0):
    """x (B, T, H, D): numbers i and i + width/2 of a head are a pair. Only the angles are always float32."""
    positions = torch.arange(first, first + x.shape[1]).to(torch.float32)
    angles = (positions[:, None] * frequencies).to(x.dtype)[:, None, :]  # (T, 1, width/2)
    half = frequencies.numel()
    a, b, rest = x[..., :half], x[..., half:2 * half], x[..., 2 * half:]
    return torch.cat([a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin(), rest], -1)


class GroupedAttention(nn.Module):
    """Fewer heads of keys and values than of queries. hidden: True where a key is masked. memory: where keys and values
    come from, if not from x."""

    def __init__(self, d, n_heads, n_kv_heads, head_dim, bias, frequencies=None, out_bias=True):
        super().__init__()
        self.sizes, self.head_dim, self.frequencies = (n_heads, n_kv_heads, n_kv_heads), head_dim, frequencies
        width = sum(self.sizes) * head_dim
        self.in_proj_weight = nn.Parameter(torch.zeros(width, d))
        self.in_proj_bias = nn.Parameter(torch.zeros(width)) if bias else None
        self.out_proj = nn.Linear(n_heads * head_dim, d, bias=bias and out_bias)

    def forward(self, x, hidden, memory=None):
        project = lambda y: F.linear(y, self.in_proj_weight, self.in_proj_bias).unflatten(
            -1, (-1, self.head_dim)).split(self.sizes, -2)  # (B, T, H or G, D)
        q, k, v = project(x)
        if memory is not None:
            _, k, v = project(memory)
        if self.frequencies is not None:
            q, k = turn(q, self.frequencies), turn(k, self.frequencies)
        k, v = (y.repeat_interleave(self.sizes[0] // self.sizes[1], -2) for y in (k, v))
        return self.out_proj(heads_attention(q.flatten(-2), k.flatten(-2), v.flatten(-2), self.sizes[0], hidden))


def swiglu(linear1, linear2, x, activation=F.silu):
    gate, up = linear1(x).chunk(2, -1)
    return linear2(activation(gate) * up)


# ---- stacks, with every option of models/config.h

def without_bias(c, name):
    """PyTorch 1.13 has no such argument, so it is left out where it says nothing."""
    return {} if c.get(name, True) else {'bias': False}


def norm_of(c):
    if c.get('norm_kind') == 'rms':
        return RmsNorm(c['d_model'], c['norm_eps'])
    return nn.LayerNorm(c['d_model'], eps=c.get('norm_eps', 1e-5), **without_bias(c, 'norm_bias'))


def in_torch(c):
    """Whether torch.nn has such layers: one kind of heads, layer norms, and biases everywhere or nowhere."""
    biases = {c.get(f'{part}_bias', True) for part in ('attention', 'attention_out', 'feed_forward', 'norm')}
    return (c['n_layers'] > 0 and len(biases) == 1 and not c.get('gated') and c.get('norm_kind') != 'rms'
            and c.get('n_kv_heads', 0) in (0, c['n_heads']) and c['d_model'] % c['n_heads'] == 0
            and c.get('head_dim', 0) in (0, c['d_model'] // c['n_heads']) and c.get('positions') != 'rotary')


def layer_options(c):
    return dict(d_model=c['d_model'], nhead=c['n_heads'], dim_feedforward=c['d_ff'], dropout=0.0,
                activation=ACTIVATIONS[c['activation']], layer_norm_eps=c.get('norm_eps', 1e-5), batch_first=True,
                norm_first=c['norm'] == 'pre', **without_bias(c, 'norm_bias'))


class AnyLayer(nn.Module):
    """A layer of either stack by its formulas. crosses: a decoder's."""

    def __init__(self, c, crosses):
        super().__init__()
        d, n_heads = c['d_model'], c['n_heads']
        head_dim = c['head_dim'] or d // n_heads
        attention = lambda frequencies: GroupedAttention(d, n_heads, c['n_kv_heads'] or n_heads, head_dim,
                                                         c['attention_bias'], frequencies, c['attention_out_bias'])
        self.self_attn = attention(frequencies_of(c, head_dim))
        if crosses:
            self.multihead_attn = attention(None)
        self.gated, self.pre, self.activation = c['gated'], c['norm'] == 'pre', ACTIVATIONS[c['activation']]
        self.linear1 = nn.Linear(d, (2 if self.gated else 1) * c['d_ff'], bias=c['feed_forward_bias'])
        self.linear2 = nn.Linear(c['d_ff'], d, bias=c['feed_forward_bias'])
        for i in range(3 if crosses else 2):
            setattr(self, f'norm{i + 1}', norm_of(c))

    def feed_forward(self, x):
        if self.gated:
            return swiglu(self.linear1, self.linear2, x, self.activation)
        return self.linear2(self.activation(self.linear1(x)))

    def forward(self, x, hidden, memory=None, memory_hidden=None):
        sublayers = [lambda y: self.self_attn(y, hidden), self.feed_forward]
        if memory is not None:
            sublayers.insert(1, lambda y: self.multihead_attn(y, memory_hidden, memory))
        for i, sublayer in enumerate(sublayers):
            norm = getattr(self, f'norm{i + 1}')
            x = x + sublayer(norm(x)) if self.pre else norm(x + sublayer(x))
        return x


def frequencies_of(c, head_dim):
    if c['positions'] != 'rotary':
        return None
    scaling = {'none': {}, 'linear': dict(linear=c['rotary.factor']),
               'llama3': dict(llama3=[c['rotary.' + key] for key in ('factor', 'low_frequency_factor',
                                                                     'high_frequency_factor', 'original_length')])}
    return rotary_frequencies(c['rotary.width'] or head_dim, c['rotary.base'], exact_power=True,
                              **scaling[c['rotary.scaling']])


class AnyStack(nn.Module):
    """In the place of a torch.nn.TransformerEncoder or -Decoder, called as they are."""

    def __init__(self, c, crosses=False):
        super().__init__()
        self.layers = nn.ModuleList(AnyLayer(c, crosses) for _ in range(c['n_layers']))
        self.norm = norm_of(c) if c['final_norm'] else nn.Identity()

    def forward(self, x, memory=None, mask=None, src_key_padding_mask=None, tgt_mask=None, tgt_key_padding_mask=None,
                memory_key_padding_mask=None, **_):
        both = lambda mask, padding: (mask if mask is not None else False) | padding[:, None, None, :]
        if memory is None:
            arguments = [both(mask, src_key_padding_mask)]
        else:
            arguments = [both(tgt_mask, tgt_key_padding_mask), memory, both(None, memory_key_padding_mask)]
        for layer in self.layers:
            x = layer(x, *arguments)
        return self.norm(x)


def encoder(c):
    if not in_torch(c):
        return AnyStack(c)
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(**layer_options(c)), c['n_layers'],
                                 norm_of(c) if c['final_norm'] else None, enable_nested_tensor=False)


def decoder(c):
    if not in_torch(c):
        return AnyStack(c, crosses=True)
    return nn.TransformerDecoder(nn.TransformerDecoderLayer(**layer_options(c)), c['n_layers'],
                                 norm_of(c) if c['final_norm'] else None)


# ---- whole models

def sinusoids(length, d):
    angles = torch.arange(length)[:, None] / 10000 ** (torch.arange(0, d, 2) / d)
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)[:, :d]


def positioned(c, x, table):
    """x (B, T, d) with its positions. table: an Embedding, or None."""
    if table is not None:
        return x + table.weight[:x.shape[1]]
    return x + sinusoids(*x.shape[1:]).to(x.dtype) if c['positions'] == 'sinusoidal' else x


class Translator(nn.Module):
    """models::Transformer: embeddings, torch.nn.Transformer, output."""

    def __init__(self, c):
        super().__init__()
        self.c = c
        self.scale = math.sqrt(c['d_model']) if c['scale_embeddings'] else 1
        self.src_embedding = nn.Embedding(c['src_vocabulary'], c['d_model'], padding_idx=PAD)
        self.tgt_embedding = nn.Embedding(c['tgt_vocabulary'], c['d_model'], padding_idx=PAD)
        if c['positions'] == 'learned':
            self.src_positions = nn.Embedding(c['max_length'], c['d_model'])
            self.tgt_positions = nn.Embedding(c['max_length'], c['d_model'])
        # Custom stacks: without them nn.Transformer has final norms whatever we say.
        layers = lambda kind: dict(c, n_layers=c.get(f'n_{kind}_layers', c.get('n_layers')))
        self.transformer = nn.Transformer(c['d_model'], 1, batch_first=True, custom_encoder=encoder(layers('encoder')),
                                          custom_decoder=decoder(layers('decoder')))
        self.output = nn.Linear(c['d_model'], c['tgt_vocabulary'], bias=c['output_bias'])
        if c.get('embeddings_tied', c.get('tied')):
            self.tgt_embedding.weight = self.src_embedding.weight
        if c.get('tied'):
            self.output.weight = self.tgt_embedding.weight

    def embed(self, which, ids):
        x = getattr(self, which + '_embedding')(ids) * self.scale
        return positioned(self.c, x, getattr(self, which + '_positions', None))

    def forward(self, src, tgt):
        y = self.transformer(self.embed('src', src), self.embed('tgt', tgt), tgt_mask=causal(tgt.shape[1]),
                             src_key_padding_mask=src == PAD, tgt_key_padding_mask=tgt == PAD,
                             memory_key_padding_mask=src == PAD)
        return self.output(y)


class Stack(nn.Module):
    """models::LanguageModel ('lm'), MaskedLanguageModel ('mlm'), Classifier: torch.nn.TransformerEncoder."""

    def __init__(self, c):
        super().__init__()
        d, self.c, self.kind = c['d_model'], c, c['kind']
        self.scale = math.sqrt(d) if c['scale_embeddings'] else 1
        self.embedding = nn.Embedding(c['vocabulary'], d, padding_idx=PAD)
        if c['positions'] == 'learned':
            self.positions = nn.Embedding(c['max_length'], d)
        if c.get('token_types'):
            self.types = nn.Embedding(c['token_types'], d)
        if c['embedding_norm']:
            self.embedding_norm = norm_of(c)
        self.encoder = encoder(c)
        if self.kind == 'mlm':
            self.transform, self.norm = nn.Linear(d, d), norm_of(c)
        classifies = self.kind == 'classifier'
        if classifies and c.get('pooling') == 'pooler':
            self.pooler = nn.Linear(d, d)
        self.output = nn.Linear(d, c['classes'] if classifies else c['vocabulary'], bias=classifies or c['output_bias'])
        if c['tied'] and not classifies:
            self.output.weight = self.embedding.weight

    def embed(self, ids, types):
        x = positioned(self.c, self.embedding(ids) * self.scale, getattr(self, 'positions', None))
        if self.c.get('token_types'):
            x = x + (self.types.weight[0] if types is None else self.types(types))
        return self.embedding_norm(x) if self.c['embedding_norm'] else x

    def pooled(self, x, real):
        if self.c.get('pooling', 'mean') == 'mean':
            return (x * real[..., None]).sum(1) / real.sum(1)[:, None]
        return self.pooler(x[:, 0]).tanh() if self.c['pooling'] == 'pooler' else x[:, 0]

    def forward(self, ids, types=None):
        x = self.encoder(self.embed(ids, types), mask=causal(ids.shape[1]) if self.kind == 'lm' else None,
                         src_key_padding_mask=ids == PAD)
        if self.kind == 'mlm':
            x = self.norm(ACTIVATIONS[self.c['activation']](self.transform(x)))
        return self.output(self.pooled(x, ids != PAD) if self.kind == 'classifier' else x)
