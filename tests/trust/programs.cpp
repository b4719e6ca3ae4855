// Random programs of ops (programs/program.h), each computed in many ways that must agree:
//
//     the same bits      on each instruction set, with 1 to 8 threads, in memory that was filled with NaN;
//                        all fused runs agree with each other, and so do all plain ones
//     within a bound     fused and plain, float and double, backward and central differences (reference.h)
//     no memory          is in use when a program has ended, also after calls that threw
//
// A program that fails is printed with its seed, shortened to its first nodes, as few as still fail.
#include <fcntl.h>

#include <algorithm>
#include <iostream>
#include <set>

#include "autograd/base/check.h"
#include "tests/ops.h"
#include "tests/trust/instrument.h"
#include "tests/trust/programs/compare.h"
#include "tests/trust/tally.h"

using namespace plaingrad::trust;  // NOLINT
using plaingrad::autograd::join;

namespace {

// The double build's program, which runs beside this one and writes references into a pipe.
class DoubleBuild {
public:
    // arguments: those of programs/double.cpp
    DoubleBuild(const std::string& program, const std::string& arguments)
        : pipe_(popen((program + ' ' + arguments).c_str(), "r")) {
#ifdef F_SETPIPE_SZ  // room for the numbers of some more programs, so that it computes while we do
        if (pipe_ != nullptr)
            fcntl(fileno(pipe_), F_SETPIPE_SZ, 1 << 20);
#endif
    }
    ~DoubleBuild() {
        if (pipe_ != nullptr)
            pclose(pipe_);
    }
    DoubleBuild(const DoubleBuild&) = delete;
    DoubleBuild& operator=(const DoubleBuild&) = delete;
    Reference next() {
        Reference reference;
        plaingrad::autograd::check(pipe_ != nullptr && reference.read(pipe_),
                                   "[programs] the program of the double build ended early");
        return reference;
    }

private:
    std::FILE* pipe_;
};

// Everything that is asked of one program, in both builds.
struct Verdict {
    std::map<std::string, std::string> wrong = {};  // by the figure's name; "" if nothing is
    bool compared = false, compared_slope = false;
    int64_t tensors = 0, sharp = 0;
};

class Programs {
public:
    Programs(const Instrument& trust, std::string double_build)
        : trust_(trust), double_build_(std::move(double_build)) {}

    void measure(int64_t count) {
        const uint64_t first = trust_.only > 0 ? trust_.only : trust_.seed * 1'000'000'000;
        const uint64_t end = first + static_cast<uint64_t>(count);
        const auto every_second = [&](uint64_t from) { return join(from, ' ', end, " 2 ", kMaxNodes, " 2"); };
        DoubleBuild even(double_build_, every_second(first)), odd(double_build_, every_second(first + 1));
        for (int64_t i = 0; i < count; ++i) {
            const Program program = draw(first + static_cast<uint64_t>(i));
            for (const Node& node : program.nodes)
                if (node.kind == Node::Kind::op)
                    seen_.insert(node.op);
            add(program, judge(program, program.nodes.size(), (i % 2 == 0 ? even : odd).next()));
            if ((i + 1) % std::max<int64_t>(count / 10, 1) == 0)
                std::cout << i + 1 << " programs" << std::endl;
        }
        trust_.figure("programs.programs", static_cast<double>(count));
        tally_.print(trust_, "programs");
        const auto share = [](int64_t part, int64_t whole) {
            return 100 * static_cast<double>(part) / static_cast<double>(std::max<int64_t>(whole, 1));
        };
        trust_.figure("programs.compared", share(compared_, count));
        trust_.figure("programs.slopes", share(slopes_, count));
        trust_.figure("programs.sharp", share(sharp_, tensors_));
        int64_t left_out = 0;
        const std::string names = never_called(left_out);
        trust_.figure("programs.ops_left_out", static_cast<double>(left_out), names);
    }

private:
    Reference in_double(uint64_t seed, std::size_t nodes, int samples) const {
        return DoubleBuild(double_build_, join(seed, ' ', seed + 1, " 1 ", nodes, ' ', samples)).next();
    }

    Verdict judge(const Program& program, std::size_t count, Reference reference) const {
        plaingrad::autograd::check(reference.seed == program.seed, "the double build is at program ",
                                   reference.seed, ", not at ", program.seed);
        const Findings here = compare_bits(program, count, program.seed);
        Verdict verdict = {.wrong = {{"bits", here.bits},
                                     {"memory", here.memory.empty() ? reference.memory : here.memory},
                                     {"errors", here.errors.empty() ? reference.errors : here.errors},
                                     {"fused_plain", ""},
                                     {"double", ""},
                                     {"slope_differences", ""}}};
        std::string& error = verdict.wrong.at("errors");
        for (std::size_t i = 0; i < std::min(count, program.nodes.size()) && error.empty(); ++i)
            if (const Node& node = program.nodes[i]; !node.refused.empty())
                error = join(node.op, " refuses a call that is right: ", node.refused);
        if (!error.empty())
            return verdict;
        const Run fused = run_program(program, count, {.branches = true});
        const Run plain = run_program(program, count, {.plain = true, .branches = true});
        Comparison f = compare_with(reference, fused, "fused"), p = compare_with(reference, plain, "plain");
        if (!f.wrong.empty() || !p.wrong.empty()) {  // few disturbed runs may have been close by chance
            reference = in_double(program.seed, count, 32);
            f = compare_with(reference, fused, "fused");
            p = compare_with(reference, plain, "plain");
        }
        verdict.wrong["fused_plain"] = reference.plain.empty() ? p.wrong : reference.plain;
        verdict.wrong["double"] = f.wrong;
        verdict.wrong["slope_differences"] = reference.slope;
        verdict.compared = f.compared && p.compared && reference.compared_plain != 0;
        verdict.compared_slope = reference.compared_slope != 0;
        verdict.tensors = f.tensors;
        verdict.sharp = f.sharp;
        return verdict;
    }

    void add(const Program& program, const Verdict& verdict) {
        compared_ += verdict.compared;
        slopes_ += verdict.compared_slope;
        tensors_ += verdict.tensors;
        sharp_ += verdict.sharp;
        for (const auto& [way, found] : verdict.wrong) {
            if (!tally_.add(way, found))
                continue;
            const auto [nodes, why] = smallest(program, way, found);
            std::cout << "program " << program.seed << ", " << way << ": " << why << '\n';
            list(program, nodes, std::cout);
            tally_.describe(way, join("program ", program.seed, ", ", nodes, " nodes: ", why));
        }
    }

    // The fewest first nodes that still fail in this way.
    std::pair<std::size_t, std::string> smallest(const Program& program, const std::string& way,
                                                 const std::string& found) const {
        for (std::size_t nodes = 1; nodes < program.nodes.size(); ++nodes) {
            const std::string why = judge(program, nodes, in_double(program.seed, nodes, 2)).wrong.at(way);
            if (!why.empty())
                return {nodes, why};
        }
        return {program.nodes.size(), found};
    }

    // The ops of ops.h that no program has called, each with a blank behind it.
    std::string never_called(int64_t& count) const {
        std::string names;
        for (const std::string& op : plaingrad::tests::declared_ops())
            if (!seen_.contains(op)) {
                ++count;
                names += op + ' ';
            }
        return names;
    }

    const Instrument& trust_;
    const std::string double_build_;
    Tally tally_;
    std::set<std::string> seen_;
    int64_t compared_ = 0, slopes_ = 0, tensors_ = 0, sharp_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    const std::string beside = std::string(argv[0]).substr(0, std::string(argv[0]).rfind('/') + 1);
    return run(
        "programs", "random programs of ops, computed in many ways", argc, argv,
        [&](const Instrument& trust) {
            Programs(trust, "'" + beside + "programs_double'")
                .measure(trust.only > 0 ? 1 : trust.count(1'500, 5'000, 200'000));
        },
        {}, true);
}
