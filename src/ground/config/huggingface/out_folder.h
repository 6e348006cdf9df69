// Where a run may not put its own.
#pragma once

#include <string>

namespace troika::config {

// ConfigError where the run's folder `out` (train.out) holds a model, an adapter, a tokenizer or is a checkpoint: verbs that are
// given that folder would take what it holds, and not what was trained. Folders below such a one are fine.
void refuse_out_of_model(const std::string& out);

}  // namespace troika::config
