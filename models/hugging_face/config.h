// config.json: what a folder from Hugging Face says about its model, understood as transformers 5 does.
//
// Every key that changes what the model computes is honoured, or refused by name; a missing one has the value
// that transformers gives it. (The table of all keys is in keys.cpp.) A key that transformers does not know
// cannot change what it computes, and files have many of them: it is ignored, and named in `notes`.
#pragma once

#include <string>
#include <vector>

#include "models/config.h"

namespace plaingrad::models::hugging_face {

// "model_type". SmolLM and many others are llama.
enum class Family { gpt2, bert, llama, mistral, qwen2, count };
inline constexpr const char* kFamilyNames[] = {"gpt2", "bert", "llama", "mistral", "qwen2"};
static_assert(std::size(kFamilyNames) == static_cast<std::size_t>(Family::count));

// Sets of families, for the tables of keys and of tensors.
constexpr unsigned of(Family family) { return 1u << static_cast<unsigned>(family); }
inline constexpr unsigned kGpt2 = of(Family::gpt2), kBert = of(Family::bert), kLlama = of(Family::llama),
                          kMistral = of(Family::mistral), kQwen2 = of(Family::qwen2),
                          kRotary = kLlama | kMistral | kQwen2, kAll = kGpt2 | kBert | kRotary;

// The output part on top of the layers, from the key "architectures".
enum class Head { none, language_model, masked_language_model, classifier };

struct Config {
    Family family = Family::gpt2;
    Head head = Head::none;
    bool names_head = false;  // or "architectures" is missing, and the head is the usual one
    int64_t vocabulary = 0;
    int64_t max_length = 0;  // in tokens: up to here the model computes what transformers computes
    // The file's own numbers, from which max_length follows; they are written back. max_positions: how many
    // positions GPT-2 or BERT has, which is max_length; how many the others were made for. window: how many
    // tokens back the sliding layers of Mistral and Qwen2 see; 0: there are none.
    int64_t max_positions = 0, window = 0;
    std::vector<bool> sliding_layers = {};
    int64_t n_layers = 0;
    int64_t d_model = 0;
    int64_t n_heads = 0, n_kv_heads = 0;  // each key/value head serves n_heads / n_kv_heads query heads
    int64_t head_dim = 0;                 // n_heads * head_dim may differ from d_model
    int64_t d_ff = 0;
    nn::Activation activation = nn::Activation::gelu;
    double norm_eps = 0;
    bool qkv_bias = true, attention_out_bias = true, feed_forward_bias = true;
    bool tied = true;             // the output layer's matrix is the embedding's
    nn::RotaryOptions rope = {};  // of llama, mistral, qwen2; the others learn their positions
    int64_t token_types = 0;      // BERT's: which sentence of a pair a token is of
    DropoutRates dropout = {};
    Real classifier_dropout = 0;
    int32_t start = -1, pad = -1;  // ids; -1: none
    std::vector<int32_t> ends = {};
    std::vector<std::string> labels = {};  // of the classes, by their numbers

    std::vector<std::string> notes = {};  // a line each: what was ignored, or limited, and why
};

// Reads config.json. Throws FileError, in one line that names the file and the key.
Config read_config(const std::string& path);

// Writes it for transformers 4.43 and later. Replaces the file; throws FileError if it cannot.
void write_config(const std::string& path, const Config& config);

}  // namespace plaingrad::models::hugging_face
