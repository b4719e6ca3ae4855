"""Writes with GPT-2's or SmolLM's shape in llama.cpp, with random weights, in turn with bench_generation.

    python3 tests/bench/peers/llama_cpp_generation.py {gpt2,smollm} [--prompt N] [--flash-attention] [--threads N]

The weights, keys and values are float32. The functions are those of llama.h: one call for a prompt, one for a token.
"""
import argparse
import ctypes
import tempfile

import gguf
import llama_cpp
import numpy

from shapes import GENERATION, GENERATION_FIRST, GENERATION_TOKENS
from turns import peak_memory, serve_turns

RANDOM = numpy.random.default_rng(1)
LENGTH = 1024


def matrix(n_out, n_in):
    return 0.02 * RANDOM.standard_normal((n_out, n_in), dtype=numpy.float32)


def build(s, path):
    """Saves the model as llama.cpp opens it. The output layer is the table of tokens."""
    writer = gguf.GGUFWriter(path, "llama" if s.llama else "gpt2")
    writer.add_block_count(s.layers)
    writer.add_context_length(LENGTH)
    writer.add_embedding_length(s.d)
    writer.add_feed_forward_length(s.d_ff)
    writer.add_head_count(s.heads)
    writer.add_head_count_kv(s.kv_heads)
    writer.add_tokenizer_model("none")
    writer.add_vocab_size(s.vocabulary)
    if s.llama:
        writer.add_layer_norm_rms_eps(1e-5)
        writer.add_rope_freq_base(10000.0)
    else:
        writer.add_layer_norm_eps(1e-5)
        writer.add_tensor("position_embd.weight", matrix(LENGTH, s.d))

    def linear(name, n_out, n_in):
        writer.add_tensor(f"{name}.weight", matrix(n_out, n_in))
        if not s.llama:
            writer.add_tensor(f"{name}.bias", numpy.zeros(n_out, numpy.float32))

    def norm(name):
        writer.add_tensor(f"{name}.weight", numpy.ones(s.d, numpy.float32))
        if not s.llama:
            writer.add_tensor(f"{name}.bias", numpy.zeros(s.d, numpy.float32))

    table = matrix(s.vocabulary, s.d)
    writer.add_tensor("token_embd.weight", table)
    if not s.llama:
        writer.add_tensor("output.weight", table)
    norm("output_norm")
    kv = s.kv_heads * (s.d // s.heads)
    for i in range(s.layers):
        block = f"blk.{i}."
        norm(block + "attn_norm")
        norm(block + "ffn_norm")
        if s.llama:
            linear(block + "attn_q", s.d, s.d)
            linear(block + "attn_k", kv, s.d)
            linear(block + "attn_v", kv, s.d)
            linear(block + "ffn_gate", s.d_ff, s.d)
        else:
            linear(block + "attn_qkv", 3 * s.d, s.d)
        linear(block + "attn_output", s.d, s.d)
        linear(block + "ffn_up", s.d_ff, s.d)
        linear(block + "ffn_down", s.d, s.d_ff)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def open_model(path, threads, flash_attention):
    silent = llama_cpp.llama_log_callback(lambda *_: None)
    llama_cpp.llama_log_set(silent, None)
    llama_cpp.llama_backend_init()
    options = llama_cpp.llama_model_default_params()
    options.use_mmap = False
    model = llama_cpp.llama_model_load_from_file(path.encode(), options)
    options = llama_cpp.llama_context_default_params()
    options.n_ctx = options.n_batch = options.n_ubatch = LENGTH
    options.n_threads = options.n_threads_batch = threads
    options.flash_attn_type = (llama_cpp.LLAMA_FLASH_ATTN_TYPE_ENABLED if flash_attention
                               else llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED)
    options.type_k = options.type_v = llama_cpp.GGML_TYPE_F32
    return silent, model, llama_cpp.llama_init_from_model(model, options)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", choices=GENERATION)
    parser.add_argument("--prompt", type=int, default=0, help="reads a text of so many tokens; 0: writes")
    parser.add_argument("--flash-attention", action="store_true")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    memory_before = peak_memory()
    shape = GENERATION[args.model]
    with tempfile.NamedTemporaryFile(suffix=".gguf") as file:
        build(shape, file.name)
        silent, model, context = open_model(file.name, args.threads, args.flash_attention)
    text = [int(i) for i in RANDOM.integers(1, shape.vocabulary, args.prompt or GENERATION_FIRST)]
    memory = llama_cpp.llama_get_memory(context)

    def read(ids):
        """The most probable token after these."""
        array = (ctypes.c_int32 * len(ids))(*ids)  # the batch only points to it
        status = llama_cpp.llama_decode(context, llama_cpp.llama_batch_get_one(array, len(ids)))
        assert status == 0
        logits = llama_cpp.llama_get_logits_ith(context, -1)
        return int(numpy.ctypeslib.as_array(logits, shape=(shape.vocabulary,)).argmax())

    def run():
        llama_cpp.llama_memory_clear(memory, False)
        token = read(text)
        for _ in range(0 if args.prompt else GENERATION_TOKENS):
            token = read([token])

    run()
    serve_turns(memory_before, run)


if __name__ == "__main__":
    main()
