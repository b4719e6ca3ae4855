// A team behind a clock, and if wanted behind a slow network: what a step waits for is measured where the
// team is called, not inside the exchange.
//
// The slow network is made by software: a message is done when a link of that latency and bandwidth, which
// sends one message after the other, would have delivered it. Each message brings along its time of arrival,
// which its sender knows; so all processes must be on one machine, where they read the same clock.
#pragma once

#include <algorithm>
#include <deque>
#include <utility>

#include "nn/team.h"
#include "tests/bench/measure.h"

namespace plaingrad::bench {

struct Link {
    double latency = 0;    // seconds
    double bandwidth = 0;  // bytes a second; 0: as fast as the team is
    bool is_slow() const { return latency > 0 || bandwidth > 0; }
    double time_of(int64_t bytes) const {
        return bandwidth > 0 ? static_cast<double>(bytes) / bandwidth : 0.0;
    }
};

// Seconds spent in the team's functions, and what was sent when.
struct Calls {
    double starting = 0;   // of messages
    double polling = 0;    // is_done
    double waiting = 0;    // for messages
    double gathering = 0;  // what all must know, and the wait for the last one
    int64_t messages = 0, bytes = 0;
    std::vector<double> starts = {};  // when each transfer began, as seconds() tells it
    double exchanging() const { return starting + polling + waiting + gathering; }
};

class Wire : public nn::Team {
public:
    explicit Wire(nn::Team& team, const Link& link = {}) : team_(team), link_(link) {}

    Calls calls = {};

    int64_t rank() const override { return team_.rank(); }
    int64_t size() const override { return team_.size(); }
    void barrier() override {
        const Count count(calls.waiting);
        if (link_.is_slow())
            wait_until(latest(count.since) + levels() * link_.latency);
        else
            team_.barrier();
    }
    void broadcast(void* at, int64_t bytes) override { team_.broadcast(at, bytes); }
    void abort(int status) override { team_.abort(status); }

    // As MPI does it: first all lengths, then all texts, both by a tree.
    std::vector<std::string> gather(const std::string& mine) override {
        const Count count(calls.gathering);
        std::vector<std::string> all = team_.gather(mine);
        if (!link_.is_slow())
            return all;
        int64_t bytes = 0;
        for (const std::string& text : all)
            bytes += std::ssize(text);
        wait_until(latest(count.since) + 2 * levels() * link_.latency +
                   link_.time_of(bytes - std::ssize(mine)));
        return all;
    }

    std::unique_ptr<nn::Transfer> transfer(int64_t tag, const std::vector<nn::Message>& send,
                                           const std::vector<nn::Message>& receive) override {
        const Count count(calls.starting);
        calls.starts.push_back(count.since);
        calls.messages += std::ssize(send);
        for (const nn::Message& m : send)
            calls.bytes += m.bytes;
        return std::make_unique<Timed>(*this, tag, send, receive);
    }

private:
    struct Count {
        explicit Count(double& sum) : to(sum) {}
        ~Count() { to += seconds() - since; }
        double& to;
        const double since = seconds();
    };
    // Messages after each other in a tree of all processes: the rounded-up binary logarithm.
    double levels() const {
        double n = 0;
        for (int64_t reached = 1; reached < size(); reached *= 2)
            ++n;
        return n;
    }
    // The last of all processes' times.
    double latest(double mine) {
        double last = 0;
        for (const std::vector<double>& time : nn::gather(team_, {mine}))
            last = std::max(last, time[0]);
        return last;
    }
    static void wait_until(double time) {
        while (seconds() < time) {
        }
    }

    class Timed : public nn::Transfer {
    public:
        Timed(Wire& wire, int64_t tag, const std::vector<nn::Message>& send,
              const std::vector<nn::Message>& receive)
            : wire_(wire), arrivals_(receive.size()), leaving_(send.size()) {
            if (!wire.link_.is_slow()) {
                inner_ = wire.team_.transfer(tag, send, receive);
                return;
            }
            std::vector<nn::Message> out, in;
            for (std::size_t i = 0; i < send.size(); ++i) {
                const nn::Message& m = send[i];
                wire.free_ = std::max(wire.free_, seconds()) + wire.link_.time_of(m.bytes);
                leaving_[i] = wire.free_ + wire.link_.latency;
                out.push_back({m.process, &leaving_[i], sizeof(double)});
                out.push_back(m);
            }
            for (std::size_t i = 0; i < receive.size(); ++i) {
                in.push_back({receive[i].process, &arrivals_[i], sizeof(double)});
                in.push_back(receive[i]);
            }
            inner_ = wire.team_.transfer(tag, out, in);
        }
        bool is_done() override {
            const Count count(wire_.calls.polling);
            is_done_ = is_done_ || inner_->is_done();
            return is_done_ && (!wire_.link_.is_slow() || count.since >= last());
        }
        void wait() override {
            const Count count(wire_.calls.waiting);
            inner_->wait();
            if (wire_.link_.is_slow())
                wait_until(last());
        }

    private:
        double last() const {
            double time = 0;
            for (const double arrival : arrivals_)
                time = std::max(time, arrival);
            return time;
        }

        Wire& wire_;
        std::vector<double> arrivals_, leaving_;
        bool is_done_ = false;
        std::unique_ptr<nn::Transfer> inner_;
    };

    nn::Team& team_;
    const Link link_;
    double free_ = 0;  // when the link has sent everything so far
};

}  // namespace plaingrad::bench
