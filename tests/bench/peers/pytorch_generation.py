"""Writes with GPT-2's or SmolLM's shape in PyTorch, with random weights, in turn with bench_generation.

    python3 tests/bench/peers/pytorch_generation.py {gpt2,smollm} [--prompt N] [--compile] [--bf16] [--threads N]

The layers are written out, with one matrix for queries, keys and values, and one for gate and up. The keys and values
are in tensors of one length, so that torch.compile sees the same shapes at every token.
"""
import argparse

import torch
from torch import nn
from torch.nn import functional as F

from shapes import GENERATION, GENERATION_FIRST, GENERATION_TOKENS
from turns import peak_memory, serve_turns

LENGTH = 64  # of the cache, when writing


def matrix(n_in, n_out, bias):
    linear = nn.Linear(n_in, n_out, bias=bias)
    nn.init.normal_(linear.weight, std=0.02)
    return linear


def turned(x, cos, sin):  # (B, H, T, D)
    low, high = x.chunk(2, dim=-1)
    return x * cos + torch.cat([-high, low], dim=-1) * sin


class Layer(nn.Module):
    def __init__(self, s, length):
        super().__init__()
        self.s, self.d, norm = s, s.d // s.heads, nn.RMSNorm if s.llama else nn.LayerNorm
        self.norm1, self.norm2 = norm(s.d, eps=1e-5), norm(s.d, eps=1e-5)
        self.qkv = matrix(s.d, (s.heads + 2 * s.kv_heads) * self.d, not s.llama)
        self.out = matrix(s.d, s.d, not s.llama)
        self.up, self.down = matrix(s.d, (2 if s.llama else 1) * s.d_ff, not s.llama), matrix(s.d_ff, s.d, not s.llama)
        for name in "k", "v":
            self.register_buffer(name, torch.zeros(1, s.kv_heads, length, self.d))

    def attend(self, x, at, turns, mask):
        s, t = self.s, x.shape[1]
        q, k, v = (y.view(1, t, -1, self.d).transpose(1, 2) for y in self.qkv(x).split(
            [s.heads * self.d, s.kv_heads * self.d, s.kv_heads * self.d], dim=-1))
        if s.llama:
            q, k = turned(q, *turns), turned(k, *turns)
        self.k.index_copy_(2, at, k)
        self.v.index_copy_(2, at, v)
        keys, values = (k, v) if mask is None else (self.k, self.v)
        y = F.scaled_dot_product_attention(q, keys, values, attn_mask=mask, is_causal=mask is None,
                                           enable_gqa=s.heads != s.kv_heads)
        return self.out(y.transpose(1, 2).reshape(1, t, -1))

    def forward(self, x, at, turns, mask):
        x = x + self.attend(self.norm1(x), at, turns, mask)
        h = self.up(self.norm2(x))
        if self.s.llama:
            gate, up = h.chunk(2, dim=-1)
            return x + self.down(F.silu(gate) * up)
        return x + self.down(F.gelu(h, approximate="tanh"))


class Model(nn.Module):
    def __init__(self, s, length):
        super().__init__()
        self.s = s
        self.table = nn.Parameter(0.02 * torch.randn(s.vocabulary, s.d))
        self.positions = None if s.llama else nn.Parameter(0.02 * torch.randn(1024, s.d))
        self.layers = nn.ModuleList(Layer(s, length) for _ in range(s.layers))
        self.norm = (nn.RMSNorm if s.llama else nn.LayerNorm)(s.d, eps=1e-5)
        d = s.d // s.heads
        angles = torch.arange(length)[:, None] * 10000.0 ** -(torch.arange(0, d, 2) / d)
        self.register_buffer("cos", angles.cos().repeat(1, 2))
        self.register_buffer("sin", angles.sin().repeat(1, 2))
        self.register_buffer("seen", torch.ones(length, length).tril().bool())

    def forward(self, ids, at):
        """ids (1, T) at these positions -> the most probable next token (1, 1)."""
        x = F.embedding(ids, self.table)
        if self.positions is not None:
            x = x + self.positions[at]
        mask = self.seen[at] if ids.shape[1] == 1 else None
        for layer in self.layers:
            x = layer(x, at, (self.cos[at], self.sin[at]), mask)
        return F.linear(self.norm(x[:, -1:]), self.table).argmax(dim=-1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", choices=GENERATION)
    parser.add_argument("--prompt", type=int, default=0, help="reads a text of so many tokens; 0: writes")
    parser.add_argument("--compile", action="store_true", help="with torch.compile")
    parser.add_argument("--bf16", action="store_true", help="weights and activations in bfloat16")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    memory_before = peak_memory()
    torch.manual_seed(1)
    shape = GENERATION[args.model]
    model = Model(shape, args.prompt or LENGTH).eval()
    if args.bf16:
        model.bfloat16()
    step = torch.compile(model, dynamic=False) if args.compile else model
    first = args.prompt or GENERATION_FIRST
    text = torch.randint(shape.vocabulary, (1, first))

    def run():
        ids = step(text, torch.arange(first))
        for t in range(0 if args.prompt else GENERATION_TOKENS):
            ids = step(ids, torch.tensor([first + t]))

    with torch.inference_mode():
        run()
        serve_turns(memory_before, run)


if __name__ == "__main__":
    main()
