// The thread pool behind parallel_for.
//
// The caller never depends on a worker: it processes the chunks whether or not a worker joins, closes the
// gate when no chunk is left, and waits only for the workers that are inside. A worker that the system wakes
// too late finds the gate closed and goes back to waiting, so a busy machine costs speed but never a stall.
//
// On 16 or 64 cores (calculated; only two were measured): all threads take chunks from one counter, a cache
// line that moves between cores in about a tenth of a microsecond, so chunks of ten microseconds keep a
// hundred cores busy; two more writes let each worker in and out. Work runs out first: wherever a sum could
// cross chunks, their number depends only on the size of the problem, and the rows of a small model make a
// dozen. (No sum crosses the matrix product's tasks, so they depend on the threads.) Chunks are not tied to
// cores either: on a NUMA machine half of the memory would be remote, which a fixed range per thread would
// avoid.
#include "autograd/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "autograd/base/check.h"
#include "autograd/base/system.h"
#include "autograd/base/tools.h"

namespace plaingrad::autograd {
namespace {

constexpr int kMaxThreads = 1024;

// How often a thread spins before it yields, and yields before it sleeps. A few microseconds pass between two
// operations of a training step, and waking up costs about 30: spinning for 20 pays, and an idle program
// still uses no processor time.
constexpr int kSpins = 1000;  // 10 to 40 ns each
constexpr int kYields = 20;

// Tells the processor that this is a spin loop: it saves power and lets the core's other hardware thread run.
void pause() {
#if defined(__x86_64__)
    asm volatile("pause");
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

// Once in a waiting loop, the `tries`th time.
void wait_a_little(int64_t tries) {
    if (tries < kSpins)
        pause();
    else
        std::this_thread::yield();
}

// The processor's floating-point control register, set to IEEE defaults in each chunk of a parallel_for.
//
// A program that was linked with -ffast-math, or a library it loads, may have switched on "flush
// subnormals to zero" for its threads. Results would then depend on which thread a chunk runs on. Subnormals
// stay on here, and the thread's own setting comes back afterwards.
class FloatControl {
public:
    FloatControl() : saved_(read()) {
        if (saved_ != kDefault)
            write(kDefault);
    }
    ~FloatControl() {
        if (saved_ != kDefault)
            write(saved_);
    }
    FloatControl(const FloatControl&) = delete;
    FloatControl& operator=(const FloatControl&) = delete;

private:
#if defined(__x86_64__)
    using Register = uint32_t;
    static constexpr Register kDefault = 0x1f80;  // all exceptions masked, nearest, no flushing
    static constexpr Register kFlags = 0x3f;      // sticky exception flags: of no interest
    static Register read() {
        Register r;
        asm volatile("stmxcsr %0" : "=m"(r) : : "memory");
        return r & ~kFlags;
    }
    static void write(Register r) { asm volatile("ldmxcsr %0" : : "m"(r) : "memory"); }
#elif defined(__aarch64__)
    using Register = uint64_t;
    static constexpr Register kDefault = 0;
    static Register read() {
        Register r;
        asm volatile("mrs %0, fpcr" : "=r"(r) : : "memory");
        return r;
    }
    static void write(Register r) { asm volatile("msr fpcr, %0" : : "r"(r) : "memory"); }
#else
    using Register = int;
    static constexpr Register kDefault = 0;
    static Register read() { return kDefault; }
    static void write(Register) {}
#endif
    Register saved_;
};

thread_local bool inside_parallel_for = false;

struct Inside {
    explicit Inside(bool inside) : before(std::exchange(inside_parallel_for, inside)) {}
    ~Inside() { inside_parallel_for = before; }
    const bool before;
};

// One parallel_for: the chunks, and the index of the next one to take. (An index rather than its begin: each
// thread takes one too many, and a begin beyond `end` could overflow.)
struct Job {
    FunctionRef<void(int64_t, int64_t)> f;
    int64_t begin, end, grain;
    int64_t chunks = (end - begin - 1) / grain + 1;
    std::atomic<int64_t> next = 0;
    std::mutex error_mutex = {};
    std::exception_ptr error PLAINGRAD_GUARDED_BY(error_mutex) = {};

    void run(int64_t chunk) const {
        const int64_t first = begin + chunk * grain;
        f(first, end - first < grain ? end : first + grain);
    }

    void work() {
        const FloatControl ieee;
        const Inside inside(true);
        for (int64_t chunk = next++; chunk < chunks; chunk = next++) {
            try {
                run(chunk);
            } catch (...) {
                const std::lock_guard lock(error_mutex);
                if (!error)
                    error = std::current_exception();
                next = chunks;  // nobody starts another chunk
            }
        }
    }

    // The first error of all chunks, if there was one.
    void rethrow() {
        const std::lock_guard lock(error_mutex);
        if (error)
            std::rethrow_exception(error);
    }
};

class Pool {
public:
    explicit Pool(int threads) {
        try {
            for (int i = 1; i < threads; ++i)
                workers_.emplace_back([this] { serve(); });
        } catch (const std::system_error&) {
            const std::size_t started = workers_.size() + 1;
            stop();
            throw Error(join("[threads] the system gives this program no more than ", started, " of ",
                             threads, " threads; ask for fewer"));
        } catch (...) {  // memory is out
            stop();
            throw;
        }
    }
    ~Pool() { stop(); }

    int threads() const { return static_cast<int>(workers_.size()) + 1; }

    // False if the pool is busy with another thread's job: then the caller works alone.
    bool run(Job& job) {
        const std::unique_lock lock(one_caller_, std::try_to_lock);
        if (!lock.owns_lock())
            return false;
        job_ = &job;
        gate_ += kNextJob | kOpen;  // from a closed, empty gate
        gate_.notify_all();
        job.work();
        gate_ -= kOpen;
        for (int64_t tries = 0; (gate_ & kInside) != 0; ++tries)
            wait_a_little(tries);
        return true;
    }

private:
    void stop() {
        stop_ = true;
        gate_ += kNextJob;
        gate_.notify_all();
        for (std::thread& worker : workers_)
            worker.join();
    }

    // The gate: how many workers are inside, whether it is open, and the number of the job.
    static constexpr uint64_t kInside = 0xffff, kOpen = 0x10000, kNextJob = 0x20000;

    void serve() {
        uint64_t served = 0;  // the last job this worker has seen
        while (!stop_) {
            uint64_t gate = gate_;
            if (gate / kNextJob == served) {
                wait_beyond(served);
            } else if ((gate & kOpen) == 0) {
                served = gate / kNextJob;
            } else if (gate_.compare_exchange_weak(gate, gate + 1)) {
                served = gate / kNextJob;
                job_->work();
                gate_ -= 1;
            }
        }
    }

    void wait_beyond(uint64_t job) {
        for (int tries = 0; tries < kSpins + kYields; ++tries) {
            if (gate_ / kNextJob != job)
                return;
            wait_a_little(tries);
        }
        for (uint64_t gate = gate_; gate / kNextJob == job && !stop_; gate = gate_)
            gate_.wait(gate);
    }

    std::mutex one_caller_;
    Job* job_ = nullptr;
    std::atomic<uint64_t> gate_ = 0;
    std::atomic<bool> stop_ = false;
    std::vector<std::thread> workers_;
};

int default_threads() {
    const char* text = std::getenv("PLAINGRAD_THREADS");
    if (text == nullptr || *text == '\0')
        return std::min(processors(), kMaxThreads);
    int n = 0;
    const char* end = text + std::strlen(text);
    const auto [stop, error] = std::from_chars(text, end, n);
    check(error == std::errc() && stop == end && n >= 1 && n <= kMaxThreads,
          "[PLAINGRAD_THREADS] a whole number from 1 to ", kMaxThreads, " is expected: got '", text, "'");
    return n;
}

// Never destroyed: objects of static duration may compute in their destructors, after any of ours would
// have run.
Pool*& pool() {
    static Pool* instance = new Pool(default_threads());
    return instance;
}

}  // namespace

void parallel_for(int64_t begin, int64_t end, int64_t grain, FunctionRef<void(int64_t, int64_t)> f) {
    check(grain >= 1, "[parallel_for] chunks must have at least one element: got a grain of ", grain);
    if (begin >= end)
        return;
    Job job = {f, begin, end, grain};
    if (job.chunks == 1 || inside_parallel_for || pool()->threads() == 1) {
        const FloatControl ieee;
        const Inside inside(inside_parallel_for || job.chunks > 1);
        for (int64_t chunk = 0; chunk < job.chunks; ++chunk)
            job.run(chunk);
        return;
    }
    if (!pool()->run(job))
        job.work();
    job.rethrow();
}

int thread_count() { return inside_parallel_for ? 1 : pool()->threads(); }

void set_thread_count(int n) {
    check(n >= 1 && n <= kMaxThreads, "[set_thread_count] from 1 to ", kMaxThreads, " threads: got ", n);
    check(!inside_parallel_for, "[set_thread_count] a parallel_for is running; call it before or after");
    if (n != pool()->threads())
        delete std::exchange(pool(), new Pool(n));
}

}  // namespace plaingrad::autograd
