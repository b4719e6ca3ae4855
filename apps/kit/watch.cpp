#include "apps/kit/watch.h"

#include <cstdio>
#include <memory>

#include "apps/kit/program.h"
#include "apps/kit/progress.h"

namespace plaingrad::kit {

static std::string describe(int64_t step, double loss) {
    char text[80];
    std::snprintf(text, sizeof text, "step %lld  validation loss %.4f", static_cast<long long>(step), loss);
    return text;
}

nn::Watch watch(int64_t end, const WatchOptions& options) {
    const auto progress = std::make_shared<Progress>(end, options.plain_lines_every, options.done);
    const auto say = options.describe_validation ? options.describe_validation : describe;
    return {.on_step = [progress](const nn::StepReport& r) { progress->update(r.step, r.loss, r.tokens); },
            .on_validation =
                [progress, say](int64_t step, double loss, bool better) {
                    progress->note(say(step, loss) + (better ? "" : "  (no better)"));
                },
            .should_stop = interrupted};
}

}  // namespace plaingrad::kit
