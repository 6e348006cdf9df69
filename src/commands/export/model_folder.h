// Writes a Hugging Face model folder from any source of weights, or a PEFT folder from any source of an adapter. Formats:
// docs/formats/model-folder.md, docs/formats/adapter.md.
#pragma once

#include "commands/export/arguments.h"
#include "commands/export/tensors.h"
#include "weights/adapter_source.h"
#include "weights/model_source.h"

namespace troika::commands {

// The folder appears whole or not at all: it is written as TO.partial and renamed. Memory: 64 MiB. ConfigError when
// `to` is there and not an empty folder, or TO.partial is there; DataError as of ModelSource::load, and for what cannot
// be written.
ExportReport write_model_folder(weights::ModelSource& source, const ExportArguments& request);

// Writes a PEFT folder. As write_model_folder. The folder names request.base as its base, or what the source names. automatic is fp32.
ExportReport write_adapter_folder(weights::AdapterSource& source, const ExportArguments& request);

}  // namespace troika::commands
