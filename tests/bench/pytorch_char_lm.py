#!/usr/bin/env python3
"""The recipe of `char_lm train --config tiny` in PyTorch, to compare losses and time.

    python3 tests/bench/pytorch_char_lm.py FILE [--threads N] [--steps N] [--lr X] [--seed N]

The model is nanoGPT's (karpathy/nanoGPT, model.py, bias=False), written as plainly; attention is fused where
PyTorch has it (2.0), else composed, as there. Prints the seconds of the training steps alone, and the loss over
the whole last tenth of the file, in windows of the context that do not overlap: as char_lm computes it.
"""
import argparse
import math
import time

import torch
from torch import nn
from torch.nn import functional as F

LAYERS, HEADS, WIDTH, CONTEXT, BATCH = 4, 4, 128, 64, 12
WARMUP, DECAY, CLIP = 100, 0.1, 1.0


class Norm(nn.Module):  # without bias, which nn.LayerNorm has before PyTorch 2.1
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        return F.layer_norm(x, (WIDTH,), self.weight, None, 1e-5)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = Norm(), Norm()
        self.c_attn = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.attn_proj = nn.Linear(WIDTH, WIDTH, bias=False)
        self.c_fc = nn.Linear(WIDTH, 4 * WIDTH, bias=False)
        self.mlp_proj = nn.Linear(4 * WIDTH, WIDTH, bias=False)
        self.register_buffer("hidden", torch.ones(CONTEXT, CONTEXT).tril() == 0)

    def attention(self, x):
        B, T, C = x.shape
        q, k, v = (y.view(B, T, HEADS, C // HEADS).transpose(1, 2) for y in self.c_attn(x).split(WIDTH, dim=2))
        if hasattr(F, "scaled_dot_product_attention"):
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            weights = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(C // HEADS))
            weights = weights.masked_fill(self.hidden[:T, :T], float("-inf")).softmax(dim=-1)
            y = weights @ v
        return self.attn_proj(y.transpose(1, 2).contiguous().view(B, T, C))

    def forward(self, x):
        x = x + self.attention(self.ln_1(x))
        return x + self.mlp_proj(F.gelu(self.c_fc(self.ln_2(x))))


class GPT(nn.Module):
    def __init__(self, vocabulary):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.ln_f = Norm()
        for name, p in self.named_parameters():
            if p.dim() == 2:
                deviation = 0.02 / math.sqrt(2 * LAYERS) if "proj" in name else 0.02
                nn.init.normal_(p, 0.0, deviation)

    def forward(self, ids):
        x = self.wte(ids) + self.wpe.weight[: ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        return F.linear(self.ln_f(x), self.wte.weight)  # tied

    def loss(self, ids, targets, **options):
        return F.cross_entropy(self(ids).view(-1, self.wte.num_embeddings), targets.reshape(-1), **options)


def learning_rate(i):
    if i < WARMUP:
        return args.lr * (i + 1) / (WARMUP + 1)
    done = (i - WARMUP) / (args.steps - WARMUP)
    return args.lr * (0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * done)))


@torch.no_grad()
def full_loss(model, data):
    full = (len(data) - 1) // CONTEXT * CONTEXT
    total = 0.0
    for x, y in zip(data[:full].view(-1, CONTEXT).split(64), data[1 : full + 1].view(-1, CONTEXT).split(64)):
        total += model.loss(x, y, reduction="sum").item()
    if full < len(data) - 1:
        total += model.loss(data[full:-1][None], data[full + 1 :], reduction="sum").item()
    return total / (len(data) - 1)


parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("file")
parser.add_argument("--threads", type=int, default=torch.get_num_threads())
parser.add_argument("--steps", type=int, default=2000)
parser.add_argument("--lr", type=float, default=3e-3, help="as char_lm; nanoGPT's is 1e-3")
parser.add_argument("--seed", type=int, default=1)
args = parser.parse_args()
torch.set_num_threads(args.threads)
torch.manual_seed(args.seed)

text = open(args.file, encoding="utf-8").read()
symbols = {c: i for i, c in enumerate(sorted(set(text)))}
data = torch.tensor([symbols[c] for c in text])
cut = len(data) * 9 // 10
train, held_out = data[:cut], data[cut:]

model = GPT(len(symbols))
matrices = [p for p in model.parameters() if p.dim() >= 2]
others = [p for p in model.parameters() if p.dim() < 2]
adam = torch.optim.AdamW(
    [{"params": matrices, "weight_decay": DECAY}, {"params": others, "weight_decay": 0.0}], lr=args.lr, betas=(0.9, 0.99)
)
offsets = torch.arange(CONTEXT)
start = time.perf_counter()
for i in range(args.steps):
    for group in adam.param_groups:
        group["lr"] = learning_rate(i)
    at = torch.randint(len(train) - CONTEXT, (BATCH, 1)) + offsets
    loss = model.loss(train[at], train[at + 1])
    adam.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), CLIP)
    adam.step()
seconds = time.perf_counter() - start
print(
    f"PyTorch {torch.__version__}, {args.threads} threads: {args.steps} steps in {seconds:.1f} s, "
    f"validation loss {full_loss(model, held_out):.4f} nats per character"
)
