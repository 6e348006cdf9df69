#include "weights/checkpoint_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "config/config.h"
#include "config/huggingface/model_folder.h"
#include "data/chat_template.h"
#include "shape/adapter.h"
#include "shape/layout.h"
#include "weights/weights_folder.h"

namespace troika::weights {
namespace {

std::string model_folder(const checkpoint::Found& found) { return found.path + "/model"; }

// Where checkpoints keep no copies: beside the tokenizer, and how to generate as the folder says from which the run began.
std::vector<std::string> files_at_stated_paths(const checkpoint::Found& found) {
  const std::string folder = data::folder_of_tokenizer(fact_of(found, tokenizer_fact)),
                    generation_config = "/generation_config.json", began_from = fact_of(found, weights_from_fact);
  std::vector<std::string> paths = auxiliary_files_in(folder);
  if (began_from.empty() || !base::file_exists(began_from + generation_config)) return paths;
  paths.erase(std::remove(paths.begin(), paths.end(), folder + generation_config), paths.end());
  paths.push_back(began_from + generation_config);
  return paths;
}

std::string tokenizer_of(const checkpoint::Found& found) {
  const std::string folder = model_folder(found);
  return config::has_tokenizer(folder) ? config::tokenizer_beside(folder) : fact_of(found, tokenizer_fact);
}

std::string chat_template_of(const checkpoint::Found& found) {
  const std::string stated = settings_of(found).data.chat_template, copy = model_folder(found) + "/chat_template.jinja";
  if (!data::names_template_file(stated) || !base::file_exists(copy)) return stated;
  config::check_model_file(model_folder(found), "chat_template.jinja");
  return copy;
}

// Over its parts; 16 hex digits.
std::string fingerprint_of(const checkpoint::Found& found) {
  std::string text;
  for (const checkpoint::Part& part : found.parts) text += part.file + " " + part.hash + "\n";
  return base::hash_bytes(text);
}

// The data of a checkpoint beside its tensors, as a source of either kind.
template <class Kind>
class OfCheckpoint : public Kind {
 public:
  explicit OfCheckpoint(checkpoint::Found found) : found_(std::move(found)), settings_(settings_of(found_)) {}

  std::string tokenizer() const override { return tokenizer_of(found_); }
  std::string chat_template() const override { return chat_template_of(found_); }
  std::string config_json() const override { return found_.facts.model_config_json; }
  std::vector<std::string> auxiliary_files() const override { return auxiliary_files_of(found_); }
  std::string fingerprint() const override { return fingerprint_of(found_); }
  std::int64_t bytes_read() const override { return bytes_read_; }

 protected:
  void load_slices(const std::vector<checkpoint::Slice>& wanted, comm::Channel& world) {
    checkpoint::load(found_, wanted, world);
    for (const checkpoint::Slice& slice : wanted) bytes_read_ += slice.region.elements() * 4;
  }

  // The run's own, but for the path.
  config::ModelSettings own_model() const {
    config::ModelSettings model = settings_.model;
    model.path = found_.path;
    return model;
  }

  const checkpoint::Found found_;
  const config::Settings settings_;

 private:
  std::int64_t bytes_read_ = 0;
};

class CheckpointSource : public OfCheckpoint<ModelSource> {
 public:
  explicit CheckpointSource(checkpoint::Found found) : OfCheckpoint(std::move(found)), model_(own_model()) {}

  const config::ModelSettings& model() const override { return model_; }
  std::string dtype() const override {
    return word_of(config::word_or(fact_of(found_, weights_dtype_fact), config::Precision::fp32));
  }

  std::map<std::string, std::string> facts() const override {
    std::map<std::string, std::string> kept;
    for (const char* name : {weights_dtype_fact, weights_from_fact})
      if (!fact_of(found_, name).empty()) kept[name] = fact_of(found_, name);
    return kept;
  }

  void check(const config::ModelSettings& model) const override {
    std::map<std::string, std::vector<std::int64_t>> shapes;
    for (const auto& info : shape::all_parameters(model_)) shapes[info.name] = info.shape;
    for (const auto& info : shape::all_parameters(model)) {
      const auto place = shapes.find(info.name);
      if (place != shapes.end() && place->second == info.shape) continue;
      const auto needed = fmt::join(info.shape, ", ");
      if (place == shapes.end())
        throw base::DataError(base::say(
            "the checkpoint '{}' has no tensor '{}' of shape [{}], which the model needs; the model settings differ",
            found_.path, info.name, needed));
      throw base::DataError(base::say(
          "the checkpoint '{}' has a tensor of shape [{}], not '{}' of shape [{}], which the model needs; the "
          "model settings differ",
          found_.path, fmt::join(place->second, ", "), info.name, needed));
    }
  }

  void load(const config::ModelSettings& model, const std::vector<checkpoint::Slice>& wanted,
            comm::Channel& world) override {
    check(model);
    load_slices(wanted, world);
  }
  std::int64_t bytes() const override { return shape::parameter_count(model_) * 4; }

 private:
  const config::ModelSettings model_;
};

}  // namespace

std::unique_ptr<ModelSource> make_checkpoint_source(checkpoint::Found found) {
  return std::make_unique<CheckpointSource>(std::move(found));
}

namespace {

class CheckpointAdapter : public OfCheckpoint<AdapterSource> {
 public:
  explicit CheckpointAdapter(checkpoint::Found found)
      : OfCheckpoint(std::move(found)), parameters_(all_adapter_parameters(settings_.model, settings_.lora)) {
    for (const auto& info : parameters_) bytes_ += info.elements() * 4;
  }

  const std::string& path() const override { return found_.path; }
  const config::LoraSettings& lora() const override { return settings_.lora; }
  const std::string& base() const override { return settings_.model.path; }
  std::string base_beneath() const override { return settings_.model.base; }
  std::string base_fingerprint() const override { return fact_of(found_, base_fingerprint_fact); }
  const std::vector<shape::ParameterInfo>& parameters() const override { return parameters_; }

  void check(const config::ModelSettings& model, const config::LoraSettings& lora) const override {
    check_adapter(found_.path, parameters_, model, lora);
  }

  void load(const std::vector<checkpoint::Slice>& wanted, comm::Channel& world) override { load_slices(wanted, world); }
  std::int64_t bytes() const override { return bytes_; }
  std::optional<config::ModelSettings> model() const override { return own_model(); }

 private:
  const std::vector<shape::ParameterInfo> parameters_;
  std::int64_t bytes_ = 0;
};

}  // namespace

bool holds_adapter(const checkpoint::Found& found) { return shape::has_adapters(settings_of(found).lora); }

std::unique_ptr<AdapterSource> make_checkpoint_adapter(checkpoint::Found found) {
  return std::make_unique<CheckpointAdapter>(std::move(found));
}

config::Settings settings_of(const checkpoint::Found& found) {
  return config::settings_from_yaml(found.facts.settings_yaml, found.path + "/manifest.json");
}

std::string fact_of(const checkpoint::Found& found, const std::string& name) {
  const auto place = found.facts.extra.find(name);
  return place == found.facts.extra.end() ? "" : place->second;
}

std::vector<std::string> auxiliary_files_of(const checkpoint::Found& found) {
  const std::vector<std::string> copies = auxiliary_files_in(model_folder(found));
  if (copies.empty()) return files_at_stated_paths(found);
  for (const std::string& path : copies)
    config::check_model_file(model_folder(found), path.substr(path.rfind('/') + 1));
  return copies;
}

}  // namespace troika::weights
