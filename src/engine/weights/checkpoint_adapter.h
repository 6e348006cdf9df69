// A checkpoint of a run with lora.rank as a source of an adapter.
#pragma once

#include <memory>

#include "weights/adapter_source.h"

namespace troika::weights {

// Whether its run trained an adapter. ConfigError as of settings_of.
bool holds_adapter(const checkpoint::Found& found);

std::unique_ptr<AdapterSource> make_checkpoint_adapter(checkpoint::Found found);

}  // namespace troika::weights
