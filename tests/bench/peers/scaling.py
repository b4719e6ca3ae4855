"""Training steps in two processes of one thread, here (MPI) and in PyTorch (torchrun, gloo, DDP), in turn.

    python3 tests/bench/peers/scaling.py --program build/mpi/bench/bench_scaling --mpirun mpirun [--workload NAME]
"""
import argparse
import os
import statistics
import subprocess
import sys

from contenders import HERE, KEEP_MEMORY, output
from shapes import TRAINING


def ours(args):
    """Milliseconds of a step."""
    lines = run(args.mpirun.split() + ["-np", "2", "-bind-to", "core", args.program, args.workload,
                 "--threads", "1", "--rounds", "1", "--steps", "6"], {})
    return float(lines.split("processes:")[1].split()[0])


def theirs(args, adam, keep):
    env = dict(KEEP_MEMORY if keep else {}, OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")
    return float(run([sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2",
                      f"{HERE}/pytorch_ddp.py", args.workload, "--adam", adam, "--steps", "6"], env).split()[-1])


def run(command, environment):
    result = subprocess.run(command, env=dict(os.environ, **environment), stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)
    if result.returncode != 0:
        sys.exit(f"scaling: {' '.join(command)} has failed:\n{result.stderr}")
    return result.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--mpirun", default="mpirun")
    parser.add_argument("--workload", default="multi30k", choices=TRAINING)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    version = output([sys.executable, "-c", "import torch; print(torch.__version__)"]).strip()
    if not version:
        print(f"scaling: {sys.executable} has no PyTorch: skipped; make deps-peers installs it, "
              "make bench-scaling PYTHON=... names a Python that has it")
        return
    # The fastest of some settings counts.
    ways = [(adam, keep) for adam in ("fused", "foreach") for keep in (True, False)]
    best = min(ways, key=lambda way: theirs(args, *way))
    rounds = [(ours(args), theirs(args, *best)) for _ in range(args.rounds)]
    mine, other = (statistics.median(column) for column in zip(*rounds))
    shape = TRAINING[args.workload]
    tokens = shape.batch * shape.length
    ratios = sorted(theirs_ms / ours_ms for ours_ms, theirs_ms in rounds)
    print(f"{args.workload}, 2 processes of one thread, PyTorch {version} (adam {best[0]}"
          f"{', keep memory' if best[1] else ''}): {mine:.1f} ms and {other:.1f} ms a step, "
          f"{1e3 * tokens / mine:.0f} and {1e3 * tokens / other:.0f} tokens/s: "
          f"{statistics.median(ratios):.2f} times (rounds: {', '.join(f'{r:.2f}' for r in ratios)})")


if __name__ == "__main__":
    main()
