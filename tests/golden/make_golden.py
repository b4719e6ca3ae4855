"""Makes the golden files beside this script: what PyTorch computes, for tests that run without it.

    python3 tests/golden/make_golden.py                  writes tests/golden/*.safetensors
    python3 tests/golden/make_golden.py --check FOLDER   the other direction: loads files that plaingrad saved
                                                         into PyTorch's modules and compares the outputs

Needs PyTorch 1.13 or later (Debian: python3-torch) and nothing else. (blocks was made with PyTorch 2.15.) The modules
are those of pytorch_models.py. Parameters and inputs are float32 numbers. The rest is computed in float64 and rounded to float32 at the end, so that a difference is our error.

Names in a file are group/kind/name, the last as PyTorch has it:
    input/       what goes in (ids are int32)
    weight/      the module's state_dict()
    upstream/    the gradient that backward starts from, where there is no loss
    output/      what comes out
    loss/        losses, and other numbers that are compared more strictly
    gradient/    of the loss in the weights;  input_gradient/  in the inputs
    final/       weights after training
"""
import json
import math
import os
import sys

import torch
import torch.nn.functional as F
from torch import nn

from pytorch_models import (PAD, GroupedAttention, Node, RmsNorm, Stack, Translator, causal, decoder, encoder,
                            heads_attention, hidden_keys, layer_options, read_file, rotary_frequencies, swiglu, turn,
                            write_file)

HERE = os.path.dirname(os.path.abspath(__file__))


# ---- values and masks

def numbers(*shape, scale=1.0):
    return (torch.randn(*shape, dtype=torch.float32) * scale).double()


def scramble(module):
    """Gives every parameter its own numbers: PyTorch's zero biases and unit gains would hide mistakes."""
    with torch.no_grad():
        for name, p in module.named_parameters():
            if p.dim() == 1:
                gain = name.endswith('weight')
                p.copy_(numbers(*p.shape, scale=0.2) + (1 if gain else 0))
            else:
                p.copy_(numbers(*p.shape, scale=p.shape[-1] ** -0.5))
            p.copy_(p.float().double())
        for m in module.modules():
            if isinstance(m, nn.Embedding) and m.padding_idx is not None:
                m.weight[m.padding_idx] = 0
    return module


def ids_of(*sentences):
    longest = max(len(s) for s in sentences)
    return torch.tensor([s + [PAD] * (longest - len(s)) for s in sentences])


# ---- one group of a file

def record(file, group, module, inputs, forward, rows=None):
    """forward() returns {name: output}; backward starts from 'loss' if there is one, else from random gradients.
    rows: True where a row of the output counts; the others (padding) are stored as 0."""
    def put(kind, name, x):
        file[f'{group}/{kind}/{name}'] = x

    out = forward()
    loss = out.pop('loss', None)
    if loss is not None:
        put('loss', 'loss', loss)
        loss.backward()
    for name, y in out.items():
        if rows is not None:
            y = y * rows[..., None]
        put('output', name, y)
        if loss is None:
            up = numbers(*y.shape)
            put('upstream', name, up)
            y.backward(up, retain_graph=True)
    for name, x in inputs.items():
        put('input', name, x)
        if x.requires_grad:
            put('input_gradient', name, x.grad)
    # state_dict: tied weights under each of their names
    for name, p in (module.state_dict(keep_vars=True) if module else {}).items():
        put('weight', name, p)
        put('gradient', name, p.grad)


def make_layers():
    file = {}

    def simple(group, f, module=None, shape=(2, 3, 5), scale=1.0):
        x = numbers(*shape, scale=scale).requires_grad_()
        record(file, group, module, {'x': x}, lambda: {'y': f(x)})

    for group, bias in (('linear', True), ('linear_no_bias', False)):
        layer = scramble(nn.Linear(5, 7, bias=bias))
        simple(group, layer, layer)
    for eps in ('1e-5', '1e-12'):
        layer = scramble(nn.LayerNorm(5, eps=float(eps)))
        simple('layer_norm_' + eps, layer, layer, scale=0.01)  # small, so that eps matters
    simple('gelu_erf', nn.GELU(), shape=(3, 40), scale=2)
    simple('gelu_tanh', nn.GELU(approximate='tanh'), shape=(3, 40), scale=2)
    simple('softmax', nn.Softmax(-1), shape=(3, 17), scale=3)
    simple('log_softmax', nn.LogSoftmax(-1), shape=(3, 17), scale=3)
    layer = scramble(nn.ModuleDict({'linear1': nn.Linear(5, 13), 'linear2': nn.Linear(13, 5)}))
    simple('feed_forward', lambda x: layer['linear2'](layer['linear1'](x).relu()), layer)

    layer = scramble(nn.Embedding(7, 5, padding_idx=PAD))
    ids = ids_of([3, 1, 4, 1], [5, 2])
    record(file, 'embedding', layer, {'ids': ids}, lambda: {'y': layer(ids)})

    targets = ids_of([3, 10, 4, 1], [5, 2])
    for group, smoothing in (('cross_entropy', 0.0), ('cross_entropy_smoothed', 0.1)):
        x = numbers(2, 4, 11, scale=2).requires_grad_()
        record(file, group, None, {'x': x, 'targets': targets}, lambda: {
            'loss': F.cross_entropy(x.flatten(0, 1), targets.flatten(), ignore_index=PAD,
                                    label_smoothing=smoothing)})

    # Norms and gradients before and after clipping, below the limit and above it. (PyTorch divides by norm +
    # 1e-6; with norms as large as these that does not show.)
    for group, limit in (('clip_below', 1000.0), ('clip_above', 3.0)):
        gradients = {'a': numbers(4, 5, scale=10), 'b': numbers(6, scale=10)}
        weights = [torch.zeros_like(g).requires_grad_() for g in gradients.values()]
        for w, (name, g) in zip(weights, gradients.items()):
            w.grad = g.clone()
            file[f'{group}/input/{name}'] = g
        norm = nn.utils.clip_grad_norm_(weights, limit)
        file[f'{group}/loss/norm'] = norm
        for w, name in zip(weights, gradients):
            file[f'{group}/gradient/{name}'] = w.grad
    return file


def make_attention():
    file = {}
    counts, T, S, d = [5, 3], 5, 6, 12

    def attend(group, cross, mask, padding, bias=True):
        layer = scramble(nn.MultiheadAttention(d, 3, bias=bias, batch_first=True))
        x = numbers(2, T, d).requires_grad_()
        memory = numbers(2, S, d).requires_grad_() if cross else x
        hidden = hidden_keys(counts, memory.shape[1]) if padding else None
        inputs = {'x': x, 'memory': memory} if cross else {'x': x}
        record(file, group, layer, inputs, lambda: {'y': layer(
            x, memory, memory, key_padding_mask=hidden, attn_mask=causal(T) if mask else None,
            need_weights=False)[0]})

    attend('self', False, False, False)
    attend('self_padding', False, False, True)
    attend('self_causal', False, True, False)
    attend('self_causal_padding', False, True, True)
    attend('self_no_bias', False, False, False, bias=False)
    attend('cross', True, False, False)
    attend('cross_padding', True, False, True)
    return file


SMALL = dict(d_model=12, n_heads=3, d_ff=20, n_layers=2, activation='relu', norm='post', final_norm=False)
SRC_COUNTS, TGT_COUNTS = [6, 4], [3, 5]


def make_stacks():
    file = {}
    hidden_src, hidden_tgt = hidden_keys(SRC_COUNTS, 6), hidden_keys(TGT_COUNTS, 5)

    def encode(group, **options):
        module = scramble(encoder(dict(SMALL, **options)))
        x = numbers(2, 6, 12).requires_grad_()
        record(file, group, module, {'src': x},
               lambda: {'y': module(x, src_key_padding_mask=hidden_src)}, ~hidden_src)

    encode('encoder_post_relu')
    encode('encoder_post_gelu_norm', activation='gelu', final_norm=True)
    encode('encoder_pre_relu_norm', norm='pre', final_norm=True)
    encode('encoder_pre_gelu', norm='pre', activation='gelu')

    def decode(group, module, encoder_too):
        x = numbers(2, 5, 12).requires_grad_()
        src = numbers(2, 6, 12).requires_grad_()
        masks = dict(tgt_mask=causal(5), tgt_key_padding_mask=hidden_tgt, memory_key_padding_mask=hidden_src)
        if encoder_too:
            forward = lambda: {'y': module(src, x, src_key_padding_mask=hidden_src, **masks)}
        else:
            forward = lambda: {'y': module(x, src, **masks)}
        record(file, group, module, {'src': src, 'tgt': x}, forward, ~hidden_tgt)

    decode('decoder_post_relu', scramble(decoder(SMALL)), False)
    decode('decoder_pre_gelu_norm',
           scramble(decoder(dict(SMALL, norm='pre', activation='gelu', final_norm=True))), False)
    # nn.Transformer has a final norm in both stacks, in post-norm too.
    for norm in ('post', 'pre'):
        options = layer_options(dict(SMALL, norm=norm))
        module = nn.Transformer(num_encoder_layers=1, num_decoder_layers=1, **options)
        decode('transformer_' + norm, scramble(module), True)
    return file


# ---- whole models. The names of their members are those of models/pytorch.h.

class Conv1D(nn.Module):
    """GPT-2's linear layer: its weight is [in, out]."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.zeros(inputs, outputs)), nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        return x @ self.weight + self.bias


class Gpt2Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        d, self.n_heads = c['d_model'], c['n_heads']
        self.ln_1, self.ln_2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.attn = nn.ModuleDict({'c_attn': Conv1D(d, 3 * d), 'c_proj': Conv1D(d, d)})
        self.mlp = nn.ModuleDict({'c_fc': Conv1D(d, c['d_ff']), 'c_proj': Conv1D(c['d_ff'], d)})

    def forward(self, x):
        q, k, v = self.attn['c_attn'](self.ln_1(x)).chunk(3, -1)
        x = x + self.attn['c_proj'](heads_attention(q, k, v, self.n_heads, causal(x.shape[1])))
        return x + self.mlp['c_proj'](F.gelu(self.mlp['c_fc'](self.ln_2(x)), approximate='tanh'))


class Gpt2(nn.Module):
    """Hugging Face's GPT2LMHeadModel, by name and by what it computes. Radford et al. 2019."""

    def __init__(self, c):
        super().__init__()
        self.transformer = nn.ModuleDict({
            'wte': nn.Embedding(c['vocabulary'], c['d_model']), 'wpe': nn.Embedding(c['max_length'], c['d_model']),
            'h': nn.ModuleList(Gpt2Block(c) for _ in range(c['n_layers'])), 'ln_f': nn.LayerNorm(c['d_model'])})
        self.lm_head = nn.Linear(c['d_model'], c['vocabulary'], bias=False)
        self.lm_head.weight = self.transformer['wte'].weight

    def forward(self, ids):
        x = self.transformer['wte'](ids) + self.transformer['wpe'].weight[:ids.shape[1]]
        for block in self.transformer['h']:
            x = block(x)
        return self.lm_head(self.transformer['ln_f'](x))


class Bert(nn.Module):
    """Hugging Face's BertForMaskedLM, by name and by what it computes. Devlin et al. 2019."""

    def __init__(self, c):
        super().__init__()
        d, norm = c['d_model'], lambda: nn.LayerNorm(c['d_model'], eps=1e-12)
        self.n_heads = c['n_heads']
        layer = lambda: Node(
            attention=Node(**{'self': Node(query=nn.Linear(d, d), key=nn.Linear(d, d), value=nn.Linear(d, d)),
                              'output': Node(dense=nn.Linear(d, d), LayerNorm=norm())}),
            intermediate=Node(dense=nn.Linear(d, c['d_ff'])),
            output=Node(dense=nn.Linear(c['d_ff'], d), LayerNorm=norm()))
        self.bert = Node(
            embeddings=Node(word_embeddings=nn.Embedding(c['vocabulary'], d),
                            position_embeddings=nn.Embedding(c['max_length'], d),
                            token_type_embeddings=nn.Embedding(2, d), LayerNorm=norm()),
            encoder=Node(layer=nn.ModuleList(layer() for _ in range(c['n_layers']))))
        self.cls = Node(predictions=Node(transform=Node(dense=nn.Linear(d, d), LayerNorm=norm()),
                                         decoder=nn.Linear(d, c['vocabulary'])))
        self.cls.predictions.bias = self.cls.predictions.decoder.bias
        self.cls.predictions.decoder.weight = self.bert.embeddings.word_embeddings.weight

    def forward(self, ids):
        e, hidden = self.bert.embeddings, (ids == PAD)[:, None, None, :]
        x = e.word_embeddings(ids) + e.position_embeddings.weight[:ids.shape[1]] + e.token_type_embeddings.weight[0]
        x = e.LayerNorm(x)
        for l in self.bert.encoder.layer:
            s, out = getattr(l.attention, 'self'), l.attention.output
            a = heads_attention(s.query(x), s.key(x), s.value(x), self.n_heads, hidden)
            x = out.LayerNorm(x + out.dense(a))
            x = l.output.LayerNorm(x + l.output.dense(F.gelu(l.intermediate.dense(x))))
        head = self.cls.predictions
        return head.decoder(head.transform.LayerNorm(F.gelu(head.transform.dense(x))))


LM = dict(kind='lm', vocabulary=11, max_length=9, d_model=12, n_heads=3, d_ff=20, n_layers=2, activation='gelu',
          norm='post', final_norm=False, positions='learned', scale_embeddings=True, embedding_norm=False,
          tied=False, output_bias=True)
PAPER = dict(SMALL, n_layers=1, src_vocabulary=11, tgt_vocabulary=11, max_length=9, positions='sinusoidal',
             scale_embeddings=True, tied=True, output_bias=False)
TEXTS = ids_of([4, 7, 5, 10, 4, 6, 2], [8, 9, 9, 4, 2])


def token_loss(logits, targets, smoothing=0.0):
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=PAD, label_smoothing=smoothing)


def make_models():
    file = {}

    def model(group, module, inputs, targets, ids, smoothing=0.0):
        def forward():
            logits = module(*ids)
            return {'loss': token_loss(logits, targets, smoothing), 'logits': logits}
        rows = inputs['tgt' if 'tgt' in inputs else 'ids'] != PAD
        record(file, group, scramble(module), dict(inputs, targets=targets), forward, rows)

    src, tgt = ids_of([4, 5, 6, 7, 8], [9, 10, 4]), ids_of([1, 8, 7, 6, 5, 4, 2], [1, 4, 10, 9, 2])
    for group, options in (('translator_tied', {}),
                           ('translator', dict(tied=False, norm='pre', final_norm=True, positions='learned',
                                               activation='gelu', output_bias=True, scale_embeddings=False))):
        read, targets = tgt[:, :-1], tgt[:, 1:]
        read = torch.where(targets == PAD, PAD, read)  # the decoder does not read <eos>
        model(group, Translator(dict(PAPER, **options)), {'src': src, 'tgt': read}, targets, (src, read), 0.1)

    for group, module in (('language_model', Stack(LM)), ('gpt2', Gpt2(LM))):
        ids = TEXTS[:, :5] if group == 'gpt2' else TEXTS  # GPT-2 has no padding
        read = torch.where(ids[:, 1:] == PAD, PAD, ids[:, :-1])
        model(group, module, {'ids': read}, ids[:, 1:], (read,))

    # The loss counts only selected positions: 3 in the first text, 1 in the second. The id 3 is the mask.
    masked = ids_of([4, 3, 5, 10, 9, 6, 2], [8, 9, 3, 4, 2])
    targets = torch.where(torch.tensor([[0, 1, 0, 1, 1, 0, 0], [0, 0, 1, 0, 0, 0, 0]]) == 1, TEXTS, PAD)
    model('bert', Bert(LM), {'ids': masked}, targets, (masked,))

    for group, pooling in (('classifier_mean', 'mean'), ('classifier_first', 'first')):
        module = scramble(Stack(dict(LM, kind='classifier', classes=3, pooling=pooling, n_layers=1)))
        targets = torch.tensor([[2], [1]])

        def forward():
            logits = module(TEXTS)
            return {'loss': F.cross_entropy(logits, targets.flatten()), 'logits': logits}
        record(file, group, module, {'ids': TEXTS, 'targets': targets}, forward)
    return file


def make_training():
    """Ten steps of a language model; the rates of two schedules."""
    file = {}
    ids = ids_of([4, 7, 5, 10, 4, 6, 2], [8, 9, 9, 4, 2], [5, 5, 6, 2])
    read, targets = torch.where(ids[:, 1:] == PAD, PAD, ids[:, :-1]), ids[:, 1:]
    for group, kind, options in (
            ('adam', torch.optim.Adam, dict(lr=1e-2, betas=(0.9, 0.98), eps=1e-9)),
            ('adam_decay', torch.optim.Adam, dict(lr=1e-2, betas=(0.9, 0.98), eps=1e-8, weight_decay=0.01)),
            ('adamw', torch.optim.AdamW, dict(lr=1e-2, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1))):
        module = scramble(Stack(dict(LM, n_layers=1, d_model=8, n_heads=2, d_ff=12, tied=True)))
        file[f'{group}/input/ids'], file[f'{group}/input/targets'] = read, targets
        for name, p in module.state_dict().items():
            file[f'{group}/weight/{name}'] = p.clone()
        optimizer = kind(module.parameters(), **options)
        losses = []
        for _ in range(10):
            optimizer.zero_grad()
            loss = token_loss(module(read), targets)
            losses.append(loss.item())
            loss.backward()
            optimizer.step()
        file[f'{group}/loss/losses'] = torch.tensor(losses)
        for name, p in module.state_dict().items():
            if name.endswith('in_proj_bias'):
                # A key's bias has no true gradient: only rounding moves it. Not compared.
                p[8:16] = 0
            file[f'{group}/final/{name}'] = p

    def rates(group, lr, factor, steps):
        optimizer = torch.optim.SGD([torch.zeros(1).requires_grad_()], lr=lr)
        scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda done: factor(done + 1))
        values = []
        for _ in range(steps):
            values.append(scheduler.get_last_lr()[0])
            optimizer.step()
            scheduler.step()
        file[f'{group}/loss/rates'] = torch.tensor(values)

    rates('inverse_sqrt', 2.0, lambda step: 64 ** -0.5 * min(step ** -0.5, step * 10 ** -1.5), 40)

    def cosine(step):
        if step <= 5:
            return step / 5
        done = min(1, (step - 5) / (30 - 5))
        return 0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * done))
    rates('cosine', 3e-4, cosine, 40)
    return file


# ---- today's decoder block: RMS norm, SwiGLU, grouped-query attention, rotary positions

class Llama(nn.Module):
    """models::LanguageModel as models::llama() configures it. The names are those of models/pytorch.h."""

    def __init__(self, c, frequencies):
        super().__init__()
        d = c['d_model']
        layer = lambda: Node(
            self_attn=GroupedAttention(d, c['n_heads'], c['n_kv_heads'], c['head_dim'], False, frequencies),
            linear1=nn.Linear(d, 2 * c['d_ff'], bias=False), linear2=nn.Linear(c['d_ff'], d, bias=False),
            norm1=RmsNorm(d), norm2=RmsNorm(d))
        self.embedding = nn.Embedding(c['vocabulary'], d, padding_idx=PAD)
        self.encoder = Node(layers=nn.ModuleList(layer() for _ in range(c['n_layers'])), norm=RmsNorm(d))
        self.output = nn.Linear(d, c['vocabulary'], bias=False)

    def forward(self, ids):
        x, hidden = self.embedding(ids), causal(ids.shape[1])
        for l in self.encoder.layers:
            x = x + l.self_attn(l.norm1(x), hidden)
            x = x + swiglu(l.linear1, l.linear2, l.norm2(x))
        return self.output(self.encoder.norm(x))


LLAMA = dict(vocabulary=11, d_model=12, n_heads=4, n_kv_heads=2, head_dim=6, d_ff=20, n_layers=2)
LLAMA3 = (8.0, 1.0, 4.0, 64)  # factor, low, high, original length


def make_blocks():
    file = {}
    for eps in ('1e-5', '1e-12'):
        layer, x = scramble(RmsNorm(5, float(eps))), numbers(2, 3, 5, scale=0.01).requires_grad_()
        record(file, 'rms_norm_' + eps, layer, {'x': x}, lambda: {'y': layer(x)})
    for group, bias in (('swiglu', False), ('swiglu_bias', True)):
        layer = scramble(nn.ModuleDict({'linear1': nn.Linear(5, 26, bias=bias),
                                        'linear2': nn.Linear(13, 5, bias=bias)}))
        x = numbers(2, 3, 5).requires_grad_()
        record(file, group, layer, {'x': x}, lambda: {'y': swiglu(layer['linear1'], layer['linear2'], x)})

    turned = {'rotary': (0, {}), 'rotary_far': (8000, {}), 'rotary_base': (100, dict(base=500000.0)),
              'rotary_linear': (1000, dict(linear=4.0)), 'rotary_llama3': (1000, dict(llama3=LLAMA3)),
              'rotary_partial': (100, {})}
    for group, (first, options) in turned.items():  # two heads of 16, then 3 numbers that do not turn
        frequencies = rotary_frequencies(8 if group == 'rotary_partial' else 16, **options)
        x = numbers(1, 5, 35).requires_grad_()
        record(file, group, None, {'x': x}, lambda: {'y': torch.cat(
            [turn(x[..., :32].unflatten(-1, (2, 16)), frequencies, first).flatten(-2), x[..., 32:]], -1)})

    grouped = {'grouped': (4, 2, 3, True, None), 'grouped_one': (3, 1, 5, False, None),
               'grouped_rotary': (4, 2, 6, True, rotary_frequencies(6, llama3=LLAMA3))}
    for group, options in grouped.items():
        layer, x = scramble(GroupedAttention(12, *options)), numbers(2, 5, 12).requires_grad_()
        hidden = causal(5) | hidden_keys([5, 3], 5)[:, None, None, :]
        record(file, group, layer, {'x': x}, lambda: {'y': layer(x, hidden)})

    module = scramble(Llama(LLAMA, rotary_frequencies(6, llama3=LLAMA3)))
    read, targets = torch.where(TEXTS[:, 1:] == PAD, PAD, TEXTS[:, :-1]), TEXTS[:, 1:]

    def forward():
        logits = module(read)
        return {'loss': token_loss(logits, targets), 'logits': logits}
    record(file, 'llama', module, {'ids': read, 'targets': targets}, forward, read != PAD)
    return file


# ---- the other direction

def build(c):
    if c['kind'] == 'translator':
        return Translator(c)
    if c['kind'] == 'encoder':
        return encoder(c)
    if c['kind'] == 'decoder':
        return decoder(c)
    return {'gpt2': Gpt2, 'bert': Bert}.get(c['kind'], Stack)(c)


def check(folder):
    """FOLDER/x.safetensors is a model, its metadata what `build` needs (as JSON); x.io.safetensors holds inputs
    and the output that plaingrad computed."""
    names = sorted(n[:-len('.io.safetensors')] for n in os.listdir(folder) if n.endswith('.io.safetensors'))
    failed = not names
    for name in names:
        weights, metadata = read_file(os.path.join(folder, name + '.safetensors'))
        io, _ = read_file(os.path.join(folder, name + '.io.safetensors'))
        try:
            module = build(json.loads(metadata['config']))
            module.load_state_dict(weights, strict=True)
            expected = io.pop('output')
            inputs = [io[key].long() if io[key].dim() == 2 else io[key] for key in sorted(io)]  # ids are (B, T)
            with torch.no_grad():
                y = module.train()(*inputs)  # train mode takes the plain path, not the fused one; dropout is 0
            error = ((y - expected) * (expected != 0)).abs().max() / expected.abs().max()
            ok = y.shape == expected.shape and expected.abs().max() > 1e-3 and bool(error <= 1e-5)
            print(f'{name}: largest error {error:.1e} of the largest number' + ('' if ok else ', too large'))
        except (KeyError, RuntimeError, ValueError) as error:
            ok = False
            print(f'{name}: {error}')
        failed = failed or not ok
    print('PyTorch disagrees' if failed else f'PyTorch loads and agrees with {len(names)} models')
    return 1 if failed else 0


def main():
    torch.set_default_dtype(torch.float64)
    if len(sys.argv) == 3 and sys.argv[1] == '--check':
        sys.exit(check(sys.argv[2]))
    if len(sys.argv) != 1:
        sys.exit(__doc__)
    makers = (make_layers, make_attention, make_stacks, make_models, make_training, make_blocks)
    for seed, make in enumerate(makers):
        torch.manual_seed(seed)
        path = os.path.join(HERE, make.__name__[len('make_'):] + '.safetensors')
        tensors = make()
        write_file(path, tensors)
        print(f'{os.path.relpath(path)}: {len(tensors)} tensors, {os.path.getsize(path)} bytes')


if __name__ == '__main__':
    main()
