"""The rows of the comparison: for each, the words after the programs' names."""
from collections import namedtuple

from shapes import GENERATION, TRAINING

# kind: training, decoding, generation, attention. peers: the words of each that does this work, by its name.
# FOLDER: of the saved model.
Workload = namedtuple("Workload", "name kind ours peers")
LENGTHS = [256, 1024, 4096, 16384]
MORE_LENGTHS = [512, 2048, 8192]  # compared when asked for by name


def training(name):
    peers = {"PyTorch": ["pytorch_training.py", name]}
    if name.startswith("gpt2"):
        peers["llm.c"] = [str(TRAINING[name].batch), str(TRAINING[name].length)]
    return Workload(name, "training", ["bench_training", "--workload", name], peers)


def decoding(search, batch, *, cache=True):
    words = ["--search", search, "--batch", str(batch)]
    name = f"{search}_{batch}" if cache else f"{search}_{batch}_no_cache"
    peers = {"PyTorch": ["pytorch_decoding.py", "FOLDER"] + words + ([] if cache else ["--no-cache"])}
    if cache:
        peers["CTranslate2"] = ["ctranslate2_decoding.py", "FOLDER"] + words
    return Workload(name, "decoding", ["bench_decoding"] + words, peers)


def generation(model, prompt):
    words = [model] + (["--prompt", str(prompt)] if prompt else [])
    return Workload(f"{model}_prompt_{prompt}" if prompt else f"{model}_writes", "generation",
                    ["bench_generation", "--model"] + words,
                    {"PyTorch": ["pytorch_generation.py"] + words,
                     "CTranslate2": ["ctranslate2_generation.py"] + words,
                     "llama.cpp": ["llama_cpp_generation.py"] + words})


def attention(mask, length):
    return Workload(f"attention_{mask}_{length}", "attention",
                    ["bench_attention", "--mask", mask, "--length", str(length)],
                    {"PyTorch": ["pytorch_attention.py", str(length)] +
                     (["--causal"] if mask == "causal" else [])})


# All decode 32 tokens of each sentence. Only PyTorch goes without a cache, as in tutorials.
USUAL = ([training(name) for name in TRAINING] +
         [decoding("greedy", batch) for batch in (1, 64)] + [decoding("beam", 32), decoding("sampling", 64)] +
         [decoding("greedy", batch, cache=False) for batch in (1, 64)] +
         [generation(model, prompt) for model in GENERATION for prompt in (0, 512)] +
         [attention(mask, length) for mask in ("causal", "full") for length in LENGTHS])
ALL = {w.name: w for w in
       USUAL + [attention(mask, length) for mask in ("causal", "full") for length in MORE_LENGTHS]}
