#include "apps/kit/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "apps/kit/program.h"

namespace plaingrad::kit {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kBarWidth = 24, kNumbersWidth = 66;  // in columns: the longest bar; room for the numbers
constexpr auto kRedraw = std::chrono::milliseconds(50);
constexpr int64_t kStepsBeforeEstimate = 5;  // the first steps are slower: they fetch memory

}  // namespace

std::string duration(double seconds) {
    const auto whole = static_cast<long long>(std::min(seconds, 1e15) + 0.5);
    char text[48];
    if (whole < 100)
        std::snprintf(text, sizeof text, "%lld s", whole);
    else if (whole < 6000)
        std::snprintf(text, sizeof text, "%lld:%02lld min", whole / 60, whole % 60);
    else
        std::snprintf(text, sizeof text, "%lld:%02lld h", whole / 3600, whole / 60 % 60);
    return text;
}

Progress::Progress(int64_t total, int64_t every, int64_t done)
    : total_(total), every_(every > 0 ? every : 1), done_(done), terminal_(is_terminal(STDERR_FILENO)) {}

Progress::~Progress() {
    if (open_)
        std::fputc('\n', stderr);
}

void Progress::update(int64_t step, double loss, int64_t tokens) {
    tokens_ += tokens;
    if (terminal_) {
        if (step == total_ || Clock::now() - drawn_ >= kRedraw) {
            std::fputc('\r', stderr);
            line(step, loss);
            std::fputs("\033[K", stderr);  // clears the rest of a longer line
            open_ = true;
            drawn_ = Clock::now();
        }
    } else if (step == 1 || step % every_ == 0 || step == total_) {
        line(step, loss);
        std::fputc('\n', stderr);
    }
    std::fflush(stderr);
}

void Progress::note(const std::string& text) {
    std::fprintf(stderr, "%s%s%s\n", open_ ? "\r" : "", text.c_str(), open_ ? "\033[K" : "");
    open_ = false;
}

void Progress::line(int64_t step, double loss) {
    const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
    const double fraction = static_cast<double>(step) / static_cast<double>(total_);
    char numbers[160];
    std::snprintf(numbers, sizeof numbers, "step %*lld/%lld  loss %.6f  %6.0f tokens/s  %s",
                  static_cast<int>(std::to_string(total_).size()), static_cast<long long>(step),
                  static_cast<long long>(total_), loss,
                  static_cast<double>(tokens_) / (elapsed > 0 ? elapsed : 1), duration(elapsed).c_str());
    std::string text = numbers;
    const auto taken = static_cast<double>(step - done_), rest = static_cast<double>(total_ - step);
    if (step - done_ >= kStepsBeforeEstimate && step < total_)
        text += ", " + duration(elapsed / taken * rest) + " left";
    if (terminal_) {
        // The line must not wrap, or it could not be overwritten. 3: one column free, and "^C" after Ctrl-C.
        const int room = terminal_width(STDERR_FILENO) - 3;
        const int width =
            std::min(kBarWidth, room - std::max(kNumbersWidth, static_cast<int>(text.size())) - 1);
        const int full = static_cast<int>(fraction * width);
        for (int i = 0; i < width; ++i)
            std::fputs(i < full ? "█" : "·", stderr);
        if (width > 0)
            std::fputc(' ', stderr);
        text.resize(std::min(text.size(), static_cast<std::size_t>(room)));
    }
    std::fputs(text.c_str(), stderr);
}

}  // namespace plaingrad::kit
