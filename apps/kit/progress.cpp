#include "apps/kit/progress.h"

#include <cstdio>
#include <string>

#include "apps/kit/program.h"

namespace kit {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kBarWidth = 24;
constexpr auto kRedraw = std::chrono::milliseconds(50);
constexpr int64_t kStepsBeforeEstimate = 5;  // the first steps are slower: memory is still being fetched

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::string duration(double seconds) {
    const int whole = static_cast<int>(seconds + 0.5);
    char text[32];
    if (whole < 100)
        std::snprintf(text, sizeof text, "%d s", whole);
    else
        std::snprintf(text, sizeof text, "%d:%02d min", whole / 60, whole % 60);
    return text;
}

}  // namespace

Progress::Progress(int64_t total, int64_t every)
    : total_(total), every_(every), terminal_(stderr_is_terminal()), start_(Clock::now()), drawn_(start_) {}

Progress::~Progress() {
    if (open_)
        std::fputc('\n', stderr);
}

double Progress::seconds() const { return since(start_); }

void Progress::update(int64_t step, double loss, int64_t tokens) {
    tokens_ += tokens;
    if (terminal_) {
        if (step == total_ || Clock::now() - drawn_ >= kRedraw) {
            std::fputc('\r', stderr);
            line(step, loss);
            std::fputs("\033[K", stderr);  // clears what a longer line has left
            open_ = true;
            drawn_ = Clock::now();
        }
    } else if (step == 1 || step % every_ == 0 || step == total_) {
        line(step, loss);
        std::fputc('\n', stderr);
    }
    std::fflush(stderr);
}

void Progress::line(int64_t step, double loss) {
    const double elapsed = seconds(), fraction = static_cast<double>(step) / static_cast<double>(total_);
    if (terminal_) {
        std::string bar;
        const int full = static_cast<int>(fraction * kBarWidth);
        for (int i = 0; i < kBarWidth; ++i)
            bar += i < full ? "█" : "·";
        std::fprintf(stderr, "%s ", bar.c_str());
    }
    std::fprintf(stderr, "step %*lld/%lld  loss %.6f  %6.0f tokens/s  %s",
                 static_cast<int>(std::to_string(total_).size()), static_cast<long long>(step),
                 static_cast<long long>(total_), loss,
                 static_cast<double>(tokens_) / (elapsed > 0 ? elapsed : 1), duration(elapsed).c_str());
    if (step >= kStepsBeforeEstimate && step < total_)
        std::fprintf(stderr, ", %s left", duration(elapsed / fraction - elapsed).c_str());
}

}  // namespace kit
