#include "models/text/tokenizer/model.h"

#include <algorithm>
#include <queue>

#include "models/text/specials.h"
#include "models/text/unicode.h"

namespace plaingrad::models::text::tokenizer {

void PairTable::set(int32_t left, int32_t right, Merge merge) {
    if (2 * size_ >= slots_.size()) {
        std::vector<Slot> old(2 * slots_.size());
        old.swap(slots_);
        size_ = 0;
        for (const Slot& slot : old)
            if (slot.key != kEmpty)
                set(static_cast<int32_t>(slot.key >> 32), static_cast<int32_t>(slot.key), slot.merge);
    }
    std::size_t at = place(key(left, right));
    while (slots_[at].key != key(left, right) && slots_[at].key != kEmpty)
        at = (at + 1) & mask();
    size_ += slots_[at].key == kEmpty ? 1 : 0;
    slots_[at] = {key(left, right), merge};
}

// Most words are short: then looking at all pairs is faster than keeping them in order.
void PairTable::apply(Ids& word, Dropout& dropout) const {
    if (size_ == 0)
        return;
    constexpr std::size_t kShort = 32;
    if (word.size() > kShort && dropout.p == 0)
        return apply_to_long(word);
    Ids ranks;  // ranks[i] is that of symbols i and i + 1
    while (true) {
        ranks.clear();
        for (std::size_t i = 1; i < word.size(); ++i) {
            const int32_t rank = find(word[i - 1], word[i]).rank;
            ranks.push_back(rank == kNone || dropout() ? kNone : rank);
        }
        const auto first = std::min_element(ranks.begin(), ranks.end());
        if (first == ranks.end() || *first == kNone)
            return;
        std::size_t size = static_cast<std::size_t>(first - ranks.begin());
        const Merge merge = find(word[size], word[size + 1]);
        for (std::size_t i = size; i < word.size(); ++i) {  // of two overlapping places the first one counts
            const bool here = i < ranks.size() && ranks[i] == merge.rank && (size == i || dropout.p > 0);
            word[size++] = here ? merge.merged : word[i];
            i += here ? 1 : 0;
        }
        word.resize(size);
    }
}

// A word of n symbols in n log n steps: all pairs wait in a queue, those that no longer exist too.
void PairTable::apply_to_long(Ids& word) const {
    struct Place {
        int32_t rank, left, right;
        std::size_t at;
        bool operator<(const Place& other) const {  // the queue's top is the greatest
            return rank != other.rank ? rank > other.rank : at > other.at;
        }
    };
    constexpr int32_t kGone = -1;
    std::vector<std::size_t> before(word.size()), after(word.size());
    std::priority_queue<Place> queue;
    const auto look = [&](std::size_t at) {
        const int32_t left = word[at], right = word[after[at]];
        if (const Merge merge = find(left, right); merge.rank != kNone)
            queue.push({merge.rank, left, right, at});
    };
    for (std::size_t i = 0; i < word.size(); ++i) {
        before[i] = i - 1;  // of the first one a number beyond the end
        after[i] = i + 1;
    }
    for (std::size_t i = 0; i + 1 < word.size(); ++i)
        look(i);
    while (!queue.empty()) {
        const auto [rank, left, right, at] = queue.top();
        queue.pop();
        const std::size_t next = after[at];
        if (word[at] != left || next >= word.size() || word[next] != right)
            continue;
        word[at] = find(left, right).merged;
        word[next] = kGone;
        after[at] = after[next];
        if (after[at] < word.size()) {
            before[after[at]] = at;
            look(at);
        }
        if (before[at] < word.size())
            look(before[at]);
    }
    std::erase(word, kGone);
}

ByteAlphabet::ByteAlphabet() {
    char32_t other = 0x100;
    for (const bool shown : {true, false})
        for (std::size_t byte = 0; byte < 256; ++byte)
            if (shown == ((byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte != 0xad))) {
                nn::checkpoint::append_utf8(character[byte], shown ? static_cast<char32_t>(byte) : other++);
                order.push_back(static_cast<char>(byte));
            }
}

std::string ByteAlphabet::write(std::string_view bytes) const {
    std::string text;
    for (const char byte : bytes)
        text.append(character[static_cast<unsigned char>(byte)]);
    return text;
}

std::optional<std::string> ByteAlphabet::read(std::string_view text) const {
    std::string bytes;
    for (const auto& [code, written] : Characters(text)) {
        // Of the 68 bytes that are not printable, U+0100 is the first.
        const char byte = code < 0x100   ? static_cast<char>(code)
                          : code < 0x144 ? order[188 + code - 0x100]
                                         : '\0';
        if (character[static_cast<unsigned char>(byte)] != written)
            return std::nullopt;
        bytes.push_back(byte);
    }
    return bytes;
}

const ByteAlphabet& byte_alphabet() {
    static const ByteAlphabet alphabet;
    return alphabet;
}

// How a byte is written as a piece of its own: <0x0A>.
static std::string byte_piece(std::size_t byte) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    return std::string("<0x") + digits[byte / 16] + digits[byte % 16] + ">";
}

std::optional<Bpe::Rule> Bpe::rule(std::string_view text) {
    const std::size_t space = text.find(' ');
    if (space == text.npos || text.find(' ', space + 1) != text.npos)
        return std::nullopt;
    return Rule(text.substr(0, space), text.substr(space + 1));
}

Bpe::Bpe(std::shared_ptr<Vocabulary> pieces, int32_t unk, BpeOptions options, const Rules& rules,
         const std::string& where)
    : pieces_(std::move(pieces)),
      unk_(unk),
      size_(static_cast<int32_t>(pieces_->size())),
      options_(std::move(options)) {
    if (options_.splits_again)
        pieces_->hide(kFirstFreeId);
    for (std::size_t byte = 0; byte < 256; ++byte)
        bytes_[byte] = pieces_->id(options_.byte_level ? byte_alphabet().character[byte] : byte_piece(byte));
    for (int32_t rank = 0; rank < std::ssize(rules); ++rank)
        add_rule(rules[static_cast<std::size_t>(rank)], rank, where);
}

void Bpe::add_rule(const Rule& rule, int32_t rank, const std::string& where) {
    const auto& [left, right] = rule;
    const std::string merged = std::string(left).append(right);
    for (const std::string_view piece : {left, right, std::string_view(merged)}) {
        if (pieces_->id(piece) != Vocabulary::kNone)
            continue;
        if (!options_.splits_again)
            throw nn::checkpoint::FileError(autograd::join(where, ": merges[", rank, "] is ", shown(left),
                                                           " and ", shown(right), ", but ", shown(piece),
                                                           " is not in the vocabulary"));
        pieces_->add(piece, size_ + std::ssize(made_of_));
        made_of_.emplace_back(Vocabulary::kNone, Vocabulary::kNone);
    }
    const int32_t l = pieces_->id(left), r = pieces_->id(right), m = pieces_->id(merged);
    if (m >= size_ && made_of_[static_cast<std::size_t>(m - size_)].first == Vocabulary::kNone)
        made_of_[static_cast<std::size_t>(m - size_)] = {l, r};
    if (!options_.splits_again || pairs_.find(l, r).rank == PairTable::kNone)
        pairs_.set(l, r, {rank, m});
}

void Bpe::append(std::string_view word, Ids& ids, Dropout& dropout) const {
    if (options_.ignore_merges) {
        const int32_t whole =
            pieces_->id(options_.byte_level ? byte_alphabet().write(word) : std::string(word));
        if (whole != Vocabulary::kNone)
            return ids.push_back(whole);
    }
    Ids all = symbols(word);
    pairs_.apply(all, dropout);
    for (const int32_t symbol : all)
        append_known(symbol, ids);
}

void Bpe::append_known(int32_t symbol, Ids& ids) const {
    if (symbol < size_)
        return ids.push_back(symbol);
    const auto [left, right] = made_of_[static_cast<std::size_t>(symbol - size_)];
    if (left != Vocabulary::kNone) {
        append_known(left, ids);
        append_known(right, ids);
    } else if (unk_ != Vocabulary::kNone) {
        ids.push_back(unk_);  // a character
    }
}

Ids Bpe::symbols(std::string_view word) const {
    Ids ids;
    ids.reserve(word.size());
    bool unknown_waits = false;  // it is written before the next character that has a piece
    while (!word.empty()) {
        const std::size_t length = options_.byte_level ? 1 : nn::checkpoint::first_code_point(word).length;
        const std::string_view character = word.substr(0, length);
        const int32_t id = options_.byte_level ? bytes_[static_cast<unsigned char>(word[0])]
                           : word.size() == length && !options_.end_of_word.empty()
                               ? pieces_->id(std::string(character).append(options_.end_of_word))
                               : pieces_->id(character);
        word.remove_prefix(length);
        if (id == Vocabulary::kNone) {
            append_unknown(character, unknown_waits, ids);
            continue;
        }
        if (std::exchange(unknown_waits, false))
            ids.push_back(unk_);
        ids.push_back(id);
    }
    if (unknown_waits)
        ids.push_back(unk_);
    return ids;
}

void Bpe::append_unknown(std::string_view character, bool& waits, Ids& ids) const {
    const auto id_of = [&](char byte) { return bytes_[static_cast<unsigned char>(byte)]; };
    const bool as_bytes = options_.byte_fallback && !options_.byte_level &&
                          std::all_of(character.begin(), character.end(),
                                      [&](char byte) { return id_of(byte) != Vocabulary::kNone; });
    if (as_bytes)
        std::transform(character.begin(), character.end(), std::back_inserter(ids), id_of);
    else if (unk_ != Vocabulary::kNone && std::exchange(waits, true) && !options_.fuse_unk)
        ids.push_back(unk_);
}

}  // namespace plaingrad::models::text::tokenizer
