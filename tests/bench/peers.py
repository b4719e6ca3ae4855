"""Training steps and decoding, here and in PyTorch, in turn, on this machine: times, memory, and their ratios.

    python3 tests/bench/peers.py [--workload NAME] [--rounds N] [--csv]

PyTorch gets its best settings: several are tried, for each workload, and the fastest counts. While one of the two
runs, the other is stopped (SIGSTOP): threads that wait in a loop would take its processors.
"""
import argparse
import atexit
import glob
import os
import signal
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# A training step each; then the decoding of 32 tokens for 1 or 64 sentences, which PyTorch does as in tutorials, and
# with a key/value cache, as we do.
NAMES = ["reverse", "toy", "multi30k", "char_small", "char", "classifier", "paper_base",
         "decode_1_plain", "decode_64_plain", "decode_1_cache", "decode_64_cache"]
ALL = len(os.sched_getaffinity(0))
TURN = 0.4  # seconds that a turn should take
KEEP_MEMORY = {name: str(1 << 32) for name in ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_")}
KEEP_MEMORY["MALLOC_TOP_PAD_"] = str(1 << 26)

HEAD = """\
                        ms a step    times as fast           MiB (without what was there before)
             threads   ours  PyTorch       (middle half)      ours              PyTorch     PyTorch's settings"""
ROW = "{:15} {:4} {:8.2f} {:8.2f}   {:5.2f} ({:5.2f} - {:5.2f}) {:6.0f} ({:6.0f})  {:6.0f} ({:6.0f})   {}"
CSV_HEAD = ("workload,threads,ms,pytorch_ms,ratio,ratio_low,ratio_high,mib,mib_of_model,pytorch_mib,"
            "pytorch_mib_of_model,pytorch_settings")


class Peer:
    """A process that does steps on request, and is stopped in between."""

    def __init__(self, command, environment=None):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("OPENBLAS_", "OMP_", "MALLOC_", "ATEN_"))}
        env.update(environment or {})
        self.process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        atexit.register(self.process.kill)  # a stopped process would never end
        self.memory_before = float(self.answer()[1])  # "ready 123.4"
        self.memory = 0.0
        first = 1e-3 * self.ask(1)
        self.steps = max(1, min(200, round(TURN / first)))
        self.seconds = first * self.steps
        self.pause()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"peers.py: {' '.join(self.process.args)} has ended")
        return line.split()

    def ask(self, steps):
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        milliseconds, self.memory = map(float, self.answer())
        return milliseconds

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def turn(self):
        """Milliseconds per step."""
        self.process.send_signal(signal.SIGCONT)
        milliseconds = self.ask(self.steps)
        self.pause()
        return milliseconds

    def end(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.close()
        self.process.wait()


def ours(workload, threads):
    if workload.startswith("decode"):
        command = [f"{args.build}/bench/bench_decoding", "--batch", workload.split("_")[1]]
    else:
        command = [f"{args.build}/bench/bench_training", "--workload", workload]
    return Peer(command + ["--turns", "--threads", str(threads)])


def pytorch(workload, s):
    env = {"OMP_NUM_THREADS": str(s["threads"]), "OPENBLAS_NUM_THREADS": str(s["threads"])}
    if s["blas"]:
        env["LD_LIBRARY_PATH"] = s["blas"]
    if s["core"]:
        env["OPENBLAS_CORETYPE"] = s["core"]
    if s["keep"]:
        env.update(KEEP_MEMORY)
    if s["wait"]:
        env["OMP_WAIT_POLICY"] = s["wait"]
    if s["bind"]:
        env["OMP_PROC_BIND"] = s["bind"]
    if s["aten"]:  # some versions have code for AVX-512, but use AVX2 unless told otherwise
        env["ATEN_CPU_CAPABILITY"] = s["aten"]
    if workload.startswith("decode"):
        _, batch, way = workload.split("_")
        command = [f"{HERE}/pytorch_decoding.py", batch] + (["--cache"] if way == "cache" else [])
    else:
        command = [f"{HERE}/pytorch_training.py", workload] + (["--foreach"] if s["foreach"] else [])
    return Peer([args.python] + command + ["--threads", str(s["threads"])], env)


def cpu_has(flag):
    try:
        return flag in open("/proc/cpuinfo").read().split()
    except OSError:
        return False


def blas_builds():
    """Debian installs several builds of OpenBLAS; the first one in LD_LIBRARY_PATH is used."""
    folders = sorted(glob.glob("/usr/lib/*/openblas-openmp") + glob.glob("/usr/lib/*/openblas-pthread"))
    return folders or [""]


def best_settings(workload):
    """Tries one setting after the other and keeps the faster one."""
    avx512 = cpu_has("avx512f")
    best = dict(threads=ALL, blas=blas_builds()[0], core="SkylakeX" if avx512 else "", keep=True, foreach=True,
                aten="", wait="", bind="")
    choices = [("threads", [1]), ("blas", blas_builds()[1:]), ("core", [""] if avx512 else []), ("keep", [False]),
               ("foreach", [False]), ("aten", ["avx512"] if avx512 else []), ("wait", ["active", "passive"]),
               ("bind", ["close"])]
    if workload.startswith("decode"):
        best["foreach"] = False
        choices = [choice for choice in choices if choice[0] != "foreach"]
    if workload == "paper_base":  # a step takes seconds
        choices = [("aten", ["avx512"] if avx512 else [])] if args.thorough else []
    time = probe(workload, best)
    for name, values in choices:
        for value in values:
            other = dict(best, **{name: value})
            other_time = probe(workload, other)
            if other_time < time:
                best, time = other, other_time
    return best


def probe(workload, settings):
    peer = pytorch(workload, settings)
    times = [peer.turn() for _ in range(3 if peer.seconds < 1 else 1)]
    peer.end()
    if args.verbose:
        print(f"  {describe(settings):60} {min(times):9.2f} ms", file=sys.stderr)
    return min(times)


def best_threads(workload):
    times = {}
    for threads in {1, ALL}:
        peer = ours(workload, threads)
        times[threads] = min(peer.turn() for _ in range(3 if peer.seconds < 1 else 1))
        peer.end()
    return min(times, key=times.get)


def describe(s):
    parts = [f"{s['threads']} threads" if s["threads"] > 1 else "1 thread"]
    parts += [os.path.basename(s["blas"])] if s["blas"] else []
    parts += [s["core"]] if s["core"] else []
    parts += ["memory kept"] if s["keep"] else []
    parts += ["foreach"] if s["foreach"] else []
    parts += [f"ATen {s['aten']}"] if s["aten"] else []
    parts += [f"waits {s['wait']}"] if s["wait"] else []
    parts += [f"bound {s['bind']}"] if s["bind"] else []
    return ", ".join(parts)


def compare(workload):
    settings, threads = best_settings(workload), best_threads(workload)
    one, two = ours(workload, threads), pytorch(workload, settings)
    rounds = args.rounds if two.seconds < 1 else 3
    times = [(one.turn(), two.turn()) for _ in range(rounds)]
    one.end()
    two.end()
    mine, theirs = (statistics.median(t) for t in zip(*times))
    ratios = sorted(b / a for a, b in times)
    low, high = ratios[len(ratios) // 4], ratios[-1 - len(ratios) // 4]
    row = [workload, threads, mine, theirs, statistics.median(ratios), low, high, one.memory,
           one.memory - one.memory_before, two.memory, two.memory - two.memory_before, describe(settings)]
    if args.csv:
        print(",".join(f"{x:.4g}" if isinstance(x, float) else f'"{x}"' for x in row), flush=True)
    else:
        print(ROW.format(*row), flush=True)


def main():
    global args
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workload", choices=NAMES)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--python", default=sys.executable, help="one that has PyTorch")
    parser.add_argument("--build", default=f"{HERE}/../../build", help="where the benchmarks are")
    parser.add_argument("--thorough", action="store_true", help="tries settings for the largest model, too")
    parser.add_argument("--verbose", action="store_true", help="shows what was tried")
    parser.add_argument("--csv", action="store_true")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if args.rounds < 1:
        parser.error("--rounds: at least 1")
    if not os.path.exists(f"{args.build}/bench/bench_training"):
        parser.error(f"--build: there is no {args.build}/bench/bench_training; make bench-peers builds it")
    try:
        found = subprocess.run([args.python, "-c", "import torch"], stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        found = False
    if not found:
        print(f"peers.py: {args.python} has no PyTorch: skipped; make bench-peers PYTHON=... names one that has")
        return
    print(CSV_HEAD if args.csv else HEAD)
    for workload in [args.workload] if args.workload else NAMES:
        compare(workload)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
