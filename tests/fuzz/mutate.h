// Mutations that keep what a reader checks first: JSON stays JSON, and the header of a safetensors file keeps
// its length, and half of the time its offsets. Without them, nearly every mutation would be refused by
// the reader's first check, and the code behind it never reached. Command lines get options that exist.
#pragma once

#include <functional>
#include <string>

#include "tests/dice.h"
#include "tests/fuzz/fuzz_targets.h"

namespace plaingrad::fuzz {

using tests::Dice;

// Changes some bytes: the fuzzer's own mutations, or `mutate_bytes`.
using MutateBytes = std::function<std::string(const std::string& bytes)>;
std::string mutate_bytes(std::string bytes, Dice& dice);

// By the target's form. Names and values are those of `words_of`, and numbers where sizes and types end.
std::string mutate(const Target& target, const std::string& bytes, const MutateBytes& inner, Dice& dice);

// All strings in the JSON of a target's seeds, keys and values, and the words that it adds.
const std::vector<std::string>& words_of(const Target& target);

}  // namespace plaingrad::fuzz
