// A team whose processes are threads of this one, so that tests need no MPI.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <utility>

#include "nn/team.h"

namespace plaingrad::tests {

// What the threads share: messages that were sent and not yet received. A barrier is a message to all.
class Mail {
public:
    explicit Mail(int64_t processes) : size(processes) {}

    void send(int64_t from, int64_t to, int64_t tag, std::string bytes) {
        const std::lock_guard lock(mutex_);
        boxes_[{from, to, tag}].push_back(std::move(bytes));
        ++sent_;
        changed_.notify_all();
    }
    // Waits, if it must, until there is one. Throws if a thread has aborted: the message may never come.
    bool receive(int64_t from, int64_t to, int64_t tag, std::string& bytes, bool waits) {
        std::unique_lock lock(mutex_);
        std::deque<std::string>& box = boxes_[{from, to, tag}];
        if (waits)
            changed_.wait(lock, [&] { return !box.empty() || aborted_; });
        if (aborted_)
            throw std::runtime_error("another process has ended");
        if (box.empty())
            return false;
        bytes = std::move(box.front());
        box.pop_front();
        return true;
    }
    void abort() {
        const std::lock_guard lock(mutex_);
        aborted_ = true;
        changed_.notify_all();
    }
    int64_t sent() {
        const std::lock_guard lock(mutex_);
        return sent_;
    }
    bool is_empty() {
        const std::lock_guard lock(mutex_);
        return std::all_of(boxes_.begin(), boxes_.end(), [](const auto& box) { return box.second.empty(); });
    }

    const int64_t size;

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::tuple<int64_t, int64_t, int64_t>, std::deque<std::string>> boxes_;
    int64_t sent_ = 0;
    bool aborted_ = false;
};

class ThreadTeam : public nn::Team {
public:
    ThreadTeam(Mail& mail, int64_t rank) : mail_(mail), rank_(rank) {}

    int64_t rank() const override { return rank_; }
    int64_t size() const override { return mail_.size; }
    void barrier() override { gather(""); }
    void broadcast(void* at, int64_t bytes) override {
        const std::string first = gather(std::string(static_cast<const char*>(at), size_of(bytes)))[0];
        std::memcpy(at, first.data(), size_of(bytes));
    }
    std::vector<std::string> gather(const std::string& mine) override {
        for (int64_t r = 0; r < size(); ++r)
            mail_.send(rank_, r, kGather, mine);
        std::vector<std::string> all(size_of(size()));
        for (int64_t r = 0; r < size(); ++r)
            mail_.receive(r, rank_, kGather, all[size_of(r)], true);
        return all;
    }
    std::unique_ptr<nn::Transfer> transfer(int64_t tag, const std::vector<nn::Message>& send,
                                           const std::vector<nn::Message>& receive) override {
        return std::make_unique<Letters>(*this, tag, send, receive, is_eager());
    }
    void abort(int) override {
        mail_.abort();
        throw std::runtime_error("aborted");
    }

protected:
    virtual bool is_eager() const { return false; }

private:
    static constexpr int64_t kGather = -1;
    static std::size_t size_of(int64_t n) { return static_cast<std::size_t>(n); }

    // What is sent is read when somebody waits, not when the transfer begins, as a network may do: whoever
    // changes the memory too early gets wrong results. An eager one is the other extreme.
    class Letters : public nn::Transfer {
    public:
        Letters(ThreadTeam& team, int64_t tag, std::vector<nn::Message> send,
                std::vector<nn::Message> receive, bool eager)
            : team_(team), tag_(tag), send_(std::move(send)), receive_(std::move(receive)), eager_(eager) {
            if (eager)
                send_all();
        }
        bool is_done() override { return eager_ && receive_some(false); }
        void wait() override {
            send_all();
            receive_some(true);
        }

    private:
        void send_all() {
            for (const nn::Message& m : std::exchange(send_, {}))
                team_.mail_.send(team_.rank_, m.process, tag_,
                                 std::string(static_cast<const char*>(m.at), size_of(m.bytes)));
        }
        // In order, as messages with one tag arrive. Returns whether that was all.
        bool receive_some(bool waits) {
            for (; received_ < receive_.size(); ++received_) {
                const nn::Message& m = receive_[received_];
                std::string bytes;
                if (!team_.mail_.receive(m.process, team_.rank_, tag_, bytes, waits))
                    return false;
                if (static_cast<int64_t>(bytes.size()) != m.bytes)
                    throw std::runtime_error("a message of another size than expected");
                std::memcpy(m.at, bytes.data(), bytes.size());
            }
            return true;
        }

        ThreadTeam& team_;
        int64_t tag_;
        std::vector<nn::Message> send_, receive_;
        std::size_t received_ = 0;
        bool eager_;
    };

    Mail& mail_;
    int64_t rank_;
};

// Messages leave when they are sent, and have arrived as soon as somebody asks.
class EagerTeam : public ThreadTeam {
    using ThreadTeam::ThreadTeam;
    bool is_eager() const override { return true; }
};

// Runs body(team) in so many threads, each with a Member of the team; rethrows the first exception.
template <class Member = ThreadTeam, class Body>
void run_team(int64_t size, const Body& body) {
    Mail mail(size);
    std::exception_ptr error;
    std::once_flag first;  // the others end because of it
    std::vector<std::thread> threads;
    for (int64_t r = 0; r < size; ++r)
        threads.emplace_back([&, r] {
            Member team(mail, r);
            try {
                body(team);
            } catch (...) {
                std::call_once(first, [&] { error = std::current_exception(); });
                mail.abort();
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    if (error)
        std::rethrow_exception(error);
    if (!mail.is_empty())
        throw std::runtime_error("a message has been sent that nobody has received");
}

}  // namespace plaingrad::tests
