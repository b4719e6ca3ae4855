#include "models/labeller.h"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "autograd/base/mapped.h"
#include "models/saved.h"
#include "models/text/batches.h"
#include "models/text/lines.h"

namespace plaingrad::models {

using nn::checkpoint::check_file;

static constexpr const char* kLabels = "classify.labels";  // in the metadata, one per line

static Labeller labeller_of_folder(const std::string& path, const Labeller::OnProgress& on_progress) {
    const hugging_face::Folder folder(path);
    Labeller l = {.model = load_hugging_face<Classifier>(folder, {.on_progress = on_progress}),
                  .labels = folder.config.labels};
    l.tokenizer = hugging_face::open_tokenizer(folder);
    l.notes = folder.notes;
    return l;
}

Labeller Labeller::load(const std::string& path, const OnProgress& on_progress) {
    if (std::error_code none; std::filesystem::exists(path + "/config.json", none))
        return labeller_of_folder(path, on_progress);
    const std::string file = model_file(path);
    Metadata metadata;
    Classifier model = load_model<Classifier>(file, &metadata);
    check_file(metadata.contains(kLabels) && metadata.contains("classify.words"), file,
               ": this classifier was not trained by classify: it has no words or no labels");
    const text::ReaderOptions options = {
        .max_words = model.config.stack.max_length / text::Reader::kIdsPerWord,
        .first = model.config.pooling == Pooling::first};
    text::Reader reader = text::Reader::from_metadata(metadata, options, file);
    std::vector<std::string> labels;
    std::istringstream lines(metadata[kLabels]);
    for (std::string line; std::getline(lines, line);)
        labels.push_back(line);
    check_file(options.max_words > 0 && reader.size() == model.config.stack.vocabulary &&
                   std::ssize(labels) == model.config.classes && std::is_sorted(labels.begin(), labels.end()),
               file, ": its words or labels do not fit its model; was the file changed?");
    return {std::move(model), std::move(reader), std::move(labels)};
}

Metadata Labeller::metadata() const {
    Metadata all = reader.metadata();
    for (const std::string& label : labels)
        all[kLabels] += label + '\n';
    return all;
}

std::vector<Label> Labeller::operator()(const std::string& text) const {
    const std::vector<double> p = probabilities({text})[0];
    std::vector<Label> all;
    for (std::size_t i = 0; i < p.size(); ++i)
        all.push_back({labels[i], p[i]});
    std::stable_sort(all.begin(), all.end(),
                     [](const Label& a, const Label& b) { return a.probability > b.probability; });
    return all;
}

Labeller::Encoding Labeller::encode(const std::string& text) const {
    if (!tokenizer)
        return {.ids = reader(text), .type_ids = {}, .cut = reader.cuts(text)};
    const std::size_t tab = pairs ? text.find('\t') : text.npos;
    check(!pairs || tab != text.npos, "[Labeller] there is no tab between the two texts of a pair");
    std::vector<std::string_view> parts = {std::string_view(text).substr(0, tab)};
    if (pairs)
        parts.push_back(std::string_view(text).substr(tab + 1));
    return tokenizer->encode_texts(parts, {.max_length = model.config.stack.max_length});
}

Tensor Labeller::logits(const std::vector<Encoding>& texts, const Mode& mode) const {
    const int32_t pad = texts.size() == 1 ? Tokens::kNoPadding : model.config.stack.specials.pad;
    const Tokens ids = Tokens::padded(autograd::mapped(texts, &Encoding::ids), pad);
    if (!tokenizer || model.config.stack.token_types == 0)
        return model(ids, mode);
    std::vector<int32_t> types;
    for (const Encoding& text : texts) {
        types.insert(types.end(), text.type_ids.begin(), text.type_ids.end());
        types.resize(types.size() + static_cast<std::size_t>(ids.length()) - text.ids.size());
    }
    return model(ids, mode, Tokens(ids.batch(), ids.length(), std::move(types)));
}

std::vector<std::vector<double>> Labeller::probabilities(const std::vector<std::string>& texts) const {
    const autograd::NoGrad no_grad;
    std::vector<Encoding> read;
    std::vector<text::PairLength> lengths;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        check(text::has_text(texts[i]), "[Labeller] text ", i, " has no words; leave it out");
        read.push_back(encode(texts[i]));
        lengths.push_back({.source = std::ssize(read[i].ids)});
    }
    std::vector<std::vector<double>> all(texts.size());
    const auto add = [&](const std::vector<int64_t>& batch) {
        const Tensor p = autograd::softmax(
            logits(autograd::mapped(batch, [&](int64_t i) { return read[static_cast<std::size_t>(i)]; }),
                   Mode::eval()));  // (B, classes)
        const Real* row = p.data();
        for (const int64_t i : batch) {
            all[static_cast<std::size_t>(i)].assign(row, row + labels.size());
            row += labels.size();
        }
    };
    // A text may name the token that pads, and among others that could not be told from padding.
    const int32_t pad = model.config.stack.specials.pad;
    const auto pads = [&](int64_t i) {
        const std::vector<int32_t>& ids = read[static_cast<std::size_t>(i)].ids;
        return std::find(ids.begin(), ids.end(), pad) != ids.end();
    };
    const int64_t at_once = std::max<int64_t>(4096, model.config.stack.max_length);
    for (const auto& batch : text::make_batches(lengths, {.batch_tokens = at_once, .shuffle = false})) {
        if (pad != Tokens::kNoPadding && std::none_of(batch.begin(), batch.end(), pads))
            add(batch);
        else
            for (const int64_t i : batch)
                add({i});
    }
    return all;
}

}  // namespace plaingrad::models
