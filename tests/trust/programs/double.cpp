// The part of the instrument `programs` that computes in double: see reference.h.
//
// usage: programs_double FIRST END STEP NODES SAMPLES
//     programs FIRST, FIRST + STEP, ... before END, the first NODES nodes of each, disturbed SAMPLES times
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>

#include "autograd/base/check.h"
#include "autograd/base/parallel.h"
#include "autograd/storage.h"
#include "tests/trust/programs/reference.h"
#include "tests/trust/programs/run.h"

using namespace plaingrad;         // NOLINT
using namespace plaingrad::trust;  // NOLINT

static_assert(autograd::kRealIsDouble, "the Makefile builds this program in double");

namespace {

constexpr int kTries = 40;  // of disturbed runs, for `samples` that take the same branches

double largest(const std::vector<double>& x) {
    double most = 0;
    for (const double v : x)
        most = std::fmax(most, std::fabs(v));
    return most;
}

// The largest |a - b|; infinity for a NaN.
double distance(const std::vector<double>& a, const std::vector<double>& b) {
    double most = a.size() == b.size() ? 0 : HUGE_VAL;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
        most = std::fabs(a[i] - b[i]) <= most ? most
               : std::isnan(a[i] - b[i])      ? HUGE_VAL
                                              : std::fabs(a[i] - b[i]);
    return most;
}

// One program: its run, and how far disturbed ones are from that.
class Judge {
public:
    Judge(const Program& program, std::size_t count) : program_(program), count_(count) {
        exact_ = run_program(program_, count_, {.branches = true});
        reference_.seed = program.seed;
        reference_.branches = exact_.branches;
        for (const Numbers& n : exact_.all)
            reference_.all.push_back({n.node, n.is_gradient, 0, n.x});
    }

    Reference judge(int samples) {
        reference_.errors = exact_.failure;
        for (const std::string& error : exact_.errors)
            if (error.empty() && reference_.errors.empty())
                reference_.errors = "a call that must throw did not";
        disturb(samples);
        if (reference_.errors.empty() && reference_.has_bounds) {
            compare_plain();
            compare_slope();
        }
        return std::move(reference_);
    }

private:
    void disturb(int samples) {
        for (const int end = tried_ + kTries; samples > 0 && tried_ < end;) {
            const Run run = run_program(program_, count_,
                                        {.branches = true,
                                         .noise = kNoise,
                                         .bf16_noise = kBf16Noise,
                                         .sample = static_cast<uint64_t>(++tried_)});
            if (run.branches != exact_.branches || run.all.size() != exact_.all.size())
                continue;
            for (std::size_t i = 0; i < run.all.size(); ++i)
                reference_.all[i].deviation =
                    std::fmax(reference_.all[i].deviation, distance(run.all[i].x, exact_.all[i].x));
            loss_deviation_ = std::fmax(loss_deviation_, std::fabs(run.loss - exact_.loss));
            reference_.has_bounds = 1;
            --samples;
        }
    }

    void compare_plain() {
        const Run plain = run_program(program_, count_, {.plain = true, .branches = true});
        if (plain.branches != exact_.branches)
            return;
        reference_.compared_plain = 1;
        reference_.plain = plain_difference(plain);
        if (!reference_.plain.empty()) {  // few disturbed runs may have been close by chance
            disturb(32);
            reference_.plain = plain_difference(plain);
        }
    }

    // A bfloat16 is rounded at other places in the plain form, which is an error of bfloat16 in double, too.
    std::string plain_difference(const Run& plain) const {
        if (plain.all.size() != exact_.all.size() || plain.failure != exact_.failure ||
            plain.errors != exact_.errors)
            return "plain, in double: " + first_difference(exact_, plain);
        const double scale = kFactor * (program_.bf16 ? 1 : kDoubleToFloat);
        for (std::size_t i = 0; i < plain.all.size(); ++i) {
            const double bound = scale * reference_.all[i].deviation +
                                 (0x1p-50 + summed() * 0x1p-53) * largest(exact_.all[i].x);
            const double found = distance(plain.all[i].x, exact_.all[i].x);
            if (!(found <= bound && std::isfinite(bound)))
                return autograd::join("plain, in double: ", name_of(exact_.all[i]), " differs by ", found,
                                      ", bound ", bound);
        }
        return "";
    }

    // How many numbers a sum may have. Rounding them to float averages out, and their sum, which is computed
    // in double, adds no error to that. In this build it has the error of each addition, and where all
    // numbers are equal, these do not average out.
    double summed() const {
        double most = 1;
        for (const Node& node : program_.nodes) {
            double n = 1;
            for (const int64_t size : node.shape)
                n *= std::max(static_cast<double>(size), 1.0);
            most = std::max(most, n);
        }
        return most;
    }

    // backward's slope of the loss along a direction, and the sum of its squared terms
    std::pair<double, double> analytic(uint64_t direction) const {
        double slope = 0, squares = 0;
        for (const Numbers& n : exact_.all)
            for (std::size_t e = 0; n.is_gradient && e < n.x.size(); ++e) {
                const double term = n.x[e] * direction_at(program_, direction, n.node, e);
                slope += term;
                squares += term * term;
            }
        return {slope, squares};
    }

    // (L(w + h d) - L(w - h d)) / 2h, or NaN if this crosses a kink
    double slope(double step, uint64_t direction, uint64_t branches) const {
        double loss[2];
        for (const int side : {0, 1}) {
            const Run run = run_program(program_, count_,
                                        {.branches = true,
                                         .held = &exact_,
                                         .step = side == 0 ? step : -step,
                                         .direction = direction});
            if (run.branches != branches)
                return std::nan("");
            loss[side] = run.loss;
        }
        return (loss[0] - loss[1]) / (2 * step);
    }

    void compare_slope() {
        if (program_.bf16)
            return;  // its rounding has no derivative
        constexpr uint64_t kDirection = 1;
        const Run still = run_program(program_, count_, {.branches = true, .held = &exact_});
        if (!(std::fabs(still.loss - exact_.loss) <= 0)) {
            reference_.slope =
                autograd::join("the loss is ", exact_.loss, ", and ", still.loss, " without a graph");
            return;
        }
        const auto [expected, squares] = analytic(kDirection);
        for (const double step : {0x1p-20, 0x1p-17, 0x1p-23}) {
            const double near = slope(step, kDirection, still.branches);
            const double far = slope(2 * step, kDirection, still.branches);
            if (std::isnan(near) && std::isnan(far) && std::isfinite(expected))
                continue;
            // The error of a central difference grows with the square of its step, so it is a third of what
            // doubling the step changes. The bound allows nine times that, and the rounding of the losses.
            const double rounding =
                kFactor * loss_deviation_ * kDoubleToFloat * 0x1p-4 + 0x1p-50 * exact_.loss_terms;
            const double bound = 3 * std::fabs(near - far) + 1e-9 * std::sqrt(squares) + rounding / step;
            reference_.compared_slope = 1;
            reference_.slope = "";
            if (std::fabs(near - expected) <= bound && std::isfinite(bound))
                return;
            reference_.slope = autograd::join(
                "backward says ", expected, " along a direction, differences say ", near, ", bound ", bound);
        }
    }

    const Program& program_;
    const std::size_t count_;
    Run exact_;
    Reference reference_;
    int tried_ = 0;
    double loss_deviation_ = 0;
};

Reference reference_of(uint64_t seed, std::size_t count, int samples) {
    const Program program = draw(seed);
    const int64_t before = autograd::storage_statistics().bytes_in_use;
    Reference reference = Judge(program, count).judge(samples);
    const int64_t after = autograd::storage_statistics().bytes_in_use;
    if (after != before)
        reference.memory = autograd::join(after - before, " bytes are still in use, in double");
    return reference;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 6)
        return 2;
    const auto number = [&](int i) { return std::strtoull(argv[i], nullptr, 10); };
    autograd::set_thread_count(1);  // several of these run at once
    try {
        for (uint64_t seed = number(1); seed < number(2); seed += number(3))
            reference_of(seed, number(4), std::atoi(argv[5])).write(stdout);
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
    return 0;
}
