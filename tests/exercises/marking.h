// How an answer is marked: checks that say what is wrong as the library's own errors do, and that know the
// common mistakes by name.
#pragma once

#include "tests/exercises/given.h"

namespace plaingrad::exercises {

// A common mistake: what one gets by making it, and what to say then.
struct Mistake {
    std::string words;
    Row values;
};

class Marking {
public:
    explicit Marking(int exercise) : exercise_(exercise) {}

    // Ends the test case with `[exercise N] parts` unless `right`.
    template <class... Parts>
    void expect(bool right, const Parts&... parts) const {
        judge(right, right ? std::string() : autograd::join(parts...));
    }

    // The values must be these, up to 1e-4 of rounding. If they are a mistake's, its words are the error.
    void expect_values(const std::string& what, const Tensor& given, const Shape& shape, const Row& expected,
                       const std::vector<Mistake>& mistakes = {}) const;
    void expect_values(const std::string& what, const Row& given, const Row& expected,
                       const std::vector<Mistake>& mistakes = {}) const;

private:
    void judge(bool right, const std::string& words) const;

    int exercise_;
};

Row row_of(const Tensor& x);
Tensor tensor_of(const Shape& shape, const Row& values);
// Normal numbers, others for each seed.
Tensor random_tensor(const Shape& shape, uint64_t seed);

// Whether |a - b| <= 1e-4 (1 + |b|) for each element; false for other sizes, and for NaN.
bool close(const Row& a, const Row& b);

}  // namespace plaingrad::exercises
