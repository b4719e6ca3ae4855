"""The training steps of workloads.cpp in PyTorch: the same models, sizes, dropout, loss, clipping and Adam.

    python3 tests/bench/peers/pytorch_training.py WORKLOAD [--threads N] [--bf16 WAY] [--adam KIND]

Works like `bench_training --turns`: for each number N that it reads, it does N steps and prints the milliseconds of one
and its peak memory in MiB. It uses the fastest ways that the installed PyTorch has: fused attention from PyTorch 2.0 on
(torch.nn's layers choose it by themselves), Adam over all tensors at once.
"""
import argparse
import contextlib
import math

import torch
from torch import nn
from torch.nn import functional as F

from shapes import TRAINING
from turns import peak_memory, serve_turns

def sinusoids(length, d):  # "Attention Is All You Need", section 3.5
    position = torch.arange(length).unsqueeze(1)
    rate = torch.exp(torch.arange(0, d, 2) * (-math.log(10000.0) / d))
    table = torch.zeros(length, d)
    table[:, 0::2] = torch.sin(position * rate)
    table[:, 1::2] = torch.cos(position * rate)
    return table


class Input(nn.Module):  # embedding times sqrt(d), plus position, dropout
    def __init__(self, vocabulary, length, d, dropout):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, d, padding_idx=0)
        self.register_buffer("positions", sinusoids(length, d))
        self.dropout = nn.Dropout(dropout)
        self.scale = math.sqrt(d)

    def forward(self, ids):
        return self.dropout(self.tokens(ids) * self.scale + self.positions[: ids.shape[1]])


def paper_dropout(stack):
    """Keeps dropout only where the paper has it: on each sub-layer's output. torch.nn has two more places."""
    for layer in stack.layers:
        layer.dropout.p = 0.0
        layer.self_attn.dropout = 0.0
        if hasattr(layer, "multihead_attn"):
            layer.multihead_attn.dropout = 0.0
    return stack


class Transformer(nn.Module):
    def __init__(self, shape, length):
        super().__init__()
        _, _, _, vocabulary, d, heads, d_ff, layers, dropout, _, tied, _, _ = shape
        self.src, self.tgt = (Input(vocabulary, length, d, dropout) for _ in range(2))
        sizes = dict(d_model=d, nhead=heads, dim_feedforward=d_ff, dropout=dropout, batch_first=True)
        self.encoder = paper_dropout(nn.TransformerEncoder(nn.TransformerEncoderLayer(**sizes), layers))
        self.decoder = paper_dropout(nn.TransformerDecoder(nn.TransformerDecoderLayer(**sizes), layers))
        self.output = nn.Linear(d, vocabulary)
        self.register_buffer("hidden", torch.ones(length, length).triu(1).bool())
        if tied:
            self.src.tokens.weight = self.tgt.tokens.weight = self.output.weight

    def forward(self, src, tgt):
        memory = self.encoder(self.src(src))
        return self.output(self.decoder(self.tgt(tgt), memory, tgt_mask=self.hidden))


class Block(nn.Module):  # karpathy/nanoGPT, model.py
    def __init__(self, shape):
        super().__init__()
        d, d_ff, length = shape.d, shape.d_ff, shape.length
        self.heads, self.gelu = shape.heads, "tanh" if shape.tanh else "none"
        self.ln_1, self.ln_2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.c_attn, self.attn_proj = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.c_fc, self.mlp_proj = nn.Linear(d, d_ff), nn.Linear(d_ff, d)
        self.register_buffer("hidden", torch.ones(length, length).triu(1).bool())

    def attention(self, x):
        B, T, C = x.shape
        q, k, v = (y.view(B, T, self.heads, -1).transpose(1, 2) for y in self.c_attn(x).split(C, dim=2))
        if hasattr(F, "scaled_dot_product_attention"):
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = q @ k.transpose(-2, -1) * (1.0 / math.sqrt(k.shape[-1]))
            y = scores.masked_fill(self.hidden[:T, :T], float("-inf")).softmax(dim=-1) @ v
        return self.attn_proj(y.transpose(1, 2).reshape(B, T, C))

    def forward(self, x):
        x = x + self.attention(self.ln_1(x))
        return x + self.mlp_proj(F.gelu(self.c_fc(self.ln_2(x)), approximate=self.gelu))


class LanguageModel(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(shape.vocabulary, shape.d), nn.Embedding(shape.length, shape.d)
        self.blocks = nn.Sequential(*(Block(shape) for _ in range(shape.layers)))
        self.ln_f = nn.LayerNorm(shape.d)

    def forward(self, ids):
        x = self.wte(ids) + self.wpe.weight[: ids.shape[1]]
        return F.linear(self.ln_f(self.blocks(x)), self.wte.weight)  # tied


class Classifier(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.input = Input(shape.vocabulary, shape.length, shape.d, shape.dropout)
        layer = nn.TransformerEncoderLayer(shape.d, shape.heads, shape.d_ff, shape.dropout, batch_first=True)
        self.encoder = paper_dropout(nn.TransformerEncoder(layer, shape.layers))
        self.dropout = nn.Dropout(shape.dropout)
        self.output = nn.Linear(shape.d, shape.classes)

    def forward(self, ids):
        return self.output(self.dropout(self.encoder(self.input(ids)).mean(dim=1)))


def make(shape):
    """The model, and a function that computes its loss."""
    text, more, targets = (torch.randint(4, shape.vocabulary, (shape.batch, shape.length)) for _ in range(3))
    if shape.family == "encoder_decoder":
        model, inputs = Transformer(shape, shape.length), (text, more)
    elif shape.family == "decoder":
        model, inputs = LanguageModel(shape), (text,)
    else:
        model, inputs = Classifier(shape), (text,)
        targets = torch.randint(shape.classes, (shape.batch,))
    targets = targets.flatten()
    return model, lambda: F.cross_entropy(model(*inputs).flatten(0, -2), targets, label_smoothing=shape.smoothing)


def in_bf16(way):
    """A context in which products have bf16 factors; the weights, their gradients and Adam stay float32.

    autocast: PyTorch's mixed precision, with activations in bf16. products: oneDNN rounds the factors of products.
    """
    if way == "autocast":
        return torch.autocast("cpu", dtype=torch.bfloat16)
    if way == "products":
        torch.set_float32_matmul_precision("medium")
    return contextlib.nullcontext()


def clip(parameters, foreach):
    if foreach and hasattr(torch, "_foreach_norm"):  # before 2.0 clip_grad_norm_ goes tensor by tensor
        gradients = [p.grad for p in parameters]
        norm = torch.stack(torch._foreach_norm(gradients)).norm().item()
        torch._foreach_mul_(gradients, min(1.0, 1.0 / (norm + 1e-6)))
    else:
        nn.utils.clip_grad_norm_(parameters, 1.0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workload", choices=TRAINING)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--bf16", choices=["no", "autocast", "products"], default="no")
    parser.add_argument("--adam", choices=["fused", "foreach", "loop"], default="loop",
                        help="in one pass, all tensors at once (clipping, too), or tensor by tensor")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    memory_before = peak_memory()
    torch.manual_seed(1)
    model, loss = make(TRAINING[args.workload])
    parameters = list(model.parameters())
    # The option `fused` is newer than `foreach`: an older PyTorch knows neither the word nor the way.
    adam = torch.optim.Adam(parameters, lr=1e-4, **({} if args.adam == "loop" else {args.adam: True}))

    def step():
        adam.zero_grad(set_to_none=True)
        with in_bf16(args.bf16):
            value = loss()
        value.backward()
        clip(parameters, args.adam != "loop")
        adam.step()

    step()
    serve_turns(memory_before, step)


if __name__ == "__main__":
    main()
