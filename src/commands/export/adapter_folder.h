// Writes a PEFT folder from any source of an adapter. Format: docs/formats/adapter.md.
#pragma once

#include <string>

#include "commands/export/arguments.h"
#include "commands/export/report.h"
#include "weights/adapter_source.h"

namespace troika::commands {

// As write_model_folder. The folder names request.base as its base, or what the source names. automatic is fp32.
ExportReport write_adapter_folder(weights::AdapterSource& source, const ExportArguments& request);

}  // namespace troika::commands
