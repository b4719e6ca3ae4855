// What the tests of the translator share: a small task, and the folder of its run.
#pragma once

#include "tests/apps/programs.h"
#include "tests/apps/run.h"
#include "tests/autograd/values.h"

namespace plaingrad::tests {

inline Result translate(const Words& arguments, const With& with = {}) {
    return run("translate", arguments, with);
}

struct Files {
    Folder folder;
    std::string data = folder.write("pairs.tsv", pairs());
    std::string run = folder / "run";

    // Two epochs are 12 to 16 steps. A small model, where its size does not matter.
    Words train(const Words& more = {}) const {
        const Words small = words_of(
            "--merges 30 --batch-tokens 128 --context 32 --warmup 4 --steps 14 --layers 2 --heads 2 "
            "--d-model 32 --d-ff 64");
        return joined(joined({"train", data}, small), more);
    }
    std::string file(const std::string& of, const std::string& name) const {
        return content((std::filesystem::path(folder.path) / of / name).string());
    }
};

inline void refused(int status, const Result& r, const std::string& part) {
    check_refused("translate", r, status, part);
}

}  // namespace plaingrad::tests
