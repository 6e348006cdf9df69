// Writes a Hugging Face model folder from any source of weights. Format: docs/formats/model-folder.md.
#pragma once

#include "commands/export/arguments.h"
#include "commands/export/report.h"
#include "weights/model_source.h"

namespace troika::commands {

// The folder appears whole or not at all: it is written as TO.partial and renamed. Memory: 64 MiB. ConfigError when
// `to` is there and not an empty folder, or TO.partial is there; DataError as of ModelSource::load, and for what cannot
// be written.
ExportReport write_model_folder(weights::ModelSource& source, const ExportArguments& request);

}  // namespace troika::commands
