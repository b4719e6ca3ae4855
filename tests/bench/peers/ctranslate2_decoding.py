"""Translates with the multi30k workload's model in CTranslate2, in turn with bench_decoding.

    python3 tests/bench/peers/ctranslate2_decoding.py FOLDER [--batch N] [--search greedy|beam|sampling] [--threads N]

The model is built from the weights that `bench_decoding --save FOLDER` wrote, through CTranslate2's specifications.
"""
import argparse
import tempfile

import ctranslate2
import numpy
from ctranslate2.specs import TransformerSpec

import saved_model
from shapes import BEAM, DECODING, TOKENS, TOP_K
from turns import peak_memory, serve_turns


def sinusoids(length, d):  # "Attention Is All You Need", section 3.5
    angles = numpy.arange(length)[:, None] * numpy.exp(numpy.arange(0, d, 2) * (-numpy.log(10000.0) / d))
    return numpy.stack([numpy.sin(angles), numpy.cos(angles)], axis=-1).reshape(length, d).astype(numpy.float32)


def fill_linear(spec, weights, name, rows=slice(None)):
    separator = "_" if name.endswith("in_proj") else "."
    spec.weight, spec.bias = (weights[f"{name}{separator}{what}"][rows] for what in ("weight", "bias"))


def fill_norm(spec, weights, name):
    spec.gamma, spec.beta = weights[f"{name}.weight"], weights[f"{name}.bias"]


def fill_layer(spec, weights, name, d):
    fill_linear(spec.self_attention.linear[0], weights, f"{name}.self_attn.in_proj")
    fill_linear(spec.self_attention.linear[1], weights, f"{name}.self_attn.out_proj")
    norms = [spec.self_attention.layer_norm]
    if f"{name}.multihead_attn.in_proj_weight" in weights:
        queries, keys_values, output = spec.attention.linear
        fill_linear(queries, weights, f"{name}.multihead_attn.in_proj", slice(0, d))
        fill_linear(keys_values, weights, f"{name}.multihead_attn.in_proj", slice(d, 3 * d))
        fill_linear(output, weights, f"{name}.multihead_attn.out_proj")
        norms.append(spec.attention.layer_norm)
    fill_linear(spec.ffn.linear_0, weights, f"{name}.linear1")
    fill_linear(spec.ffn.linear_1, weights, f"{name}.linear2")
    norms.append(spec.ffn.layer_norm)
    for i, norm in enumerate(norms):
        fill_norm(norm, weights, f"{name}.norm{i + 1}")


def build(weights, folder):
    """Saves the model as CTranslate2 opens it."""
    shape = DECODING
    spec = TransformerSpec.from_config(shape.layers, shape.heads, pre_norm=False)
    for side, stack, embedding in (("encoder", spec.encoder, "src"), ("decoder", spec.decoder, "tgt")):
        table = stack.embeddings[0] if side == "encoder" else stack.embeddings
        table.weight = weights[f"{embedding}_embedding.weight"]
        stack.position_encodings.encodings = sinusoids(4 * TOKENS, shape.d)
        for i, layer in enumerate(stack.layer):
            fill_layer(layer, weights, f"transformer.{side}.layers.{i}", shape.d)
    fill_linear(spec.decoder.projection, weights, "output")
    tokens = ["<pad>", "<s>", "</s>", "<unk>"] + [str(i) for i in range(4, shape.vocabulary)]
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary(tokens)
    spec.config.add_source_bos = spec.config.add_source_eos = False
    spec.config.decoder_start_token = "<s>"
    spec.validate()
    spec.optimize()
    spec.save(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--search", choices=["greedy", "beam", "sampling"], default="greedy")
    parser.add_argument("--threads", type=int, default=1, help="of one translator")
    parser.add_argument("--translators", type=int, default=1, help="between which a batch is divided")
    args = parser.parse_args()
    memory_before = peak_memory()
    with tempfile.TemporaryDirectory() as folder:
        build(saved_model.weights(args.folder), folder)
        translator = ctranslate2.Translator(folder, compute_type="float32", intra_threads=args.threads,
                                            inter_threads=args.translators)
    source = [[str(i) for i in ids] for ids in saved_model.ids(args.folder, "source")[: args.batch]]
    searches = {"greedy": dict(beam_size=1), "beam": dict(beam_size=BEAM),
                "sampling": dict(beam_size=1, sampling_topk=TOP_K)}

    def translate(search):
        results = translator.translate_batch(
            source, max_decoding_length=TOKENS, min_decoding_length=TOKENS,
            max_batch_size=-(-args.batch // args.translators), **searches[search])
        return [result.hypotheses[0] for result in results]

    greedy = [[int(token) for token in tokens] for tokens in translate("greedy")]
    saved_model.check(args.folder, greedy)
    assert all(len(tokens) == TOKENS for tokens in translate(args.search))
    serve_turns(memory_before, lambda: translate(args.search))


if __name__ == "__main__":
    main()
