// The rules of resolve.h for the model and the run, and (layout_checks.cc) for the axes: their product, the model and the
// sequences they split, settings without effect; and for the pipeline: schedule, stages per rank, how the model is cut.
#pragma once

#include <cstdint>

#include "config/batch.h"
#include "config/resolve.h"
#include "config/settings/settings.h"

namespace troika::config {

// Finds the rules that the shape of a model breaks by itself. All numbers are within the bounds of the table.
void check_shape(const ModelSettings& model, Findings* findings);

// Writes middle_layers into layers and checks the shape of the model.
void resolve_model(Settings* settings, Findings* findings);

// Data, learning rate, steps, device, profile, loss scale.
void resolve_run(Settings* settings, Findings* findings);

// dp for the world size. Errors go to `findings`; the result is then at least 1.
std::int64_t solve_dp(const ParallelSettings& settings, std::int64_t world_size, Findings* findings);

// tp against the model, cp against the sequence, both against reproducible; zero and offload that change nothing are
// noted. `settings.model` and dp are final.
void check_layout(const Settings& settings, Findings* findings);

// Makes schedule and virtual_stages fit each other, unless a schedule file decides, and checks stages and cuts.
// `settings->model` is final.
void resolve_pipeline(Settings* settings, Findings* findings);

}  // namespace troika::config
