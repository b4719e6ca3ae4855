#include "models/text/tokenizer/added_tokens.h"

#include <algorithm>

#include "models/text/unicode.h"
#include "nn/utf8.h"

namespace plaingrad::models::text::tokenizer {
namespace {

// The last character of a text, which must not be empty.
nn::CodePoint last_code_point(std::string_view text) {
    std::size_t length = 1;
    while (length < std::min<std::size_t>(text.size(), 4) && (text[text.size() - length] & 0xc0) == 0x80)
        ++length;
    const nn::CodePoint last = nn::first_code_point(text.substr(text.size() - length));
    return last.length == length ? last : nn::CodePoint{U'\xfffd', 1};
}

bool is_single_word(std::string_view text, std::size_t begin, std::size_t end) {
    return (begin == 0 || !is_word_character(last_code_point(text.substr(0, begin)).code)) &&
           (end == text.size() || !is_word_character(nn::first_code_point(text.substr(end)).code));
}

std::size_t strip_left(std::string_view text, std::size_t begin) {
    while (begin > 0 && is_space(last_code_point(text.substr(0, begin)).code))
        begin -= last_code_point(text.substr(0, begin)).length;
    return begin;
}

std::size_t strip_right(std::string_view text, std::size_t end) {
    while (end < text.size() && is_space(nn::first_code_point(text.substr(end)).code))
        end += nn::first_code_point(text.substr(end)).length;
    return end;
}

}  // namespace

AddedToken AddedTokens::from(const Json& part) {
    AddedToken token;
    token.content = part["content"].nonempty_text();
    token.single_word = part["single_word"].boolean_or(false);
    token.lstrip = part["lstrip"].boolean_or(false);
    token.rstrip = part["rstrip"].boolean_or(false);
    token.special = part["special"].boolean_or(false);
    token.normalized = part["normalized"].boolean_or(!token.special);
    return token;
}

void AddedTokens::add(AddedToken token, const Normalizer& normalizer) {
    token.pattern = token.normalized ? normalizer(token.content) : token.content;
    tokens_.push_back(std::move(token));
    const std::string& pattern = tokens_.back().pattern;
    if (!pattern.empty())
        by_first_byte_[static_cast<unsigned char>(pattern[0])].emplace(pattern.size(), tokens_.size() - 1);
}

const AddedToken* AddedTokens::find(std::string_view content) const {
    const auto token = std::find_if(tokens_.begin(), tokens_.end(),
                                    [&](const AddedToken& t) { return t.content == content; });
    return token == tokens_.end() ? nullptr : &*token;
}

const AddedToken* AddedTokens::at_start(std::string_view text, bool normalized) const {
    for (const auto& [size, i] : by_first_byte_[static_cast<unsigned char>(text[0])])
        if (tokens_[i].normalized == normalized && text.starts_with(tokens_[i].pattern))
            return &tokens_[i];
    return nullptr;
}

void AddedTokens::cut(std::string_view text, bool normalized,
                      const std::function<void(std::string_view)>& between,
                      const std::function<void(int32_t)>& token) const {
    std::size_t done = 0;
    for (std::size_t at = 0; at < text.size();) {
        const AddedToken* found = at_start(text.substr(at), normalized);
        if (found == nullptr) {
            ++at;
            continue;
        }
        std::size_t begin = at, end = at += found->pattern.size();
        if (found->single_word && !is_single_word(text, begin, end))
            continue;
        begin = found->lstrip ? std::max(strip_left(text, begin), done) : begin;
        end = found->rstrip ? strip_right(text, end) : end;
        if (done < begin)
            between(text.substr(done, begin - done));
        token(found->id);
        done = end;
    }
    if (done < text.size())
        between(text.substr(done));
}

}  // namespace plaingrad::models::text::tokenizer
