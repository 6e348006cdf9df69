#include "weights/checkpoint_adapter.h"

#include "shape/adapter.h"
#include "weights/adapter_parameters.h"
#include "weights/checkpoint_metadata.h"

namespace troika::weights {
namespace {

class CheckpointAdapter : public AdapterSource {
 public:
  explicit CheckpointAdapter(checkpoint::Found found)
      : found_(std::move(found)),
        settings_(settings_of(found_)),
        parameters_(all_adapter_parameters(settings_.model, settings_.lora)) {
    for (const auto& info : parameters_) bytes_ += info.elements() * 4;
  }

  const std::string& path() const override { return found_.path; }
  const config::LoraSettings& lora() const override { return settings_.lora; }
  const std::string& base() const override { return settings_.model.path; }
  std::string base_beneath() const override { return settings_.model.base; }
  std::string base_fingerprint() const override { return fact_of(found_, base_fingerprint_fact); }
  std::string fingerprint() const override { return fingerprint_of(found_); }
  const std::vector<shape::ParameterInfo>& parameters() const override { return parameters_; }

  void check(const config::ModelSettings& model, const config::LoraSettings& lora) const override {
    check_adapter(found_.path, parameters_, model, lora);
  }

  void load(const std::vector<checkpoint::Slice>& wanted, comm::Channel& world) override {
    checkpoint::load(found_, wanted, world);
    for (const checkpoint::Slice& slice : wanted) bytes_read_ += slice.region.elements() * 4;
  }
  std::int64_t bytes_read() const override { return bytes_read_; }
  std::int64_t bytes() const override { return bytes_; }

  std::optional<config::ModelSettings> model() const override {
    config::ModelSettings model = settings_.model;
    model.path = found_.path;
    return model;
  }
  std::string tokenizer() const override { return tokenizer_of(found_); }
  std::vector<std::string> auxiliary_files() const override { return auxiliary_files_of(found_); }
  std::string chat_template() const override { return chat_template_of(found_); }
  std::string config_json() const override { return found_.facts.model_config_json; }

 private:
  const checkpoint::Found found_;
  const config::Settings settings_;
  const std::vector<shape::ParameterInfo> parameters_;
  std::int64_t bytes_ = 0, bytes_read_ = 0;
};

}  // namespace

bool holds_adapter(const checkpoint::Found& found) { return shape::has_adapters(settings_of(found).lora); }

std::unique_ptr<AdapterSource> make_checkpoint_adapter(checkpoint::Found found) {
  return std::make_unique<CheckpointAdapter>(std::move(found));
}

}  // namespace troika::weights
