#include "models/text/training_data.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>
#include <unordered_set>

#include "autograd/base/list.h"

namespace plaingrad::models::text {

using autograd::Rng;

// Adds the pair, or its line number to the skipped ones.
static void put(ParallelText& text, SentencePair pair) {
    const bool source = has_text(pair.source), target = has_text(pair.target);
    if (source && target)
        text.pairs.push_back(std::move(pair));
    else
        (source ? text.no_target : target ? text.no_source : text.no_text).add(pair.line);
}

static ParallelText checked(ParallelText text) {
    check(!text.pairs.empty(), text.files, ": there is no line with text on both sides");
    return text;
}

// Without a rule, all must be UTF-8.
static ParallelText of_tsv(std::string_view bytes, const std::string& path,
                           std::optional<InvalidUtf8> rule = std::nullopt) {
    ParallelText text = {path};
    int64_t number = 0;
    for (const std::string& line :
         lines_of(bytes, path, rule ? &text.replaced : nullptr, rule.value_or(InvalidUtf8::replace))) {
        ++number;
        const std::size_t tab = line.find('\t');
        const bool blank = !has_text(line);
        check(blank || tab != line.npos, path, ":", number,
              ": there is no tab; a line must be source<TAB>target",
              line.find(',') != line.npos ? ", not CSV" : "");
        check(blank || line.find('\t', tab + 1) == line.npos, path, ":", number,
              ": there is more than one tab; a line must be source<TAB>target");
        put(text, {line.substr(0, tab), blank ? "" : line.substr(tab + 1), number});
    }
    return text;
}

ParallelText read_parallel(const std::vector<std::string>& files, InvalidUtf8 rule) {
    if (files.size() == 1)
        return checked(of_tsv(read_file(files[0]), files[0], rule));
    ParallelText text = {join(files.at(0), ", ", files.at(1))};
    const auto read = [&](const std::string& file) {
        return lines_of(read_file(file), file, &text.replaced, rule);
    };
    std::vector<std::string> source = read(files[0]), target = read(files[1]);
    check(source.size() == target.size(), files[0], " has ", source.size(), " lines, ", files[1], " has ",
          target.size(), "; line i of one must be the translation of line i of the other");
    for (std::size_t i = 0; i < source.size(); ++i)
        put(text, {std::move(source[i]), std::move(target[i]), static_cast<int64_t>(i) + 1});
    return checked(std::move(text));
}

std::vector<SentencePair> pairs_of(std::string_view bytes, const std::string& path) {
    const ParallelText text = of_tsv(bytes, path);
    check(text.no_source.count == 0, path, ":", text.no_source.first, ": there is no text before the tab");
    check(text.no_target.count == 0, path, ":", text.no_target.first, ": there is no text after the tab");
    return checked(text).pairs;
}

// ---- checks

std::string check_data(const ParallelText& text, const ParallelText* training) {
    std::string all = join(text.files, ": ", text.pairs.size(), text.pairs.size() == 1 ? " pair" : " pairs");
    const auto tell = [&](const std::string& what, const Lines& lines) {
        if (lines.count > 0)
            all += join("; ", what, ": ", lines.count, lines.count == 1 ? " (line " : " (first in line ",
                        lines.first, ")");
    };
    const auto look = [&](const std::string& what, const auto& is_found) {
        Lines lines;
        for (const SentencePair& pair : text.pairs)
            if (is_found(pair))
                lines.add(pair.line);
        tell(what, lines);
    };
    // Of a million different pairs, any two have the same hash with a probability of 3e-8.
    const auto hash_of = [](const SentencePair& pair) {
        return std::hash<std::string>()(pair.source + '\t' + pair.target);
    };
    tell("skipped, no text on either side", text.no_text);
    tell("skipped, no source", text.no_source);
    tell("skipped, no target", text.no_target);
    if (text.replaced > 0)
        look("with bytes that are not UTF-8, read as U+FFFD", [](const SentencePair& pair) {
            return (pair.source + pair.target).find("\xef\xbf\xbd") != std::string::npos;
        });
    std::unordered_set<std::size_t> earlier, learned;
    look("duplicates of an earlier pair",
         [&](const SentencePair& pair) { return !earlier.insert(hash_of(pair)).second; });
    if (training != nullptr)
        for (const SentencePair& pair : training->pairs)
            learned.insert(hash_of(pair));
    look("pairs that are in the training data",
         [&](const SentencePair& pair) { return learned.contains(hash_of(pair)); });
    return all;
}

std::string fingerprint(const std::vector<SentencePair>& pairs) {
    return fingerprint(
        autograd::mapped(pairs, [](const SentencePair& pair) { return pair.source + '\t' + pair.target; }));
}

// ---- batches

namespace {

using Indices = std::vector<int64_t>;

// The end of the batch that begins at `begin`: it has as many pairs as fit.
Indices::const_iterator end_of_batch(Indices::const_iterator begin, Indices::const_iterator end,
                                     const std::vector<PairLength>& lengths, int64_t batch_tokens) {
    int64_t widest = 0;
    auto at = begin;
    for (; at != end; ++at) {
        const PairLength& pair = lengths[static_cast<std::size_t>(*at)];
        widest = std::max({widest, pair.source, pair.target});
        check(widest <= batch_tokens || at != begin, "[batches] pair ", *at, " has ", widest,
              " tokens on one side, and a batch at most ", batch_tokens,
              "; raise batch_tokens, or drop or cut long pairs");
        if (at - begin >= batch_tokens / std::max<int64_t>(widest, 1))  // a product could overflow
            break;
    }
    return at;
}

}  // namespace

std::vector<Indices> make_batches(const std::vector<PairLength>& lengths, const BatchOptions& options) {
    check(options.batch_tokens >= 1 && options.bucket >= 1,
          "[batches] batch_tokens and bucket must be at least 1: got ", options.batch_tokens, " and ",
          options.bucket);
    const auto n = static_cast<int64_t>(lengths.size());
    const Rng rng = Rng(options.seed).fork("batches").fork(static_cast<uint64_t>(options.epoch));
    Indices order = rng.fork("pairs").permutation(n);
    if (!options.shuffle)
        std::iota(order.begin(), order.end(), int64_t{0});
    const auto key = [&](int64_t i) {
        const PairLength& pair = lengths[static_cast<std::size_t>(i)];
        return std::tuple(std::max(pair.source, pair.target), pair.target, pair.source);
    };
    std::vector<Indices> batches;
    for (auto begin = order.begin(); begin != order.end();) {
        const auto end = begin + (options.shuffle ? std::min(options.bucket, order.end() - begin) : n);
        std::stable_sort(begin, end, [&](int64_t a, int64_t b) { return key(a) < key(b); });
        for (Indices::const_iterator first = begin; first != end; first += std::ssize(batches.back()))
            batches.emplace_back(first, end_of_batch(first, end, lengths, options.batch_tokens));
        begin = end;
    }
    std::vector<Indices> shuffled;
    for (const int64_t i : rng.fork("batches").permutation(std::ssize(batches)))
        shuffled.push_back(batches[static_cast<std::size_t>(i)]);
    return options.shuffle ? shuffled : batches;
}

// ---- masks

// What a selected id becomes. Each position i has three random numbers: 3i decides whether it is selected,
// 3i+1 what happens to it, 3i+2 which random id it gets.
static int32_t masked(int32_t id, uint64_t i, const MaskingOptions& o, const Rng& rng) {
    const double fate = rng.uniform(3 * i + 1);
    if (fate < 0.8)
        return o.mask;
    if (fate < 0.8 + 0.1)
        return o.first_id + static_cast<int32_t>(rng.below(3 * i + 2, o.end_id - o.first_id));
    return id;
}

MaskedTokens mask_tokens(const Tokens& ids, const MaskingOptions& o, const Rng& rng) {
    check(o.first_id < o.end_id, "[mask_tokens] there are no ids from ", o.first_id, " to ", o.end_id,
          "; end_id is the size of the vocabulary");
    check(ids.pad() != Tokens::kNoPadding, "[mask_tokens] the ids must have padding (Tokens::padded), ",
          "which says in the targets what is not predicted");
    check(o.mask != ids.pad(), "[mask_tokens] the mask must not be the padding ", ids.pad());
    check(ids.pad() < o.first_id || ids.pad() >= o.end_id, "[mask_tokens] the padding ", ids.pad(),
          " must not be one of the ids from first_id to end_id, which may be written: these are ", o.first_id,
          " to ", o.end_id);
    std::vector<std::size_t> selected, possible;
    for (std::size_t i = 0; i < ids.ids().size(); ++i) {
        if (ids.ids()[i] < o.first_id || ids.ids()[i] >= o.end_id)
            continue;
        possible.push_back(i);
        if (rng.uniform(3 * i) < o.rate)
            selected.push_back(i);
    }
    check(!possible.empty(), "[mask_tokens] there is no token that may be masked");
    if (selected.empty())
        selected.push_back(possible[static_cast<std::size_t>(
            rng.fork("one").below(0, static_cast<int64_t>(possible.size())))]);

    std::vector<int32_t> read = ids.ids(), targets(read.size(), ids.pad());
    for (const std::size_t i : selected) {
        targets[i] = read[i];
        read[i] = masked(read[i], i, o, rng);
    }
    return {Tokens(ids.batch(), ids.length(), std::move(read), ids.pad()),
            Tokens(ids.batch(), ids.length(), std::move(targets), ids.pad())};
}

}  // namespace plaingrad::models::text
