"""Compares with other libraries: all parts, each left out with one line if this Python lacks its library.

    python3 tests/trust/peers BUILD [--cases N] [--seed N] [--only N] [--part NAME]...

BUILD has the programs: trust/peers_tensors, trust/peers_text, run_model, tokenize. Each part is a script, which says more:

    ops           every op of autograd/ops.h against PyTorch 2: N calls              compare_ops.py
    models        random models against PyTorch 2: a third of N                      compare_models.py
    text          BLEU against sacreBLEU, byte pairs against subword-nmt: N of each  compare_text.py
    tokenizers    N lines of text, and N strange ones, with a tokenizer of each kind that models come with at Hugging Face,
                  trained on other lines: 500 at least       tests/hugging_face/compare_tokenizers.py
    transformers  models of others: a hundredth of N of each kind            tests/hugging_face/compare_models.py

--only: the number of one case, as a difference names it. Ends with 1 if anything differs.
"""
import argparse
import importlib.util
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
HUGGING_FACE = os.path.join(HERE, '../../hugging_face')


def parts(build, n):
    """By name: the modules that it needs all of, the script, and its arguments. What names none looks for itself."""
    tensors = os.path.join(build, 'trust/peers_tensors')
    models = ['--cases', -(-n // 100)] + [word for part in ('logits', 'training', 'search') for word in ('--part', part)]
    return {
        'ops': ([], 'compare_ops.py', [tensors, '--cases', n]),
        'models': ([], 'compare_models.py', [tensors, '--cases', -(-n // 3)]),
        'text': ([], 'compare_text.py', [os.path.join(build, 'trust/peers_text'), '--cases', n]),
        'tokenizers': (['tokenizers'], HUGGING_FACE + '/compare_tokenizers.py',
                       [os.path.join(build, 'tokenize'), '--lines', max(n, 500), '--strange', n, '--no-code-points']),
        'transformers': (['torch', 'transformers', 'safetensors'], HUGGING_FACE + '/compare_models.py',
                         [os.path.join(build, 'run_model'), *models]),
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('build')
    parser.add_argument('--cases', type=int, default=1000)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--only', type=int)
    parser.add_argument('--part', action='append')
    args = parser.parse_args()
    known = parts(args.build, args.cases)
    failed = []
    for name in args.part or known:
        if name not in known:
            sys.exit(f'there is no part {name}; there are {", ".join(known)}')
        modules, script, words = known[name]
        missing = [module for module in modules if importlib.util.find_spec(module) is None]
        if missing:
            print(f'{name}: left out, as this Python has no {", ".join(missing)}')
            continue
        words += ['--seed', args.seed] + ([] if args.only is None else ['--only', args.only])
        print(f'== {name}', flush=True)
        done = subprocess.run([sys.executable, os.path.join(HERE, script), *map(str, words)])
        failed += [name] if done.returncode != 0 else []
    if failed:
        sys.exit(f'differences, or an error: {", ".join(failed)}')


main()
