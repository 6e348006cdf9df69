#include "weights/checkpoint_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "base/error.h"
#include "base/say.h"
#include "shape/layout.h"
#include "weights/checkpoint_metadata.h"

namespace troika::weights {
namespace {

class CheckpointSource : public ModelSource {
 public:
  explicit CheckpointSource(checkpoint::Found found) : found_(std::move(found)), model_(model_of(found_)) {}

  const config::ModelSettings& model() const override { return model_; }
  std::string tokenizer() const override { return tokenizer_of(found_); }
  std::string chat_template() const override { return chat_template_of(found_); }
  std::string config_json() const override { return found_.facts.model_config_json; }
  std::string dtype() const override {
    return word_of(config::word_or(fact_of(found_, weights_dtype_fact), config::Precision::fp32));
  }

  std::map<std::string, std::string> facts() const override {
    std::map<std::string, std::string> kept;
    for (const char* name : {weights_dtype_fact, weights_from_fact})
      if (!fact_of(found_, name).empty()) kept[name] = fact_of(found_, name);
    return kept;
  }

  std::vector<std::string> auxiliary_files() const override { return auxiliary_files_of(found_); }
  std::string fingerprint() const override { return fingerprint_of(found_); }

  void check(const config::ModelSettings& model) const override {
    std::map<std::string, std::vector<std::int64_t>> shapes;
    for (const auto& info : shape::all_parameters(model_)) shapes[info.name] = info.shape;
    for (const auto& info : shape::all_parameters(model)) {
      const auto place = shapes.find(info.name);
      if (place != shapes.end() && place->second == info.shape) continue;
      throw base::DataError(base::say(
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
  std::int64_t bytes() const override { return shape::parameter_count(model_) * 4; }

 private:
  static config::ModelSettings model_of(const checkpoint::Found& found) {
    config::ModelSettings model = settings_of(found).model;
    model.path = found.path;
    return model;
  }

  const checkpoint::Found found_;
  const config::ModelSettings model_;
  std::int64_t bytes_read_ = 0;
};

}  // namespace

std::unique_ptr<ModelSource> make_checkpoint_source(checkpoint::Found found) {
  return std::make_unique<CheckpointSource>(std::move(found));
}

}  // namespace troika::weights
