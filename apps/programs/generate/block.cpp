#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "apps/programs/generate/generate.h"
#include "autograd/base/list.h"
#include "autograd/base/text_stream.h"
#include "models/presets.h"

namespace plaingrad::generate {

using models::BlockConfig;
using models::Config;

namespace {

constexpr const char* kModern = "2017+pre-norm+rms-norm+rotary+swiglu+grouped+no-bias";

struct Change {
    std::string name;
    void (*apply)(Config& config);
};

const std::array<Change, 7> kChanges = {{
    // The stream has a path without norms; what leaves it needs one (Xiong et al. 2020).
    {"pre-norm", [](Config& c) { c.block.norm = models::NormPlacement::pre, c.final_norm = true; }},
    {"rms-norm", [](Config& c) { c.block.norm_kind = nn::NormKind::rms; }},
    {"rotary", [](Config& c) { c.block.positions = nn::Positions::rotary; }},
    // After swiglu it is the gate's activation: GeGLU.
    {"gelu", [](Config& c) { c.block.activation = nn::Activation::gelu; }},
    {"swiglu", [](Config& c) { c.block.activation = nn::Activation::silu, c.block.gated = true; }},
    // Four heads share their keys and values, as in Llama 3; or two, if the number of heads allows no more.
    {"grouped", [](Config& c) { c.block.n_kv_heads = c.block.n_heads / std::gcd(c.block.n_heads, 4); }},
    {"no-bias",
     [](Config& c) {
         BlockConfig& b = c.block;
         b.attention_bias = b.feed_forward_bias = b.norm_bias = b.output_bias = false;
     }},
}};

std::vector<std::string> names() { return autograd::mapped(kChanges, &Change::name); }

// An attention has 4 matrices of d_model · d_model numbers, and fewer if heads share keys and values; with a
// feed-forward's two matrices, or three if it is gated, that makes as many as the paper's 12. A multiple of
// 8, because an odd width is slower.
int64_t equal_d_ff(const BlockConfig& b) {
    const double shared = static_cast<double>(b.n_kv_heads) / static_cast<double>(b.n_heads);
    const double left = 12 - (b.n_kv_heads > 0 ? 2 + 2 * shared : 4);
    return 8 * std::max(1L, std::lround(left / (b.gated ? 3 : 2) * static_cast<double>(b.d_model) / 8));
}

}  // namespace

std::string config_help() {
    return "how layers are built: 2017, gpt2, modern, or one of them and changes, as in 2017+rotary; these "
           "are " +
           models::listed(names());
}

Config named_config(const std::string& name, int64_t d_model, int64_t heads) {
    const bool modern = name == "modern" || name.starts_with("modern+");
    autograd::TextInput parts((modern ? kModern + name.substr(6) : name) + '+');
    std::string part;
    std::getline(parts, part, '+');
    kit::check_usage(part == "2017" || part == "gpt2", "--config must begin with 2017, gpt2 or modern: got '",
                     name, "'");
    Config config = part == "gpt2" ? models::gpt2() : models::preset("paper").as(models::Kind::causal);
    config.block.d_model = d_model;
    config.block.n_heads = heads;
    config.block.d_ff = 4 * d_model;
    while (std::getline(parts, part, '+')) {
        const auto change = std::find_if(std::begin(kChanges), std::end(kChanges),
                                         [&](const Change& c) { return c.name == part; });
        kit::check_usage(change != std::end(kChanges), "--config ", name, ": there is no change '", part, "'",
                         kit::suggestion(part, names()), " there are ", models::listed(names()));
        change->apply(config);
    }
    if (config.block.gated || config.block.n_kv_heads > 0)
        config.block.d_ff = equal_d_ff(config.block);
    kit::check_usage(config.block.positions != nn::Positions::rotary || d_model / heads % 2 == 0, "--config ",
                     name,
                     ": rotary positions turn pairs of numbers, so --d-model / --heads must be even: got ",
                     d_model, " / ", heads);
    return config;
}

}  // namespace plaingrad::generate
