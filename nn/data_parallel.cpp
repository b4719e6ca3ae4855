#include "nn/data_parallel.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "autograd/base/float_control.h"
#include "autograd/base/parallel.h"

namespace plaingrad::nn {

// The losses of the own parts, each a sum over its tokens.
struct DataParallel::Sum {
    std::vector<double> losses = {}, terms = {}, tokens = {};
    bool ends_epoch = false;
};

DataParallel::DataParallel(Adam& adam, Team& team, int64_t parts, const DataParallelOptions& options)
    : adam_(adam),
      team_(team),
      parts_(parts),
      options_(options),
      buckets_(make_buckets(adam.parameters(), team.size(), options.bucket)),
      exchange_(adam.parameters(), buckets_, team, parts),
      buckets_of_(adam.parameters().size()) {
    check(parts >= 1, "[DataParallel] a batch must be cut into at least one part: got ", parts);
    check(team.size() <= parts, "[DataParallel] ", team.size(),
          " processes need at least as many parts: got ", parts);
    for (std::size_t b = 0; b < buckets_.size(); ++b)
        for (const Stretch& s : buckets_[b].stretches)
            if (std::vector<std::size_t>& of = buckets_of_[s.parameter]; of.empty() || of.back() != b)
                of.push_back(b);
    for (std::size_t p = 0; p < adam.parameters().size(); ++p)
        parameter_of_[adam.parameters()[p].tensor.node()] = p;
    owners_.resize(adam.parameters().size());
    for (int64_t r = 0; r < team.size(); ++r)
        for (const Stretch& s : share_of(r)) {
            all_shares_.push_back(s);
            owners_[s.parameter].push_back({s, r});
        }
    order_.resize(all_shares_.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::sort(order_.begin(), order_.end(), [this](std::size_t a, std::size_t b) {
        const Stretch &x = all_shares_[a], &y = all_shares_[b];
        return std::tie(x.parameter, x.begin) < std::tie(y.parameter, y.begin);
    });
    if (team.size() > 1)
        adam.keep_only(share_of(team.rank()));
}

std::vector<Stretch> DataParallel::share_of(int64_t process) const {
    std::vector<Stretch> share;
    for (const Bucket& b : buckets_)
        for (const Owned& s : owned_by(process, b))
            share.push_back(s);
    return share;
}

int64_t DataParallel::buffered() const {
    if (is_whole())
        return 0;
    std::size_t most = 0;
    std::vector<PartSum> sums;
    const PartSum own = parts_of(team_.rank(), team_.size(), parts_);
    for (int64_t part = own.begin; part < own.end; ++part) {
        append(sums, {part, part + 1}, parts_, [] {});
        most = std::max(most, sums.size());
    }
    int64_t arriving = 0;
    for (int64_t r = 0; r < team_.size(); ++r)
        arriving += r == team_.rank() ? 0 : std::ssize(sums_of(parts_of(r, team_.size(), parts_), parts_));
    int64_t all = 0;
    for (const Bucket& b : buckets_)
        all += b.size;
    return all * (static_cast<int64_t>(most) - 1) + all * arriving / team_.size();
}

// ---- forward and backward

StepGradient DataParallel::backward(int64_t step, const Rng& rng, const LossOf& loss_of, int64_t batches) {
    check(static_cast<bool>(loss_of), "[DataParallel] backward needs a loss: got an empty function");
    check(batches >= 1, "[DataParallel] a step needs at least one batch: got ", batches);
    can_step_ = false;
    adam_.zero_grad();
    has_gradient_.assign(adam_.parameters().size(), false);
    gradients_.clear();
    sums_.clear();
    values_.assign(buckets_.size(), {});
    // A parameter that was frozen at first has no place in the sums over parts; nor has one without elements.
    for (std::size_t p = 0; p < buckets_of_.size() && !is_whole(); ++p)
        if (const auto& w = adam_.parameters()[p]; buckets_of_[p].empty() && w.tensor.numel() > 0)
            check(!w.tensor.needs_grad(), "[DataParallel] '", w.name, "' was frozen; unfreeze it earlier");
    exchange_.begin_step();
    Sum sum;
    const PartSum own = parts_of(team_.rank(), team_.size(), parts_);
    for (int64_t part = own.begin; part < own.end; ++part) {
        if (!is_whole())
            begin_part(part, part + 1 == own.end);
        const Rng of_part = is_whole() ? rng : rng.fork("part").fork(static_cast<uint64_t>(part));
        run_part(sum, {step, 0, part, parts_}, of_part, loss_of, batches);
        if (part + 1 == own.end)
            exchange_.note_end_of_backward();
        if (!is_whole())
            end_part();
    }
    collect();
    const StepGradient gradient = agree(sum, !is_whole() || batches > 1);
    can_step_ = true;
    return gradient;
}

// Batches and parts have different numbers of terms, and the gradient should be that of the mean over all of
// them. So each contributes the gradient of its sum, and `step` divides by their number. A single batch needs
// neither.
void DataParallel::run_part(Sum& sum, StepPart at, const Rng& rng, const LossOf& loss_of, int64_t batches) {
    const bool of_several = !is_whole() || batches > 1;
    for (std::vector<double>* of_parts : {&sum.losses, &sum.terms, &sum.tokens})
        of_parts->push_back(0);
    for (bool last = false; !last; ++at.batch) {
        const Rng of_batch = at.batch == 0 ? rng : rng.fork(static_cast<uint64_t>(at.batch));
        const StepLoss batch = loss_of(at, Mode::train(of_batch));
        sum.ends_epoch = batch.ends_epoch;
        last = batch.ends_epoch || at.batch + 1 == batches;
        if (!batch.loss.defined())
            continue;
        const int64_t terms = batch.terms > 0 ? batch.terms : batch.tokens;
        check(terms > 0 || !of_several, "[train] step ", at.step,
              ": if batches are accumulated or cut into parts, each must say of how many tokens its loss is "
              "the mean: got ",
              terms);
        const double weight = of_several ? static_cast<double>(terms) : 1;
        sum.losses.back() += static_cast<double>(batch.loss.item()) * weight;
        sum.terms.back() += weight;
        sum.tokens.back() += static_cast<double>(batch.tokens);
        if (!of_several)
            batch.loss.backward();
        else if (is_whole() || !last)
            autograd::mul(batch.loss, Tensor(static_cast<Real>(weight))).backward();
        else
            autograd::mul(batch.loss, Tensor(static_cast<Real>(weight)))
                .backward([this](const autograd::Node& leaf) { complete(leaf); });
    }
}

// ---- the sum over parts

// Plans the additions of a part before its gradients exist. With the own parts 0 to 3:
//
//     part 0    a new sum, (0)
//     part 1    is added to its sibling, the sum (0), which becomes (0-1)
//     part 2    a new sum, (2)
//     part 3    is added to (2), which becomes (2-3); now these are siblings, and (2-3) is added to (0-1)
//
// into_ is the sum that takes the gradients. additions_ is 0 if that is a new one; else 1 for the gradients
// themselves, and one more for each pair of siblings that this completes. add_up does the same to the values
// of one bucket after the other.
void DataParallel::begin_part(int64_t part, bool is_last) {
    const std::size_t before = sums_.size();
    is_last_ = is_last;
    additions_ = 0;
    append(sums_, {part, part + 1}, parts_, [this] { ++additions_; });
    into_ = additions_ > 0 ? before - 1 : before;
    incomplete_.assign(buckets_.size(), 0);
    unread_.clear();
    for (const std::vector<std::size_t>& buckets : buckets_of_) {
        unread_.push_back(buckets.size());
        for (const std::size_t b : buckets)
            ++incomplete_[b];
    }
}

void DataParallel::complete(const autograd::Node& leaf) {
    const auto found = parameter_of_.find(&leaf);
    if (found == parameter_of_.end())
        return;
    for (const std::size_t b : buckets_of_[found->second])
        if (--incomplete_[b] == 0)
            add_up(b);
    if (is_last_)
        exchange_.poll();
}

// The gradients of parameters that backward did not reach are zeros.
void DataParallel::end_part() {
    for (std::size_t b = 0; b < buckets_.size(); ++b)
        if (incomplete_[b] > 0)
            add_up(b);
    if (is_last_ && !options_.overlaps)
        for (std::size_t b = 0; b < buckets_.size(); ++b)
            send(b);
}

// Adds the gradients of the running part to the sums of own parts. An addition of zeros is one too: it turns
// -0 into 0, whichever process does it.
void DataParallel::add_up(std::size_t bucket) {
    static const std::vector<Real> zeros(kStretch);
    const Bucket& b = buckets_[bucket];
    std::vector<Owned> all;
    for (int64_t at = 0; const Stretch& s : b.stretches) {
        all.push_back({s, at});
        at += s.size();
    }
    std::vector<Tensor>& values = values_[bucket];
    if (into_ == values.size())
        values.push_back(Tensor::uninitialized({b.size}));
    std::vector<const Real*> grads;
    std::vector<Real*> sums;
    for (const Stretch& s : b.stretches) {
        const Tensor& w = adam_.parameters()[s.parameter].tensor;
        grads.push_back(w.has_grad() ? w.grad().data() + s.begin : zeros.data());
        if (w.has_grad())
            has_gradient_[s.parameter] = true;
    }
    for (const Tensor& sum : values)
        sums.push_back(sum.mutable_data());
    const double since = exchange_.now();
    autograd::parallel_for(0, std::ssize(all), 1, [&](int64_t i, int64_t) {
        const Owned& s = all[static_cast<std::size_t>(i)];
        const Real* const grad = grads[static_cast<std::size_t>(i)];
        additions_ == 0 ? copy(s.size(), grad, sums[into_] + s.at) : add(s.size(), grad, sums[into_] + s.at);
        for (std::size_t sum = into_, n = 1; n < additions_; ++n, --sum)
            add(s.size(), sums[sum] + s.at, sums[sum - 1] + s.at);
    });
    exchange_.note_copies(since);
    for (std::size_t i = 0; i < b.stretches.size(); ++i)
        if (const std::size_t p = b.stretches[i].parameter;
            (i == 0 || b.stretches[i - 1].parameter != p) && --unread_[p] == 0)
            adam_.parameters()[p].tensor.zero_grad();  // its memory is free for what backward still computes
    incomplete_[bucket] = 0;
    if (is_last_ && options_.overlaps)
        send(bucket);
}

void DataParallel::send(std::size_t bucket) {
    if (team_.size() == 1)
        return;
    values_[bucket].resize(sums_.size());  // without those that were added to the one before
    exchange_.send(bucket, std::move(values_[bucket]));
}

// The gradients of the own share.
void DataParallel::collect() {
    if (is_whole()) {
        gradients_ = gradients_of(adam_.parameters());
        for (const StretchGrad& s : gradients_)
            has_gradient_[s.parameter] = true;
        return;
    }
    for (std::size_t b = 0; b < buckets_.size(); ++b) {
        if (team_.size() > 1)
            exchange_.add(b, gradients_);
        else
            for (const Owned& s : owned_by(0, buckets_[b]))
                gradients_.push_back({s, values_[b][0].data() + s.at});
    }
}

// ---- what all processes must know

static constexpr const char* kElsewhere =
    "[DataParallel] the processes are not at the same place of the same training: all must make the same "
    "calls";

// What a process tells the others, and hears from them: of its parts, the losses, terms and tokens; of all
// parameters, whether they have a gradient; of its share, the sums of squares.
struct DataParallel::News {
    double ends_epoch = 0;
    std::vector<double> losses = {}, terms = {}, tokens = {}, has_gradient = {}, squares = {};

    std::vector<double> as_numbers() const {
        std::vector<double> all = {ends_epoch};
        for (const std::vector<double>* some : {&losses, &terms, &tokens, &has_gradient, &squares})
            all.insert(all.end(), some->begin(), some->end());
        return all;
    }
    // Adds what a process with so many parts has told.
    void add(const std::vector<double>& numbers, int64_t parts, std::size_t parameters) {
        check(std::ssize(numbers) >= 1 + 3 * parts + static_cast<int64_t>(parameters), kElsewhere);
        auto next = numbers.begin() + 1;
        ends_epoch = numbers[0];
        for (std::vector<double>* some : {&losses, &terms, &tokens}) {
            some->insert(some->end(), next, next + parts);
            next += parts;
        }
        has_gradient.resize(parameters);
        for (double& has : has_gradient)
            has = std::max(has, *next++);
        squares.insert(squares.end(), next, numbers.end());
    }
};

StepGradient DataParallel::agree(const Sum& sum, bool of_several) {
    News own = {sum.ends_epoch ? 1.0 : 0.0,
                sum.losses,
                sum.terms,
                sum.tokens,
                {has_gradient_.begin(), has_gradient_.end()},
                sums_of_squares(gradients_)};
    if (team_.size() > 1) {
        const std::vector<std::vector<double>> told = gather(team_, own.as_numbers());
        own = {};
        for (int64_t r = 0; r < team_.size(); ++r) {
            const PartSum parts = parts_of(r, team_.size(), parts_);
            own.add(told[static_cast<std::size_t>(r)], parts.end - parts.begin, has_gradient_.size());
        }
        check(own.squares.size() == all_shares_.size(), kElsewhere);
        has_gradient_.assign(own.has_gradient.begin(), own.has_gradient.end());
    }
    return autograd::in_ieee_mode([&]() -> StepGradient {
        const double loss = std::accumulate(own.losses.begin(), own.losses.end(), 0.0);
        const double terms = std::accumulate(own.terms.begin(), own.terms.end(), 0.0);
        check(terms > 0, "[train] a step has nothing to learn from: ",
              of_several ? "all of its parts are empty" : "its loss is empty");
        grad_scale_ = of_several ? 1 / terms : 1;
        return {.loss = loss * grad_scale_,
                .tokens = static_cast<int64_t>(std::accumulate(own.tokens.begin(), own.tokens.end(), 0.0)),
                .norm = norm_of(own.squares) * grad_scale_,
                .ends_epoch = own.ends_epoch != 0};
    });
}

// The squares are those of process 0's share, then of process 1's, ... They are added in the order of the
// parameters, as grad_norm does.
double DataParallel::norm_of(const std::vector<double>& squares) {
    not_finite_.clear();
    double sum = 0;
    for (std::size_t i = 0; i < squares.size(); ++i) {
        const std::size_t at = is_whole() ? i : order_[i];
        const std::size_t parameter = is_whole() ? gradients_[i].parameter : all_shares_[at].parameter;
        if (!std::isfinite(squares[at]) && not_finite_.empty())
            not_finite_ = adam_.parameters()[parameter].name;
        sum += squares[at];
    }
    return std::sqrt(sum);
}

// ---- the optimizer

void DataParallel::step(double learning_rate, double clip) {
    check(std::exchange(can_step_, false), "[DataParallel] each step needs a backward before it");
    // A parameter that was frozen since backward must not change. With one part, the gradients are the
    // leaves' own: they may have been set to zero since, and their memory may be another's.
    const std::vector<NamedParameter>& all = adam_.parameters();
    for (std::size_t i = 0; i < all.size(); ++i)
        if (const Tensor& w = all[i].tensor; is_whole() ? !w.has_grad() : !w.needs_grad())
            has_gradient_[i] = false;
    if (is_whole())
        gradients_ = gradients_of(all);
    std::erase_if(gradients_, [this](const StretchGrad& s) { return !has_gradient_[s.parameter]; });
    adam_.step(learning_rate, clip * grad_scale_, has_gradient_, gradients_);
    if (team_.size() > 1)
        exchange_.share_weights();
    gradients_.clear();
    values_.clear();
}

// A process keeps its stretches of a tensor one after the other. What nobody owns, as of a frozen
// parameter, has never changed: zeros.
Tensor DataParallel::gather_state(std::size_t i) const {
    const Tensor& own = adam_.state()[i].tensor;
    if (team_.size() == 1)
        return own;
    const std::size_t parameter = i / adam_.state_per_parameter();
    const Tensor whole = Tensor::zeros(adam_.parameters()[parameter].tensor.shape());
    std::vector<Tensor> of_each(static_cast<std::size_t>(team_.size()));
    std::vector<int64_t> sizes(of_each.size());
    for (const OwnedBy& s : owners_[parameter])
        sizes[static_cast<std::size_t>(s.process)] += s.size();
    for (int64_t at = 0, process = -1; const OwnedBy& s : owners_[parameter]) {
        const auto r = static_cast<std::size_t>(s.process);
        if (s.process != process) {
            at = 0;
            process = s.process;
            of_each[r] = process == 0 ? own : Tensor::uninitialized({sizes[r]});
            if (process != 0)
                team_
                    .transfer(static_cast<int64_t>(i), {},
                              {{process, of_each[r].mutable_data(), bytes_of(sizes[r])}})
                    ->wait();
        }
        copy(s.size(), of_each[r].data() + at, whole.mutable_data() + s.begin);
        at += s.size();
    }
    return whole;
}

void DataParallel::send_state() const {
    std::vector<std::unique_ptr<Transfer>> transfers;
    for (std::size_t i = 0; i < adam_.state().size(); ++i)
        if (const Tensor& own = adam_.state()[i].tensor; own.numel() > 0)
            transfers.push_back(team_.transfer(static_cast<int64_t>(i),
                                               {{0, own.mutable_data(), bytes_of(own.numel())}}, {}));
    for (const auto& transfer : transfers)
        transfer->wait();
}

void DataParallel::set_state(std::size_t i, const Read& read) const {
    const std::size_t parameter = i / adam_.state_per_parameter();
    const Tensor& own = adam_.state()[i].tensor;
    if (team_.size() == 1)
        return read(0, own.numel(), own.mutable_data());
    for (int64_t at = 0; const OwnedBy& s : owners_[parameter])
        if (s.process == team_.rank()) {
            read(s.begin, s.size(), own.mutable_data() + at);
            at += s.size();
        }
}

}  // namespace plaingrad::nn
