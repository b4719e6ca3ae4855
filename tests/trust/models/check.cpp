#include "tests/trust/models/check.h"

#include <cmath>

#include "autograd/base/parallel.h"
#include "autograd/kernels/kernels.h"
#include "autograd/plain.h"
#include "autograd/storage.h"
#include "models/saved.h"
#include "tests/draw_config.h"
#include "tests/models/steppers.h"
#include "tests/nn/in_parts.h"

namespace plaingrad::trust {

using namespace tests;  // NOLINT

namespace {

using autograd::join;
using autograd::Rng;

constexpr std::size_t kCount = std::size(kModelKinds);

template <class Model>
class Check {
public:
    Check(uint64_t seed, const std::string& folder)
        : seed_(seed),
          folder_(folder),
          file_(folder + "/model.safetensors"),
          dice_(Rng(seed).fork("model")),
          config_(draw_config(dice_, Model::kKind)),
          stirred_(dice_.chance(0.5)),
          steps_(2 + dice_.below(3)) {}

    std::string describe() const {
        std::string text =
            join(kModelKinds[seed_ % kCount], stirred_ ? ", stirred" : "", ", ", steps_, " steps\n");
        for (const auto& [name, value] : models::hugging_face::fields_of(config_))
            text += "    " + name + " = " + value + '\n';
        return text;
    }

    ModelFindings check() {
        const char* const* sets = autograd::kernels::available();
        uint64_t n_sets = 0;
        while (sets[n_sets] != nullptr)
            ++n_sets;
        use(sets[0], 1);
        const Model model = fresh();
        ModelFindings found;
        compare_plain(model, found);
        const std::vector<Real> trained = train_whole(model);
        const std::string written = write(model);
        found.wrong["padding"] = compare_padding(model);
        found.wrong["resumed"] = compare_resumed(trained);
        for (uint64_t i = 0; i < n_sets && found.wrong["machines"].empty(); ++i) {
            const int threads = 1 + static_cast<int>((seed_ / kCount + 3 * i) % 8);
            use(sets[i], threads);
            const Model other = fresh();
            if (!same(train_whole(other), trained))
                found.wrong["machines"] = join("other weights with ", sets[i], ", ", threads, " threads");
            else if (write(other) != written)
                found.wrong["machines"] = join("decodes otherwise with ", sets[i], ", ", threads, " threads");
        }
        use(sets[0], 1);
        found.decodes = kDecodes;
        if (kDecodes && write(model, false) != written)
            found.wrong["decoding"] = "without the cache it writes something else";
        return found;
    }

private:
    static void use(const char* set, int threads) {
        autograd::kernels::use(set);
        autograd::set_thread_count(threads);
    }

    static bool same(const std::vector<Real>& a, const std::vector<Real>& b) { return same_bits(a, b); }

    Model fresh() const {
        Model model(config_, Rng(seed_));
        if (stirred_)
            stir(model, seed_);
        return model;
    }

    auto step_loss(const Model& model) const {
        return [&](const nn::StepPart& at, const nn::Mode& mode) {
            const Sentences s = draw_batch(model, seed_, static_cast<uint64_t>(at.step + 10000 * at.batch));
            Example e = example_of(model, s, mode.rng);
            e.types = types_for(e.ids, model.config.token_types);
            const Real smoothing = seed_ % 3 == 0 ? Real(0.125) : Real(0);
            return nn::StepLoss{
                loss_of(model, e, mode, {.ignore = models::kPad, .label_smoothing = smoothing}),
                std::ssize(s)};
        };
    }

    // Up to this step. Of every other model each step has two batches.
    std::vector<double> train(const Model& model, nn::Training& training, int64_t end) const {
        std::vector<double> losses;
        while (training.adam.steps() < end) {
            const int64_t step = training.adam.steps() + 1;
            const nn::StepGradient now =
                backward(InParts{training.adam.parameters()}, step,
                         Rng(seed_).fork("dropout").fork(static_cast<uint64_t>(step)), step_loss(model),
                         1 + static_cast<int64_t>(seed_ / kCount % 2));
            training.adam.step(2e-3 / static_cast<double>(step), now.scale * nn::clip_scale(now.norm, 1));
            losses.push_back(now.loss);
        }
        return losses;
    }

    // The losses, the weights, and the optimizer's averages.
    static std::vector<Real> state(const nn::Training& training, const std::vector<double>& losses) {
        std::vector<Real> all(losses.begin(), losses.end());
        for (const auto& list : {training.adam.parameters(), training.adam.state()})
            for (const nn::NamedParameter& p : list)
                all.insert(all.end(), p.tensor.data(), p.tensor.data() + p.tensor.numel());
        return all;
    }

    nn::AdamOptions adam() const {
        return {.beta2 = 0.98,
                .eps = 1e-9,
                .weight_decay = seed_ % 3 == 0 ? 0.01 : 0,
                .decoupled = seed_ % 2 == 0};
    }

    // Of every other model one parameter of several is frozen up to the step after which a run is stopped.
    // Its number of steps then differs from the others'.
    void freeze(const Model& model, bool frozen) const {
        const std::vector<nn::NamedParameter> parameters = nn::parameters(model);
        if (seed_ / kCount % 2 == 0 && parameters.size() > 1)
            Tensor(parameters[seed_ % parameters.size()].tensor).require_grad(!frozen);
    }

    int64_t stop() const { return 1 + static_cast<int64_t>(seed_ / 7) % (steps_ - 1); }

    std::vector<double> train_to_stop(const Model& model, nn::Training& training) const {
        freeze(model, true);
        std::vector<double> losses = train(model, training, stop());
        freeze(model, false);
        return losses;
    }

    std::vector<Real> train_to_end(const Model& model, nn::Training& training,
                                   std::vector<double> losses) const {
        const std::vector<double> rest = train(model, training, steps_);
        losses.insert(losses.end(), rest.begin(), rest.end());
        return state(training, losses);
    }

    std::vector<Real> train_whole(const Model& model) const {
        nn::Training training(nn::parameters(model), adam());
        const std::vector<double> losses = train_to_stop(model, training);
        return train_to_end(model, training, losses);
    }

    // Stops, saves, forgets everything, loads, goes on.
    std::string compare_resumed(const std::vector<Real>& trained) const {
        std::vector<double> losses;
        {
            const Model model = fresh();
            nn::Training training(nn::parameters(model), adam());
            losses = train_to_stop(model, training);
            models::save(folder_, model);
            models::save_checkpoint(file_, models::state_dict(model), {}, &training);
        }
        const Model model = models::load_model<Model>(file_, {.rng = Rng(seed_)});
        nn::Training training(nn::parameters(model), adam());
        models::load_training(file_, training);
        return same(train_to_end(model, training, losses), trained) ? "" : join("after step ", stop());
    }

    std::string compare_padding(const Model& model) const {
        std::string wrong;
        for (uint64_t i = 0; i < 4 && wrong.empty(); ++i) {
            const Sentences s = draw_batch(model, seed_, 2000 + i);
            const int64_t longest = padded(s).length(), most = model.config.max_length;
            wrong = changed_by_padding(model, s, std::max(longest, most - static_cast<int64_t>(seed_ % 11)));
        }
        return wrong;
    }

    static constexpr bool kDecodes =
        std::is_same_v<Model, models::Transformer> || std::is_same_v<Model, models::LanguageModel>;

    static std::string bytes_of(const std::vector<Real>& x) {
        return {reinterpret_cast<const char*>(x.data()), x.size() * sizeof(Real)};
    }

    // What it writes, in words; of a model that writes none, the logits of a batch.
    std::string write(const Model& model, bool cached = true) const {
        Sentences s = draw_batch(model, seed_, 1000);
        if constexpr (!kDecodes)
            return bytes_of(answers(model, s).to_vector());
        else if constexpr (Model::kKind == models::Kind::causal)  // prompts have one length
            for (Ids& ids : s)
                ids.resize(std::min(s[0].size(), static_cast<std::size_t>(config_.max_length - 8)),
                           models::kFirstFreeId);
        if constexpr (kDecodes)
            return decoded(model, s, seed_, cached);
    }

    using Gradients = std::vector<std::vector<Real>>;
    // Of the loss times a factor, over that factor.
    Gradients gradients(const Model& model, bool plain, Real factor = 1) const {
        const auto guard = plain ? std::make_unique<autograd::Plain>() : nullptr;
        const std::vector<nn::NamedParameter> parameters = nn::parameters(model);
        nn::zero_grad(parameters);
        (step_loss(model)({}, nn::Mode::train(Rng(seed_).fork("gradient"))).loss * factor).backward();
        Gradients all;
        for (const nn::NamedParameter& p : parameters)
            all.push_back(p.tensor.has_grad() ? (p.tensor.grad() / factor).to_vector() : std::vector<Real>());
        nn::zero_grad(parameters);
        return all;
    }

    static double distance(const std::vector<Real>& a, const std::vector<Real>& b) {
        double most = a.size() == b.size() ? 0 : HUGE_VAL;
        for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
            const double d = std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
            most = d <= most ? most : std::isnan(d) ? HUGE_VAL : d;
        }
        return most;
    }

    // How far gradients move if each weight is multiplied by 1 + e, |e| <= noise, which exaggerates rounding.
    // (Products in bfloat16 round each factor by up to 2^-9, and the two forms round in different places.)
    // The loss is multiplied by a random number, too, so that each step of backward rounds differently:
    // noise of weights does not move a gradient that is truly 0, as that of a layer norm of two features.
    // Both forms are disturbed: the plain one adds terms that cancel, where the fused one has none.
    void disturb(const Gradients& exact, bool plain, uint64_t sample, std::vector<double>& deviation) const {
        Model other = fresh();
        const double noise = other.config.block.precision == autograd::Precision::bf16 ? 0x1p-8 : 0x1p-20;
        const std::vector<nn::NamedParameter> parameters = nn::parameters(other);
        for (std::size_t p = 0; p < parameters.size(); ++p) {
            const Rng rng = Rng(sample).fork("disturb").fork(p);
            Real* const w = Tensor(parameters[p].tensor).mutable_data();
            for (int64_t i = 0; i < parameters[p].tensor.numel(); ++i)
                w[i] *= static_cast<Real>(1 + noise * (2 * rng.uniform(static_cast<uint64_t>(i)) - 1));
        }
        const auto factor = static_cast<Real>(1 + Rng(sample).fork("factor").uniform(0));
        const Gradients moved = gradients(other, plain, factor);
        for (std::size_t p = 0; p < exact.size(); ++p)
            deviation[p] = std::fmax(deviation[p], distance(moved[p], exact[p]));
    }

    // A gradient that is truly 0, as that of an attention key's bias, is noise on both sides: it is measured
    // against the largest of all.
    void compare_plain(const Model& model, ModelFindings& result) const {
        const Gradients fused = gradients(model, false), plain = gradients(model, true);
        std::vector<double> deviation(fused.size());
        double largest = 0;
        for (const std::vector<Real>& g : fused)
            largest = std::fmax(largest, distance(g, std::vector<Real>(g.size())));
        uint64_t samples = 0;
        for (const uint64_t until : {2U, 32U}) {  // few disturbed runs may be close by chance
            for (; samples < until; ++samples)
                for (const bool form : {false, true})
                    disturb(form ? plain : fused, form, samples, deviation);
            result.wrong["gradients"] = "";
            result.gradients_compared = result.n_sharp = 0;
            for (std::size_t p = 0; p < fused.size(); ++p) {
                const double found = distance(fused[p], plain[p]), noise = 0x1p-20 * largest,
                             bound = 8 * deviation[p] + noise,
                             own = distance(fused[p], std::vector<Real>(fused[p].size()));
                result.gradients_compared += own > noise;  // others are 0, or as good as that
                result.n_sharp += own > noise && bound <= 0.01 * own;
                if (result.wrong["gradients"].empty() && (!(found <= bound) || !std::isfinite(bound)))
                    result.wrong["gradients"] = join("the gradient of ", nn::parameters(model)[p].name,
                                                     " differs by ", found, ", bound ", bound);
            }
            if (result.wrong["gradients"].empty())
                break;
        }
    }

    const uint64_t seed_;
    const std::string folder_, file_;
    Dice dice_;
    const models::Config config_;
    const bool stirred_;
    const int64_t steps_;
};

// f(Check<Model>) of the kind that the seed draws.
template <class F>
auto with_check(uint64_t seed, const std::string& folder, const F& f) {
    switch (seed % kCount) {
        case 0:
            return f(Check<models::Transformer>(seed, folder));
        case 1:
            return f(Check<models::LanguageModel>(seed, folder));
        case 2:
            return f(Check<models::MaskedLanguageModel>(seed, folder));
        default:
            return f(Check<models::Classifier>(seed, folder));
    }
}

}  // namespace

ModelFindings check_model(uint64_t seed, const std::string& folder) {
    const int64_t before = autograd::storage_statistics().bytes_in_use;
    ModelFindings found;
    try {
        found = with_check(seed, folder, [](auto check) { return check.check(); });
    } catch (const std::exception& error) {
        found.wrong["errors"] = error.what();
    }
    const int64_t after = autograd::storage_statistics().bytes_in_use;
    if (after != before)
        found.wrong["memory"] = join(after - before, " bytes are still in use");
    return found;
}

std::string describe_model(uint64_t seed) {
    return with_check(seed, "", [](const auto& check) { return check.describe(); });
}

}  // namespace plaingrad::trust
