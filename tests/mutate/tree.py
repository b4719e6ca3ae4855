"""A copy of the tree in which hundreds of mutants are compiled in, each behind a switch of its own (runtime/mutant.h)."""
import hashlib
import os
import re
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
INCLUDE = b'#include "autograd/base/mutant.h"  // '


def copy(to, placed):
    """The files that git knows, as they are now, but for those that `place` writes. What was built there stays, and so
    do the times of equal files. Returns a hash of all but pages and the results of measuring."""
    digest = hashlib.sha256()
    listed = subprocess.run(["git", "ls-files", "-z"], check=True, capture_output=True).stdout.decode()
    kept = set()
    for path in filter(None, listed.split("\0")):
        if os.path.isfile(path):
            kept.add(path)
            content = read(path)
            if not path.endswith((".md", "long.txt", "equivalent.txt")):
                digest.update(path.encode() + b"\0" + content)
            if path not in placed:
                write(os.path.join(to, path), content, os.access(path, os.X_OK))
    for name in ("mutant.h", "mutant.cpp"):
        write(f"{to}/autograd/base/{name}", read(f"{HERE}/runtime/{name}"))
        kept.add(f"autograd/base/{name}")
    for top in ("autograd", "nn", "models", "apps", "tests"):
        for folder, _, files in os.walk(f"{to}/{top}"):
            for name in files:
                path = os.path.relpath(os.path.join(folder, name), to)
                if path not in kept and re.search(r"\.(cpp|h)$", name):
                    os.remove(os.path.join(to, path))
    return digest.hexdigest()


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, content, executable=False):
    """Writes unless the file is the same already: then make has nothing to build."""
    if os.path.exists(path) and read(path) == content:
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)
    if executable:
        os.chmod(path, 0o755)


def changed(source, mutants):
    """A file's text with its mutants; mutants: (number, Point). Points contain each other or are apart."""
    mutants = sorted(mutants, key=lambda m: (m[1].begin, -m[1].end, m[1].drops))
    text, after = render(source.bytes, mutants, 0, 0, len(source.bytes))
    assert after == len(mutants), source.path
    return INCLUDE + b"see tests/mutate\n" + text


def render(original, mutants, i, begin, end):
    """Bytes begin .. end - 1, with the mutants from the i-th on that are in them. Returns also the next i."""
    text, at = b"", begin
    while i < len(mutants) and mutants[i][1].begin < end:
        point = mutants[i][1]
        same = [m for m in mutants[i:] if (m[1].begin, m[1].end) == (point.begin, point.end)]
        inner, after = render(original, mutants, i + len(same), point.begin, point.end)
        for number, mutant in same:
            inner = choice(number, mutant, inner)
        text += original[at:point.begin] + inner
        i, at = after, point.end
    return text + original[at:end], i


def choice(number, point, text):
    if number is None:  # the whole build has it
        return b"(" + point.text + b")"
    if point.drops:
        return b"{ if (!::mutant::is(%d)) %s }" % (number, text)  # in braces, as an else may follow
    if point.kind == "jump":
        return b"{ if (::mutant::is(%d)) %s %s }" % (number, point.text, text)
    if point.kind == "condition":  # of a pointer, say, which ?: would not take beside a bool
        text = b"bool(" + text + b")"
    return b"(::mutant::is(%d) ? (%s) : (%s))" % (number, point.text, text)


def place(to, sources, points, constant=None):
    """Writes the sources with these points as mutants 0, 1, 2, ... (None: a number without a mutant). constant: a point
    that the whole build has."""
    by_file = {}
    for number, point in list(enumerate(points)) + [(None, constant)]:
        if point is not None:
            by_file.setdefault(point.file, []).append((number, point))
    for path, source in sources.items():
        mutants = by_file.get(path)
        write(f"{to}/{path}", changed(source, mutants) if mutants else source.bytes)


def build(to, make, compiler, targets):
    """Returns the compiler's errors as (file, line)."""
    command = [make, "-C", to, "-k", f"-j{os.cpu_count()}", f"CXX={compiler} -w -fmax-errors=0"
               if "clang" not in compiler else f"CXX={compiler} -w -ferror-limit=0"] + targets
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS", "PLAINGRAD_", "CI"))}
    environment["LC_ALL"] = "C"  # the compiler's "error", below
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", env=environment)
    with open(f"{to}/build.log", "w", encoding="utf-8") as log:
        log.write(done.stdout + done.stderr)
    if done.returncode == 0:
        return []
    errors = re.findall(r"^(?:\./)?([a-z_/0-9]+\.(?:cpp|h)):(\d+):\d+: (?:fatal )?error", done.stderr, re.M)
    if not errors:
        raise SystemExit(f"mutate: {to} does not build; see {to}/build.log")
    return sorted({(path, int(line)) for path, line in errors})


def at_fault(to, errors):
    """The numbers of the mutants on lines with errors, or, where there is none, on the nearest line above."""
    wrong = set()
    for path, line in errors:
        lines = read(f"{to}/{path}").decode("utf-8", "replace").split("\n")[:line]
        above = (re.findall(r"mutant::is\((\d+)\)", text) for text in reversed(lines))
        wrong |= {int(number) for number in next(filter(None, above), [])}
    if not wrong:
        raise SystemExit(f"mutate: {errors[0][0]}:{errors[0][1]} does not compile, and no mutant is there")
    return wrong
