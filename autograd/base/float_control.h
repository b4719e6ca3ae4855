// The processor's rounding control register, set to IEEE defaults while the library computes.
//
// A program that was linked with -ffast-math, or a library it loads, may have switched on "flush
// subnormals to zero" for its threads. Results would then depend on who calls us, and on which
// thread a chunk runs. Subnormals stay on here, and the caller's setting comes back afterwards.
//
// parallel_for and backward do this themselves. Code outside of them creates a FloatControl where what it
// computes with, and what it computes, lies in memory; else it calls in_ieee_mode.
#pragma once

#include <cstdint>

namespace plaingrad::autograd {

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

// f(), computed with the defaults. A compiler does not know that arithmetic depends on that register, and may
// move what it computes from arguments to before the change, or a result to after it. It moves nothing across
// a call of a function that is not inlined and touches memory ("memory" says that it may).
template <class F>
[[gnu::noinline]] auto called_in_place(const F& f) {
    asm volatile("" : : : "memory");
    return f();
}
template <class F>
auto in_ieee_mode(const F& f) {
    const FloatControl ieee;
    return called_in_place(f);
}

}  // namespace plaingrad::autograd
