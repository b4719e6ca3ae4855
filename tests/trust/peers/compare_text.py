"""Compares BLEU with sacreBLEU's, and byte-pair encoding with subword-nmt's, on random texts.

    python3 tests/trust/peers/compare_text.py TEXT [--cases N] [--seed N] [--only N]

TEXT is tests/trust/peers/text.cpp, compiled. Needs `sacrebleu` and `subword-nmt`; without one, its half is left out.
Each case is drawn from the seed and its own number, so --only N runs one of them again. Prints the differences, and
ends with 1 if there are any.
"""
import argparse
import io
import os
import random
import subprocess
import sys
import tempfile

try:
    import sacrebleu
except ImportError:
    sacrebleu = None
try:
    from subword_nmt import apply_bpe, learn_bpe
except ImportError:
    apply_bpe = None

# Plain words, accents, several scripts, digits and punctuation as "13a" splits them, entities, odd spaces.
ALPHABETS = ['abcde', 'aäoöß', 'αβγς', 'абвё', '日本語文', 'İIıi', '0123456789', ".,-'\"!?&;:/()[]%$€", 'e\u0301a\u0308',
             '\u2019\u201c\u2014\u00a0']
WORDS = ['&quot;', '&amp;', '&lt;', '1,000.5', '3.', '.5', '10-20', "don't", '<skipped>', 'U.S.', 'a/b', '\t', '@@', '</w>']


def text_of(rng, lines, longest):
    """Few different words, so that n-grams and pairs of characters repeat."""
    words = [''.join(rng.choice(rng.choice(ALPHABETS)) for _ in range(rng.randint(1, 6))) for _ in range(12)]
    words += rng.sample(WORDS, 4)
    return [rng.choice([' ', ' ', ' ', '  ']).join(rng.choice(words) for _ in range(rng.randint(0, longest)))
            for _ in range(lines)]


def changed(rng, lines):
    """A translation of the same: words dropped, doubled, swapped, in capitals."""
    result = []
    for line in lines:
        words = line.split(' ')
        for _ in range(rng.randint(0, 4)):
            i = rng.randrange(len(words))
            words[i] = rng.choice(['', words[i] * 2, words[i].upper(), words[rng.randrange(len(words))], words[i] + ' x'])
        result.append(' '.join(words))
    return result


def write(folder, name, lines):
    path = os.path.join(folder, name)
    with open(path, 'w', encoding='utf-8', newline='') as file:
        file.writelines(line + '\n' for line in lines)
    return path


def ours(*words):
    done = subprocess.run(words, capture_output=True)
    if done.returncode != 0:
        return 'status %d: %s' % (done.returncode, done.stderr.decode('utf-8', 'replace'))
    return done.stdout.decode('utf-8', 'replace')


def close(a, b):
    return abs(a - b) <= 1e-9 * max(1.0, abs(a), abs(b))  # false for a NaN


def check_bleu(program, folder, rng):
    """What differs; '' if nothing does."""
    n_lines = rng.choice([1, 1, 2, 5, 20])
    references = text_of(rng, n_lines, rng.choice([3, 8, 30]))
    hypotheses = changed(rng, references)
    tokenized, lower = rng.random() < 0.5, rng.random() < 0.5
    metric = sacrebleu.BLEU(tokenize='none' if tokenized else '13a', smooth_method='none' if tokenized else 'exp',
                            lowercase=lower)
    theirs = metric.corpus_score(hypotheses, [references])
    out = ours(program, 'bleu', str(int(tokenized)), str(int(lower)), write(folder, 'hypotheses', hypotheses),
               write(folder, 'references', references))
    try:
        lines = out.split('\n')
        score, hyp_len, ref_len = lines[0].split()
        orders = [line.split() for line in lines[1:5]]
        good = (close(float(score), theirs.score) and int(hyp_len) == theirs.sys_len and int(ref_len) == theirs.ref_len
                and [int(o[0]) for o in orders] == theirs.counts and [int(o[1]) for o in orders] == theirs.totals
                and all(close(float(o[2]), p) for o, p in zip(orders, theirs.precisions))
                and (tokenized or lines[5].split('|version')[0] ==
                     'BLEU|' + str(metric.get_signature()).split('|version')[0]))
    except (ValueError, IndexError):
        good = False
    return '' if good else 'BLEU tokenized %d lower %d: %s, sacreBLEU %r' % (
        tokenized, lower, out.split('\n'), vars(theirs))


def check_bpe(program, folder, rng):
    """What differs; '' if nothing does; None if subword-nmt refuses to learn, or to apply what was learned."""
    lines = text_of(rng, rng.choice([1, 5, 30]), 20)
    # Marks of pieces.
    for old, new in [('@@', '@'), ('</w>', 'w')]:
        lines = [line.replace(old, new) for line in lines]
    text, merges = write(folder, 'text', lines), rng.choice([0, 1, 10, 50, 200])
    learned = io.StringIO()
    stderr, sys.stderr = sys.stderr, io.StringIO()  # its progress
    try:
        learn_bpe.learn_bpe(io.StringIO(''.join(line + '\n' for line in lines), newline='\n'), learned, merges, 2)
    except ValueError:
        return None  # a text without two characters side by side
    finally:
        sys.stderr = stderr
    codes = ours(program, 'learn', str(merges), text)
    if codes != learned.getvalue():
        return 'codes of %d merges:\n%s\nsubword-nmt:\n%s' % (merges, codes, learned.getvalue())
    if codes.count('\n') < 2:
        return None  # a file without rules
    bpe = apply_bpe.BPE(io.StringIO(codes))
    others = changed(rng, lines)
    expected = ''.join(' '.join(filter(None, bpe.process_line(line).split(' '))) + '\n' for line in others)
    pieces = ours(program, 'apply', write(folder, 'codes', codes.split('\n')[:-1]), write(folder, 'others', others))
    return '' if pieces == expected else 'pieces:\n%s\nsubword-nmt:\n%s' % (pieces, expected)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('program')
    parser.add_argument('--cases', type=int, default=1000)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--only', type=int)
    args = parser.parse_args()
    checks = {'bleu': (sacrebleu, check_bleu, 'sacrebleu'), 'bpe': (apply_bpe, check_bpe, 'subword-nmt')}
    wrong = 0
    for name, (module, check, package) in checks.items():
        if module is None:
            print('%s: left out, as this Python has no %s' % (name, package))
            continue
        failed = refused = 0
        for case in range(args.cases) if args.only is None else [args.only]:
            with tempfile.TemporaryDirectory() as folder:
                difference = check(args.program, folder, random.Random('%s %d %d' % (name, args.seed, case)))
            refused += difference is None
            if difference:
                failed += 1
                print('%s, case %d of seed %d: %s' % (name, case, args.seed, difference))
        print('%s: %d cases, %d differ%s' % (name, args.cases if args.only is None else 1, failed,
                                             ', %d refused by %s' % (refused, package) if refused else ''))
        wrong += failed
        if args.only is None and 2 * refused > args.cases:
            print('%s: too few are compared' % name)
            wrong += 1
    sys.exit(1 if wrong else 0)


main()
