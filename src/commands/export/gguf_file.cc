#include "commands/export/gguf_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/text.h"
#include "comm/channel.h"
#include "commands/export/gguf_writer.h"
#include "config/huggingface/model_folder.h"
#include "config/lora.h"
#include "gguf/model_config.h"
#include "weights/folder_writer.h"

namespace troika::commands {
namespace {

constexpr std::int64_t quantization_version = 2;
const std::string model_kind = "model", adapter_kind = "adapter";

const gguf::TensorType& wanted_type(const std::string& word) {
  if (word == config::word_of(ExportType::q8_0)) return gguf::type_named("Q8_0");
  switch (dtype_of(word)) {
    case base::Dtype::bf16:
      return gguf::type_named("BF16");
    case base::Dtype::fp16:
      return gguf::type_named("F16");
    default:
      return gguf::type_named("F32");
  }
}

std::string last_part(const std::string& path) {
  const std::string plain = base::without_end_slashes(path);
  return plain.substr(plain.rfind('/') + 1);
}

std::string model_name(const std::string& from) {
  const std::string name = last_part(from), ending = ".gguf";
  return is_gguf_name(name) ? name.substr(0, name.size() - ending.size()) : name;
}

gguf::Keys keys_of(const std::string& kind, const gguf::Architecture& architecture, const gguf::TensorType& type,
                   const std::string& from) {
  gguf::Keys keys;
  keys.text("general.architecture", architecture.name);
  keys.text("general.type", kind);
  keys.text("general.name", model_name(from));
  keys.whole("general.file_type", type.file_type);
  keys.whole("general.quantization_version", quantization_version);
  return keys;
}

const gguf::Architecture& architecture_of(const std::string& config) {
  const std::string type = nlohmann::json::parse(config).value("model_type", "");
  if (const gguf::Architecture* found = gguf::architecture_of_model_type(type)) return *found;
  throw base::DataError(
      base::say("a model of the family {} cannot be written as GGUF; leave .gguf out, and convert the folder with "
                "convert_hf_to_gguf.py of llama.cpp",
                type));
}

void refuse_existing(const std::string& to) {
  if (base::file_exists(to) || base::directory_exists(to))
    throw base::ConfigError(base::say("'{}' already exists; choose a new file", to));
}

std::string named_in(const gguf::Architecture& architecture, const std::string& published) {
  const std::string name = gguf::gguf_name(architecture, published);
  if (name.empty())
    throw base::DataError(
        base::say("GGUF files of the architecture {} have no tensor for '{}'", architecture.name, published));
  return name;
}

std::vector<OutTensor> tensors_of(const config::ModelSettings& model, const gguf::Architecture& architecture,
                                  const gguf::TensorType& wanted) {
  std::vector<OutTensor> tensors;
  for (const auto& info : shape::all_parameters(model)) {
    OutTensor tensor{info, named_in(architecture, info.name), info.shape};
    tensor.arrangement = gguf::arrangement_of(architecture, tensor.name, model.head_dim);
    if (tensor.arrangement.order == gguf::Order::transposed) std::reverse(tensor.shape.begin(), tensor.shape.end());
    tensor.type = &fitting_type(tensor, wanted);
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

// llama.cpp scales a product by alpha / rank: what differs from that is in B.
float factor_of(const config::LoraSettings& lora, const std::string& module) {
  const auto place = config::adapted_module(module);
  const config::AdapterSize size = place ? config::adapter_size(lora, *place) : config::usual_size(lora),
                            usual = config::usual_size(lora);
  return static_cast<float>(size.scale * static_cast<double>(size.rank) /
                            (usual.scale * static_cast<double>(usual.rank)));
}

std::vector<OutTensor> tensors_of(const weights::AdapterSource& source, std::int64_t head_dim,
                                  const gguf::Architecture& architecture, const gguf::TensorType& wanted) {
  std::vector<OutTensor> tensors;
  for (const auto& info : source.parameters()) {
    const std::string module = weights::module_of(info.name), weight = named_in(architecture, module + ".weight");
    const bool is_b = base::ends_with(info.name, weights::lora_b);
    OutTensor tensor{info, weight + (is_b ? ".lora_b" : ".lora_a"), info.shape};
    if (is_b && gguf::arrangement_of(architecture, weight, head_dim).order == gguf::Order::pairs)
      tensor.arrangement = {gguf::Order::pairs, head_dim, 0};
    if (is_b) tensor.factor = factor_of(source.lora(), module);
    tensor.type = &fitting_type(tensor, wanted);
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace

bool is_gguf_name(const std::string& to) { return base::ends_with(to, ".gguf"); }

ExportReport write_gguf_file(weights::ModelSource& source, const ExportArguments& request) {
  check_tokenizer(request);
  refuse_existing(request.to);
  ExportReport report;
  report.dtype = request.type == ExportType::automatic ? source.dtype() : config::word_of(request.type);
  const gguf::TensorType& type = wanted_type(report.dtype);
  const std::string config = weights::hugging_face_config(source.model(), "fp32", source.config_json());
  const gguf::Architecture& architecture = architecture_of(config);
  gguf::Keys keys = keys_of(model_kind, architecture, type, request.from);
  gguf::add_config_keys(config, architecture, &keys);
  const auto files = other_files(
      {source.tokenizer(), source.auxiliary_files(), source.chat_template()}, request,
      {{"config.json", config}, {"generation_config.json", weights::hugging_face_generation_config(config)}}, &report);
  add_tokenizer_keys(files, source.model().vocab, &keys);
  for (const base::Text& note : source.notes()) report.notes.push_back(note);
  const auto self = comm::make_self_channel("export");
  write_gguf(
      request.to, keys, gguf::rotary_factors(config), tensors_of(source.model(), architecture, type),
      [&](const auto& slices) { source.load(source.model(), slices, *self); }, &report);
  report.files.push_back(last_part(request.to));
  return report;
}

ExportReport write_gguf_adapter(weights::AdapterSource& source, const ExportArguments& request) {
  refuse_existing(request.to);
  const std::string& beneath = request.base.empty() ? source.base() : request.base;
  const auto own = source.model();
  const config::ModelSettings model = own ? *own : config::read_hugging_face_config(beneath, source.base_beneath());
  ExportReport report;
  report.dtype = request.type == ExportType::automatic ? "fp32" : config::word_of(request.type);
  const gguf::TensorType& type = wanted_type(report.dtype);
  const gguf::Architecture& architecture = architecture_of(weights::hugging_face_config(model, "fp32", ""));
  gguf::Keys keys = keys_of(adapter_kind, architecture, type, request.from);
  const config::AdapterSize usual = config::usual_size(source.lora());
  keys.text("adapter.type", "lora");
  keys.number("adapter.lora.alpha", usual.scale * static_cast<double>(usual.rank));
  for (const base::Text& note : source.notes()) report.notes.push_back(note);
  const auto self = comm::make_self_channel("export");
  write_gguf(
      request.to, keys, {}, tensors_of(source, model.head_dim, architecture, type),
      [&](const auto& slices) { source.load(slices, *self); }, &report);
  report.files.push_back(last_part(request.to));
  return report;
}

}  // namespace troika::commands
