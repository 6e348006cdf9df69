// Writes a Hugging Face model folder from any source of weights, or a PEFT folder from any source of an adapter. Formats:
// docs/formats/model-folder.md, docs/formats/adapter.md.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/language.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/safetensors.h"
#include "commands/export/export.h"
#include "shape/layout.h"
#include "weights/adapter_source.h"
#include "weights/model_source.h"

namespace troika::commands {

// Tensors out of a source and into a file, a piece at a time.

// The report of an export.
struct ExportReport {
  std::string dtype;  // fp32, bf16, fp16
  std::int64_t tensors = 0, parameters = 0, bytes = 0;
  std::vector<std::string> files;  // names, all of them
  std::vector<base::Text> notes;   // what the user should know, a sentence each: numbers that became infinite, ...
};

// The dtype of "fp32", "bf16", "fp16".
base::Dtype dtype_of(const std::string& word);

struct TensorStream {
  std::function<void(const std::vector<checkpoint::Slice>&)> load;  // fills the slices
  std::function<void(const void* data, std::int64_t bytes)> write;  // the next bytes, no cut across two tensors
};

// All elements of all tensors in order, in `dtype`. Memory: 64 MiB. Counts tensors, parameters and bytes in the report,
// and notes for each tensor how many numbers became infinite.
void export_tensors(const std::vector<shape::ParameterInfo>& infos, base::Dtype dtype, const TensorStream& stream,
                    ExportReport* report);

// The folder appears whole or not at all: it is written as TO.partial and renamed. Memory: 64 MiB. ConfigError when
// `to` is there and not an empty folder, or TO.partial is there; DataError as of ModelSource::load, and for what cannot
// be written.
ExportReport write_model_folder(weights::ModelSource& source, const ExportArguments& request);

// Writes a PEFT folder. As write_model_folder. The folder names request.base as its base, or what the source names. automatic is fp32.
ExportReport write_adapter_folder(weights::AdapterSource& source, const ExportArguments& request);

// Files that go along with exported tensors: those of the tokenizer and of generation.

// A source's facts about them, as of weights::ModelSource.
struct Belongings {
  std::string tokenizer;
  std::vector<std::string> auxiliary_files;
  std::string chat_template;  // where that is not auto, it goes along as chat_template.jinja
};

// ConfigError when request.tokenizer has no tokenizer.json.
void check_tokenizer(const ExportArguments& request);

// `texts` (by name) and the source's files, which win; a note in the report where there is no tokenizer.json.
std::map<std::string, std::string> other_files(const Belongings& source, const ExportArguments& request,
                                               std::map<std::string, std::string> texts, ExportReport* report);

// Writes those into the folder.
void write_other_files(const Belongings& source, const ExportArguments& request,
                       std::map<std::string, std::string> texts, const std::string& folder, ExportReport* report);

}  // namespace troika::commands
