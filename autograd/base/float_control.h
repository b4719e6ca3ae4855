// The processor's floating-point control register, set to IEEE defaults in each chunk of a parallel_for.
//
// A program that was linked with -ffast-math, or a library it loads, may have switched on "flush
// subnormals to zero" for its threads. Results would then depend on which thread a chunk runs on. Subnormals
// stay on here, and the thread's own setting comes back afterwards.
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

}  // namespace plaingrad::autograd
