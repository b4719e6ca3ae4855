"""The other side of process.py, and of bench.h's take_turns: steps on request."""
import sys
import time


def peak_memory():  # in MiB
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return 0.0


def serve_turns(memory_before, step):
    """For each number N on standard input, does N steps; prints the milliseconds of one, and the peak memory so far."""
    print(f"ready {memory_before:.1f}", flush=True)
    for line in sys.stdin:
        steps = int(line)
        start = time.perf_counter()
        for _ in range(steps):
            step()
        print(f"{1e3 * (time.perf_counter() - start) / steps:.4f} {peak_memory():.1f}", flush=True)
