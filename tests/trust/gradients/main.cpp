// Gradients of ops, layers and models against central differences, in double; and those of the float build
// against those in double. The script gradients.sh builds this program in both and runs
//
//     gradients COUNT SEED FILE
//
// first in float, which writes all gradients to FILE.0, FILE.1, ..., one for each process; and then in
// double, which checks, and compares with what is there.
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <memory>

#include "autograd/base/parallel.h"
#include "tests/trust/gradients/check.h"
#include "tests/trust/processes.h"

using namespace plaingrad;  // NOLINT
using namespace trust;      // NOLINT

namespace {

struct Found {
    int64_t cases, elements;
    double float32;  // the largest difference of float's gradients, over what is allowed
    Finding wrong, zero, ended, beyond;

    void add(const Found& other) {
        cases += other.cases, elements += other.elements;
        wrong.add(other.wrong), zero.add(other.zero), ended.add(other.ended), beyond.add(other.beyond);
        note_float32(other.float32);
    }
    void note_float32(double share) {
        if (!(share <= float32) && !std::isnan(float32))  // a NaN shows, and stays
            float32 = share;
    }
};

using Gradients = std::vector<std::vector<double>>;

// A record: the case's number, how many gradients it has, and these.
void write(std::ostream& file, int64_t number, const Gradients& all) {
    std::vector<double> record = {static_cast<double>(number), 0};
    for (const std::vector<double>& g : all)
        record.insert(record.end(), g.begin(), g.end());
    record[1] = static_cast<double>(record.size() - 2);
    file.write(reinterpret_cast<const char*>(record.data()),
               static_cast<std::streamsize>(record.size() * sizeof record[0]));
}

std::vector<double> read(std::istream& file, int64_t number) {
    const auto next = [&](std::size_t n) {
        std::vector<double> x(n);
        file.read(reinterpret_cast<char*>(x.data()), static_cast<std::streamsize>(n * sizeof x[0]));
        autograd::check(file.good(), "the float build's gradients of number ", number, " are missing");
        return x;
    };
    for (;;) {
        const std::vector<double> head = next(2), gradients = next(static_cast<std::size_t>(head[1]));
        if (head[0] == static_cast<double>(number))
            return gradients;
    }
}

// The largest |float - double| / (1e-5 max(1, largest of the leaf) + 1e-4 |double|).
double compare_with_float(const std::vector<double>& in_float, const Gradients& all) {
    double worst = 0;
    std::size_t at = 0;
    for (const std::vector<double>& g : all) {
        double largest = 1;
        for (const double each : g)
            largest = std::fmax(largest, std::abs(each));
        for (const double each : g) {
            const double share =
                std::abs(each - in_float.at(at++)) / (1e-5 * largest + 1e-4 * std::abs(each));
            if (!(share <= worst) && !std::isnan(worst))
                worst = share;
        }
    }
    return worst;
}

void figure(const char* name, double value, const Finding& finding) {
    std::printf("figure gradients.%s %.10g %s\n", name, value, finding.first);
}

void measure(int64_t count, uint64_t seed, const std::string& path) {
    const auto rng = autograd::Rng(seed).fork("gradients");
    const auto name = [=](int64_t number) {
        return autograd::join("number ", number, ": ", draw_case(number, rng).name);
    };
    const auto prepare = [=](int64_t worker, Found& found) {
        autograd::set_thread_count(1);
        const auto file = std::make_shared<std::fstream>(
            autograd::join(path, ".", worker),
            std::ios::binary | (autograd::kRealIsDouble ? std::ios::in : std::ios::out | std::ios::trunc));
        autograd::check(file->is_open(), path, ": cannot be opened");
        return [=, &found](int64_t number) {
            const Case c = draw_case(number, rng);
            const auto here = autograd::join("number ", number, ": ", c.name, ": ");
            round_leaves(c);
            const Gradients all = gradients(c, rng);
            if (!autograd::kRealIsDouble)
                return write(*file, number, all);
            const Checked checked = check(c, all, rng);
            found.elements += checked.elements;
            found.wrong.note(!checked.wrong.empty(), here + checked.wrong);
            found.zero.note(!checked.zero.empty(), here + checked.zero);
            const double share = compare_with_float(read(*file, number), all);
            found.note_float32(share);
            found.beyond.note(!(share <= 1), here);
            ++found.cases;  // at its end, as some may not come to it
        };
    };
    const Found all = Processes<Found>(count, prepare, name).run();
    if (!autograd::kRealIsDouble) {
        autograd::check(all.ended.count == 0, "in float: ", all.ended.first);
        return;
    }
    figure("cases", static_cast<double>(all.cases), all.ended);
    figure("elements", static_cast<double>(all.elements), {});
    figure("wrong", static_cast<double>(all.wrong.count), all.wrong);
    figure("zero", static_cast<double>(all.zero.count), all.zero);
    figure("float32", all.float32, all.beyond);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        autograd::check(argc == 4, "usage: gradients COUNT SEED FILE");
        measure(std::atoll(argv[1]), static_cast<uint64_t>(std::atoll(argv[2])), argv[3]);
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "gradients: %s\n", error.what());
        return 1;
    }
}
