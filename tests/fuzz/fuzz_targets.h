// What a fuzzer calls: the readers of files, texts and command lines, and what is written from them, each as
// a function of bytes. It returns, or throws autograd::Error with one line, which is the refusal that a user
// sees; everything else is a defect.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "autograd/base/check.h"

namespace plaingrad::fuzz {

// How an input is built, so that mutate.h can change its parts, and not only its bytes. words: a byte, and
// lines that are the words of a command line.
enum class Form { bytes, json, safetensors, words };

// The errors that may refuse an input: what reads files promises FileError, which names the file.
enum class Refusal { file_error, any_error };

constexpr int64_t kMiB = int64_t{1} << 20;

struct Target {
    const char* name;
    void (*run)(const std::string& bytes);
    std::vector<std::string> (*seeds)();  // accepted inputs, to begin from
    Form form = Form::bytes;
    Refusal refusal = Refusal::any_error;
    // How many bytes of memory it may use beyond those of the input, where the reader's header promises a
    // bound; -1: none does.
    int64_t memory = -1;
    std::vector<std::string> (*words)() = nullptr;  // names that mutations use, besides those of the seeds
};

const std::vector<Target>& targets();

// Short inputs of those that have reached something new (tests/fuzz/corpus/TARGET.txt, which `make fuzz-keep`
// writes), accepted ones first, and those that have found a defect (tests/fuzz/found/TARGET.txt). Each is a
// line, in which a byte that cannot be seen is written as \xNN, and a backslash as two.
std::vector<std::string> kept(const Target& target);
std::vector<std::string> lines_in(const std::string& text);
std::string to_line(const std::string& bytes);
std::string from_line(const std::string& line);

// Whether the input was accepted, and not refused. Throws Defect for a refusal of several lines, or of
// another kind than the target's.
bool accepts(const Target& target, const std::string& bytes);

// A promise that was broken: the fuzzer, or the test, ends with this text.
struct Defect : std::logic_error {
    using std::logic_error::logic_error;
};
template <class... Parts>
void expect(bool holds, const Parts&... parts) {
    if (!holds) [[unlikely]]
        throw Defect(autograd::join(parts...));
}

// The targets by what they read, each defined in a file of its own.
void add_checkpoints(std::vector<Target>& all);  // weights in safetensors files
void add_folders(std::vector<Target>& all);      // what comes in folders from Hugging Face
void add_words(std::vector<Target>& all);        // texts, and what becomes of them
void add_programs(std::vector<Target>& all);     // command lines, resumed runs, pages about runs

}  // namespace plaingrad::fuzz
