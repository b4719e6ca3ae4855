#include "apps/programs/fill/new.h"

#include <algorithm>

#include "apps/kit/pipe.h"
#include "apps/kit/program.h"
#include "models/presets.h"
#include "models/text/lines.h"
#include "models/text/merges.h"
#include "models/text/pretrained/normalizer.h"
#include "models/text/pretrained/pre_tokenizer.h"
#include "nn/checkpoint/json.h"
#include "nn/utf8.h"

namespace plaingrad::fill {

namespace pretrained = models::text::pretrained;
using models::text::Merges;

static const std::vector<std::string> kSpecials = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};

void add_new_options(kit::Options& options, kit::NewModel& s) {
    options.rest("FOLDER FILE...", "where to write it; texts to learn the tokens from", s.words,
                 {.least = 2});
    kit::add_new_options(options, s, "five special ones, characters, and parts of words", 6);
}

namespace {

models::text::WordCounts words_of(const std::string& text) {
    const pretrained::Normalizer normalize = {{pretrained::BertNormalizer{}}};
    const pretrained::PreTokenizer cut = {{pretrained::BertWords{}}};
    models::text::WordCounts counts;
    cut(normalize(text), true, [&](std::string_view word) { counts.add(word); });
    return counts;
}

// A word's characters, all but the first with ## before them.
std::vector<models::text::Symbol> symbols_of(std::string_view word, models::text::Vocabulary& all) {
    std::vector<models::text::Symbol> symbols;
    while (!word.empty()) {
        const std::size_t bytes = nn::first_code_point(word).length;
        const std::string character(word.substr(0, bytes));
        symbols.push_back({all.add(symbols.empty() ? character : "##" + character), bytes});
        word.remove_prefix(bytes);
    }
    return symbols;
}

// Adds the text's words, and their characters as symbols: at most `most` of them, the most frequent ones;
// words that have another are left out. Returns how many characters are.
int64_t add_words(const std::string& text, int64_t most, models::text::Vocabulary& kept,
                  std::vector<Merges::Word>& words) {
    const models::text::WordCounts counts = words_of(text);
    models::text::Vocabulary all;
    std::vector<int64_t> often, order;
    for (int64_t i = 0; i < counts.size(); ++i) {
        words.push_back({symbols_of(counts.word(i), all), counts.count(i)});
        often.resize(static_cast<std::size_t>(all.size()));
        for (const models::text::Symbol& symbol : words.back().symbols)
            often[static_cast<std::size_t>(symbol.id)] += words.back().count;
    }
    for (int64_t id = models::text::kFirstFreeId; id < all.size(); ++id)
        order.push_back(id);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        return often[static_cast<std::size_t>(a)] > often[static_cast<std::size_t>(b)];
    });
    const int64_t left_out = std::max<int64_t>(0, std::ssize(order) - most);
    order.resize(order.size() - static_cast<std::size_t>(left_out));
    std::sort(order.begin(), order.end());
    for (const int64_t id : order)
        kept.add(all.word(static_cast<int32_t>(id)));
    std::erase_if(words, [&](Merges::Word& word) {
        for (models::text::Symbol& symbol : word.symbols)
            if ((symbol.id = kept.id(all.word(symbol.id))) == models::text::kUnk)
                return true;
        return false;
    });
    return left_out;
}

}  // namespace

Pieces learn_pieces(const std::string& text, int64_t count) {
    Merges merges;
    std::vector<Merges::Word> words;
    const int64_t reserved = models::text::kFirstFreeId, most = count - std::ssize(kSpecials);
    Pieces all = {kSpecials, add_words(text, most, merges.symbols, words)};
    merges.learn(std::move(words), most - (merges.symbols.size() - reserved), 2);
    for (int64_t id = reserved; id < merges.symbols.size(); ++id) {
        std::string piece = merges.symbols.word(static_cast<int32_t>(id));
        // Joined, "lig" and "##ht" are "lig##ht". The mark # is a word of its own: it is in no other.
        for (std::size_t at = 0; (at = piece.find("##", at + 1)) != piece.npos;)
            piece.erase(at, 2);
        all.pieces.push_back(std::move(piece));
    }
    return all;
}

// As BertTokenizer in transformers reads it.
static void save_tokenizer(const std::vector<std::string>& pieces, const kit::NewModel& s) {
    std::string lines, special;
    for (const std::string& piece : pieces)
        lines += piece + '\n';
    for (const std::string& token : kSpecials) {
        std::string name = token.substr(1, token.size() - 2);
        std::transform(name.begin(), name.end(), name.begin(),
                       [](char c) { return static_cast<char>(c - 'A' + 'a'); });
        special += autograd::join(",\n  ", nn::checkpoint::quote(name + "_token"), ": ",
                                  nn::checkpoint::quote(token));
    }
    nn::checkpoint::replace_file(nn::checkpoint::in_folder(s.words[0], "vocab.txt"), {lines});
    nn::checkpoint::replace_file(
        nn::checkpoint::in_folder(s.words[0], "tokenizer_config.json"),
        {autograd::join("{\n  \"tokenizer_class\": \"BertTokenizer\",\n  \"do_lower_case\": true",
                        ",\n  \"model_max_length\": ", s.context, special, "\n}\n")});
}

void make_new(const kit::NewModel& s) {
    kit::check_usage(s.context >= 3, "--context ", s.context,
                     ": a text is between [CLS] and [SEP], so the least is 3");
    models::StackConfig c = models::bert();
    kit::set_sizes(c, s);
    int64_t replaced = 0;
    const std::string text = models::text::replace_invalid_utf8(kit::begin_new(s, c), replaced);
    kit::report_replaced(s.words.size() == 2 ? s.words[1] : "the files", replaced);
    const auto [pieces, left_out] = learn_pieces(text, s.vocabulary);
    if (left_out > 0)
        kit::say(autograd::join(kit::name(), ": words with one of the ", left_out,
                                " rarest characters are read as [UNK]; a larger --vocabulary has them all"));
    c.vocabulary = std::ssize(pieces);
    c.specials = {.start = 2, .ends = {3}, .pad = 0, .never = {}};  // of kSpecials
    save_tokenizer(pieces, s);
    kit::write_new<models::MaskedLanguageModel>(s, c, models::hugging_face::Family::bert,
                                                models::hugging_face::Head::masked_language_model);
}

}  // namespace plaingrad::fill
