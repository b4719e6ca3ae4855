#include "models/text/parallel.h"

#include "autograd/base/check.h"

namespace plaingrad::models::text {

using autograd::check;

std::string ParallelText::files() const {
    return source_file == target_file ? source_file : autograd::join(source_file, ", ", target_file);
}

// Adds the pair, or its line number to the skipped ones.
static void put(ParallelText& text, SentencePair pair) {
    const bool source = has_text(pair.source), target = has_text(pair.target);
    if (source && target)
        text.pairs.push_back(std::move(pair));
    else
        (source ? text.no_target : target ? text.no_source : text.no_text).add(pair.line);
}

static ParallelText checked(ParallelText text) {
    check(!text.pairs.empty(), text.files(), ": there is no line with text on both sides");
    return text;
}

ParallelText read_parallel(const std::string& source_file, const std::string& target_file, InvalidUtf8 rule) {
    ParallelText text = {source_file, target_file};
    std::vector<std::string> source = read_lines_leniently(source_file, text.replaced, rule);
    std::vector<std::string> target = read_lines_leniently(target_file, text.replaced, rule);
    check(source.size() == target.size(), source_file, " has ", source.size(), " lines, ", target_file,
          " has ", target.size(), "; line i of one must be the translation of line i of the other");
    for (std::size_t i = 0; i < source.size(); ++i)
        put(text, {std::move(source[i]), std::move(target[i]), static_cast<int64_t>(i) + 1});
    return checked(std::move(text));
}

ParallelText read_parallel(const std::string& tsv_file, InvalidUtf8 rule) {
    ParallelText text = {tsv_file, tsv_file};
    int64_t number = 0;
    for (const std::string& line : read_lines_leniently(tsv_file, text.replaced, rule)) {
        ++number;
        put(text, has_text(line) ? split_pair(line, tsv_file, number) : SentencePair{"", "", number});
    }
    return checked(std::move(text));
}

}  // namespace plaingrad::models::text
