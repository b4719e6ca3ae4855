"""How the comparison is printed: for people, or as comma-separated values."""
import datetime
import platform
import statistics

COLUMNS = ["plaingrad float32", "plaingrad bf16", "PyTorch float32", "PyTorch bf16", "CTranslate2 float32",
           "llama.cpp float32", "llm.c float32"]
HEAD = (f"\n{'':18}{'milliseconds of a step':>32}{'times as fast as the best other':>76}\n"
        f"{'':18}{'plaingrad':>15}{'PyTorch':>20}{'CTranslate2':>17}{'llama.cpp':>11}{'llm.c':>8}  {'float32':>9}{'bf16':>9}"
        "   all (middle half)\n"
        f"{'':18}" + "".join(f"{label.split()[1]:>10}" for label in COLUMNS))


def machine():
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def head(cores, versions):
    return f"{machine()}, {cores} cores; {', '.join(versions)}; {datetime.date.today().isoformat()}"


class Row:
    """The turns of all contenders at one workload: label -> milliseconds, round by round."""

    def __init__(self, workload, times):
        self.workload, self.times = workload, times
        self.median = {label: statistics.median(t) for label, t in times.items()}

    def fastest(self, ours, precision=""):
        found = [label for label in self.times
                 if label.startswith("plaingrad") == ours and label.endswith(precision)]
        return min(found, key=self.median.get) if found else None

    def ratio(self, precision=""):
        """How many times as fast as the best peer we are: lower quartile, median, upper quartile over the rounds."""
        mine, theirs = self.fastest(True, precision), self.fastest(False, precision)
        if not mine or not theirs:
            return None
        ratios = sorted(b / a for a, b in zip(self.times[mine], self.times[theirs]))
        return ratios[len(ratios) // 4], statistics.median(ratios), ratios[-1 - len(ratios) // 4]

    def text(self):
        cells = "".join(f"{self.median[label]:10.2f}" if label in self.median else f"{'-':>10}" for label in COLUMNS)
        ratios = "".join(f"{r[1]:9.2f}" if r else f"{'-':>9}" for r in (self.ratio("float32"), self.ratio("bf16")))
        low, middle, high = self.ratio() or (float("nan"),) * 3
        return f"{self.workload.name:18}{cells}  {ratios}{middle:9.2f} ({low:.2f} - {high:.2f})"

    def csv(self, settings, memory):
        numbers = [self.median.get(label) for label in COLUMNS]
        for precision in ("float32", "bf16"):
            numbers.append((self.ratio(precision) or [None] * 3)[1])
        numbers += list(self.ratio() or [None] * 3)
        numbers += [memory.get(label) for label in COLUMNS]
        words = [f'"{settings.get(label, "")}"' for label in COLUMNS]
        return ",".join([self.workload.name] + ["" if x is None else f"{x:.4g}" for x in numbers] + words)


def csv_head():
    names = [label.lower().replace(" ", "_") for label in COLUMNS]
    return ",".join(["workload"] + [f"{n}_ms" for n in names] + ["ratio_float32", "ratio_bf16", "ratio_low", "ratio",
                    "ratio_high"] + [f"{n}_mib" for n in names] + [f"{n}_settings" for n in names])


def details(row, settings, memory):
    """The lines under a row, after all rows: with what settings, and how much memory."""
    return "\n".join(f"{row.workload.name:18} {label:20} {memory[label]:6.0f} MiB   {settings[label]}"
                     for label in COLUMNS if label in settings)
