#include "nn/parallel/data_parallel.h"

#include <algorithm>

#include "autograd/broadcast.h"
#include "nn/optim.h"

namespace plaingrad::nn {

namespace {

// y = x, or y += x
void put(int64_t n, const Real* x, autograd::kernels::Out y) { autograd::sum_to({n}, x, {n}, 1, y); }

// The gradients of all parameters, one after the other, zeros for those that backward has not reached; then
// of each parameter whether it has one. (In a sum over parts: how many parts have one.)
Tensor take_gradients(const std::vector<NamedParameter>& parameters) {
    const Tensor flat = Tensor::uninitialized({parameter_count(parameters) + std::ssize(parameters)});
    Real *at = flat.mutable_data(), *has = at + parameter_count(parameters);
    for (const NamedParameter& p : parameters) {
        *has++ = p.tensor.has_grad();
        if (p.tensor.has_grad())
            put(p.tensor.numel(), p.tensor.grad().data(), {at});
        else
            std::fill_n(at, p.tensor.numel(), Real(0));
        at += p.tensor.numel();
        p.tensor.zero_grad();
    }
    return flat;
}

void give_gradients(const Tensor& flat, const std::vector<NamedParameter>& parameters) {
    const Real *at = flat.data(), *has = at + parameter_count(parameters);
    for (const NamedParameter& p : parameters) {
        if (*has++ > 0)
            put(p.tensor.numel(), at, p.tensor.sink().open());
        at += p.tensor.numel();
    }
}

// Whether these are the two children of one node, in a tree of `parts` parts. The left one has 2^k of them
// and begins at a multiple of 2^(k+1); the right one has as many, or what is left.
bool are_siblings(const PartSum& left, const PartSum& right, int64_t parts) {
    const int64_t size = left.end - left.begin, end = left.begin + 2 * size;
    const bool is_power_of_two = (size & (size - 1)) == 0;
    return is_power_of_two && left.begin % (2 * size) == 0 && left.end == right.begin &&
           right.end == (end < parts ? end : parts);
}

// The sum over all parts, from those over the own parts. The processes share the additions: of each bucket of
// numbers a process gets everybody's sums of one piece, adds them up, and sends the total to all.
Tensor all_reduce(Team& team, int64_t parts, const std::vector<GradientSum>& own) {
    constexpr int64_t kBucket = 1 << 20;  // numbers, so that what arrives takes little memory
    const Tensor& total = own[0].gradients;
    for (int64_t begin = 0; begin < total.numel(); begin += kBucket) {
        const int64_t size = std::min(kBucket, total.numel() - begin);
        const auto piece = [&](int64_t process, const Tensor& sum) -> Message {
            const PartSum at = parts_of(process, team.size(), size);
            return {process, sum.mutable_data() + begin + at.begin,
                    (at.end - at.begin) * static_cast<int64_t>(sizeof(Real))};
        };
        const int64_t mine = piece(team.rank(), total).bytes;
        std::vector<GradientSum> arriving, all;
        std::vector<Message> send, receive;
        for (int64_t r = 0; r < team.size(); ++r) {
            for (const GradientSum& sum : own)
                send.push_back(piece(r, sum.gradients));
            for (GradientSum& sum : sums_of(parts_of(r, team.size(), parts), parts)) {
                sum.gradients = Tensor::uninitialized({mine / static_cast<int64_t>(sizeof(Real))});
                receive.push_back({r, sum.gradients.mutable_data(), mine});
                arriving.push_back(sum);
            }
        }
        team.exchange(send, receive);
        for (const GradientSum& sum : arriving)
            append(all, sum, parts);
        send.clear(), receive.clear();
        for (int64_t r = 0; r < team.size(); ++r) {
            send.push_back({r, all[0].gradients.mutable_data(), mine});
            receive.push_back(piece(r, total));
        }
        team.exchange(send, receive);
    }
    return total;
}

}  // namespace

void append(std::vector<GradientSum>& sums, const GradientSum& sum, int64_t parts) {
    sums.push_back(sum);
    for (std::size_t n = sums.size(); n >= 2 && are_siblings(sums[n - 2], sums[n - 1], parts); --n) {
        const Tensor &left = sums[n - 2].gradients, &right = sums[n - 1].gradients;
        if (right.defined())
            put(right.numel(), right.data(), {left.mutable_data(), true});
        sums[n - 2].end = sums[n - 1].end;
        sums.pop_back();
    }
}

Rng rng_of(const Rng& step, const StepPart& at) {
    const Rng of_part = at.parts > 1 ? step.fork("part").fork(static_cast<uint64_t>(at.part)) : step;
    return at.batch == 0 ? of_part : of_part.fork(static_cast<uint64_t>(at.batch));
}

Gradients::Gradients(const std::vector<NamedParameter>& parameters, Team& team, int64_t parts)
    : learning_(parameters), team_(team), parts_(parts), is_whole_(parts == 1) {
    check(parts >= 1, "[Gradients] a batch must be cut into at least one part: got ", parts);
    check(team.size() <= parts, "[Gradients] ", team.size(), " processes need at least as many parts: got ",
          parts);
    std::erase_if(learning_, [](const NamedParameter& p) { return !p.tensor.needs_grad(); });
    const auto [begin, end] = parts_of(team.rank(), team.size(), parts);
    begin_ = part_ = begin;
    told_.resize(static_cast<std::size_t>(3 * (end - begin)));
}

// Takes the gradients of the parts before this one.
void Gradients::end_parts(int64_t before) {
    for (; parts_ > 1 && part_ < before; ++part_)
        append(sums_, {{part_, part_ + 1}, take_gradients(learning_)}, parts_);
}

// Batches and parts have different numbers of terms, and the gradient should be that of the mean over all of
// them. So each contributes the gradient of its sum, which is to be divided by their number. A single batch
// needs neither.
void Gradients::backward(const StepLoss& loss, const StepPart& at) {
    end_parts(at.part);
    is_whole_ = at.is_whole();
    double* const told = &told_[static_cast<std::size_t>(3 * (at.part - begin_))];
    if (!loss.loss.defined())
        return;
    const auto weight = static_cast<double>(loss.terms > 0 ? loss.terms : loss.tokens);
    check(weight > 0 || is_whole_, "[train] step ", at.step,
          ": if batches are accumulated or cut into parts, each must say of how many tokens its loss is the "
          "mean: got ",
          weight);
    told[0] += static_cast<double>(loss.loss.item()) * (is_whole_ ? 1 : weight);
    told[1] += is_whole_ ? 1 : weight;
    told[2] += static_cast<double>(loss.tokens);
    if (is_whole_)
        loss.loss.backward();
    else
        autograd::mul(loss.loss, Tensor(static_cast<Real>(weight))).backward();
}

StepGradient Gradients::sum() {
    end_parts(begin_ + std::ssize(told_) / 3);
    const std::vector<double> told = gather(team_, told_);
    if (parts_ > 1)
        give_gradients(team_.size() == 1 ? sums_[0].gradients : all_reduce(team_, parts_, sums_), learning_);
    double loss = 0, terms = 0, tokens = 0;
    for (std::size_t i = 0; i < told.size(); i += 3)
        loss += told[i], terms += told[i + 1], tokens += told[i + 2];
    check(terms > 0, "[train] a step has nothing to learn from: ",
          is_whole_ ? "its loss is empty" : "all of its parts are empty");
    const double scale = is_whole_ ? 1 : 1 / terms;
    return {loss * scale, static_cast<int64_t>(tokens), grad_norm(learning_) * scale, scale};
}

}  // namespace plaingrad::nn
