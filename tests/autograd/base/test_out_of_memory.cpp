// Where memory is out: what is thrown, what stays as it was, and what needs no memory to end.
#include <new>
#include <sstream>

#include "autograd/base/parallel.h"
#include "autograd/base/text_stream.h"
#include "autograd/storage.h"
#include "tests/allocations.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using autograd::Tensor;
using tests::fail_allocation;

namespace {

// Calls f while every allocation fails. Returns whether it has thrown std::bad_alloc.
template <class F>
bool fails(const F& f) {
    fail_allocation(1, true);
    bool thrown = false;
    try {
        f();
    } catch (const std::bad_alloc&) {
        thrown = true;
    }
    fail_allocation(0);
    return thrown;
}

const std::string kLong(1000, 'x');

}  // namespace

TEST_CASE("out of memory: a text stream throws, where the standard's seems to end", "[base]") {
    if (!tests::counts_allocations())
        SKIP(tests::kNotCounted);
    std::string word;
    std::istringstream usual(kLong);
    CHECK_FALSE(fails([&] { usual >> word; }));
    autograd::TextInput reader(kLong), lines(kLong + "\n");
    CHECK(fails([&] { reader >> word; }));
    CHECK(fails([&] { std::getline(lines, word); }));
    autograd::TextOutput writer;
    CHECK(fails([&] { writer << kLong; }));
    CHECK(fails([&] { autograd::join(kLong, 1); }));
}

TEST_CASE("out of memory: tensors are released, and a new one leaves nothing behind", "[storage]") {
    if (!tests::counts_allocations())
        SKIP(tests::kNotCounted);
    int64_t before = 0;
    for (int round = 0; round < 2; ++round) {  // the first one sets up what stays until the process ends
        autograd::storage_trim();
        before = tests::allocations_live();
        {
            std::vector<Tensor> many(100, Tensor::zeros({5}));
            for (Tensor& x : many)
                x = x.clone();
            CHECK_FALSE(fails([&] {
                for (Tensor& x : many)
                    x = Tensor();
            }));
        }
        for (int64_t n = 1; n < 6; ++n) {
            autograd::storage_trim();
            fail_allocation(n);
            try {
                Tensor::zeros({7});
            } catch (const std::exception&) {
            }
            fail_allocation(0);
        }
        autograd::storage_trim();
    }
    CHECK(tests::allocations_live() == before);
}

TEST_CASE("out of memory: what is kept for other sizes is given back, and the system is asked once more",
          "[storage]") {
    if (!tests::counts_allocations())
        SKIP(tests::kNotCounted);
    int64_t given_back = 0;
    for (int64_t n = 1; n < 6; ++n) {
        autograd::storage_trim();
        { Tensor::zeros({1000}); }
        fail_allocation(n);
        try {
            const Tensor x = Tensor::zeros({7});
            given_back += autograd::storage_statistics().bytes_recycled == 0 ? 1 : 0;
        } catch (const std::exception&) {
        }
        fail_allocation(0);
    }
    CHECK(given_back == 1);  // of what a tensor allocates, one is the memory of its numbers
    autograd::storage_trim();
}

TEST_CASE("out of memory: threads that cannot all start leave those that there were", "[parallel]") {
    if (!tests::counts_allocations())
        SKIP(tests::kNotCounted);
    const tests::Threads threads(2);
    for (int64_t n = 1; n < 40; ++n) {
        fail_allocation(n);
        try {
            autograd::set_thread_count(6);
        } catch (const std::bad_alloc&) {
        }
        fail_allocation(0);
        if (autograd::thread_count() == 6) {
            CHECK(n > 5);  // a few for the pool, and at least one for each thread
            return;
        }
        CHECK(autograd::thread_count() == 2);
    }
    FAIL("they never started");
}
