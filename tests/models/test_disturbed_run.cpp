// At every call of the system that a run makes about files, the call fails, or the run is killed, or another
// one comes into its folder; and memory runs out. Nothing that was saved is lost, and the run goes on to the
// same files. (tests/trust/crashes does this with every program.)
#include <cstring>

#include "tests/allocations.h"
#include "tests/calls.h"
#include "tests/catch.h"
#include "tests/models/counting.h"
#include "tests/saved_run.h"

using namespace plaingrad;  // NOLINT
using namespace tests;      // NOLINT
namespace fs = std::filesystem;

namespace {

// A run that saves each of its three steps, in a new folder or in one of a run that has done the first.
struct Disturbed {
    explicit Disturbed(bool is_begun) : begun(is_begun) {
        begin();
        REQUIRE(train() == "");
        usual = comparable(path);
        begin();
    }
    // What is to be disturbed, as it was before.
    void begin() {
        fs::remove_all(path);
        if (begun)
            CHECK(error_of([&] { counting({.save = path, .stop_after = 1}); }) == "");
        taken = 0;
    }
    // Each returns its error, or "".
    std::string save() {
        return error_of([&] { counting({.save = path}); });
    }
    std::string resume() {
        return error_of([&] { counting({.resume = path}); });
    }
    std::string train() { return begun ? resume() : save(); }
    // In which a call meets the fate that is set.
    std::string disturbed(Calls::Ask its_fate) {
        fate = std::move(its_fate);
        std::string error = train();
        fate = {};
        return error;
    }
    void counting(models::RunSettings settings) {
        settings.save_every = 1;
        Counting run(settings);
        run.steps = 3;
        run.layers = 1;
        const Calls calls([ask = std::exchange(fate, {}), before = std::string()](std::string_view call,
                                                                                  bool can_fail) mutable {
            // One of many reads or writes in a row is as the other.
            const bool again = call == before && (call == "write" || call == "pread");
            before = call;
            const Fate asked = ask ? ask(call, can_fail && !again) : Fate{};
            // To wait for the disk matters only when the power is cut.
            return call.starts_with("fsync") && asked.error == 0 ? Fate{.at_most = 0} : asked;
        });
        run();
        taken += run.taken;
    }
    // What is there opens, and the run goes on to the same files.
    void check() {
        const int64_t steps = steps_in(path);
        CHECK(steps >= (begun ? 1 : -1));
        CHECK((steps < 0 ? save() : resume()) == "");
        CHECK((comparable(path) == usual));
    }
    // The same after it has ended: before, no file is half written.
    void check_ended(const std::string& error) {
        CHECK(error.find('\n') == error.npos);
        for (const auto& [name, bytes] : contents(path))
            CHECK_FALSE(name.ends_with(".plaingrad-tmp"));
        if (error.empty())
            CHECK((comparable(path) == usual));
        check();
    }

    const Folder folder;
    const std::string path = folder / "run";
    const bool begun;
    Contents usual;
    int64_t taken = 0;  // steps, of all runs
    Calls::Ask fate;    // of the calls of the next run
};

}  // namespace

#ifdef PLAINGRAD_ASKS_ABOUT_CALLS
TEST_CASE("disturbed run: killed at any moment, it goes on to the same files", "[models][run]") {
    for (const bool begun : {false, true}) {
        Disturbed run(begun);
        std::vector<Contents> left = {contents(run.path)};  // by a kill before each call
        REQUIRE(run.disturbed([&](std::string_view, bool can_fail) {
            if (Contents now = can_fail ? contents(run.path) : left.back(); now != left.back())
                left.push_back(std::move(now));
            return Fate{};
        }) == "");
        REQUIRE(left.size() > 20);
        int64_t steps = -1;
        for (const Contents& files : left) {
            fs::remove_all(run.path);
            fs::create_directory(run.path);
            for (const auto& [name, bytes] : files)
                put(run.path + "/" + name, bytes);
            CHECK(steps_in(run.path) >= steps);  // no call loses what was saved before
            steps = steps_in(run.path);
            run.check();
        }
    }
}

TEST_CASE("disturbed run: a call that fails, alone or with all later ones, ends it with the reason",
          "[models][run]") {
    for (const bool begun : {false, true}) {
        Disturbed run(begun);
        int64_t calls = 0;
        std::string failed;
        // The call n fails; for odd n all later ones, too, as on a full disk.
        const auto train = [&](int64_t n) {
            calls = 0;
            failed = "";
            return run.disturbed([&](std::string_view call, bool can_fail) {
                const int64_t now = can_fail ? calls++ : -1;
                failed = n >= 0 && now == n ? call : failed;
                if (n < 0 || now < n || (now > n && n % 2 == 0))
                    return Fate{};
                return Fate{.error = n % 2 == 0 ? EIO : ENOSPC};
            });
        };
        REQUIRE(train(-1) == "");
        for (int64_t n = 0, all = calls; n < all; n += begun ? 3 : 1) {
            run.begin();
            const std::string error = train(n);
            INFO("call " << n << " of " << all << ", " << failed << ": " << error);
            // What is not needed may fail; but what may not be on the disk is not saved.
            if (error.empty())
                CHECK((failed == "close" || failed == "fsync of a folder" || failed == "open" ||
                       failed == "openat" || failed == "flock"));
            else
                CHECK(contains(error, std::strerror(n % 2 == 0 ? EIO : ENOSPC)));
            CHECK(fs::exists(run.path) == (steps_in(run.path) >= 0));  // a folder that it has made is gone
            run.check_ended(error);
        }
    }
}

// Until a run has locked its folder, the other one does the work; then that is refused, before every call.
TEST_CASE("disturbed run: of two in one folder, one does the work", "[models][run]") {
    const auto is_refusal = [](const std::string& error) {
        return contains(error, "another run is writing into this folder") ||
               contains(error, "there is a run in this folder already") ||
               contains(error, "there is no run in this folder");
    };
    for (const bool begun : {false, true})
        for (const bool other_resumes : {false, true}) {
            Disturbed run(begun);
            bool is_locked = false;
            for (int64_t n = 0; !is_locked; ++n) {
                run.begin();
                int64_t call = 0;
                std::string other;
                const std::string error = run.disturbed([&](std::string_view, bool) {
                    if (call++ == n || is_locked) {
                        other = other_resumes ? run.resume() : run.save();
                        const bool was_locked = is_locked;
                        is_locked = contains(other, "another run is writing into this folder");
                        CHECK(is_locked >= was_locked);
                    }
                    return Fate{};
                });
                INFO("before call " << n << ": " << error << "; the other: " << other);
                CHECK((error.empty() || is_refusal(error)));
                CHECK((other.empty() || is_refusal(other)));
                REQUIRE(run.taken == (begun ? 2 : 3));
                REQUIRE(call > n);
                CHECK((comparable(run.path) == run.usual));
            }
        }
}
#endif

TEST_CASE("disturbed run: where memory is out, it ends, and goes on to the same files", "[models][run]") {
    if (!counts_allocations())
        SKIP(kNotCounted);
    for (const bool begun : {false, true}) {
        Disturbed run(begun);
        fail_allocation(0);
        REQUIRE(run.train() == "");
        const int64_t all = allocations_made();
        for (int64_t n = 1; n < all; n += 1 + all / 30) {
            run.begin();
            std::string error = "memory";
            fail_allocation(n, n % 3 == 0);
            try {
                error = run.train();
            } catch (const std::bad_alloc&) {          // no memory for the error, either
            } catch (const std::ios_base::failure&) {  // which libc++'s streams call so
            }
            fail_allocation(0);
            INFO("allocation " << n << " of " << all << ": " << error);
            CHECK((error.empty() || contains(error, "memory") || contains(error, "bad_alloc")));
            run.check_ended(error);
        }
    }
}
