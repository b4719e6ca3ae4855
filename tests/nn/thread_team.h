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
#include <utility>

#include "nn/parallel/team.h"

namespace plaingrad::tests {

// What the threads share: messages that were sent and not yet received.
class Mail {
public:
    explicit Mail(int64_t processes) : size(processes) {}

    void send(int64_t from, int64_t to, std::string bytes) {
        const std::lock_guard lock(mutex_);
        boxes_[{from, to}].push_back(std::move(bytes));
        changed_.notify_all();
    }
    // Waits until there is one. Throws if a thread has aborted: the message may never come.
    std::string receive(int64_t from, int64_t to) {
        std::unique_lock lock(mutex_);
        std::deque<std::string>& box = boxes_[{from, to}];
        changed_.wait(lock, [&] { return !box.empty() || aborted_; });
        if (aborted_)
            throw std::runtime_error("another process has ended");
        const std::string bytes = std::move(box.front());
        box.pop_front();
        return bytes;
    }
    void abort() {
        const std::lock_guard lock(mutex_);
        aborted_ = true;
        changed_.notify_all();
    }
    bool is_empty() {
        const std::lock_guard lock(mutex_);
        return std::all_of(boxes_.begin(), boxes_.end(), [](const auto& box) { return box.second.empty(); });
    }

    const int64_t size;

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::pair<int64_t, int64_t>, std::deque<std::string>> boxes_;
    bool aborted_ = false;
};

class ThreadTeam : public nn::Team {
public:
    ThreadTeam(Mail& mail, int64_t rank) : mail_(mail), rank_(rank) {}

    int64_t rank() const override { return rank_; }
    int64_t size() const override { return mail_.size; }
    void broadcast(void* at, int64_t bytes) override {
        const std::string first = gather(std::string(static_cast<const char*>(at), size_of(bytes)))[0];
        std::memcpy(at, first.data(), size_of(bytes));
    }
    std::vector<std::string> gather(const std::string& mine) override {
        for (int64_t r = 0; r < size(); ++r)
            mail_.send(rank_, r, mine);
        std::vector<std::string> all;
        for (int64_t r = 0; r < size(); ++r)
            all.push_back(mail_.receive(r, rank_));
        return all;
    }
    void exchange(const std::vector<nn::Message>& send, const std::vector<nn::Message>& receive) override {
        for (const nn::Message& m : send)
            mail_.send(rank_, m.process, std::string(static_cast<const char*>(m.at), size_of(m.bytes)));
        for (const nn::Message& m : receive) {
            const std::string bytes = mail_.receive(m.process, rank_);
            if (static_cast<int64_t>(bytes.size()) != m.bytes)
                throw std::runtime_error("a message of another size than expected");
            std::memcpy(m.at, bytes.data(), bytes.size());
        }
    }
    void abort(int) override {
        mail_.abort();
        throw std::runtime_error("aborted");
    }

private:
    static std::size_t size_of(int64_t n) { return static_cast<std::size_t>(n); }

    Mail& mail_;
    int64_t rank_;
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
