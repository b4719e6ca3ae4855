// A small run of each program that trains, also of those that train a model further. Its steps take a few
// milliseconds; more time goes to saving than to training.
#pragma once

#include "tests/apps/programs.h"

namespace plaingrad::tests {

struct SmallRuns : Texts {
    SmallRuns() {
        const std::string small = " --layers 1 --d-model 16 --heads 2 --context 16";
        const Result made[] = {
            run("fill", joined({"new", bert, text}, words_of("--vocabulary 48" + small))),
            run("generate", joined({"new", gpt, text}, words_of("--vocabulary 300" + small)))};
        if (made[0].status + made[1].status != 0)
            throw std::runtime_error(made[0].err + made[1].err);
    }
    const Program& of(const std::string& program) const {  // the first of it
        return *std::find_if(all.begin(), all.end(), [&](const Program& p) { return p.name == program; });
    }
    static Program trains(const std::string& name, int64_t steps, const Words& data,
                          const std::string& options) {
        return {name, steps, joined(joined({"train"}, data), words_of(options)), {"train"}};
    }

    const std::string bert = folder / "bert", gpt = folder / "gpt";
    const std::vector<Program> all = {
        {"reverse_task", 12,
         words_of("--layers 1 --d-model 16 --d-ff 16 --heads 2 --steps 12 --batch 8 --save-every 3")},
        {"toy_translate", 4,
         joined({"--pairs", pairs_file}, words_of("--preset article --epochs 2 --save-every 1"))},
        {"tasks", 5, words_of("sort --steps 5 --save-every 2")},
        trains("generate", 12, {text},
               "--layers 1 --heads 2 --d-model 16 --context 16 --steps 12 --batch 4 --validate-every 6 "
               "--save-every 3"),
        trains("classify", 12, {labelled},
               "--validation 20 --epochs 2 --d-model 16 --batch 16 --save-every 4"),
        trains("translate", 8, {pairs_file, "--validation", folder.write("held,out.tsv", pairs())},
               "--merges 30 --batch-tokens 256 --context 32 --layers 1 --heads 2 --d-model 16 --d-ff 16 "
               "--bpe-dropout 0.2 --accumulate 2 --warmup 4 --steps 8 --save-every 3"),
        trains("generate", 10, {gpt, text},
               "--steps 10 --context 16 --batch 2 --validate-every 5 --save-every 3"),
        trains("fill", 10, {bert, text}, "--steps 10 --validate-every 5 --save-every 3")};
};

}  // namespace plaingrad::tests
