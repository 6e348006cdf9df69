#include "commands/export/adapter_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "checkpoint/safetensors_writer.h"
#include "comm/self_channel.h"
#include "commands/export/other_files.h"
#include "commands/export/partial_folder.h"
#include "commands/export/tensors.h"
#include "config/adapter_sizes.h"
#include "config/huggingface/model_folder.h"
#include "config/huggingface/peft_config.h"
#include "weights/adapter_parameters.h"
#include "weights/peft_folder.h"

namespace troika::commands {
namespace {

// An adapter's folder states no number of layers: the base would be taken whole.
void refuse_fewer_layers(const weights::AdapterSource& source, const std::string& base) {
  const auto model = source.model();
  if (!model || base.empty()) return;
  std::int64_t layers = 0;
  try {
    layers = config::read_hugging_face_config(base, source.base_beneath()).layers;
  } catch (const base::Error&) {  // the base is not here
    return;
  }
  if (layers <= model->layers) return;
  throw base::ConfigError(base::say(
      "'{}' has {} layers, but its base '{}' has {}, all of which an adapter's folder stands for: write the "
      "whole model with --merge",
      source.path(), model->layers, base, layers));
}

void write_weights(weights::AdapterSource& source, const std::string& folder, ExportReport* report) {
  const auto self = comm::make_self_channel("export");
  const base::Dtype dtype = dtype_of(report->dtype);
  std::vector<checkpoint::TensorEntry> entries;
  for (const auto& info : source.parameters())
    entries.push_back({weights::peft_prefix + info.name, dtype, info.shape, 0, 0});
  checkpoint::SafetensorsWriter writer(folder + "/" + weights::adapter_weights_name, std::move(entries),
                                       {{"format", "pt"}});
  export_tensors(source.parameters(), dtype,
                 {[&](const auto& slices) { source.load(slices, *self); },
                  [&](const void* data, std::int64_t bytes) { writer.write(data, bytes); }},
                 report);
  writer.finish();
  report->files.push_back(weights::adapter_weights_name);
}

std::int64_t layers_of(const weights::AdapterSource& source) {
  std::int64_t layers = 0;
  for (const auto& info : source.parameters())
    if (const auto module = config::adapted_module(weights::module_of(info.name)))
      layers = std::max(layers, module->layer + 1);
  return layers;
}

// Other programs load a base from a model's folder or by its name on the Hub.
void note_base(const std::string& adapter, const std::string& base, ExportReport* report) {
  const bool an_adapter = config::is_adapter_folder(base);
  if (!base::directory_exists(base) || (!an_adapter && base::file_exists(base + "/config.json"))) return;
  report->notes.push_back(
      fmt::format("the base of this adapter is '{}', {}, which PEFT cannot load: write one whole model with troika "
                  "export {} FOLDER --merge, or export that base as a model's folder too and name it with --base FOLDER",
                  base, an_adapter ? "an adapter" : "a run of Troika", adapter));
}

}  // namespace

ExportReport write_adapter_folder(weights::AdapterSource& source, const ExportArguments& request) {
  check_tokenizer(request);
  const std::string& beneath = request.base.empty() ? source.base() : request.base;
  refuse_fewer_layers(source, beneath);
  ExportReport report;
  report.dtype = request.type == ExportType::automatic ? "fp32" : config::word_of(request.type);
  PartialFolder partial(request.to);
  write_other_files(
      {source.tokenizer(), source.auxiliary_files(), source.chat_template()}, request,
      {{config::adapter_config_name, config::peft_config_text(source.lora(), layers_of(source), beneath)}},
      partial.path(), &report);
  for (const std::string& note : source.notes()) report.notes.push_back(note);
  note_base(source.path(), beneath, &report);
  write_weights(source, partial.path(), &report);
  partial.keep();
  return report;
}

}  // namespace troika::commands
