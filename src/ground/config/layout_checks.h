// The rules of resolve.h for the axes: their product, the model and the sequences they split, and settings without
// effect.
#pragma once

#include <cstdint>

#include "config/batch.h"
#include "config/resolve.h"
#include "config/settings.h"

namespace troika::config {

// Answers dp for the world size. Errors go to `findings`; the result then has what could be answered.
Layout solve_layout(const ParallelSettings& settings, std::int64_t world_size, Findings* findings);

// tp against the model, cp against the sequence, both against reproducible; zero and offload that change nothing are
// noted. `settings.model` is final.
void check_layout(const Settings& settings, const Layout& layout, Findings* findings);

}  // namespace troika::config
