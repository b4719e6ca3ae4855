#include "models/text/pretrained_tokenizer.h"

#include <algorithm>
#include <unordered_map>

#include "models/text/pretrained/tokenizer_config.h"

namespace plaingrad::models::text {

using Ids = std::vector<int32_t>;

PretrainedTokenizer PretrainedTokenizer::open(const std::string& folder) {
    const std::string json = nn::checkpoint::in_folder(folder, "tokenizer.json");
    PretrainedTokenizer all;
    all.pipeline_ = std::make_shared<const pretrained::Pipeline>(
        nn::checkpoint::exists(json) ? pretrained::from_tokenizer_json(json)
                                     : pretrained::from_vocabulary_files(folder));
    const auto config = pretrained::TokenizerConfig::open(folder);
    all.clean_up_ = config["clean_up_tokenization_spaces"].flag_or(false);
    for (const char* name : pretrained::TokenizerConfig::kTokens)
        if (const auto token = config.token(name))
            if (const auto id = all.id(*token))
                all.named_[name] = *id;
    return all;
}

namespace {

// The ids of words that came before in a text: most come again.
class Memory {
public:
    explicit Memory(const pretrained::Pipeline& all) : all_(all) {}

    void append(std::string_view word, Ids& ids) {
        constexpr std::size_t kLongest = 64;
        if (word.size() > kLongest)
            return all_.model(word, ids);
        const auto known = places_.find(word);
        if (known != places_.end()) {
            const auto [begin, end] = known->second;
            for (std::size_t i = begin; i < end; ++i)
                ids.push_back(ids[i]);
            return;
        }
        const std::size_t begin = ids.size();
        all_.model(word, ids);
        places_.emplace(word, std::pair(begin, ids.size()));
    }

private:
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
    };
    const pretrained::Pipeline& all_;
    std::unordered_map<std::string, std::pair<std::size_t, std::size_t>, Hash, std::equal_to<>> places_;
};

}  // namespace

// Added tokens are taken out first, those that are normalized after the normalizer; the rest is cut into
// words.
Ids PretrainedTokenizer::ids_of(std::string_view text) const {
    const pretrained::Pipeline& all = *pipeline_;
    Ids ids;
    Memory memory(all);
    const auto token = [&](int32_t id) { ids.push_back(id); };
    const auto words = [&](std::string_view part, bool is_first) {
        all.pre_tokenizer(part, is_first, [&](std::string_view word) { memory.append(word, ids); });
    };
    all.added.cut(
        text, false,
        [&](std::string_view raw) {
            const std::string normal = all.normalizer(raw);
            all.added.cut(
                normal, true,
                [&](std::string_view part) {
                    words(part, raw.data() == text.data() && part.data() == normal.data());
                },
                token);
        },
        token);
    return ids;
}

PretrainedTokenizer::Encoding PretrainedTokenizer::encode_texts(const std::vector<std::string_view>& texts,
                                                                const EncodeOptions& options) const {
    autograd::check(texts.size() == 1 || texts.size() == 2, "[PretrainedTokenizer] one text or two: got ",
                    texts.size());
    std::vector<Ids> ids;
    for (const std::string_view text : texts)
        ids.push_back(ids_of(text));
    return pipeline_->around(std::move(ids), options.add_special_tokens, options.max_length);
}

Ids PretrainedTokenizer::encode(std::string_view text, const EncodeOptions& options) const {
    return encode_texts({text}, options).ids;
}

PretrainedTokenizer::Encoding PretrainedTokenizer::encode_pair(std::string_view first,
                                                               std::string_view second,
                                                               const EncodeOptions& options) const {
    return encode_texts({first, second}, options);
}

std::vector<std::string> PretrainedTokenizer::tokens(const Ids& ids, bool skip_special_tokens) const {
    std::vector<std::string> all;
    for (const int32_t id : ids) {
        autograd::check(id >= 0 && id < size(), "[PretrainedTokenizer] id ", id,
                        " is outside the vocabulary of ", size());
        const auto i = static_cast<std::size_t>(id);
        if (!skip_special_tokens || !pipeline_->special[i])
            all.push_back(pipeline_->tokens[i]);
    }
    return all;
}

std::string PretrainedTokenizer::decode(const Ids& ids, const DecodeOptions& options) const {
    std::string text = pipeline_->decoder(tokens(ids, options.skip_special_tokens), options.invalid);
    const bool clean = options.clean_up_tokenization_spaces.value_or(clean_up_) && !pipeline_->is_bpe;
    return clean ? pretrained::clean_up(std::move(text)) : text;
}

int64_t PretrainedTokenizer::size() const { return std::ssize(pipeline_->tokens); }

std::optional<int32_t> PretrainedTokenizer::id(std::string_view token) const {
    if (const pretrained::AddedToken* added = pipeline_->added.find(token))
        return added->id;
    const auto place = std::find(pipeline_->tokens.begin(), pipeline_->tokens.end(), token);
    return place == pipeline_->tokens.end()
               ? std::nullopt
               : std::optional(static_cast<int32_t>(place - pipeline_->tokens.begin()));
}

std::optional<int32_t> PretrainedTokenizer::special(std::string_view name) const {
    const auto token = named_.find(name);
    return token == named_.end() ? std::nullopt : std::optional(token->second);
}

// The text behind what is written. Of the ids before, some stay: whether a word begins with a space depends
// on them.
std::string PretrainedTokenizer::Stream::waiting() const {
    const auto text = [&](std::size_t n) {
        const Ids first(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(n));
        return tokenizer_.pipeline_->decoder(tokenizer_.tokens(first, skip_special_tokens_),
                                             InvalidUtf8::keep);
    };
    return text(ids_.size()).substr(text(written_).size());
}

std::string PretrainedTokenizer::Stream::add(int32_t id) {
    tokenizer_.tokens({id}, skip_special_tokens_);  // throws for an id out of range, before anything changes
    ids_.push_back(id);
    std::string text = waiting();
    if (text.empty() || pretrained::unfinished(text) > 0)
        return "";
    ids_.erase(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(written_));
    written_ = ids_.size();
    return pretrained::replace_invalid_runs(text);
}

std::string PretrainedTokenizer::Stream::finish() {
    const std::string text = waiting();
    ids_.clear();
    written_ = 0;
    return pretrained::replace_invalid_runs(text);
}

}  // namespace plaingrad::models::text
