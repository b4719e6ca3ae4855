// The functions of one number that kernels compute (autograd/kernels/math.h, pointwise.cpp), of all floats or
// of some of each kind, on every instruction set of this machine: how far results are from the true ones,
// whether NaN and infinity come out where they must, and whether all sets, and vectors and the rest of a row,
// give the same bits. TRUST_PART=exp measures exp and its derivative only.
#include "tests/trust/functions.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "autograd/base/check.h"
#include "autograd/base/parallel.h"
#include "tests/trust/instrument.h"
#include "tests/trust/tally.h"

using namespace plaingrad;  // NOLINT
using namespace trust;      // NOLINT
using autograd::kernels::Kernels;

namespace {

constexpr int64_t kAllFloats = int64_t{1} << 32;

uint32_t word_of(float x) { return std::bit_cast<uint32_t>(x); }
float float_of(uint64_t word) { return std::bit_cast<float>(static_cast<uint32_t>(word)); }
bool same(float a, float b) { return word_of(a) == word_of(b) || (std::isnan(a) && std::isnan(b)); }

// ---- which numbers

// `count` floats, one from each of as many equal shares of the words of 32 bits. If that is not all of them,
// then also the neighbours, of both signs, of 0, of infinity and of places where a function changes.
struct Numbers {
    int64_t count;
    autograd::Rng rng;

    static constexpr int64_t kNear = 300;
    static constexpr float kPlaces[] = {
        0,          1.1754944e-38f, 0.34657359f, 0.625f, 0.70710678f, 0.7517916f, 1,    1.2784645f,
        1.4142136f, 3.9f,           9.01f,       14,     14.5f,       15,         40,   87,
        87.336544f, 88.722839f,     89,          100,    103.97208f,  104,        1000, kInf};

    int64_t size() const { return count == kAllFloats ? count : count + 4 * kNear * std::ssize(kPlaces); }
    float operator[](int64_t i) const {
        if (i >= count)
            return neighbour(i - count);
        const int64_t share = kAllFloats / count;
        const int64_t at = share == 1 ? 0 : rng.below(static_cast<uint64_t>(i), share);
        return float_of(static_cast<uint64_t>(i * share + at));
    }
    static float neighbour(int64_t i) {
        const int64_t step = i % (2 * kNear) - kNear, place = i / (4 * kNear);
        const bool negative = i / (2 * kNear) % 2 == 1;
        const float x = float_of((word_of(kPlaces[place]) + static_cast<uint32_t>(step)) & 0x7fffffffu);
        return negative ? -x : x;
    }
};

Numbers numbers_for(const Instrument& trust) {
    return {trust.count(1 << 21, 1 << 24, kAllFloats), trust.rng().fork("numbers")};
}

// ---- what is found

// How often something was seen, and with which number first.
struct Count {
    int64_t count = 0;
    float first = 0;

    void note(bool seen, float x) {
        if (seen && count++ == 0)
            first = x;
    }
    void add(const Count& other) {
        first = count == 0 ? other.first : first;
        count += other.count;
    }
};

// The largest error so far, in some unit.
struct Largest {
    double error = 0;
    float x = 0;

    void note(double seen, float at) {
        if (!(seen <= error) && !std::isnan(error))  // a NaN shows, and stays
            error = seen, x = at;
    }
    void add(const Largest& other) { note(other.error, other.x); }
};

struct Found {
    int64_t numbers = 0;
    Largest ulp, share;  // share: of the bound
    Count special, sets, tails;

    void add(const Found& other) {
        numbers += other.numbers;
        ulp.add(other.ulp), share.add(other.share);
        special.add(other.special), sets.add(other.sets), tails.add(other.tails);
    }
};

// Calls f(begin, end) for parts of 0 ... n on all threads, and adds up what each finds.
template <class F>
Found in_parallel(int64_t n, int64_t part, const F& f) {
    Found all;
    std::mutex mutex;
    autograd::parallel_for(0, n, part, [&](int64_t begin, int64_t end) {
        const Found here = f(begin, end);
        const std::lock_guard lock(mutex);
        all.add(here);
    });
    return all;
}

// ---- measuring

// Of the sets that can run here those that differ in these functions.
std::vector<const Kernels*> instruction_sets() {
    std::vector<const Kernels*> sets;
    for (const char* const* name = autograd::kernels::available(); *name != nullptr; ++name) {
        autograd::kernels::use(*name);
        const Kernels* const set = &autograd::kernels::cpu();
        if (std::none_of(sets.begin(), sets.end(), [&](auto* other) { return other->unary == set->unary; }))
            sets.push_back(set);
    }
    autograd::kernels::use(autograd::kernels::available()[0]);
    return sets;
}

constexpr int64_t kBlock = 1 << 14;

// For at most kBlock numbers.
void compute(const Function& function, const Kernels& kernels, int64_t n, const float* x, float* y) {
    static const std::vector<float> ones(kBlock, 1);
    function.compute(kernels, n, x, ones.data(), y);
}

void compare(const Function& function, float x, float y, Found& found) {
    if (!function.defined(x))
        return;
    const double error = ulps_off(function, static_cast<double>(x), y);
    found.special.note(std::isinf(error), x);
    if (std::isinf(error))
        return;
    found.ulp.note(error, x);
    found.share.note(error / function.bound(static_cast<double>(x)), x);
}

Found measure_block(const Function& function, const std::vector<const Kernels*>& sets, const Numbers& numbers,
                    int64_t begin, int64_t end) {
    std::vector<float> x, y(static_cast<size_t>(end - begin)), other(y);
    for (int64_t i = begin; i < end; ++i)
        x.push_back(numbers[i]);
    compute(function, *sets[0], end - begin, x.data(), y.data());
    Found found;
    found.numbers = end - begin;
    for (size_t i = 0; i < x.size(); ++i)
        compare(function, x[i], y[i], found);
    for (size_t s = 1; s < sets.size(); ++s) {
        compute(function, *sets[s], end - begin, x.data(), other.data());
        if (std::memcmp(y.data(), other.data(), x.size() * sizeof(float)) != 0)  // NaNs may differ
            for (size_t i = 0; i < x.size(); ++i)
                found.sets.note(!same(y[i], other[i]), x[i]);
    }
    return found;
}

// In rows of 1 to 33 numbers each one must have the bits that it has inside of a longer row, and what is
// behind the row must stay as it was.
void measure_row(const Function& function, const Kernels& kernels, const autograd::Rng& rng, Found& found) {
    constexpr int64_t kLanes = 16, kLong = 4 * kLanes;
    constexpr float kBehind = -12345.5f;
    std::array<float, kLong> x, y, row;
    for (size_t i = 0; i < x.size(); ++i)
        x[i] = float_of(rng.bits(i));
    compute(function, kernels, kLong, x.data(), y.data());
    const size_t first = static_cast<size_t>(rng.below(kLong, kLanes));
    for (int64_t n = 1; n <= 2 * kLanes + 1; ++n) {
        row.fill(kBehind);
        compute(function, kernels, n, x.data() + first, row.data());
        for (size_t i = 0; i < row.size(); ++i) {
            const bool is_inside = static_cast<int64_t>(i) < n;
            found.tails.note(!same(row[i], is_inside ? y[first + i] : kBehind), is_inside ? x[first + i] : 0);
        }
    }
}

void measure_special(const Function& function, const Kernels& kernels, Found& found) {
    std::array<float, kSpecial.size()> y;
    compute(function, kernels, std::ssize(y), kSpecial.data(), y.data());
    for (size_t i = 0; i < y.size(); ++i)
        if (function.defined(kSpecial[i]))
            found.special.note(!same(y[i], i < 4 ? function.at[i] : kNan), kSpecial[i]);
}

Found measure(const Function& function, const std::vector<const Kernels*>& sets, const Instrument& trust) {
    const Numbers numbers = numbers_for(trust);
    Found found = in_parallel(numbers.size(), kBlock, [&](int64_t begin, int64_t end) {
        return measure_block(function, sets, numbers, begin, end);
    });
    found.add(in_parallel(trust.count(100, 2'000, 50'000), 16, [&](int64_t begin, int64_t end) {
        Found here;
        for (int64_t row = begin; row < end; ++row)
            for (const Kernels* set : sets)
                measure_row(function, *set, trust.rng().fork("row").fork(static_cast<uint64_t>(row)), here);
        return here;
    }));
    for (const Kernels* set : sets)
        measure_special(function, *set, found);
    return found;
}

std::string of(const Function& function, float x) {
    char text[100];
    std::snprintf(text, sizeof text, "%s of %.9g", function.name, static_cast<double>(x));
    return text;
}

// All, or a function and its derivative, whose name has a stroke at its end.
std::vector<Function> functions_of(const std::string& part) {
    std::vector<Function> some;
    for (const Function& function : kFunctions)
        if (part.empty() || function.name == part || function.name == part + "'")
            some.push_back(function);
    return some;
}

void measure_all(const Instrument& trust) {
    const std::vector<const Kernels*> sets = instruction_sets();
    const std::vector<Function> functions = functions_of(trust.part);
    Figure share, special, differing, tails;
    int64_t numbers = 0;
    for (const Kernels* set : sets)
        std::printf("instruction set %s\n", set->name);
    for (const Function& function : functions) {
        const Found found = measure(function, sets, trust);
        std::printf("%-10s %8.3f ulp at %.9g\n", function.name, found.ulp.error,
                    static_cast<double>(found.ulp.x));
        std::fflush(stdout);
        if (function.has_row)
            trust.figure(autograd::join("functions.", function.name), found.ulp.error,
                         of(function, found.ulp.x));
        numbers += found.numbers;
        share.largest(found.share.error, [&] { return of(function, found.share.x); });
        const auto count = [&](Figure& figure, const Count& seen) {
            figure.count(static_cast<double>(seen.count), [&] { return of(function, seen.first); });
        };
        count(special, found.special);
        count(differing, found.sets);
        count(tails, found.tails);
    }
    trust.figure("functions.numbers", static_cast<double>(numbers));
    if (sets.size() > 1)
        trust.figure("functions.compared",
                     static_cast<double>(numbers) * static_cast<double>(sets.size() - 1));
    else
        std::printf("skipped functions.compared this processor has one instruction set for them\n");
    trust.figure("functions.bounds", share.value, share.detail);
    trust.figure("functions.special", special.value, special.detail);
    trust.figure("functions.differing", differing.value, differing.detail);
    trust.figure("functions.tails", tails.value, tails.detail);
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<std::string> parts;
    for (const Function& function : kFunctions)
        parts.emplace_back(function.name);
    return run("functions", "functions of one number against their true values", argc, argv, measure_all,
               parts);
}
