// What goes along with exported tensors: the tokenizer's files and how to generate.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "commands/export/arguments.h"
#include "commands/export/tensors.h"

namespace troika::commands {

// What a source says of it, as of weights::ModelSource.
struct Belongings {
  std::string tokenizer;
  std::vector<std::string> auxiliary_files;
  std::string chat_template;  // where that is not auto, it goes along as chat_template.jinja
};

// ConfigError when request.tokenizer has no tokenizer.json.
void check_tokenizer(const ExportArguments& request);

// Writes `texts` (by name) and the source's files, which win, into the folder; a note in the report where there is no
// tokenizer.json.
void write_other_files(const Belongings& source, const ExportArguments& request,
                       std::map<std::string, std::string> texts, const std::string& folder, ExportReport* report);

}  // namespace troika::commands
