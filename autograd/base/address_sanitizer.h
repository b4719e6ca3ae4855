// Tells the address sanitizer (make VARIANT=asan) which part of an allocated buffer nobody may touch: buffers
// are larger than what was asked for, and are kept when they are free, so that by itself it would miss a read
// past the end or of a freed tensor. In other builds these do nothing.
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
