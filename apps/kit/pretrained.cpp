#include "apps/kit/pretrained.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <set>

#include "apps/kit/options.h"
#include "apps/kit/plan.h"
#include "apps/kit/program.h"
#include "autograd/base/check.h"
#include "nn/checkpoint/file.h"

namespace plaingrad::kit {

using autograd::check;
using autograd::join;

std::function<void(int64_t, int64_t)> opening(const std::string& path, int64_t bytes_each) {
    std::error_code none;
    check(!std::filesystem::is_symlink(path, none) || nn::checkpoint::exists(path), path,
          ": this is a link to something that is not there");
    check(nn::checkpoint::exists(path), path,
          ": there is no such folder or file; `make tiny` trains small models, in build/tiny");
    if (!models::is_of_others(path))
        return {};
    const models::SavedModel folder(path);
    std::set<std::string> dtypes;
    double bytes = 0;
    for (const nn::checkpoint::SafeTensors& file : folder.files)
        for (const nn::checkpoint::Entry& entry : file.entries()) {
            dtypes.insert(nn::checkpoint::name_of(entry.dtype));
            bytes += static_cast<double>(entry.end - entry.begin);
        }
    check_memory_to_open(static_cast<double>(bytes_each) * models::least_parameters(folder.config));
    say(join(as_line(path), ": ", models::hugging_face::architecture(folder.config), ", ",
             counted(std::ssize(folder.files), "file"), ", ", number(bytes / (1 << 20)), " MiB of ",
             models::listed({dtypes.begin(), dtypes.end()})));
    return loading(path);
}

void say_opened(const std::string& path, int64_t parameters, models::Precision precision,
                const std::vector<std::string>& notes) {
    announce(name(), parameters, precision);
    for (const std::string& note : notes)
        say(as_line(join(path, ": ", note)));
}

void check_fine_tuning(const Options& options, const std::vector<std::string>& words,
                       const models::RunSettings& run) {
    const bool fresh = run.resume.empty();
    check_usage(!fresh || words.size() >= 2, "an argument is missing: MODEL FILE...; ", options.as_called(),
                " --help shows more");
    check_usage(!fresh || run.check || !run.save.empty(),
                "--save FOLDER is missing: the trained model is written there");
}

void check_base(const models::RunFolder& folder, const std::string& path, const std::string& how) {
    check(!folder.resumes() || nn::checkpoint::exists(path), path,
          ": the model that this run began with is no longer there; with --resume ", folder.path, ' ', how,
          " it can be at another place");
}

void check_no_padding(const std::vector<int32_t>& ids, int32_t pad, const models::text::Tokenizer& tokenizer,
                      const std::string& where) {
    check(std::find(ids.begin(), ids.end(), pad) == ids.end(), where, ": no text to learn from may have ",
          tokenizer.decode({pad}), ", which fills up shorter texts; remove it");
}

void print_sizes(const std::string& path, const std::string& kind, const models::Config& c) {
    const models::BlockConfig& b = c.block;
    std::cout << path << ": " << kind << "\nlayers: " << c.n_layers << ", " << b.d_model
              << " wide, feed-forward " << b.d_ff << ", " << b.n_heads << " heads"
              << (b.n_kv_heads > 0 && b.n_kv_heads < b.n_heads ? join(", of keys and values ", b.n_kv_heads)
                                                               : "")
              << "; at most " << grouped(c.max_length) << " tokens\n";
}

std::string visible(const std::string& token) {
    std::string text;
    for (const char c : token)
        text += c == ' ' ? "␣" : c == '\n' ? "↵" : std::string(1, c);
    return text;
}

Labels token_names(const models::text::Tokenizer& tokenizer, int64_t vocabulary) {
    Labels names(static_cast<std::size_t>(vocabulary));
    for (int32_t id = 0; id < tokenizer.size(); ++id)
        names[static_cast<std::size_t>(id)] = visible(tokenizer.decode({id}));
    return names;
}

}  // namespace plaingrad::kit
