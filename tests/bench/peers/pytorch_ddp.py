"""Training steps of pytorch_training.py in several processes: DistributedDataParallel over gloo.

    python3 -m torch.distributed.run --nproc-per-node 2 tests/bench/peers/pytorch_ddp.py WORKLOAD [--adam KIND]

Each process takes its share of the workload's batch. Prints the milliseconds of a step, the median of some, as process 0
sees it.
"""
import argparse
import os
import statistics
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from pytorch_training import clip, make
from shapes import TRAINING


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workload", choices=TRAINING)
    parser.add_argument("--adam", choices=["fused", "foreach", "loop"], default="fused")
    parser.add_argument("--steps", type=int, default=10)
    args = parser.parse_args()
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) >= size:
        os.sched_setaffinity(0, {cores[rank]})
    torch.set_num_threads(1)
    torch.manual_seed(1)
    shape = TRAINING[args.workload]
    model, loss = make(shape._replace(batch=shape.batch // size))
    parallel = DistributedDataParallel(model, gradient_as_bucket_view=True)
    # `loss` calls the model that it was made with: here, the wrapped one.
    loss = rewired(loss, model, parallel)
    words = {} if args.adam == "loop" else {args.adam: True}
    adam = torch.optim.Adam(model.parameters(), lr=1e-4, **words)

    def step():
        adam.zero_grad(set_to_none=True)
        loss().backward()
        clip(list(model.parameters()), args.adam != "loop")
        adam.step()

    step()
    step()
    times = []
    for _ in range(args.steps):
        dist.barrier()
        start = time.perf_counter()
        step()
        times.append(1e3 * (time.perf_counter() - start))
    if rank == 0:
        print(f"{statistics.median(times):.4f}", flush=True)
    dist.destroy_process_group()


def rewired(loss, model, parallel):
    """The same function, in which `model` is `parallel`."""
    for cell in loss.__closure__:
        if cell.cell_contents is model:
            cell.cell_contents = parallel
    return loss


if __name__ == "__main__":
    main()
