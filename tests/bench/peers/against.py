"""The benchmarks of another plaingrad and of this one, in turn: how many times as fast each row is here.

    python3 tests/bench/peers/against.py OLD NEW [--pairs N] [--only NAME]

OLD and NEW are the folders of the benchmarks, such as build/bench. A pair is a run of one and then of the other, the next
pair's the other way round. Both run on the same processors, as many as they have threads, where there is taskset.
`make bench-against OLD=folder` builds both and runs this; it ends with status 1 if a row is slower than SLOWEST.
"""
import argparse
import csv
import os
import shutil
import statistics
import subprocess
import sys

from table import machine

SLOWEST = 0.97
CPUS = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count()))
ALL = len(CPUS)

# (program, threads, arguments); and for each program the columns that name a row, and those that are compared.
RUNS = ([("bench_training", threads, []) for threads in sorted({1, ALL})] +
        [("bench_decoding", threads, ["--search", search]) for threads in sorted({1, ALL})
         for search in ("greedy", "beam", "sampling")] +
        [("bench_attention", ALL, [])] +
        [("bench_generation", ALL, ["--model", model, "--precision", precision, "--prompt", prompt])
         for model in ("gpt2", "smollm") for precision in ("float32", "bf16") for prompt in ("0", "512")])
NAMES = ("workload", "model", "precision", "what", "search", "batch", "length", "mask", "threads")
COMPARED = {"bench_training": ["ms_per_step"], "bench_decoding": ["tokens_per_second"],
            "bench_attention": ["forward_ms", "both_ms"], "bench_generation": ["tokens_per_second"]}


def rows(folder, program, threads, arguments):
    """Runs it once: {name of a row: its number}."""
    command = [os.path.join(folder, program), "--threads", str(threads), *arguments, "--csv"]
    if shutil.which("taskset"):
        command = ["taskset", "-c", ",".join(map(str, CPUS[:threads])), *command]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if ran.returncode != 0:
        sys.exit(f"bench-against: '{' '.join(command)}' ended with status {ran.returncode}")
    return {" ".join([program] + ["threads " * (n == "threads") + row[n] for n in NAMES if n in row] + [column]):
            float(row[column]) for row in csv.DictReader(ran.stdout.splitlines()) for column in COMPARED[program]}


def compare(old, new, run, pairs):
    """Prints each row; returns {its name: its ratio}. A ratio is the median over the pairs, so that both runs of each had
    the machine in the same state."""
    turns = {old: [], new: []}
    for pair in range(pairs):
        for folder in (old, new) if pair % 2 == 0 else (new, old):
            turns[folder].append(rows(folder, *run))
    ratios = {}
    for name in {**turns[old][0], **turns[new][0]}:
        missing = [which for which, folder in (("new", old), ("old", new)) if name not in turns[folder][0]]
        if missing:
            print(f"{name:64} only in the {missing[0]} tree")
            continue
        a, b = ([turn[name] for turn in turns[folder]] for folder in (old, new))
        faster = sorted(y / x if name.endswith("second") else x / y for x, y in zip(a, b))  # the others are times
        ratios[name] = statistics.median(faster)
        print(f"{name:64}{statistics.median(a):11.3f}{statistics.median(b):11.3f}{ratios[name]:9.3f}   "
              f"({faster[len(faster) // 4]:.3f} - {faster[-1 - len(faster) // 4]:.3f})", flush=True)
    return ratios


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", metavar="OLD")
    parser.add_argument("new", metavar="NEW")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--only", default="", metavar="NAME", help="the programs whose names have this")
    args = parser.parse_args()
    runs = [run for run in RUNS if args.only in run[0]]
    if args.pairs < 1 or not runs or os.path.realpath(args.old) == os.path.realpath(args.new):
        parser.error("give two folders, at least one pair, and a part of " + ", ".join(COMPARED))
    print(f"{machine()}, {ALL} processors; {args.pairs} pairs\n"
          f"{'':64}{'old':>11}{'new':>11}   times as fast (middle half)", flush=True)
    ratios = {}
    for run in runs:
        ratios |= compare(args.old, args.new, run, args.pairs)
    if not ratios:
        sys.exit("bench-against: no row is in both trees")
    slowest = min(ratios, key=ratios.get)
    print(f"slowest: {slowest}, {ratios[slowest]:.3f} times as fast"
          f"{f'; at least {SLOWEST} is wanted' if ratios[slowest] < SLOWEST else ''}")
    return ratios[slowest] < SLOWEST


if __name__ == "__main__":
    sys.exit(main())
