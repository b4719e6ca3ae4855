"""What microgpt.py draws at random, from the same seed: its names in the order of training, then its weights.

    microgpt_draws.py NAMES
"""
import random
import sys

names = open(sys.argv[1]).read().split()
words = len(set("".join(names))) + 1
random.seed(42)
random.shuffle(names)
print("names", *names)
print("weights", *(random.gauss(0, 0.08) for _ in range(16 * (2 * words + 16 + 12 * 16))))
