#include "commands/export/adapter_folder.h"

#include <fmt/format.h>

#include <cstdint>

#include "base/error.h"
#include "checkpoint/safetensors_writer.h"
#include "comm/self_channel.h"
#include "commands/export/other_files.h"
#include "commands/export/partial_folder.h"
#include "commands/export/tensors.h"
#include "config/huggingface/model_folder.h"
#include "config/lora.h"
#include "weights/peft_config.h"
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
  throw base::ConfigError(fmt::format(
      "'{}' has {} layers, but its base '{}' has {}, all of which an adapter's folder stands for: write the "
      "whole model with --merge",
      source.path(), model->layers, base, layers));
}

void write_weights(weights::AdapterSource& source, const std::string& folder, ExportReport* report) {
  const auto self = comm::make_self_channel("export");
  const checkpoint::DType dtype = dtype_of(report->dtype);
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

}  // namespace

ExportReport write_adapter_folder(weights::AdapterSource& source, const ExportArguments& request) {
  check_tokenizer(request);
  const std::string& beneath = request.base.empty() ? source.base() : request.base;
  refuse_fewer_layers(source, beneath);
  ExportReport report;
  report.dtype = request.type == ExportType::automatic ? "fp32" : config::word_of(request.type);
  PartialFolder partial(request.to);
  const config::LoraSettings& lora = source.lora();
  write_other_files(
      {source.tokenizer(), source.auxiliary_files(), source.chat_template()}, request,
      {{config::adapter_config_name, weights::peft_config_text(lora, config::lora_targets(lora), beneath)}},
      partial.path(), &report);
  write_weights(source, partial.path(), &report);
  partial.keep();
  return report;
}

}  // namespace troika::commands
