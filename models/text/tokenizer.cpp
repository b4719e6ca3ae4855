#include "models/text/tokenizer.h"

#include <algorithm>
#include <unordered_map>

#include "models/text/tokenizer/pipeline.h"
#include "models/text/unicode.h"
#include "nn/checkpoint/file.h"

namespace plaingrad::models::text {

using namespace tokenizer;  // NOLINT

Tokenizer::Tokenizer(std::string json, const std::string& where)
    : json_(std::make_shared<const std::string>(std::move(json))),
      pipeline_(std::make_shared<const Pipeline>(read_pipeline(*json_, where))) {}

Tokenizer Tokenizer::open(const std::string& folder) {
    const std::string file = nn::checkpoint::in_folder(folder, "tokenizer.json");
    const TokenizerConfig config(folder);
    Tokenizer all = nn::checkpoint::exists(file)
                        ? Tokenizer(nn::checkpoint::read_file(file, nn::checkpoint::Json::kMaxBytes), file)
                        : from_older_files(config);
    all.clean_up_ = config.json["clean_up_tokenization_spaces"].boolean_or(false);
    all.named_ = config.named;
    return all;
}

void Tokenizer::save(const std::string& folder) const {
    nn::checkpoint::replace_file(nn::checkpoint::in_folder(folder, "tokenizer.json"), *json_);
}

namespace {

// Added tokens are taken out first, those that are normalized after the normalizer; the rest is split into
// words.
template <class Word, class Token>
void split(const Pipeline& all, std::string_view text, const Word& word, const Token& token) {
    for (const auto& [raw, id] : all.added.cut(text, false)) {
        if (raw.empty()) {
            token(id);
            continue;
        }
        const std::string normal = all.normalizer(raw);
        for (const auto& [part, inner] : all.added.cut(normal, true))
            if (part.empty())
                token(inner);
            else
                all.splitter(part, raw.data() == text.data() && part.data() == normal.data(), word);
    }
}

// The ids of a word, by any model but Features, which reads a whole text.
void append(const Pipeline& all, std::string_view word, Ids& ids, Dropout& dropout) {
    std::visit(
        [&](const auto& model) {
            if constexpr (requires { model.append(word, ids, dropout); })
                model.append(word, ids, dropout);
        },
        all.model);
}

Ids ids_of(const Tokenizer& tokenizer, const Pipeline& all, std::string_view text, Dropout& dropout,
           bool& cut) {
    Ids ids;
    if (const Features* features = std::get_if<Features>(&all.model)) {
        const std::vector<std::string> words = tokenizer.words(text);
        cut = std::ssize(words) > features->max_words;
        features->append(words, ids, dropout);
        return ids;
    }
    // Where the ids of the words stand that came before: most come again.
    std::unordered_map<std::string, std::pair<std::size_t, std::size_t>, Hash, std::equal_to<>> places;
    const auto append_word = [&](std::string_view word) {
        constexpr std::size_t kLongest = 64;
        const bool keeps = word.size() <= kLongest && dropout.p == 0;
        const auto known = keeps ? places.find(word) : places.end();
        if (known != places.end()) {
            for (std::size_t i = known->second.first; i < known->second.second; ++i)
                ids.push_back(ids[i]);
            return;
        }
        const std::size_t begin = ids.size();
        append(all, word, ids, dropout);
        if (keeps)
            places.emplace(word, std::pair(begin, ids.size()));
    };
    split(all, text, append_word, [&](int32_t id) { ids.push_back(id); });
    return ids;
}

}  // namespace

std::vector<std::string> Tokenizer::words(std::string_view text) const {
    std::vector<std::string> all;
    split(
        *pipeline_, text, [&](std::string_view word) { all.emplace_back(word); }, [](int32_t) {});
    return all;
}

Encoding Tokenizer::encode_texts(const std::vector<std::string_view>& texts,
                                 const EncodeOptions& options) const {
    autograd::check(texts.size() == 1 || texts.size() == 2, "[Tokenizer] one text or two: got ",
                    texts.size());
    autograd::check(options.dropout >= 0 && options.dropout <= 1,
                    "[Tokenizer] dropout must be a probability, from 0 to 1: got ", options.dropout);
    Dropout dropout = {options.dropout, options.rng};
    std::vector<Ids> ids;
    bool cut = false;  // of a classifier's words
    for (const std::string_view text : texts)
        ids.push_back(ids_of(*this, *pipeline_, text, dropout, cut));
    Encoding all = pipeline_->around(std::move(ids), options.add_special_tokens, options.max_length);
    all.cut = all.cut || cut;
    return all;
}

Ids Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
    return encode_texts({text}, options).ids;
}

std::vector<std::string> Tokenizer::pieces(std::string_view text) const {
    const Bpe* bpe = std::get_if<Bpe>(&pipeline_->model);
    const std::string end = bpe != nullptr ? bpe->options().end_of_word : "";
    std::vector<std::string> all;
    const auto token = [&](int32_t id) { all.push_back(piece(id)); };
    if (max_words() > 0) {
        const Ids ids = encode(text, {.add_special_tokens = false});
        std::for_each(ids.begin(), ids.end(), token);
        return all;
    }
    split(
        *pipeline_, text,
        [&](std::string_view word) {
            Ids ids;
            Dropout none;
            append(*pipeline_, word, ids, none);
            for (const int32_t id : ids) {
                if (id != unknown() || word.empty()) {  // bytes like <0x0A> count as six characters
                    token(id);
                    const std::size_t mark = all.back().ends_with(end) ? end.size() : 0;
                    word.remove_prefix(std::min(word.size(), all.back().size() - mark));
                    continue;
                }
                // Of BPE a character is unknown, of other models a word.
                const std::size_t length =
                    bpe != nullptr ? nn::checkpoint::first_code_point(word).length : word.size();
                all.push_back(std::string(word.substr(0, length)) + (length == word.size() ? end : ""));
                word.remove_prefix(length);
            }
        },
        token);
    return all;
}

std::vector<std::string> Tokenizer::tokens(const Ids& ids, const DecodeOptions& options) const {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const int32_t id = ids[i];
        const std::string& piece = this->piece(id);
        if (id == unknown() && i < options.unknown.size())
            all.push_back(options.unknown[i]);
        else if (!options.skip_special_tokens || !pipeline_->special[static_cast<std::size_t>(id)])
            all.push_back(piece);
    }
    return all;
}

std::string Tokenizer::decode(const Ids& ids, const DecodeOptions& options) const {
    std::string text = pipeline_->decoder(tokens(ids, options), options.invalid);
    const bool clean = options.clean_up_tokenization_spaces.value_or(clean_up_) &&
                       !std::holds_alternative<Bpe>(pipeline_->model);
    return clean ? clean_up(std::move(text)) : text;
}

int64_t Tokenizer::size() const { return std::ssize(pipeline_->tokens); }

const std::string& Tokenizer::piece(int32_t id) const {
    autograd::check(id >= 0 && id < size(), "[Tokenizer] id ", id, " is outside the vocabulary of ", size());
    return pipeline_->tokens[static_cast<std::size_t>(id)];
}

std::optional<int32_t> Tokenizer::id(std::string_view token) const {
    if (const auto* added = found(pipeline_->added.all(), token))
        return added->id;
    const auto place = std::find(pipeline_->tokens.begin(), pipeline_->tokens.end(), token);
    return place == pipeline_->tokens.end()
               ? std::nullopt
               : std::optional(static_cast<int32_t>(place - pipeline_->tokens.begin()));
}

std::optional<std::string> Tokenizer::named(std::string_view name) const {
    const auto token = named_.find(name);
    return token == named_.end() ? std::nullopt : std::optional(token->second);
}

std::optional<int32_t> Tokenizer::unknown() const {
    const int32_t id = pipeline_->unk;
    return id == Vocabulary::kNone ? std::nullopt : std::optional(id);
}

bool Tokenizer::is_byte_level() const { return pipeline_->splitter.byte_level; }
bool Tokenizer::is_lower_case() const { return pipeline_->normalizer.lower_case; }
bool Tokenizer::is_tokenized() const { return pipeline_->splitter.at_marks; }

int64_t Tokenizer::max_words() const {
    const Features* features = std::get_if<Features>(&pipeline_->model);
    return features == nullptr ? 0 : features->max_words;
}

// The text behind what is written. Of the ids before, some stay: whether a word begins with a space depends
// on them.
std::string Tokenizer::Stream::waiting() const {
    const auto text = [&](std::size_t n) {
        const Ids first(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(n));
        return tokenizer_.pipeline_->decoder(
            tokenizer_.tokens(first, {.skip_special_tokens = skip_special_tokens_}), InvalidUtf8::keep);
    };
    return text(ids_.size()).substr(text(written_).size());
}

std::string Tokenizer::Stream::add(int32_t id) {
    tokenizer_.tokens({id}, {});  // throws for an id out of range, before anything changes
    ids_.push_back(id);
    std::string text = waiting();
    if (text.empty() || unfinished(text) > 0)
        return "";
    ids_.erase(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(written_));
    written_ = ids_.size();
    return replace_invalid_runs(text);
}

std::string Tokenizer::Stream::finish() {
    const std::string text = waiting();
    ids_.clear();
    written_ = 0;
    return replace_invalid_runs(text);
}

// ---- where it ends

Stops::Stops(std::vector<std::string> strings) : strings_(std::move(strings)) {
    for (const std::string& one : strings_)
        autograd::check(!one.empty(), "[Stops] a string that ends the text must not be empty");
}

std::string Stops::add(std::string_view piece) {
    std::string certain;
    for (std::size_t i = 0; i < piece.size() && !found_; ++i) {
        held_ += piece[i];
        std::size_t whole = 0, begun = 0;  // the longest string, and beginning of one, that ends here
        for (const std::string& one : strings_) {
            whole = std::max(whole, held_.ends_with(one) ? one.size() : 0);
            for (std::size_t n = std::min(one.size() - 1, held_.size()); n > begun; --n)
                if (held_.ends_with(std::string_view(one).substr(0, n)))
                    begun = n;
        }
        found_ = whole > 0;
        certain += held_.substr(0, held_.size() - (found_ ? whole : begun));
        held_ = found_ ? "" : held_.substr(held_.size() - begun);
    }
    return certain;
}

std::string Stops::finish() { return std::exchange(held_, ""); }

}  // namespace plaingrad::models::text
