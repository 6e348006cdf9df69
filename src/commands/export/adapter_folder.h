// Writes a PEFT folder from any source of an adapter. Format: docs/formats/adapter.md.
#pragma once

#include <string>

#include "commands/export/request.h"
#include "train/adapter_source.h"

namespace troika::commands {

// As write_model_folder. `base`: what the folder names as its base; "": what the source does. auto is fp32.
ExportReport write_adapter_folder(train::AdapterSource& source, const ExportRequest& request, const std::string& base);

}  // namespace troika::commands
