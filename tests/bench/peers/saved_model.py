"""What `bench_decoding --save FOLDER` wrote: the weights, the sentences to read, and what we made of them.

With the same weights the other programs must write the same sentences: then the work is the same.
"""
import json
import struct
import sys

import numpy

END = 2  # is never written, so that all sentences have the same length


def weights(folder):
    """Name -> array. A safetensors file: the size of the header, the header in JSON, the numbers."""
    with open(f"{folder}/model.safetensors", "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        numbers = file.read()
    header.pop("__metadata__", None)
    arrays = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        arrays[name] = numpy.frombuffer(numbers[begin:end], dtype=numpy.float32).reshape(entry["shape"])
    return arrays


def ids(folder, name):
    return [[int(word) for word in line.split()] for line in open(f"{folder}/{name}.txt")]


def check(folder, written):
    """Ends the program unless these are the sentences that we wrote; rounding may turn a few at near ties."""
    ours = ids(folder, "written")[: len(written)]
    same = sum(a == b for a, b in zip(ours, written)) / len(ours)
    if same < 0.9:
        sys.exit(f"{sys.argv[0]}: with the same weights only {100 * same:.0f} % of the sentences are the same")
