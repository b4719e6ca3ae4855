#include "apps/kit/progress.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <utility>

#include "apps/kit/picture.h"
#include "apps/kit/program.h"
#include "apps/kit/text.h"
#include "autograd/base/check.h"

namespace plaingrad::kit {

using autograd::join;

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kBarWidth = 24, kNumbersWidth = 66;  // in columns: the longest bar; room for the numbers
constexpr auto kRedraw = std::chrono::milliseconds(50);
constexpr int64_t kStepsBeforeEstimate = 5;  // the first steps are slower: they fetch memory

}  // namespace

Progress::Progress(int64_t total, int64_t every, int64_t done)
    : total_(total), every_(every > 0 ? every : 1), done_(done), terminal_(is_terminal(STDERR_FILENO)) {}

Progress::~Progress() {
    if (open_)
        std::cerr << '\n';
}

void Progress::update(int64_t step, double loss, int64_t tokens) {
    tokens_ += tokens;
    losses_.push_back(loss);
    if (terminal_ && (step == total_ || Clock::now() - drawn_ >= kRedraw)) {
        std::cerr << '\r' + line(step, loss) + "\033[K";  // clears the rest of a longer line
        open_ = true;
        drawn_ = Clock::now();
    } else if (!terminal_ && (step == done_ + 1 || step % every_ == 0 || step == total_)) {
        std::cerr << line(step, loss) + '\n';
    }
}

void Progress::note(const std::string& text) {
    std::cerr << (open_ ? '\r' + text + "\033[K\n" : text + '\n');
    open_ = false;
}

std::string Progress::line(int64_t step, double loss) const {
    const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
    const double speed = static_cast<double>(tokens_) / std::max(elapsed, 1e-9);
    const auto taken = static_cast<double>(step - done_), rest = static_cast<double>(total_ - step);
    const std::string total = std::to_string(total_);
    std::string text = "step " + right(std::to_string(step), total.size()) + "/" + total + "  loss " +
                       number(loss, 6) + "  " + right(number(speed, 0), 6) + " tokens/s  " +
                       duration(elapsed);
    if (step - done_ >= kStepsBeforeEstimate && step < total_)
        text += ", " + duration(elapsed / taken * rest) + " left";
    if (!terminal_)
        return text;
    // The line must not wrap, or it could not be overwritten. 3: one column free, and "^C" after Ctrl-C.
    const int room = terminal_width(STDERR_FILENO) - 3;
    const int width = std::min(kBarWidth, room - std::max(kNumbersWidth, static_cast<int>(text.size())) - 1);
    return curve(width) + text.substr(0, static_cast<std::size_t>(room));
}

// The losses so far, from the lowest to the highest; a point for each column of steps to come.
std::string Progress::curve(int width) const {
    if (width <= 0)
        return "";
    const std::vector<double> columns =
        means(losses_, static_cast<std::size_t>(total_ - done_), static_cast<std::size_t>(width));
    const auto [low, high] = std::minmax_element(columns.begin(), columns.end());
    std::string text;
    for (const double loss : columns)
        text += bar(*low < *high ? (loss - *low) / (*high - *low) : 1, 0, 1, Ink::blocks);
    for (std::size_t i = columns.size(); i < static_cast<std::size_t>(width); ++i)
        text += "·";
    return text + " ";
}

namespace {

// The line of `loading`, which also goes away when loading throws.
struct LoadingLine {
    LoadingLine() = default;
    LoadingLine(LoadingLine&&) = delete;
    ~LoadingLine() { clear(); }
    void show(const std::string& text) {
        std::cerr << '\r' + text + "\033[K" << std::flush;
        open = true;
    }
    void clear() {
        if (std::exchange(open, false))
            std::cerr << "\r\033[K" << std::flush;
    }
    bool open = false;
};

}  // namespace

std::function<void(int64_t, int64_t)> loading(const std::string& path) {
    constexpr int64_t kMillion = 1'000'000, kLarge = 10 * kMillion;
    if (!is_terminal(STDERR_FILENO))
        return {};
    return [what = as_line(path), line = std::make_shared<LoadingLine>(), drawn = Clock::time_point()](
               int64_t done, int64_t all) mutable {
        if (all < kLarge || (done < all && Clock::now() - drawn < kRedraw))
            return;
        drawn = Clock::now();
        if (done == all)
            return line->clear();
        line->show(
            join(what, ": ", grouped(done / kMillion), " of ", grouped(all / kMillion), " million numbers"));
    };
}

}  // namespace plaingrad::kit
