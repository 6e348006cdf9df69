// The rules of resolve.h for the pipeline: schedule, stages per rank, and how the model is cut into stages.
#pragma once

#include "config/batch.h"
#include "config/settings.h"

namespace troika::config {

// Makes schedule and virtual_stages fit each other, unless a schedule file decides, and checks stages and cuts.
// `settings->model` is final.
void resolve_pipeline(Settings* settings, Findings* findings);

}  // namespace troika::config
