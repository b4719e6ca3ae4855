"""Training steps, decoding, generation and attention, here and in our peers, in turn, on this machine.

    python3 tests/bench/peers [--workload NAME] [--rounds N] [--csv]

The peers are PyTorch, CTranslate2, llama.cpp and llm.c. One that is not installed is left out. Each gets its best
settings: several are tried, for each workload, and the fastest counts. `make deps-peers` installs them under build/,
and `make bench-peers` runs this with them.
"""
import argparse
import os
import signal
import subprocess
import sys
import tempfile

import table
from comparing import compare, note
from contenders import CORES, HERE, CTranslate2, LlamaCpp, LlmC, Ours, PyTorch, output
from process import Ended
from workloads import ALL, USUAL


def parse():
    parser = argparse.ArgumentParser(prog="peers", description=__doc__.splitlines()[0])
    parser.add_argument("--workload", action="append", choices=ALL, metavar="NAME", help=f"of {', '.join(ALL)}")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--python", default=sys.executable, help="one that has the peers")
    parser.add_argument("--llmc", default=f"{HERE}/../../../build/peers/llm.c", metavar="FOLDER",
                        help="karpathy/llm.c, from which train_gpt2.c is compiled")
    parser.add_argument("--build", default=f"{HERE}/../../../build", help="where the benchmarks are")
    parser.add_argument("--thorough", action="store_true", help="tries all settings for the slowest, too")
    parser.add_argument("--verbose", action="store_true", help="shows what was tried")
    parser.add_argument("--csv", action="store_true")
    args = parser.parse_args()
    if args.rounds < 1:
        parser.error("--rounds: at least 1")
    for program in ("bench_training", "bench_decoding", "bench_generation", "bench_attention"):
        if not os.path.exists(f"{args.build}/bench/{program}"):
            parser.error(f"--build: there is no {args.build}/bench/{program}; make bench-peers builds it")
    return args


def find(args, folder):
    """The contenders, ours first, and the versions of the others."""
    contenders, versions = [Ours("float32", args.build), Ours("bf16", args.build)], []
    for module, name, make in (
            ("torch", "PyTorch", lambda: [PyTorch(p, args.python, folder) for p in ("float32", "bf16")]),
            ("ctranslate2", "CTranslate2", lambda: [CTranslate2(args.python, folder)]),
            ("gguf, llama_cpp", "llama.cpp", lambda: [LlamaCpp(args.python)])):
        version = output([args.python, "-c", f"import numpy, {module}; print({module.split()[-1]}.__version__)"]).strip()
        if version:
            contenders += make()
            versions.append(f"{name} {version}")
        else:
            print(f"peers: {args.python} has no {name} (or no NumPy): skipped; make deps-peers installs it, "
                  "make bench-peers PYTHON=... names a Python that has it")
    program = os.path.exists(f"{args.llmc}/train_gpt2.c") and LlmC.compile(args.llmc, folder)
    if program:
        contenders.append(LlmC(program))
        versions.append("llm.c")
    else:
        print(f"peers: no llm.c in {args.llmc} that compiles: skipped; make deps-peers fetches it, "
              "make bench-peers LLMC=... names its folder")
    return contenders, versions


def main():
    args = parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory() as folder:
        contenders, versions = find(args, folder)
        if not versions:
            return
        if os.getloadavg()[0] > 0.7:
            note(f"other programs are running here (a load of {os.getloadavg()[0]:.1f}), which changes the figures")
        subprocess.run([f"{args.build}/bench/bench_decoding", "--batch", "64", "--save", folder], check=True)
        print(("# " if args.csv else "") + table.head(CORES, versions))
        print(table.csv_head() if args.csv else table.HEAD, flush=True)
        rows = []
        for workload in [ALL[name] for name in args.workload] if args.workload else USUAL:
            rows.append(compare(workload, contenders, args))
            row, settings, memory = rows[-1]
            print(row.csv(settings, memory) if args.csv else row.text(), flush=True)
        if not args.csv:
            print("\nPeak memory, and the settings that were fastest:")
            print("\n".join(table.details(*row) for row in rows))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
    except Ended as ended:
        sys.exit(f"peers: {ended}")
