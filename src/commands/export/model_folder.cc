#include "commands/export/model_folder.h"

#include "comm/self_channel.h"
#include "commands/export/other_files.h"
#include "commands/export/partial_folder.h"
#include "commands/export/tensors.h"
#include "shape/layout.h"
#include "weights/folder_writer.h"
#include "weights/hugging_face_config.h"

namespace troika::commands {
namespace {

void write_weights(weights::ModelSource& source, const ExportArguments& request, const std::string& folder,
                   ExportReport* report) {
  const auto self = comm::make_self_channel("export");
  const base::Dtype dtype = dtype_of(report->dtype);
  const auto infos = shape::all_parameters(source.model());
  std::vector<checkpoint::TensorEntry> entries;
  for (const auto& info : infos) entries.push_back({info.name, dtype, info.shape, 0, 0});
  weights::FolderWriter writer(folder, std::move(entries), request.shard_bytes);
  export_tensors(infos, dtype,
                 {[&](const auto& slices) { source.load(source.model(), slices, *self); },
                  [&](const void* data, std::int64_t bytes) { writer.write(data, bytes); }},
                 report);
  for (const std::string& name : writer.finish()) report->files.push_back(name);
}

}  // namespace

ExportReport write_model_folder(weights::ModelSource& source, const ExportArguments& request) {
  check_tokenizer(request);
  ExportReport report;
  report.dtype = request.type == ExportType::automatic ? source.dtype() : config::word_of(request.type);
  PartialFolder partial(request.to);
  const std::string config = source.config_json();
  write_other_files({source.tokenizer(), source.auxiliary_files(), source.chat_template()}, request,
                    {{"config.json", weights::hugging_face_config(source.model(), report.dtype, config)},
                     {"generation_config.json", weights::hugging_face_generation_config(config)}},
                    partial.path(), &report);
  for (const std::string& note : source.notes()) report.notes.push_back(note);
  write_weights(source, request, partial.path(), &report);
  partial.keep();
  return report;
}

}  // namespace troika::commands
