#include "models/labeller.h"

#include <algorithm>
#include <sstream>

#include "models/saved.h"
#include "models/text/lines.h"

namespace plaingrad::models {

using nn::checkpoint::check_file;

static constexpr const char* kLabels = "classify.labels";  // in the metadata, one per line

Labeller Labeller::load(const std::string& path) {
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

std::vector<std::vector<double>> Labeller::probabilities(const std::vector<std::string>& texts) const {
    const autograd::NoGrad no_grad;
    constexpr std::size_t kAtOnce = 64;
    std::vector<std::vector<double>> all;
    for (std::size_t first = 0; first < texts.size(); first += kAtOnce) {
        std::vector<std::vector<int32_t>> ids;
        for (std::size_t i = first; i < std::min(first + kAtOnce, texts.size()); ++i) {
            check(text::has_text(texts[i]), "[Labeller] text ", i, " has no words; leave it out");
            ids.push_back(reader(texts[i]));
        }
        const Tensor logits = model(Tokens::padded(ids, model.config.stack.specials.pad), Mode::eval());
        const Tensor p = autograd::softmax(logits);  // (B, classes)
        for (const Real* row = p.data(); row != p.data() + p.numel(); row += labels.size())
            all.emplace_back(row, row + labels.size());
    }
    return all;
}

}  // namespace plaingrad::models
