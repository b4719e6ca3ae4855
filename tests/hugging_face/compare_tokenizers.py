"""Compares ids and decoded texts with those of Hugging Face's `tokenizers`, over many lines.

    python3 tests/hugging_face/compare_tokenizers.py TOKENIZE [--text FILE]... [--kind NAME]... [--lines N]
        [--strange N] [--no-code-points] [--seed N] [--only N]

TOKENIZE is tests/hugging_face/tokenize.cpp, compiled. Needs `tokenizers`. Lines come from the given files, from the
translations of Django if it is installed (100 languages), from Python's own sources, and from every code point of
Unicode in several contexts. Then the other way: the library opens the tokenizers that TOKENIZE learns from the same lines, and must give the same ids
(--kind learned: only these). Prints the differences, and ends with 1 if there are any. --strange: how many lines are made of
odd pieces. --no-code-points: without those of every code point. --only: the number of one line, and of one row of ids, as a
difference names it.
"""
import argparse
import glob
import os
import random
import re
import subprocess
import sys
import sysconfig
import tempfile

from tokenizers import Tokenizer, __version__

from tokenizers_of_each_kind import KINDS, save


def django_lines():
    try:
        import django
    except ImportError:
        return []
    lines = []
    for path in sorted(glob.glob(os.path.dirname(django.__file__) + '/**/*.po', recursive=True)):
        with open(path, encoding='utf-8') as file:
            lines += re.findall(r'^msgstr(?:\[\d\])? "(.+)"$', file.read(), re.M)
    return [line.replace('\\n', '\n').replace('\\"', '"') for line in lines]


def python_lines():
    lines = []
    for path in sorted(glob.glob(sysconfig.get_paths()['stdlib'] + '/*.py'))[:60]:
        with open(path, encoding='utf-8', errors='replace') as file:
            text = file.read()
        lines += text.split('\n') + [text[i:i + 500] for i in range(0, len(text), 5000)]
    return lines


def code_point_lines():
    """Every character of Unicode; those of the planes in use alone, between letters, after a space, before a digit, with
    an accent."""
    used = [*range(0xd800), *range(0xe000, 0x32400), *range(0xe0000, 0xe0200)]
    others = [*range(0x32400, 0xe0000), *range(0xe0200, 0x110000)]
    lines = [' '.join(map(chr, others[i:i + 256])) for i in range(0, len(others), 256)]
    characters = [chr(c) for c in used]
    for i in range(0, len(characters), 64):
        block = characters[i:i + 64]
        lines.append(' '.join(block))
        lines.append(''.join('a%sb %s1' % (c, c) for c in block))
        lines.append(''.join("%s%s x%s\u0301'%s" % (c, c, c, c) for c in block))
    return lines


def strange_lines(rng, count):
    pieces = ['a', 'B', ' ', '  ', '\n', '\r\n', '\t', "'s", "'S", "'ſ", "'ll", "'LL", '1', '234', '½', 'é', 'e\u0301',
              'ß', 'İ', 'Σ', 'ς', '日本', '漢', 'ひ', '한국', 'ᄒ', 'ᅡ', 'ᆫ', '👍', '👍🏽', '👨\u200d👩\u200d👧', '🇩🇪', '\u200b', '\u00a0', '\u3000',
              '▁', '##', '.', '!', '...', '_', '-', 'नमस्ते', 'สวัสดี', 'مرحبا', 'שלום', 'Привет', '\x00', '\x7f', '\ufffd', '\ufeff',
              '<|endoftext|>', '<s>', '</s>', '[CLS]', '[MASK]', '<mask>', '[INST]', '<tool_call>', '</tool_call>',
              '<0x0A>', '<unk>', 'cat', 'cats', 'the dog', '<right>', '<both>', '<word>', '<special>', 'Straße', '   ',
              'http://x.y/?q=1', '0x7fff', 'don\'t', 'do not', 'n\'t', '\U0001f9ff', '\U000e0041', '\U00020000']
    lines = ['', ' ', '\n', 'x' * 3000, 'ab' * 2000, ' ' * 999, '0' * 700, '▁' * 300, 'é' * 500, '漢' * 600, '👍' * 400,
             "I'll've 'S 's'S'", 'A' * 101, 'a' * 100, '<s>' * 50, '[MASK]' * 9]
    for _ in range(count):
        lines.append(''.join(rng.choice(pieces) for _ in range(rng.randrange(1, 14))))
    return lines


def broken_lines(lines, rng):
    """Texts cut in the middle of characters, and with bytes of others, as Python reads them."""
    broken = []
    for line in rng.sample(lines, min(len(lines), 2000)):
        data = bytearray(line.encode())
        for _ in range(rng.randrange(1, 4)):
            at = rng.randrange(len(data) + 1)
            data[at:at + rng.randrange(2)] = bytes(rng.randrange(256) for _ in range(rng.randrange(3)))
        broken.append(data[rng.randrange(3):].decode(errors='replace'))
    return broken


def ours(program, folder, lines):
    data = b''.join(b'%d\n%s' % (len(line), line) for line in (line.encode() for line in lines))
    out = subprocess.run([program, folder, 'encode'], input=data, stdout=subprocess.PIPE, check=True).stdout.decode()
    rows = out.split('\n')
    return [([int(i) for i in rows[5 * n].split()], [int(i) for i in rows[5 * n + 1].split()],
             *(bytes.fromhex(rows[5 * n + k]).decode() for k in (2, 3, 4))) for n in range(len(lines))]


def chosen(cases, only):
    """Numbers, and the cases that have them."""
    picked = [(i, case) for i, case in enumerate(cases) if only is None or i == only]
    return [i for i, _ in picked], [case for _, case in picked]


def compare(name, program, folder, lines, only=None):
    reference = Tokenizer.from_file(os.path.join(folder, 'tokenizer.json'))
    wrong = 0
    numbers, lines = chosen(lines, only)
    for i, line, (ids, bare, text, short, streamed) in zip(numbers, lines, ours(program, folder, lines)):
        wanted = reference.encode(line).ids
        plain = reference.encode(line, add_special_tokens=False).ids if len(line) < 300 else bare
        whole = reference.decode(wanted, skip_special_tokens=False)
        problems = [what for what, ok in [
            ('ids', ids == wanted), ('ids without special tokens', bare == plain), ('decoded', text == whole),
            ('decoded without special tokens', short == reference.decode(wanted)), ('stream', streamed == text)] if not ok]
        if problems:
            wrong += 1
            if wrong <= 3:
                print(f'{name}, line {i}: {", ".join(problems)} of {line[:200]!r}\n  {wanted[:60]}\n  {ids[:60]}\n'
                      f'  {whole[:200]!r}\n  {text[:200]!r}\n  {streamed[:200]!r}')
    print(f'{name:20} {len(lines)} lines, {reference.get_vocab_size()} pieces, {wrong} differ', flush=True)
    return wrong


def compare_decoding(name, program, folder, rng, only=None):
    """Ids in any order: their bytes are mostly not UTF-8."""
    reference = Tokenizer.from_file(os.path.join(folder, 'tokenizer.json'))
    rows = [[rng.randrange(reference.get_vocab_size() if rng.random() < 0.5 else 300) for _ in range(rng.randrange(12))]
            for _ in range(5000)]
    numbers, rows = chosen(rows, only)
    out = subprocess.run([program, folder, 'decode'], input=''.join(' '.join(map(str, row)) + '\n' for row in rows),
                         stdout=subprocess.PIPE, check=True, text=True).stdout.split('\n')
    wrong = 0
    for i, row, text, short in zip(numbers, rows, out[0::2], out[1::2]):
        wanted = reference.decode(row, skip_special_tokens=False), reference.decode(row)
        found = bytes.fromhex(text).decode(), bytes.fromhex(short).decode()
        if found != wanted:
            wrong += 1
            if wrong <= 3:
                print(f'{name}, row {i}: {row} decoded\n  {wanted}\n  {found}')
    print(f'{name:20} {len(rows)} rows of ids, {wrong} differ', flush=True)
    return wrong


def compare_learned(program, folder, training, lines, only=None):
    """What is learned here and written in the library's own schema, it opens with the same ids."""
    # No text has the names of reserved ids: here they are words like any other, which the library does not know.
    training, lines = ([line.translate({0: 'x', ord('<'): '(', ord('>'): ')'}) for line in some] for some in (training, lines))
    subprocess.run([program, folder, 'learn'], input='\n'.join(training).encode(), check=True)
    wrong = 0
    for kind in sorted(os.listdir(folder)):
        wrong += compare('learned ' + kind, program, os.path.join(folder, kind), lines, only)
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('program')
    parser.add_argument('--text', action='append', default=[])
    parser.add_argument('--kind', action='append', default=[])
    parser.add_argument('--lines', type=int, default=20000)
    parser.add_argument('--size', type=int, default=8000)
    parser.add_argument('--keep', help='the folder for the trained tokenizers')
    parser.add_argument('--strange', type=int, default=6000)
    parser.add_argument('--no-code-points', action='store_true')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--only', type=int)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    found = django_lines() + python_lines()
    for path in args.text:
        with open(path, encoding='utf-8', errors='replace') as file:
            found += file.read().split('\n')
    rng.shuffle(found)
    training, lines = found[:args.lines], found[args.lines:2 * args.lines]
    every = [] if args.no_code_points else code_point_lines()
    strange = strange_lines(rng, args.strange) + every + broken_lines(found, rng)
    print(f'tokenizers {__version__}: {len(lines)} lines of text, {len(strange)} strange ones')
    wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.keep or scratch
        for kind in KINDS:
            if args.kind and kind.__name__ not in args.kind:
                continue
            path = os.path.join(folder, kind.__name__)
            if not os.path.exists(path + '/tokenizer.json'):
                save(kind(training + ['the dog cat cats Straße'], args.size), path)
            wrong += compare(kind.__name__, args.program, path, lines + strange, args.only)
            rows = random.Random(f'{args.seed} {kind.__name__}')
            wrong += compare_decoding(kind.__name__, args.program, path, rows, args.only)
        if not args.kind or 'learned' in args.kind:
            wrong += compare_learned(args.program, os.path.join(scratch, 'learned'), training[:500], lines[:2000] + strange,
                                     args.only)
    sys.exit(1 if wrong else 0)


if __name__ == '__main__':
    main()
