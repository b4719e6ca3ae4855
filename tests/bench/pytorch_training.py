"""The training steps of workloads.cpp in PyTorch: the same models, sizes, dropout, loss, clipping and Adam.

    python3 tests/bench/pytorch_training.py WORKLOAD [--threads N] [--foreach]

Works like `bench_training --turns`: for each number N that it reads, it does N steps and prints the milliseconds of one
and its peak memory in MiB. It uses the fastest ways that the installed PyTorch has: fused attention from PyTorch 2.0 on
(torch.nn's layers choose it by themselves), Adam over all tensors at once.
"""
import argparse
import math
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

# family, batch, length, vocabulary, d_model, heads, d_ff, layers, dropout, label smoothing, tied, classes
WORKLOADS = {
    "reverse": ("encoder_decoder", 64, 10, 20, 64, 4, 128, 2, 0.1, 0.0, False, 0),
    "toy": ("encoder_decoder", 5, 4, 20, 128, 4, 256, 2, 0.1, 0.0, False, 0),
    "multi30k": ("encoder_decoder", 256, 16, 10000, 128, 4, 256, 4, 0.3, 0.1, True, 0),
    "char_small": ("decoder", 12, 64, 65, 128, 4, 512, 4, 0.0, 0.0, True, 0),
    "char": ("decoder", 8, 256, 65, 384, 6, 1536, 6, 0.0, 0.0, True, 0),
    "classifier": ("classifier", 32, 128, 8000, 256, 4, 1024, 4, 0.1, 0.0, False, 6),
    "paper_base": ("encoder_decoder", 64, 100, 5000, 512, 8, 2048, 6, 0.1, 0.0, False, 0),
}


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
    def __init__(self, length, vocabulary, d, heads, d_ff, layers, dropout, tied):
        super().__init__()
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
    def __init__(self, d, heads, d_ff, length):
        super().__init__()
        self.heads = heads
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
        return x + self.mlp_proj(F.gelu(self.c_fc(self.ln_2(x))))


class LanguageModel(nn.Module):
    def __init__(self, length, vocabulary, d, heads, d_ff, layers):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, d), nn.Embedding(length, d)
        self.blocks = nn.Sequential(*(Block(d, heads, d_ff, length) for _ in range(layers)))
        self.ln_f = nn.LayerNorm(d)

    def forward(self, ids):
        x = self.wte(ids) + self.wpe.weight[: ids.shape[1]]
        return F.linear(self.ln_f(self.blocks(x)), self.wte.weight)  # tied


class Classifier(nn.Module):
    def __init__(self, length, vocabulary, d, heads, d_ff, layers, dropout, classes):
        super().__init__()
        self.input = Input(vocabulary, length, d, dropout)
        layer = nn.TransformerEncoderLayer(d, heads, d_ff, dropout, batch_first=True)
        self.encoder = paper_dropout(nn.TransformerEncoder(layer, layers))
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(d, classes)

    def forward(self, ids):
        return self.output(self.dropout(self.encoder(self.input(ids)).mean(dim=1)))


def make(workload):
    """The model, and a function that computes its loss."""
    family, batch, length, vocabulary, d, heads, d_ff, layers, dropout, smoothing, tied, classes = WORKLOADS[workload]
    text, more, targets = (torch.randint(4, vocabulary, (batch, length)) for _ in range(3))
    if family == "encoder_decoder":
        model, inputs = Transformer(length, vocabulary, d, heads, d_ff, layers, dropout, tied), (text, more)
    elif family == "decoder":
        model, inputs = LanguageModel(length, vocabulary, d, heads, d_ff, layers), (text,)
    else:
        model, inputs = Classifier(length, vocabulary, d, heads, d_ff, layers, dropout, classes), (text,)
        targets = torch.randint(classes, (batch,))
    loss = lambda: F.cross_entropy(model(*inputs).flatten(0, -2), targets.flatten(), label_smoothing=smoothing)
    return model, loss


def clip(parameters, foreach):
    if foreach and hasattr(torch, "_foreach_norm"):  # before 2.0 clip_grad_norm_ goes tensor by tensor
        gradients = [p.grad for p in parameters]
        norm = torch.stack(torch._foreach_norm(gradients)).norm().item()
        torch._foreach_mul_(gradients, min(1.0, 1.0 / (norm + 1e-6)))
    else:
        nn.utils.clip_grad_norm_(parameters, 1.0)


def peak_memory():  # in MiB
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return 0.0


def serve_turns(memory_before, step):
    """For each number N on standard input, does N steps; prints the milliseconds of one, and the peak memory so far."""
    print(f"ready {memory_before:.1f}", flush=True)
    for line in sys.stdin:
        steps = int(line)
        start = time.perf_counter()
        for _ in range(steps):
            step()
        print(f"{1e3 * (time.perf_counter() - start) / steps:.4f} {peak_memory():.1f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workload", choices=WORKLOADS)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--foreach", action="store_true", help="all tensors at once in Adam and clipping")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    memory_before = peak_memory()
    torch.manual_seed(1)
    model, loss = make(args.workload)
    parameters = list(model.parameters())
    adam = torch.optim.Adam(parameters, lr=1e-4, foreach=args.foreach)

    def step():
        adam.zero_grad(set_to_none=True)
        loss().backward()
        clip(parameters, args.foreach)
        adam.step()

    step()
    serve_turns(memory_before, step)


if __name__ == "__main__":
    main()
