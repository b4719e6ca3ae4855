"""Who takes part: each at one precision, with the settings that are tried for it."""
import functools
import glob
import os
import shlex
import subprocess

from process import Ended, Process

HERE = os.path.dirname(os.path.abspath(__file__))
CORES = len(os.sched_getaffinity(0))
KEEP_MEMORY = {name: str(1 << 32) for name in ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_")}
KEEP_MEMORY["MALLOC_TOP_PAD_"] = str(1 << 26)
SLOW = 2.0  # seconds a step: then only the first of `choices` that is not the number of threads is tried


def output(command):
    """What the command prints, or nothing if it cannot run."""
    try:
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    except OSError:
        return ""
    return result.stdout if result.returncode == 0 else ""


class Contender:
    """`first`: the settings to begin with; `choices`: (name, other values), tried one after the other."""
    name = ""

    def __init__(self, precision):
        self.precision = precision
        self.label = f"{self.name} {precision}"

    def does(self, workload):
        return self.name in workload.peers

    def command(self, workload, python, folder):
        """Its program with the workload's words."""
        program, *rest = workload.peers[self.name]
        return [python, f"{HERE}/{program}"] + [folder if word == "FOLDER" else word for word in rest]

    def best_settings(self, workload, thorough, tell):
        """Keeps the faster of two, setting by setting. tell(settings, milliseconds) is told what was tried.

        Throws Ended if the first settings do not work; others that do not are passed over.
        """
        best = self.first(workload)
        time, seconds = self.probe(workload, best)
        tell(best, time)
        choices = self.choices(workload)
        if seconds > SLOW and not thorough:
            choices = [choice for choice in choices if choice[0] != "threads"][:1]
        for name, values in choices:
            for value in values:
                other = dict(best, **{name: value})
                try:
                    other_time, _ = self.probe(workload, other)
                except Ended:
                    other_time = float("inf")
                tell(other, other_time)
                if other_time < time:
                    best, time = other, other_time
        return best

    def probe(self, workload, settings):
        """The fastest turn, and the seconds of a turn."""
        process = self.start(workload, settings)
        time = min(process.turn() for _ in range(3 if process.seconds < 1 else 1))
        process.end()
        return time, process.seconds


class Ours(Contender):
    name = "plaingrad"

    def __init__(self, precision, build):
        super().__init__(precision)
        self.build = build

    def does(self, workload):
        return self.precision == "float32" or "--precision" in help_of(self.program(workload))

    def program(self, workload):
        return f"{self.build}/bench/{workload.ours[0]}"

    def first(self, workload):
        return {"threads": CORES}

    def choices(self, workload):
        return [("threads", [1] if CORES > 1 else [])]

    def start(self, workload, s):
        command = [self.program(workload)] + workload.ours[1:] + ["--turns", "--threads", str(s["threads"])]
        return Process(command + (["--precision", "bf16"] if self.precision == "bf16" else []), {})


@functools.lru_cache(maxsize=None)
def help_of(program):
    return output([program, "--help"])


class PyTorch(Contender):
    name = "PyTorch"

    def __init__(self, precision, python, folder):
        super().__init__(precision)
        self.python, self.folder = python, folder
        # Debian's PyTorch computes with OpenBLAS, of which several builds can be installed, and which takes some
        # processors for older ones. PyPI's brings all that it needs.
        self.has_mkl = "True" in output([python, "-c", "import torch; print(torch.backends.mkl.is_available())"])

    def first(self, workload):
        best = {"threads": CORES, "keep memory": True}
        if workload.kind == "training":
            best["adam"] = "foreach" if self.has_mkl else "loop"
            if self.precision == "bf16":
                best["bf16"] = "autocast"
        if not self.has_mkl:
            best["blas"], best["core"] = blas_builds()[0], "SkylakeX" if cpu_has("avx512f") else ""
        return best

    def choices(self, workload):
        first = self.first(workload)
        all_choices = [("bf16", ["products"])] if "bf16" in first else []
        all_choices += [("layout", ["together"])] if workload.kind == "attention" else []
        all_choices += [("compile", [True])] if workload.kind == "generation" else []
        if "adam" in first:
            all_choices += [("adam", ["fused", "loop"] if self.has_mkl else ["foreach"])]
        all_choices += [("threads", [1] if CORES > 1 else []), ("wait", ["passive"]), ("keep memory", [False])]
        if not self.has_mkl:
            all_choices += [("blas", blas_builds()[1:]), ("core", [""]), ("aten", ["avx512"]), ("bind", ["close"])]
        return all_choices

    def start(self, workload, s):
        env = {"OMP_NUM_THREADS": str(s["threads"]), "OPENBLAS_NUM_THREADS": str(s["threads"])}
        env.update(KEEP_MEMORY if s["keep memory"] else {})
        for setting, variable in (("blas", "LD_LIBRARY_PATH"), ("core", "OPENBLAS_CORETYPE"),
                                  ("wait", "OMP_WAIT_POLICY"), ("bind", "OMP_PROC_BIND"),
                                  ("aten", "ATEN_CPU_CAPABILITY")):
            if s.get(setting):
                env[variable] = s[setting]
        words = ["--threads", str(s["threads"])]
        words += ["--adam", s["adam"]] if "adam" in s else []
        words += ["--together"] if s.get("layout") else []
        words += ["--compile"] if s.get("compile") else []
        if self.precision == "bf16":
            words += ["--bf16"] + ([s["bf16"]] if "bf16" in s else [])
        return Process(self.command(workload, self.python, self.folder) + words, env)


class CTranslate2(Contender):
    name = "CTranslate2"

    def __init__(self, python, folder):
        super().__init__("float32")
        self.python, self.folder = python, folder

    def first(self, workload):
        return {"threads": CORES, "gemm": "oneDNN"}

    def choices(self, workload):
        words = workload.peers[self.name]
        batch = int(words[words.index("--batch") + 1]) if "--batch" in words else 1
        return [("gemm", ["MKL"]), ("wait", ["passive"]), ("isa", ["AVX512"] if cpu_has("avx512f") else []),
                ("threads", [1] if CORES > 1 else []), ("translators", [CORES] if min(batch, CORES) > 1 else [])]

    def start(self, workload, s):
        env = {"CT2_USE_MKL": "1" if s["gemm"] == "MKL" else "0"}
        for setting, variable in (("wait", "OMP_WAIT_POLICY"), ("isa", "CT2_FORCE_CPU_ISA")):
            if s.get(setting):
                env[variable] = s[setting]
        translators = s.get("translators", 1)
        threads = max(1, s["threads"] // translators)
        return Process(self.command(workload, self.python, self.folder) + ["--threads", str(threads)] +
                       (["--translators", str(translators)] if workload.kind == "decoding" else []), env)


class LlamaCpp(Contender):
    name = "llama.cpp"

    def __init__(self, python):
        super().__init__("float32")
        self.python = python

    def first(self, workload):
        return {"threads": CORES, "flash attention": True}

    def choices(self, workload):
        return [("flash attention", [False]), ("threads", [1] if CORES > 1 else [])]

    def start(self, workload, s):
        return Process(self.command(workload, self.python, "") + ["--threads", str(s["threads"])] +
                       (["--flash-attention"] if s["flash attention"] else []), {})


class LlmC(Contender):
    """karpathy/llm.c's train_gpt2.c, which knows one precision and OpenMP's threads."""
    name = "llm.c"

    def __init__(self, program):
        super().__init__("float32")
        self.program = program

    @staticmethod
    def compile(source, folder):
        """With the flags of its Makefile, for the processor at hand. Returns the program, or None."""
        program = f"{folder}/llmc_training"
        command = shlex.split(os.environ.get("CC", "cc")) + [
            "-Ofast", "-march=native", "-fopenmp", "-DOMP", "-w", f"-I{source}", f"{HERE}/llmc_training.c",
            "-o", program, "-lm"]
        try:
            return program if subprocess.run(command, stdout=subprocess.DEVNULL).returncode == 0 else None
        except OSError:  # there is no such compiler
            return None

    def first(self, workload):
        return {"threads": CORES}

    def choices(self, workload):
        return [("threads", [1] if CORES > 1 else []), ("wait", ["passive"])]

    def start(self, workload, s):
        env = dict({"OMP_NUM_THREADS": str(s["threads"])}, **({"OMP_WAIT_POLICY": s["wait"]} if s.get("wait") else {}))
        return Process([self.program] + workload.peers[self.name], env)


def cpu_has(flag):
    try:
        return flag in open("/proc/cpuinfo").read().split()
    except OSError:
        return False


def blas_builds():
    """Debian's builds of OpenBLAS; the first one in LD_LIBRARY_PATH is used."""
    folders = sorted(glob.glob("/usr/lib/*/openblas-openmp") + glob.glob("/usr/lib/*/openblas-pthread"))
    return folders or [""]


def described(settings):
    """For a table: "2 threads, adam fused, wait passive"."""
    parts = []
    for name, value in settings.items():
        if name == "threads":
            parts.append(f"{value} threads" if value > 1 else "1 thread")
        elif value is True:
            parts.append(name)
        elif value:
            parts.append(f"{name} {os.path.basename(str(value))}")
    return ", ".join(parts)
