#include "train/checkpoint_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "config/config.h"
#include "model/layout.h"
#include "train/companions.h"

namespace troika::train {
namespace {

class CheckpointSource : public ModelSource {
 public:
  explicit CheckpointSource(checkpoint::Found found) : found_(std::move(found)), model_(model_of(found_)) {}

  const config::ModelSettings& model() const override { return model_; }
  std::string tokenizer() const override { return fact("tokenizer"); }
  std::string config_json() const override { return found_.facts.model_config_json; }
  std::string dtype() const override {
    const std::string dtype = fact(weights_dtype_fact);
    return dtype == "bf16" || dtype == "fp16" ? dtype : "fp32";
  }

  std::map<std::string, std::string> facts() const override {
    std::map<std::string, std::string> kept;
    for (const char* name : {weights_dtype_fact, weights_from_fact})
      if (!fact(name).empty()) kept[name] = fact(name);
    return kept;
  }

  // Those of its tokenizer, and how to generate as the folder says from which the run began, if that is there.
  std::vector<std::string> companions() const override {
    const std::string folder = folder_of_tokenizer(tokenizer()), generation = "/generation_config.json";
    std::vector<std::string> paths = companions_in(folder);
    const std::string origin = fact(weights_from_fact);
    if (origin.empty() || !base::file_exists(origin + generation)) return paths;
    paths.erase(std::remove(paths.begin(), paths.end(), folder + generation), paths.end());
    paths.push_back(origin + generation);
    return paths;
  }

  std::string fingerprint() const override {
    std::string text;
    for (const checkpoint::Part& part : found_.parts) text += part.file + " " + part.hash + "\n";
    return base::hash_bytes(text);
  }

  void check(const config::ModelSettings& model) const override {
    std::map<std::string, std::vector<std::int64_t>> shapes;
    for (const auto& info : model::all_parameters(model_)) shapes[info.name] = info.shape;
    for (const auto& info : model::all_parameters(model)) {
      const auto place = shapes.find(info.name);
      if (place != shapes.end() && place->second == info.shape) continue;
      throw base::DataError(fmt::format(
          "the checkpoint '{}' has {} '{}' of shape [{}], which the model needs; the model settings differ",
          found_.path,
          place == shapes.end() ? "no tensor"
                                : fmt::format("a tensor of shape [{}], not", fmt::join(place->second, ", ")),
          info.name, fmt::join(info.shape, ", ")));
    }
  }

  void load(const config::ModelSettings& model, const std::vector<checkpoint::Slice>& wanted,
            comm::Channel& world) override {
    check(model);
    checkpoint::load(found_, wanted, world);
    for (const checkpoint::Slice& slice : wanted) bytes_read_ += slice.region.elements() * 4;
  }
  std::int64_t bytes_read() const override { return bytes_read_; }
  std::int64_t bytes() const override { return model::parameter_count(model_) * 4; }

 private:
  static config::ModelSettings model_of(const checkpoint::Found& found) {
    config::ModelSettings model =
        config::settings_from_yaml(found.facts.settings_yaml, found.path + "/manifest.json").model;
    model.path = found.path;
    return model;
  }

  std::string fact(const std::string& name) const {
    const auto place = found_.facts.extra.find(name);
    return place == found_.facts.extra.end() ? "" : place->second;
  }

  const checkpoint::Found found_;
  const config::ModelSettings model_;
  std::int64_t bytes_read_ = 0;
};

}  // namespace

std::unique_ptr<ModelSource> make_checkpoint_source(checkpoint::Found found) {
  return std::make_unique<CheckpointSource>(std::move(found));
}

}  // namespace troika::train
