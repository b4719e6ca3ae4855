// Many machines: the tree of sums, and what each process sends.
#include <ostream>

#include "models/saved.h"
#include "nn/parallel/data_parallel.h"
#include "tests/chapters/print.h"
#include "tests/chapters/sections.h"

namespace plaingrad::chapters {

using namespace autograd;

namespace {

std::string in_words(const nn::PartSum& sum) {
    return sum.end - sum.begin == 1 ? std::to_string(sum.begin) : join(sum.begin, " to ", sum.end - 1);
}

// Which sums each process is left with.
void sums(std::ostream& out) {
    constexpr int64_t kParts = 8;
    Rows rows = {{"processes", "sums of process 0", "of 1", "of 2", "of 3"}};
    for (const int64_t size : {1, 2, 3, 4}) {
        std::vector<std::string> row = {std::to_string(size)};
        for (int64_t r = 0; r < 4; ++r) {
            std::string text;
            if (r < size)
                for (const nn::PartSum& sum : nn::sums_of(nn::parts_of(r, size, kParts), kParts))
                    text += (text.empty() ? "" : "; ") + in_words(sum);
            row.push_back(text);
        }
        rows.push_back(row);
    }
    table(out, rows);
    claim(rows[2][1] == "0 to 3" && rows[3][2].find(';') != std::string::npos,
          "halves are subtrees, thirds are not");
}

// What each process sends of the paper's base model.
void sent(std::ostream& out) {
    const auto model = models::unset<models::Transformer>(
        {.src_vocabulary = 37'000, .vocabulary = 37'000, .embeddings_tied = true, .tied = true}, Rng(0));
    const double bytes = sizeof(float) * static_cast<double>(nn::parameter_count(model));
    constexpr double kNetwork = 25e9 / 8;  // bytes a second
    Rows rows = {
        {"processes", "sent by each, MiB", "at 25 Gbit/s", "of a step that computes for 1 s", "for 50 ms"}};
    for (const int64_t size : {1, 2, 4, 8, 16, 64}) {
        const double by_each = 2 * bytes * static_cast<double>(size - 1) / static_cast<double>(size);
        const double seconds = by_each / kNetwork;
        const auto share = [&](double computing) {
            return fixed(100 * seconds / (computing + seconds), 0) + " %";
        };
        rows.push_back({std::to_string(size), fixed(by_each / (1 << 20), 0), fixed(1e3 * seconds, 0) + " ms",
                        share(1), share(0.05)});
    }
    table(out, rows, "nnnnn");
    claim(nn::parameter_count(model) / 1'000'000 == 63, "the paper's base model has 63 million weights");
}

const Adds kHere({{"nn.machines.sums", Effort::quick, sums}, {"nn.machines.sent", Effort::quick, sent}});

}  // namespace

}  // namespace plaingrad::chapters
