// The rules of resolve.h for the axes (their product, the model and the sequences they split, settings without effect) and for the
// pipeline (schedule, stages per rank, and how the model is cut into stages).
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

// Makes schedule and virtual_stages fit each other, unless a schedule file decides, and checks stages and cuts.
// `settings->model` is final.
void resolve_pipeline(Settings* settings, Findings* findings);

}  // namespace troika::config
