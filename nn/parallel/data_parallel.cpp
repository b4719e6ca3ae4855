#include "nn/parallel/data_parallel.h"

#include <algorithm>

#include "autograd/base/float_control.h"
#include "autograd/broadcast.h"
#include "nn/optim.h"
#include "nn/parallel/parts.h"

namespace plaingrad::nn {

namespace {

// y = x, or y += x
void put(int64_t n, const Real* x, autograd::kernels::Out y) { autograd::sum_to({n}, x, {n}, 1, y); }

// The gradients of all parameters, one after the other, zeros for those that backward has not reached; then
// of each parameter whether it has one. (In a sum over parts: how many parts have one.)
Tensor take_gradients(const std::vector<NamedParameter>& parameters) {
    std::vector<Real> has;
    const Tensor flat = Tensor::uninitialized({parameter_count(parameters) + std::ssize(parameters)});
    Real* at = flat.mutable_data();
    for (const NamedParameter& p : parameters) {
        has.push_back(p.tensor.has_grad() ? 1 : 0);
        if (p.tensor.has_grad())
            put(p.tensor.numel(), p.tensor.grad().data(), {at});
        else
            std::fill_n(at, p.tensor.numel(), Real(0));
        at += p.tensor.numel();
        p.tensor.zero_grad();
    }
    std::copy(has.begin(), has.end(), at);
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

// Sums over neighbouring parts, in order. As soon as two of them are siblings in the tree, they are added up.
class PartSums {
public:
    explicit PartSums(int64_t parts) : parts_(parts) {}
    void append(const PartSum& part, const Tensor& sum) {
        sums.push_back(sum);
        nn::append(of_, part, parts_, [this] {
            const Tensor right = sums.back(), left = sums[sums.size() - 2];
            put(right.numel(), right.data(), {left.mutable_data(), true});
            sums.pop_back();
        });
    }
    std::vector<Tensor> sums;

private:
    const int64_t parts_;
    std::vector<PartSum> of_;
};

// The sum over all parts, from those over the own parts. The processes share the additions: of each bucket of
// numbers a process gets everybody's sums of one piece, adds them up, and sends the total to all.
Tensor all_reduce(Team& team, int64_t parts, const std::vector<Tensor>& own) {
    constexpr int64_t kBucket = 1 << 20;  // numbers, so that what arrives takes little memory
    const Tensor& total = own[0];
    for (int64_t begin = 0; begin < total.numel(); begin += kBucket) {
        const int64_t size = std::min(kBucket, total.numel() - begin);
        const auto piece = [&](int64_t process, const Tensor& sum) -> Message {
            const PartSum at = parts_of(process, team.size(), size);
            return {process, sum.mutable_data() + begin + at.begin,
                    (at.end - at.begin) * static_cast<int64_t>(sizeof(Real))};
        };
        const int64_t mine = piece(team.rank(), total).bytes;
        std::vector<Tensor> arriving;
        std::vector<Message> send, receive;
        for (int64_t r = 0; r < team.size(); ++r) {
            for (const Tensor& sum : own)
                send.push_back(piece(r, sum));
            for (std::size_t i = sums_of(parts_of(r, team.size(), parts), parts).size(); i > 0; --i) {
                arriving.push_back(Tensor::uninitialized({mine / static_cast<int64_t>(sizeof(Real))}));
                receive.push_back({r, arriving.back().mutable_data(), mine});
            }
        }
        team.exchange(send, receive);
        PartSums all(parts);
        for (int64_t r = 0, next = 0; r < team.size(); ++r)
            for (const PartSum& sum : sums_of(parts_of(r, team.size(), parts), parts))
                all.append(sum, arriving[static_cast<std::size_t>(next++)]);
        send.clear(), receive.clear();
        for (int64_t r = 0; r < team.size(); ++r) {
            send.push_back({r, all.sums[0].mutable_data(), mine});
            receive.push_back(piece(r, total));
        }
        team.exchange(send, receive);
    }
    return total;
}

}  // namespace

DataParallel::DataParallel(const std::vector<NamedParameter>& parameters, Team& team, int64_t parts)
    : parameters_(unique_parameters(parameters)), team_(&team), parts_(parts) {
    check(parts >= 1, "[DataParallel] a batch must be cut into at least one part: got ", parts);
    check(team.size() <= parts, "[DataParallel] ", team.size(),
          " processes need at least as many parts: got ", parts);
}

StepGradient DataParallel::backward(int64_t step, const Rng& rng, const LossOf& loss_of,
                                    int64_t batches) const {
    check(static_cast<bool>(loss_of), "[DataParallel] backward needs a loss: got an empty function");
    check(batches >= 1, "[DataParallel] a step needs at least one batch: got ", batches);
    zero_grad(parameters_);
    const PartSum own = parts_of(team_->rank(), team_->size(), parts_);
    std::vector<NamedParameter> learning = parameters_;
    std::erase_if(learning, [](const NamedParameter& p) { return !p.tensor.needs_grad(); });
    const bool is_cut = parts_ > 1, of_several = is_cut || batches > 1;
    PartSums gradients(parts_);
    std::vector<double> told;  // what run_part returns, of all parts
    for (int64_t part = own.begin; part < own.end; ++part) {
        const Rng of_part = is_cut ? rng.fork("part").fork(static_cast<uint64_t>(part)) : rng;
        const std::vector<double> found = run_part({step, 0, part, parts_}, of_part, loss_of, batches);
        told.insert(told.end(), found.begin(), found.end());
        if (is_cut)
            gradients.append({part, part + 1}, take_gradients(learning));
    }
    told = gather(*team_, told);
    if (is_cut)
        give_gradients(team_->size() == 1 ? gradients.sums[0] : all_reduce(*team_, parts_, gradients.sums),
                       learning);
    return autograd::in_ieee_mode([&]() -> StepGradient {
        double loss = 0, terms = 0, tokens = 0;
        for (std::size_t i = 0; i < told.size(); i += 4)
            loss += told[i], terms += told[i + 1], tokens += told[i + 2];
        check(terms > 0, "[train] a step has nothing to learn from: ",
              of_several ? "all of its parts are empty" : "its loss is empty");
        const double scale = of_several ? 1 / terms : 1;
        return {loss * scale, static_cast<int64_t>(tokens), grad_norm(parameters_) * scale, scale,
                told.back() != 0};
    });
}

// Batches and parts have different numbers of terms, and the gradient should be that of the mean over all of
// them. So each contributes the gradient of its sum, which is to be divided by their number. A single batch
// needs neither. Returns the sum of losses, the number of terms and of tokens, and whether an epoch ends.
std::vector<double> DataParallel::run_part(StepPart at, const Rng& rng, const LossOf& loss_of,
                                           int64_t batches) const {
    const bool of_several = parts_ > 1 || batches > 1;
    double loss = 0, terms = 0, tokens = 0;
    for (bool ends_epoch = false;; ++at.batch) {
        if (ends_epoch || at.batch == batches)
            return {loss, terms, tokens, ends_epoch ? 1.0 : 0.0};
        const Rng of_batch = at.batch == 0 ? rng : rng.fork(static_cast<uint64_t>(at.batch));
        const StepLoss batch = loss_of(at, Mode::train(of_batch));
        ends_epoch = batch.ends_epoch;
        if (!batch.loss.defined())
            continue;
        const double weight = static_cast<double>(batch.terms > 0 ? batch.terms : batch.tokens);
        check(weight > 0 || !of_several, "[train] step ", at.step,
              ": if batches are accumulated or cut into parts, each must say of how many tokens its loss is "
              "the mean: got ",
              weight);
        loss += static_cast<double>(batch.loss.item()) * (of_several ? weight : 1);
        terms += of_several ? weight : 1;
        tokens += static_cast<double>(batch.tokens);
        if (of_several)
            autograd::mul(batch.loss, Tensor(static_cast<Real>(weight))).backward();
        else
            batch.loss.backward();
    }
}

}  // namespace plaingrad::nn
