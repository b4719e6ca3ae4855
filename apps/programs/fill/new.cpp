#include "apps/programs/fill/new.h"

#include "apps/kit/program.h"
#include "apps/kit/prompt.h"
#include "models/presets.h"
#include "models/text/learn_tokenizer.h"

namespace plaingrad::fill {

void add_new_options(kit::Options& options, kit::NewModel& s) {
    options.rest("FOLDER FILE...", "where to write it; texts to learn the tokens from", s.words,
                 {.least = 2});
    kit::add_new_options(options, s, "five special ones, characters, and parts of words", 6);
}

void make_new(const kit::NewModel& s) {
    kit::check_usage(s.context >= 3, "--context ", s.context,
                     ": a text is between [CLS] and [SEP], so the least is 3");
    models::Config c = models::bert();
    kit::set_sizes(c, s);
    int64_t replaced = 0;
    const std::string text = models::text::replace_invalid_utf8(kit::begin_new(s, c), replaced);
    kit::report_replaced(s.words.size() == 2 ? s.words[1] : "the files", replaced);
    int64_t left_out = 0;
    const auto tokenizer = models::text::learn_word_piece(text, s.vocabulary, &left_out);
    if (left_out > 0)
        kit::say(autograd::join(kit::name(), ": words with one of the ", left_out,
                                " rarest characters are read as [UNK]; a larger --vocabulary has them all"));
    c.vocabulary = tokenizer.size();
    c.specials = {.start = *tokenizer.id("[CLS]"),
                  .ends = {*tokenizer.id("[SEP]")},
                  .pad = *tokenizer.id("[PAD]"),
                  .never = {}};
    tokenizer.save(s.words[0]);
    models::text::save_tokenizer_config(s.words[0], "BertTokenizer", s.context,
                                        {{"pad_token", "[PAD]"},
                                         {"unk_token", "[UNK]"},
                                         {"cls_token", "[CLS]"},
                                         {"sep_token", "[SEP]"},
                                         {"mask_token", "[MASK]"}});
    kit::write_new<models::MaskedLanguageModel>(s, c, models::hugging_face::Family::bert);
}

}  // namespace plaingrad::fill
