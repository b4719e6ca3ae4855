#!/bin/sh
# Puts what `make bench-peers` compares with, PyTorch 2 and CTranslate2, into a virtual environment of its own. It
# exists because systems package older versions or none, and because pip must not write into a system's Python. PyPI's
# PyTorch for Linux brings its libraries for GPUs, 6 GB in all; PIP_INDEX_URL or pip's settings can name another source.
#
# usage: deps_peers.sh <python> <folder>
python=$1 folder=$2
has() { "$folder/bin/python" -c "import $1" 2>/dev/null; }
if has 'torch, ctranslate2, numpy'; then
    echo "make deps-peers: all is there, nothing to do"
    exit 0
fi
if ! said=$("$python" -m venv "$folder" 2>&1); then
    echo "make deps-peers: $python makes no virtual environment in $folder: $(echo "$said" | tail -n 1)" >&2
    exit 1
fi

missing=
for package in numpy torch ctranslate2; do # each by itself: one peer is better than none
    has $package && continue
    echo "make deps-peers: installing $package"
    said=$("$folder/bin/python" -m pip install --quiet --disable-pip-version-check --retries 1 $package 2>&1) &&
        has $package && continue
    missing="$missing $package" reason=$(echo "$said" | tail -n 1)
done
if [ -n "$missing" ]; then
    echo "make deps-peers: not installed:$missing; is there a network? pip said: $reason" >&2
    exit 1
fi
