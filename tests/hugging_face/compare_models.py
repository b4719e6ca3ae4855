"""Compares models with Hugging Face's `transformers`: logits, training, generation, configurations.

    python3 tests/hugging_face/compare_models.py RUN_MODEL [--quick] [--part NAME]... [--kind NAME]... [--seed N]
        [--cases N] [--only N]

RUN_MODEL is tests/hugging_face/run_model.cpp, compiled. Needs `transformers` and `torch`. Weights are random. Prints what
is not as it should be, then a table, and ends with 1 if there was anything.

    logits     random configurations: logits within 2e-6 of the largest, or 1.5 times as far as transformers in float32 is
               from itself in float64; those of the cache too; files of every form
    real       the same for the shapes of GPT-2 124M, BERT base and SmolLM 135M, and 64 tokens by greedy search
    training   gradients and five steps of AdamW, within 1e-4 of each tensor's largest number; then saved, and loaded by
               transformers without a missing or unexpected key
    search     64 tokens by greedy search, and with four beams: the same, up to ties
    keys       each key of config.json, changed: the same logits, or an error that names the key

--cases: how many random configurations of each kind, in each part that has some. A failure prints the number of its
configuration as `seed`: --only runs that one again.
"""
import argparse
import os
import sys
import tempfile
import time
import traceback

import torch
import transformers

from compare_keys import keys
from compare_logits import logits, real
from compare_search import search
from compare_training import training
from comparison import Comparison
from configurations import CLASSES

PARTS = {part.__name__: part for part in (logits, real, training, search, keys)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('program')
    parser.add_argument('--part', action='append', choices=PARTS)
    parser.add_argument('--kind', action='append', choices=CLASSES)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--cases', type=int)
    parser.add_argument('--only', type=int)
    parser.add_argument('--quick', action='store_true', help='about a minute: few configurations, none of real shape')
    args = parser.parse_args()
    transformers.logging.set_verbosity(transformers.logging.CRITICAL)
    transformers.logging.disable_progress_bar()
    torch.set_num_threads(1)  # most models are small
    print(f'transformers {transformers.__version__}, torch {torch.__version__}', flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        c = Comparison(os.path.abspath(args.program), scratch, args.seed, args.quick, args.cases, args.only)
        for part in args.part or PARTS:
            start = time.time()
            for kind in args.kind or CLASSES:
                try:
                    PARTS[part](c, kind)
                except Exception:  # the others go on
                    c.table.fail(kind, part, '', traceback.format_exc())
            print(f'{part}: {time.time() - start:.0f} s', flush=True)
    c.table.show()
    sys.exit(1 if c.table.failed else 0)


if __name__ == '__main__':
    main()
