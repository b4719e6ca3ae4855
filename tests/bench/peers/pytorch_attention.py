"""Attention alone in PyTorch, 12 heads of 64, in turn with bench_attention: forward and backward.

    python3 tests/bench/peers/pytorch_attention.py LENGTH [--causal] [--bf16] [--threads N]
"""
import argparse

import torch
from torch.nn import functional as F

from shapes import ATTENTION_HEAD_SIZE, ATTENTION_HEADS
from turns import peak_memory, serve_turns


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("length", type=int)
    parser.add_argument("--causal", action="store_true")
    parser.add_argument("--bf16", action="store_true", help="all of q, k, v and the gradients in bfloat16")
    parser.add_argument("--together", action="store_true", help="in memory a position's heads are side by side")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    args = parser.parse_args()
    if not hasattr(F, "scaled_dot_product_attention"):
        parser.error(f"PyTorch {torch.__version__} has no fused attention; 2.0 or later has")
    torch.set_num_threads(args.threads)
    memory_before = peak_memory()
    torch.manual_seed(1)
    kind = torch.bfloat16 if args.bf16 else torch.float32

    def numbers():  # (1, H, T, D)
        if args.together:
            return torch.randn(1, args.length, ATTENTION_HEADS, ATTENTION_HEAD_SIZE, dtype=kind).transpose(1, 2)
        return torch.randn(1, ATTENTION_HEADS, args.length, ATTENTION_HEAD_SIZE, dtype=kind)

    q, k, v, dout = (numbers() for _ in range(4))

    def step():
        q.grad = k.grad = v.grad = None
        F.scaled_dot_product_attention(q, k, v, is_causal=args.causal).backward(dout)

    for x in (q, k, v):
        x.requires_grad_()
    step()
    serve_turns(memory_before, step)


if __name__ == "__main__":
    main()
