// Says which mutex guards a member, so that clang checks it: with -Wthread-safety (`make trust
// ONLY=tools.thread_safety`) an access without the lock is a finding. Other compilers read nothing here.
#pragma once

#if defined(__clang__)
// After a member's name: whoever reads or writes it holds this mutex.
#define PLAINGRAD_GUARDED_BY(mutex) __attribute__((guarded_by(mutex)))
// After a function's parameters: the caller holds this mutex.
#define PLAINGRAD_REQUIRES(mutex) __attribute__((requires_capability(mutex)))
#else
#define PLAINGRAD_GUARDED_BY(mutex)
#define PLAINGRAD_REQUIRES(mutex)
#endif
