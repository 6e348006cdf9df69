#include "train/peft_folder.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <set>

#include "base/file.h"
#include "base/text.h"
#include "checkpoint/gather.h"
#include "checkpoint/weights_read.h"
#include "config/adapter_folder.h"
#include "config/lora.h"
#include "tensor/device.h"
#include "train/adapter_check.h"
#include "train/companions.h"
#include "train/copies.h"
#include "train/peft_config.h"
#include "train/peft_tensors.h"

namespace troika::train {
namespace {

class PeftFolder : public AdapterSource {
 public:
  explicit PeftFolder(const std::string& path)
      : path_(path),
        config_(parse_peft_config(base::read_file(path + "/" + config::adapter_config_name),
                                  path + "/" + config::adapter_config_name)),
        file_(open_peft_weights(path)),
        tensors_(match_peft_tensors(file_, config_.modules, path)) {
    for (const auto& [name, tensor] : tensors_) {
      parameters_.push_back({name, tensor.shape});
      targets_.insert(target_of(name));
      bytes_ += tensor.bytes;
    }
    config_.lora.targets = targets_text();
    fingerprint_ = base::hash_bytes(fmt::format("{} {} {}", config_.lora.rank, config_.lora.alpha,
                                                base::hash_file(path + "/" + adapter_weights_name)));
  }

  const std::string& path() const override { return path_; }
  const config::LoraSettings& lora() const override { return config_.lora; }
  const std::string& base() const override { return config_.base; }
  std::string fingerprint() const override { return fingerprint_; }
  const std::vector<model::ParameterInfo>& parameters() const override { return parameters_; }

  void check(const config::ModelSettings& model, const config::LoraSettings& lora) const override {
    const std::string remark = config_.layers.empty() ? "" : ", and layers_to_transform is " + config_.layers;
    check_adapter(path_, parameters_, model, lora, meant_and_missing(model), remark);
  }

  void load(const std::vector<checkpoint::Slice>& wanted, comm::Channel& world) override {
    const int threads = at::get_num_threads();
    checkpoint::agree(world, [&] {
      tensor::set_threads(threads);  // this is another thread than the caller's
      bytes_read_ += checkpoint::read_weights(tensors_, wanted);
    });
  }
  std::int64_t bytes_read() const override { return bytes_read_; }
  std::int64_t bytes() const override { return bytes_; }

  std::optional<config::ModelSettings> model() const override { return std::nullopt; }
  std::string tokenizer() const override { return base::file_exists(path_ + "/tokenizer.json") ? path_ : ""; }
  std::vector<std::string> companions() const override { return companions_in(path_); }
  std::string chat_template() const override { return "auto"; }
  std::string config_json() const override { return ""; }
  std::string base_fingerprint() const override { return ""; }
  std::string base_beneath() const override { return ""; }

 private:
  std::string targets_text() const {
    std::vector<std::string> in_order;
    for (const std::string& product : config::adapted_products())
      if (targets_.count(product) != 0) in_order.push_back(product);
    const bool all = in_order.size() == config::adapted_products().size();
    return all ? config::LoraSettings{}.targets : base::join(in_order, ",");
  }

  // What target_modules means in this model and the file has not, of targets that it has nothing of.
  std::vector<std::string> meant_and_missing(const config::ModelSettings& model) const {
    if (!config_.modules.is_stated()) return {};
    config::LoraSettings all = config_.lora;
    all.targets = config::LoraSettings{}.targets;
    std::vector<std::string> names;
    for (const auto& info : all_adapter_parameters(model, all))
      if (targets_.count(target_of(info.name)) == 0 && config_.modules.matches(module_of(info.name)))
        names.push_back(info.name);
    return names;
  }

  const std::string path_;
  PeftConfig config_;
  const checkpoint::SafetensorsFile file_;
  const checkpoint::Assignment tensors_;
  std::vector<model::ParameterInfo> parameters_;
  std::set<std::string> targets_;
  std::string fingerprint_;
  std::int64_t bytes_ = 0, bytes_read_ = 0;
};

}  // namespace

std::unique_ptr<AdapterSource> open_peft_folder(const std::string& path, comm::Channel& world) {
  std::unique_ptr<PeftFolder> source;
  const auto fingerprints = checkpoint::gather(world, [&] {
    source = std::make_unique<PeftFolder>(path);
    return source->fingerprint();
  });
  refuse_unlike_copies(path, fingerprints, world);
  return source;
}

}  // namespace troika::train
