// Cases measured in several processes: one that crashes its process, by touching memory that it may not, is a
// finding, and the others are still measured. (A worker that has lost 50 processes in this way leaves out the
// rest of its cases.)
#pragma once

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "autograd/base/check.h"
#include "autograd/base/system.h"

namespace plaingrad::trust {

// How often something was seen, and in which case first. Plain memory, which processes can share.
struct Finding {
    int64_t count;
    char first[300];

    void note(int64_t seen, const std::string& what) {
        if (seen > 0 && count == 0)
            std::snprintf(first, sizeof first, "%s", what.c_str());
        count += seen;
    }
    void add(const Finding& other) { note(other.count, other.first); }
};

// Found: plain data that begins as zeros, with add(const Found&) and a Finding `ended`, which counts the
// cases that end their process. name(i) says what case i is. prepare(worker, found) is called once in each
// process, before any case, and returns the function that measures case i.
//
// Must be called before the library has started threads, which a fork does not take along.
template <class Found>
class Processes {
public:
    using Measure = std::function<void(int64_t i)>;
    using Prepare = std::function<Measure(int64_t worker, Found& found)>;
    using Name = std::function<std::string(int64_t i)>;

    Processes(int64_t count, Prepare prepare, Name name)
        : count_(count), prepare_(std::move(prepare)), name_(std::move(name)) {}

    Found run() {
        void* const memory = mmap(nullptr, static_cast<std::size_t>(workers_) * sizeof(Worker),
                                  PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        autograd::check(memory != MAP_FAILED, "no memory that processes can share");
        Worker* const workers = static_cast<Worker*>(memory);
        std::vector<pid_t> processes;
        for (int64_t w = 0; w < workers_; ++w) {
            workers[w].next = w;
            processes.push_back(start(w, workers[w]));
        }
        Found all = {};
        for (int64_t w = 0; w < workers_; ++w) {
            finish(w, workers[w], processes[static_cast<std::size_t>(w)]);
            all.add(workers[w].found);
        }
        munmap(memory, static_cast<std::size_t>(workers_) * sizeof(Worker));
        return all;
    }

    static int64_t workers() { return std::min(autograd::processors(), 16); }

private:
    struct Worker {
        int64_t next;  // every workers_-th case from here on is still to be measured
        Found found;
    };

    pid_t start(int64_t w, Worker& worker) const {
        std::fflush(stdout);
        const pid_t process = fork();
        autograd::check(process >= 0, "no process can be started");
        if (process != 0)
            return process;
        measure(w, worker);
        _exit(0);
    }

    void measure(int64_t w, Worker& worker) const {
        const Measure of = prepare_(w, worker.found);
        for (; worker.next < count_; worker.next += workers_) {
            of(worker.next);
            if (worker.next >= kTell && worker.next % kTell < workers_) {
                std::printf("%lld of %lld\n", static_cast<long long>(worker.next),
                            static_cast<long long>(count_));
                std::fflush(stdout);
            }
        }
    }

    // Waits for its end. If a case has ended it, another process goes on with the next one.
    void finish(int64_t w, Worker& worker, pid_t process) const {
        for (int status = 0;;) {
            autograd::check(waitpid(process, &status, 0) == process, "a process is lost");
            if (status == 0 || worker.found.ended.count >= kMostEnds)
                return;
            worker.found.ended.note(1, name_(worker.next));
            worker.next += workers_;
            process = start(w, worker);
        }
    }

    static constexpr int64_t kTell = 20'000, kMostEnds = 50;
    const int64_t count_, workers_ = workers();
    const Prepare prepare_;
    const Name name_;
};

}  // namespace plaingrad::trust
