"""Translates with the multi30k workload's model in PyTorch, in turn with bench_decoding.

    python3 tests/bench/peers/pytorch_decoding.py FOLDER [--batch N] [--search SEARCH] [--no-cache] [--threads N]

With --no-cache, as in tutorials: for each token, the decoder reads the whole translation so far again. Without it, keys
and values are cached. torch.nn's layers cannot do this, so they are written out here. The weights are those that
`bench_decoding --save FOLDER` wrote.
"""
import argparse

import torch
from torch.nn import functional as F

import saved_model
from pytorch_training import Transformer
from shapes import BEAM, DECODING, TOKENS, TOP_K
from turns import peak_memory, serve_turns

START = 1


def load(folder):
    model = Transformer(DECODING, 2 * TOKENS)
    weights = {name: torch.from_numpy(x.copy()) for name, x in saved_model.weights(folder).items()}
    ours = {name.replace("transformer.", "").replace("_embedding.", ".tokens."): x for name, x in weights.items()}
    missing, superfluous = model.load_state_dict(ours, strict=False)
    assert not superfluous and all("positions" in name or name == "hidden" for name in missing), (missing, superfluous)
    with torch.no_grad():
        model.output.bias[saved_model.END] = -1e9
    return model.eval()


def write_plain(model, src):
    memory = model.encoder(model.src(src))
    ids = torch.full((src.shape[0], 1), START)
    for t in range(1, TOKENS + 1):
        x = model.decoder(model.tgt(ids), memory, tgt_mask=model.hidden[:t, :t])
        ids = torch.cat([ids, model.output(x[:, -1]).argmax(dim=-1, keepdim=True)], dim=1)
    return ids[:, 1:]


class Attention:
    """An nn.MultiheadAttention for one query at a time, with a key/value cache."""

    def __init__(self, module, memory=None, rows=0):
        self.heads, self.out = module.num_heads, module.out_proj
        self.weights, self.biases = module.in_proj_weight.chunk(3), module.in_proj_bias.chunk(3)
        self.d = module.embed_dim // self.heads
        self.packed = (module.in_proj_weight, module.in_proj_bias)
        if memory is not None:
            self.k, self.v = (self.split(F.linear(memory, self.weights[i], self.biases[i])) for i in (1, 2))
        else:
            kind = module.in_proj_weight.dtype
            self.k, self.v = (torch.empty(rows, self.heads, TOKENS, self.d, dtype=kind) for _ in range(2))

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

    def select(self, rows, t):  # row i becomes what rows[i] was
        self.k[:, :, :t], self.v[:, :, :t] = self.k[rows, :, :t], self.v[rows, :, :t]


class Decoder:
    """The decoder with a cache; `beam` rows for each sentence."""

    def __init__(self, model, src, beam=1):
        memory = model.encoder(model.src(src)).repeat_interleave(beam, dim=0)
        self.model, self.t = model, 0
        self.layers = [(layer, Attention(layer.self_attn, rows=len(memory)), Attention(layer.multihead_attn, memory))
                       for layer in model.decoder.layers]

    def logits(self, ids):  # (rows) -> (rows, V)
        model = self.model
        x = model.tgt.tokens(ids[:, None]) * model.tgt.scale + model.tgt.positions[self.t]
        for layer, itself, to_memory in self.layers:
            x = layer.norm1(x + itself.to_itself(x, self.t))
            x = layer.norm2(x + to_memory.to_memory(x))
            x = layer.norm3(x + layer.linear2(F.relu(layer.linear1(x))))
        self.t += 1
        return model.output(x[:, -1])

    def select(self, rows):  # within a sentence: its rows have the same memory
        for _, itself, _ in self.layers:
            itself.select(rows, self.t)


def write_greedy(model, src):
    decoder, ids, written = Decoder(model, src), torch.full((len(src),), START), []
    for _ in range(TOKENS):
        ids = decoder.logits(ids).argmax(dim=-1)
        written.append(ids)
    return torch.stack(written, dim=1)


def write_sampling(model, src):
    decoder, ids, written = Decoder(model, src), torch.full((len(src),), START), []
    for _ in range(TOKENS):
        logits, best = decoder.logits(ids).topk(TOP_K)
        ids = best.gather(1, torch.multinomial(logits.float().softmax(dim=-1), 1))[:, 0]
        written.append(ids)
    return torch.stack(written, dim=1)


def write_beam(model, src):
    decoder, batch = Decoder(model, src, BEAM), len(src)
    first_rows = (torch.arange(batch) * BEAM)[:, None]
    scores = torch.full((batch, BEAM), float("-inf"))
    scores[:, 0] = 0  # at first a sentence's rows are all the same
    ids, written = torch.full((batch * BEAM,), START), torch.empty(batch * BEAM, 0, dtype=torch.long)
    for _ in range(TOKENS):
        log_p = decoder.logits(ids).float().log_softmax(dim=-1).view(batch, BEAM, -1)
        scores, best = (scores[:, :, None] + log_p).flatten(1).topk(BEAM)  # (B, beam)
        rows = (first_rows + best // log_p.shape[-1]).flatten()
        ids = (best % log_p.shape[-1]).flatten()
        decoder.select(rows)
        written = torch.cat([written[rows], ids[:, None]], dim=1)
    return written.view(batch, BEAM, TOKENS)[:, 0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--search", choices=["greedy", "beam", "sampling"], default="greedy")
    parser.add_argument("--no-cache", action="store_true", help="greedy only")
    parser.add_argument("--bf16", action="store_true", help="weights and activations in bfloat16")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    memory_before = peak_memory()
    torch.manual_seed(1)
    model = load(args.folder)
    src = torch.tensor(saved_model.ids(args.folder, "source")[: args.batch])
    write = write_plain if args.no_cache else {"greedy": write_greedy, "beam": write_beam,
                                               "sampling": write_sampling}[args.search]
    with torch.inference_mode():
        saved_model.check(args.folder, (write_plain if args.no_cache else write_greedy)(model, src).tolist())
        if args.bf16:
            model.bfloat16()
        write(model, src)
        serve_turns(memory_before, lambda: write(model, src))


if __name__ == "__main__":
    main()
