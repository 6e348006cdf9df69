// The rules of resolve.h for the model and the run.
#pragma once

#include "config/batch.h"
#include "config/settings.h"

namespace troika::config {

// What the shape of a model breaks by itself. All numbers within the bounds of the table.
void check_shape(const ModelSettings& model, Findings* findings);

// Writes middle_layers into layers and checks the shape of the model.
void resolve_model(Settings* settings, Findings* findings);

// Data, learning rate, steps, device, profile, loss scale.
void resolve_run(Settings* settings, Findings* findings);

}  // namespace troika::config
