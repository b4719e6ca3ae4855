#include "nn/exchange.h"

#include <algorithm>
#include <chrono>

#include "autograd/base/parallel.h"
#include "autograd/broadcast.h"
#include "autograd/kernels/kernels.h"

namespace plaingrad::nn {

namespace {

double seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

static void put(int64_t n, const Real* from, Real* to, bool adds) {
    const Shape shape = {n};
    autograd::kernels::cpu().copy(autograd::broadcast_loop(shape, shape, shape), from, {to, adds});
}
void copy(int64_t n, const Real* from, Real* to) { put(n, from, to, false); }
void add(int64_t n, const Real* from, Real* to) { put(n, from, to, true); }

// The owner of a piece gets the sums of all processes. They are numbered, from the first one of process 0
// to the last one of the last process. The tree over them is walked once, here, with numbers in place of
// tensors: `additions_` lists which sum is added to which, and `add` follows it. The total ends in sum 0.
Exchange::Exchange(const std::vector<NamedParameter>& parameters, const std::vector<Bucket>& buckets,
                   Team& team, int64_t parts)
    : parameters_(parameters), buckets_(buckets), team_(team), pieces_(buckets.size()) {
    std::vector<PartSum> sums;
    std::vector<std::size_t> numbers;  // of these sums
    for (std::size_t next = 0, r = 0; r < static_cast<std::size_t>(team.size()); ++r) {
        sums_of_each_.push_back(sums_of(parts_of(static_cast<int64_t>(r), team.size(), parts), parts));
        for (const PartSum& sum : sums_of_each_.back()) {
            numbers.push_back(next++);
            append(sums, sum, parts, [&] {
                const std::size_t last = numbers.back();
                numbers.pop_back();
                additions_.emplace_back(numbers.back(), last);
            });
        }
    }
}

Load Exchange::load() const {
    Load most;
    std::vector<int64_t> owners;  // of each bucket
    for (std::size_t b = 0; b < buckets_.size(); ++b) {
        owners.push_back(0);
        for (int64_t r = 0; r < team_.size(); ++r)
            owners.back() += cut(b, r + 1) > cut(b, r) ? 1 : 0;
    }
    for (int64_t r = 0; r < team_.size(); ++r) {
        const auto sums = std::ssize(sums_of_each_[static_cast<std::size_t>(r)]);
        Load all;
        for (std::size_t b = 0; b < buckets_.size(); ++b) {
            const int64_t own = cut(b, r + 1) - cut(b, r), others = team_.size() - 1;
            all.messages += sums * (owners[b] - (own > 0 ? 1 : 0)) + (own > 0 ? others : 0);
            all.bytes += bytes_of(sums * (buckets_[b].size - own) + own * others);
        }
        if (all.bytes > most.bytes)
            most = all;
    }
    return most;
}

void Exchange::begin_step() {
    traffic_ = {};
    start_ = seconds();
}

double Exchange::now() const { return seconds() - start_; }

int64_t Exchange::cut(std::size_t bucket, int64_t process) const {
    return buckets_[bucket].cuts[static_cast<std::size_t>(process)];
}

void Exchange::send(std::size_t bucket, std::vector<Tensor> sums) {
    const int64_t me = team_.rank(), begin = cut(bucket, me), own = cut(bucket, me + 1) - begin;
    Piece& piece = pieces_[bucket];
    int64_t others = 0;
    for (int64_t r = 0; r < team_.size(); ++r)
        others += r == me ? 0 : std::ssize(sums_of_each_[static_cast<std::size_t>(r)]);
    piece = {.own = std::move(sums), .memory = Tensor::uninitialized({others * own})};
    Real* next = piece.memory.mutable_data();
    std::vector<Message> out, in;
    for (int64_t r = 0; r < team_.size(); ++r) {
        if (r == me) {
            for (const Tensor& sum : piece.own)
                piece.sums.push_back(sum.mutable_data() + begin);
            continue;
        }
        for (std::size_t i = 0; i < sums_of_each_[static_cast<std::size_t>(r)].size(); ++i, next += own) {
            piece.sums.push_back(next);
            in.push_back({r, next, bytes_of(own)});
        }
        for (const Tensor& sum : piece.own)
            out.push_back(
                {r, sum.mutable_data() + cut(bucket, r), bytes_of(cut(bucket, r + 1) - cut(bucket, r))});
    }
    transfer(bucket, piece, out, in);
}

void Exchange::transfer(std::size_t bucket, Piece& piece, std::vector<Message> out, std::vector<Message> in) {
    const auto is_empty = [](const Message& m) { return m.bytes == 0; };
    std::erase_if(out, is_empty);
    std::erase_if(in, is_empty);
    if (traffic_.bytes == 0)
        traffic_.first_sent = now();
    for (const Message& m : out)
        traffic_.bytes += m.bytes;
    piece.transfer = team_.transfer(static_cast<int64_t>(bucket), out, in);
}

void Exchange::poll() {
    for (Piece& piece : pieces_)
        if (piece.transfer && piece.transfer->is_done())
            piece.transfer.reset();
}

void Exchange::wait(Piece& piece) {
    if (!piece.transfer)
        return;
    const double since = now();
    piece.transfer->wait();
    traffic_.waited += now() - since;
    piece.transfer.reset();
}

void Exchange::add(std::size_t bucket, std::vector<StretchGrad>& gradients) {
    Piece& piece = pieces_[bucket];
    wait(piece);
    const std::vector<Owned> own = owned_by(team_.rank(), buckets_[bucket]);
    const int64_t begin = cut(bucket, team_.rank());
    const double since = now();
    autograd::parallel_for(0, std::ssize(own), 1, [&](int64_t i, int64_t) {
        const Owned& s = own[static_cast<std::size_t>(i)];
        for (const auto& [to, from] : additions_)
            nn::add(s.size(), piece.sums[from] + (s.at - begin), piece.sums[to] + (s.at - begin));
    });
    note_copies(since);
    for (const Owned& s : own)
        gradients.push_back({s, piece.sums[0] + (s.at - begin)});
}

void Exchange::share_weights() {
    for (std::size_t b = 0; b < buckets_.size(); ++b)
        send_weights(b);
    for (std::size_t b = 0; b < buckets_.size(); ++b) {
        wait(pieces_[b]);
        const double since = now();
        const int64_t begin = cut(b, team_.rank()), end = cut(b, team_.rank() + 1);
        for (int64_t at = 0; const Stretch& s : buckets_[b].stretches) {
            if (at < begin || at >= end)
                copy(s.size(), pieces_[b].own[0].data() + at, weights(s));
            at += s.size();
        }
        pieces_[b] = {};
        note_copies(since);
    }
    // Messages move on only while somebody calls, and one may need a last call of its receiver after it has
    // arrived. So nobody leaves before all have everything: else the others would wait for its next call,
    // after a whole forward pass.
    const double since = now();
    team_.barrier();
    traffic_.waited += now() - since;
}

// The own weights, from where the gradient of the own piece was; those of others, to where the sums were that
// were sent to them.
void Exchange::send_weights(std::size_t bucket) {
    const int64_t me = team_.rank(), begin = cut(bucket, me);
    Piece& piece = pieces_[bucket];
    const double since = now();
    for (const Owned& s : owned_by(me, buckets_[bucket]))
        copy(s.size(), weights(s), piece.sums[0] + (s.at - begin));
    note_copies(since);
    std::vector<Message> out, in;
    for (int64_t r = 0; r < team_.size(); ++r)
        if (r != me) {
            out.push_back({r, piece.sums[0], bytes_of(cut(bucket, me + 1) - begin)});
            in.push_back({r, piece.own[0].mutable_data() + cut(bucket, r),
                          bytes_of(cut(bucket, r + 1) - cut(bucket, r))});
        }
    transfer(bucket, piece, std::move(out), std::move(in));
}

Real* Exchange::weights(const Stretch& s) const {
    return parameters_[s.parameter].tensor.mutable_data() + s.begin;
}

}  // namespace plaingrad::nn
