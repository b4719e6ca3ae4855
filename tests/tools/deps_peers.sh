#!/bin/sh
# Puts what `make bench-peers` and `make trust-peers` compare with into a virtual environment of its own: PyTorch 2,
# CTranslate2, llama.cpp, transformers, tokenizers, sacreBLEU, subword-nmt; and llm.c beside it. It exists because
# systems package older versions or none, and because pip must not write into a system's Python. PyPI's PyTorch for
# Linux brings its libraries for GPUs, 6 GB in all; PIP_INDEX_URL or pip's settings can name another source. llama.cpp
# comes as source, which pip compiles for this processor in ten minutes.
#
# usage: deps_peers.sh <python> <folder>
python=$1 folder=$2
modules='numpy torch safetensors tokenizers transformers accelerate sacrebleu subword_nmt ctranslate2 gguf llama_cpp'
has() { "$folder/bin/python" -c "import $1" 2>/dev/null; }
if has "$(echo "$modules" | sed 's/ /, /g')" && [ -f "$folder/llm.c/train_gpt2.c" ]; then
    echo "make deps-peers: all is there, nothing to do"
    exit 0
fi
if ! said=$("$python" -m venv "$folder" 2>&1); then
    echo "make deps-peers: $python makes no virtual environment in $folder: $(echo "$said" | tail -n 1)" >&2
    exit 1
fi

missing= reason=
for module in $modules; do # each by itself: one peer is better than none
    has $module && continue
    case $module in
    llama_cpp) package=llama-cpp-python ;;
    *) package=$(echo "$module" | tr _ -) ;; # as PyPI spells names
    esac
    echo "make deps-peers: installing $package"
    said=$("$folder/bin/python" -m pip install --quiet --disable-pip-version-check --retries 1 $package 2>&1) &&
        has $module && continue
    missing="$missing $package" reason="$reason; pip said: $(echo "$said" | tail -n 1)"
done
if ! [ -f "$folder/llm.c/train_gpt2.c" ]; then
    echo "make deps-peers: fetching llm.c"
    rm -rf "$folder/llm.c"
    said=$(git clone --quiet --depth 1 https://github.com/karpathy/llm.c "$folder/llm.c" 2>&1) ||
        missing="$missing llm.c" reason="$reason; git said: $(echo "$said" | tail -n 1)"
fi
if [ -n "$missing" ]; then
    echo "make deps-peers: not installed:$missing; is there a network?${reason#;}" >&2
    exit 1
fi
