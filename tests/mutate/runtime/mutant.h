// Which mutant is alive. `python3 tests/mutate` includes this in each file that it changes, in a copy of the
// tree: a + b becomes (mutant::is(17) ? (a - b) : (a + b)), so that one build has hundreds of mutants, of
// which the environment of a run chooses one.
//
// No standard header, and nothing but inlined code: kernels are compiled for other processors than the rest.
#pragma once

namespace mutant {

extern int alive;               // the number of the mutant; -1: none
extern unsigned char* reached;  // [number], or null: 1 if that place was executed

__attribute__((always_inline)) static inline bool is_now(int number) {
    if (reached != nullptr)
        reached[number] = 1;
    return alive == number;
}
// What the compiler evaluates itself is never changed.
__attribute__((always_inline)) static inline constexpr bool is(int number) {
    return __builtin_is_constant_evaluated() ? false : is_now(number);
}

}  // namespace mutant
