#include "models/filler.h"

#include <algorithm>

#include "models/decoding/decoding.h"
#include "models/saved.h"

namespace plaingrad::models {

Filler Filler::load(const std::string& path, const OpenOptions& options) {
    const SavedModel saved(path);
    Filler f = {load_model<MaskedLanguageModel>(saved, options), saved.tokenizer()};
    f.mask = f.tokenizer.named("mask_token").value_or("[MASK]");
    const std::optional<int32_t> id = f.tokenizer.id(f.mask);
    nn::checkpoint::check_file(id.has_value(), path, ": the tokenizer has no mask_token");
    f.mask_id = *id;
    f.notes = saved.config.notes;
    return f;
}

text::Encoding Filler::encode(const std::string& text, const std::string& where) const {
    auto read = tokenizer.encode_texts({text}, {.max_length = model.config.max_length});
    check(std::count(read.ids.begin(), read.ids.end(), mask_id) > 0, where, ": there is no ", mask,
          read.cut ? autograd::join(" in the first ", read.ids.size(), " tokens; the model reads no more")
                   : " in this text");
    return read;
}

std::vector<std::vector<Filling>> Filler::operator()(const std::string& text, int64_t top) const {
    check(top >= 1, "[Filler] top must be at least 1: got ", top);
    const autograd::NoGrad no_grad;
    const std::vector<int32_t> ids = encode(text).ids;
    std::vector<int32_t> masks;
    for (int32_t t = 0; t < std::ssize(ids); ++t)
        if (ids[static_cast<std::size_t>(t)] == mask_id)
            masks.push_back(t);
    const Tensor p =
        autograd::softmax(model.logits_at(Tokens(1, std::ssize(ids), ids), masks, Mode::eval()));  // (n, V)
    std::vector<std::vector<Filling>> all(masks.size());
    for (std::size_t i = 0; i < masks.size(); ++i) {
        const Real* const row = p.data() + static_cast<int64_t>(i) * p.size(1);
        // An embedding may have more rows than there are tokens: those beyond stand for no text.
        for (const int32_t id : best_ids(row, tokenizer.size(), top, {}))
            all[i].push_back({tokenizer.decode({id}), static_cast<double>(row[id])});
    }
    return all;
}

std::string Filler::filled(const std::string& text, const std::vector<std::string>& words) const {
    std::string all;
    std::size_t done = 0;
    for (const std::string& word : words) {
        const std::size_t at = text.find(mask, done);
        check(at != text.npos, "[Filler] the text has fewer masks than there are words");
        all.append(text, done, at - done);
        const bool joins = word.size() > 2 && word.starts_with("##");
        if (joins)
            all.resize(all.find_last_not_of(' ') + 1);
        all.append(word, joins ? 2 : 0);
        done = at + mask.size();
    }
    return all.append(text, done);
}

}  // namespace plaingrad::models
