"""The rows of the comparison: for each, the words after the programs' names."""
from collections import namedtuple

from shapes import GENERATION, TRAINING

# kind: training, decoding, generation, attention. ctranslate2: None where it does not do this work. FOLDER: of the saved model.
Workload = namedtuple("Workload", "name kind ours pytorch ctranslate2")
LENGTHS = [256, 1024, 4096, 16384]
MORE_LENGTHS = [512, 2048, 8192]  # compared when asked for by name


def training(name):
    return Workload(name, "training", ["bench_training", "--workload", name], ["pytorch_training.py", name], None)


def decoding(search, batch, *, cache=True):
    words = ["--search", search, "--batch", str(batch)]
    name = f"{search}_{batch}" if cache else f"{search}_{batch}_no_cache"
    return Workload(name, "decoding", ["bench_decoding"] + words,
                    ["pytorch_decoding.py", "FOLDER"] + words + ([] if cache else ["--no-cache"]),
                    ["ctranslate2_decoding.py", "FOLDER"] + words if cache else None)


def generation(model, prompt):
    words = [model] + (["--prompt", str(prompt)] if prompt else [])
    return Workload(f"{model}_prompt_{prompt}" if prompt else f"{model}_writes", "generation",
                    ["bench_generation", "--model"] + words, ["pytorch_generation.py"] + words,
                    ["ctranslate2_generation.py"] + words)


def attention(mask, length):
    return Workload(f"attention_{mask}_{length}", "attention",
                    ["bench_attention", "--mask", mask, "--length", str(length)],
                    ["pytorch_attention.py", str(length)] + (["--causal"] if mask == "causal" else []), None)


# All decode 32 tokens of each sentence. Only PyTorch goes without a cache, as in tutorials.
USUAL = ([training(name) for name in TRAINING] +
         [decoding("greedy", batch) for batch in (1, 64)] + [decoding("beam", 32), decoding("sampling", 64)] +
         [decoding("greedy", batch, cache=False) for batch in (1, 64)] +
         [generation(model, prompt) for model in GENERATION for prompt in (0, 512)] +
         [attention(mask, length) for mask in ("causal", "full") for length in LENGTHS])
ALL = {w.name: w for w in
       USUAL + [attention(mask, length) for mask in ("causal", "full") for length in MORE_LENGTHS]}
