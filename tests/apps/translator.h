// What the tests of the translator share: a small task, and the folder of its run.
#pragma once

#include "tests/apps/run.h"
#include "tests/autograd/values.h"

namespace plaingrad::tests {

inline Result translate(const Words& arguments, const With& with = {}) {
    return Running("translate", arguments, with).wait();
}

inline Words joined(Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

// English numbers, and their German translations in reverse order: 120 pairs.
inline std::string pairs() {
    const Words en = {"one", "two", "three", "four", "five", "six"},
                de = {"eins", "zwei", "drei", "vier", "fünf", "sechs"};
    std::string lines;
    for (std::size_t a = 0; a < 6; ++a)
        for (std::size_t b = 0; b < 6; ++b)
            for (std::size_t c = 0; c < 6; c += 2)
                lines.append(en[a])
                    .append(" ")
                    .append(en[b])
                    .append(c > 0 ? " " + en[c] : "")
                    .append(".\t")
                    .append(c > 0 ? de[c] + " " : "")
                    .append(de[b])
                    .append(" ")
                    .append(de[a])
                    .append(".\n");
    return lines;
}

struct Files {
    Folder folder;
    std::string data = folder.write("pairs.tsv", pairs());
    std::string run = folder / "run";

    // Two epochs are 12 to 16 steps.
    Words train_tiny(const Words& more = {}) const {
        return joined({"train", data, "--merges", "30", "--batch-tokens", "128", "--max-length", "32",
                       "--warmup", "4", "--steps", "14", "--average", "2"},
                      more);
    }
    // The same with a smaller model than that of --preset tiny, where its size does not matter.
    Words train(const Words& more = {}) const {
        return joined(train_tiny({"--layers", "2", "--heads", "2", "--d-model", "32", "--d-ff", "64"}), more);
    }
    std::string file(const std::string& of, const std::string& name) const {
        return content((std::filesystem::path(folder.path) / of / name).string());
    }
};

inline void refused(int status, const Result& r, const std::string& part) {
    INFO(r.err);
    CHECK(r.status == status);
    CHECK(r.out.empty());
    // An error is one line, the last one, after any earlier output.
    REQUIRE(r.err.ends_with('\n'));
    const std::string last = r.err.substr(r.err.rfind('\n', r.err.size() - 2) + 1);
    CHECK(last.starts_with("translate: "));
    CHECK(contains(last, part));
}

}  // namespace plaingrad::tests
