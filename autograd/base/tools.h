// What tools that check the code need to be told. In other builds it does nothing.
//
// clang, with -Wthread-safety (`make trust ONLY=tools.thread_safety`), finds where a member is read or
// written without the mutex that guards it.
//
// The address sanitizer (make VARIANT=asan) learns which part of an allocated buffer nobody may touch:
// buffers are larger than what was asked for, and are kept when they are free, so that by itself it would
// miss a read past the end or of a freed tensor.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)  // gcc
#define PLAINGRAD_HAS_ADDRESS_SANITIZER
#elif defined(__has_feature)  // clang; the sanitizer's header gives gcc one that says no
#if __has_feature(address_sanitizer)
#define PLAINGRAD_HAS_ADDRESS_SANITIZER
#endif
#endif

#if defined(PLAINGRAD_HAS_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#endif

#if defined(__clang__)
// After a member's name: whoever reads or writes it holds this mutex.
#define PLAINGRAD_GUARDED_BY(mutex) __attribute__((guarded_by(mutex)))
// After a function's parameters: the caller holds this mutex.
#define PLAINGRAD_REQUIRES(mutex) __attribute__((requires_capability(mutex)))
#else
#define PLAINGRAD_GUARDED_BY(mutex)
#define PLAINGRAD_REQUIRES(mutex)
#endif

namespace plaingrad::autograd {

// Of `allocated` bytes only the first `used` may be touched.
inline void allow_only([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t used,
                       [[maybe_unused]] std::size_t allocated) {
#if defined(PLAINGRAD_HAS_ADDRESS_SANITIZER)
    __asan_unpoison_memory_region(memory, used);
    __asan_poison_memory_region(static_cast<char*>(memory) + used, allocated - used);
#endif
}

}  // namespace plaingrad::autograd
