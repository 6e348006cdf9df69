#include "commands/export/model_folder.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "checkpoint/safetensors_writer.h"
#include "comm/channel.h"
#include "config/lora.h"
#include "config/huggingface/model_folder.h"
#include "config/huggingface/peft_config.h"
#include "weights/folder_writer.h"

namespace troika::commands {
namespace {

// A folder that appears whole or not at all. Written as TO.partial; removed again unless it was kept.
class PartialFolder {
 public:
  // ConfigError when `to` is there and not an empty folder, or TO.partial is there.
  explicit PartialFolder(const std::string& to);
  ~PartialFolder();
  PartialFolder(const PartialFolder&) = delete;
  PartialFolder& operator=(const PartialFolder&) = delete;

  const std::string& path() const { return path_; }
  void keep();  // under its own name

 private:
  const std::string to_, path_;
  bool kept_ = false;
};

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
  throw base::ConfigError(
      base::say("'{}' has {} layers, but its base '{}' has {}, and an adapter folder implies all of them: write the whole model with --merge",
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
      base::say("the base of this adapter is '{}', {}, which PEFT cannot load: write one whole model with troika export {} FOLDER --merge, or export that base as a model folder too and pass it with --base FOLDER",
                base, an_adapter ? base::say("an adapter") : base::say("a Troika run"), adapter));
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
  for (const base::Text& note : source.notes()) report.notes.push_back(note);
  write_weights(source, request, partial.path(), &report);
  partial.keep();
  return report;
}

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
  for (const base::Text& note : source.notes()) report.notes.push_back(note);
  note_base(source.path(), beneath, &report);
  write_weights(source, partial.path(), &report);
  partial.keep();
  return report;
}

PartialFolder::PartialFolder(const std::string& to) : to_(to), path_(to + ".partial") {
  if (base::file_exists(to) || !base::list_directory(to).empty())
    throw base::ConfigError(base::say("'{}' already exists; choose a new or empty folder", to));
  if (base::file_exists(path_) || base::directory_exists(path_))
    throw base::ConfigError(
        base::say("'{}' is left over from an unfinished export or is being written; remove it first", path_));
  base::make_directories(path_);
}

PartialFolder::~PartialFolder() {
  std::error_code ignored;  // the error that ends the export matters more
  if (!kept_) std::filesystem::remove_all(path_, ignored);
}

void PartialFolder::keep() {
  base::rename_path(path_, to_);
  kept_ = true;
}

}  // namespace troika::commands
