// The library's only way to use several threads.
//
// Kernels include this header and are compiled once per instruction set, so it must contain no
// inline function that the linker could take from the wrong one: templates over the caller's own
// lambda are the only code here.
#pragma once

#include <cstdint>

namespace plaingrad::autograd {

// A reference to any callable, which it does not own: for an argument that is called before the call ends.
template <class>
class FunctionRef;
template <class Result, class... Arguments>
class FunctionRef<Result(Arguments...)> {
public:
    template <class F>
    FunctionRef(const F& f)  // NOLINT: implicit, so that a lambda can be passed as it is
        : object_(&f), call_([](const void* object, Arguments... arguments) -> Result {
              return (*static_cast<const F*>(object))(arguments...);
          }) {}
    Result operator()(Arguments... arguments) const { return call_(object_, arguments...); }

private:
    const void* object_;
    Result (*call_)(const void*, Arguments...);
};

// Calls f on consecutive chunks of [begin, end), each `grain` long except the last, on any thread in
// any order, and returns when all are done. The chunks are a function of the arguments alone, never
// of the number of threads: a kernel that writes each result from one chunk, or adds partial results
// in chunk order, gives the same bits on any machine.
// A nested call from inside f runs on the calling thread if there are several chunks and threads; inside a
// single chunk it uses all threads. An exception thrown by f is rethrown here, once the other threads have
// stopped. Throws Error unless grain >= 1.
void parallel_for(int64_t begin, int64_t end, int64_t grain, FunctionRef<void(int64_t begin, int64_t end)> f);

// How many threads a parallel_for that is called here uses, including the caller's. At start:
// PLAINGRAD_THREADS if it is set, else the number of processors that this process may run on (its CPU
// affinity, where the system has one).
int thread_count();

// Sets that number. Do not call it while another thread computes. Throws Error unless 1 <= n <= 1024, or if
// called from one of several chunks of a parallel_for.
void set_thread_count(int n);

}  // namespace plaingrad::autograd
