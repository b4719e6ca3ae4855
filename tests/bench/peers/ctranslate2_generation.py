"""Writes with GPT-2's or SmolLM's shape in CTranslate2, with random weights, in turn with bench_generation.

    python3 tests/bench/peers/ctranslate2_generation.py {gpt2,smollm} [--prompt N] [--threads N]
"""
import argparse
import tempfile

import ctranslate2
import numpy
from ctranslate2.specs import Activation, TransformerDecoderModelSpec

from shapes import GENERATION, GENERATION_FIRST, GENERATION_TOKENS
from turns import peak_memory, serve_turns

RANDOM = numpy.random.default_rng(1)


def fill(spec, n_in, n_out, bias):
    spec.weight = (0.02 * RANDOM.standard_normal((n_out, n_in), dtype=numpy.float32))
    if bias:
        spec.bias = numpy.zeros(n_out, numpy.float32)


def fill_norm(spec, d, bias):
    spec.gamma = numpy.ones(d, numpy.float32)
    if bias:
        spec.beta = numpy.zeros(d, numpy.float32)


def build(s, folder):
    """Saves the model as CTranslate2 opens it."""
    options = dict(activation=Activation.GELUTanh)
    if s.llama:
        options = dict(activation=Activation.SWISH, ffn_glu=True, rms_norm=True, rotary_dim=0,
                       rotary_interleave=False, num_heads_kv=s.kv_heads)
    model = TransformerDecoderModelSpec.from_config(s.layers, s.heads, pre_norm=True, **options)
    decoder, bias, head = model.decoder, not s.llama, s.d // s.heads
    fill(decoder.embeddings, s.d, s.vocabulary, False)
    decoder.scale_embeddings = False
    if not s.llama:
        decoder.position_encodings.encodings = 0.02 * RANDOM.standard_normal((1024, s.d), dtype=numpy.float32)
    for layer in decoder.layer:
        attention = layer.self_attention
        fill(attention.linear[0], s.d, (s.heads + 2 * s.kv_heads) * head, bias)
        fill(attention.linear[1], s.d, s.d, bias)
        fill(layer.ffn.linear_0, s.d, s.d_ff, bias)
        if s.llama:
            fill(layer.ffn.linear_0_noact, s.d, s.d_ff, bias)
        fill(layer.ffn.linear_1, s.d_ff, s.d, bias)
        fill_norm(attention.layer_norm, s.d, bias)
        fill_norm(layer.ffn.layer_norm, s.d, bias)
    fill_norm(decoder.layer_norm, s.d, bias)
    decoder.projection.weight = decoder.embeddings.weight
    model.register_vocabulary([str(i) for i in range(s.vocabulary)])
    model.config.bos_token = model.config.eos_token = model.config.unk_token = "0"
    model.validate()
    model.optimize()
    model.save(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", choices=GENERATION)
    parser.add_argument("--prompt", type=int, default=0, help="reads a text of so many tokens; 0: writes")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    memory_before = peak_memory()
    shape = GENERATION[args.model]
    with tempfile.TemporaryDirectory() as folder:
        build(shape, folder)
        generator = ctranslate2.Generator(folder, compute_type="float32", intra_threads=args.threads)
    text = [str(i) for i in RANDOM.integers(1, shape.vocabulary, args.prompt or GENERATION_FIRST)]
    length = 1 if args.prompt else GENERATION_TOKENS + 1  # one comes from the prompt alone

    def run():
        result = generator.generate_batch([text], max_length=length, min_length=length, beam_size=1,
                                          include_prompt_in_result=False)
        assert len(result[0].sequences_ids[0]) == length

    run()
    serve_turns(memory_before, run)


if __name__ == "__main__":
    main()
