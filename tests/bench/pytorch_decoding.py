"""Greedy decoding of 32 tokens with the multi30k workload's model in PyTorch, in turn with bench_decoding.

    python3 tests/bench/pytorch_decoding.py BATCH [--cache] [--threads N]

Without --cache, as in tutorials: for each token, the decoder reads the whole translation so far again. With it, keys and
values are cached. torch.nn's layers cannot do this, so they are written out here.
"""
import argparse

import torch
from torch.nn import functional as F

from pytorch_training import WORKLOADS, Transformer, peak_memory, serve_turns

TOKENS, START = 32, 1


def write_plain(model, src):
    memory = model.encoder(model.src(src))
    ids = torch.full((src.shape[0], 1), START)
    for t in range(1, TOKENS + 1):
        x = model.decoder(model.tgt(ids), memory, tgt_mask=model.hidden[:t, :t])
        ids = torch.cat([ids, model.output(x[:, -1]).argmax(dim=-1, keepdim=True)], dim=1)
    return ids


class Attention:
    """An nn.MultiheadAttention for one query at a time, with a key/value cache."""

    def __init__(self, module, memory=None, batch=0):
        self.heads, self.out = module.num_heads, module.out_proj
        self.weights, self.biases = module.in_proj_weight.chunk(3), module.in_proj_bias.chunk(3)
        self.d = module.embed_dim // self.heads
        self.packed = (module.in_proj_weight, module.in_proj_bias)
        if memory is not None:
            self.k, self.v = (self.split(F.linear(memory, self.weights[i], self.biases[i])) for i in (1, 2))
        else:
            self.k, self.v = (torch.empty(batch, self.heads, TOKENS, self.d) for _ in range(2))

    def split(self, x):  # (B, S, H*D) -> (B, H, S, D)
        return x.view(x.shape[0], -1, self.heads, self.d).transpose(1, 2)

    def attend(self, q, k, v):
        if hasattr(F, "scaled_dot_product_attention"):
            y = F.scaled_dot_product_attention(q, k, v)
        else:
            y = (q @ k.transpose(-2, -1) * self.d**-0.5).softmax(dim=-1) @ v
        return self.out(y.transpose(1, 2).reshape(q.shape[0], 1, -1))

    def to_memory(self, x):
        return self.attend(self.split(F.linear(x, self.weights[0], self.biases[0])), self.k, self.v)

    def to_itself(self, x, t):
        q, k, v = (self.split(y) for y in F.linear(x, *self.packed).chunk(3, dim=-1))
        self.k[:, :, t : t + 1], self.v[:, :, t : t + 1] = k, v
        return self.attend(q, self.k[:, :, : t + 1], self.v[:, :, : t + 1])


def write_cached(model, src):
    memory = model.encoder(model.src(src))
    layers = [(layer, Attention(layer.self_attn, batch=src.shape[0]), Attention(layer.multihead_attn, memory))
              for layer in model.decoder.layers]
    ids = torch.full((src.shape[0], 1), START)
    for t in range(TOKENS):
        x = model.tgt.tokens(ids[:, -1:]) * model.tgt.scale + model.tgt.positions[t]
        for layer, itself, to_memory in layers:
            x = layer.norm1(x + itself.to_itself(x, t))
            x = layer.norm2(x + to_memory.to_memory(x))
            x = layer.norm3(x + layer.linear2(F.relu(layer.linear1(x))))
        ids = torch.cat([ids, model.output(x[:, -1]).argmax(dim=-1, keepdim=True)], dim=1)
    return ids


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("batch", type=int)
    parser.add_argument("--cache", action="store_true")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    memory_before = peak_memory()
    torch.manual_seed(1)
    _, _, length, vocabulary, d, heads, d_ff, layers, dropout, _, tied, _ = WORKLOADS["multi30k"]
    model = Transformer(2 * TOKENS, vocabulary, d, heads, d_ff, layers, dropout, tied).eval()
    src = torch.randint(4, vocabulary, (args.batch, length))
    write = write_cached if args.cache else write_plain
    with torch.inference_mode():
        assert torch.equal(write_plain(model, src[:1])[:, :8], write_cached(model, src[:1])[:, :8])
        write(model, src)
        serve_turns(memory_before, lambda: write(model, src))


if __name__ == "__main__":
    main()
