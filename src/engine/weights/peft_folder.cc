#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/text.h"
#include "checkpoint/gather.h"
#include "config/huggingface/model_folder.h"
#include "config/huggingface/peft_config.h"
#include "config/lora.h"
#include "data/input_text.h"
#include "weights/adapter_source.h"
#include "weights/weights_folder.h"
#include "weights/folder_source.h"
#include "weights/weights_read.h"

namespace troika::weights {
namespace {

// "base_model.model.X.lora_A.default.weight" and "base_model.model.X.lora_A.weight" -> "X.lora_A.weight"; "" for
// others.
std::string parameter_name(const std::string& stored) {
  const std::string prefix = peft_prefix;
  if (stored.rfind(prefix, 0) != 0) return "";
  for (const std::string ending : {lora_a, lora_b}) {
    const std::string named = ending.substr(0, ending.rfind('.')) + ".default.weight";
    for (const std::string& form : {ending, named}) {
      if (base::ends_with(stored, form) && stored.size() > prefix.size() + form.size())
        return stored.substr(prefix.size(), stored.size() - prefix.size() - form.size()) + ending;
    }
  }
  return "";
}

// Nothing when `entry` is the parameter `name`.
base::Text fault_of(const checkpoint::TensorEntry& entry, const std::string& name, const config::PeftConfig& config) {
  const auto& products = config::adaptable_projections();
  if (name.empty()) return base::say("unknown: {}", entry.name);
  if (std::find(products.begin(), products.end(), target_of(name)) == products.end())
    return base::say("not an adapter of a layer's linear module ({}): {}", fmt::join(products, ", "), entry.name);
  if (!is_weight_dtype(entry.dtype))
    return base::say("dtype: {} is {} and should be F32, BF16 or F16", entry.name, entry.dtype.name());
  if (config.excludes(module_of(name))) return base::say("in exclude_modules: {}", entry.name);
  return config.modules.matches(module_of(name)) ? base::Text{} : base::say("not in target_modules: {}", entry.name);
}

// DataError when the folder has none, also where it has one of PyTorch's own.
checkpoint::SafetensorsFile open_peft_weights(const std::string& folder) {
  const std::string path = folder + "/" + adapter_weights_name;
  if (base::file_exists(path)) {
    config::refuse_lfs_pointer(path);
    return checkpoint::SafetensorsFile(path);
  }
  const bool pickled = base::file_exists(folder + "/adapter_model.bin");
  if (!pickled)
    throw base::DataError(
        base::say("the adapter's folder '{}' has no {}; complete the copy", folder, adapter_weights_name));
  throw base::DataError(
      base::say("the adapter's folder '{}' has no {}; adapter_model.bin can run code and is not read: save the adapter as safetensors (safe_serialization=True)",
                folder, adapter_weights_name));
}

// By the names of shape::adapter_parameters; refers to `file`. DataError naming the folder that lists every tensor that
// is no A or B beside a product of a layer, has no dtype of weights, or is not meant by `modules`.
Assignment match_peft_tensors(const checkpoint::SafetensorsFile& file, const config::PeftConfig& config,
                              const std::string& folder) {
  Assignment tensors;
  std::vector<base::Text> faults;
  for (const checkpoint::TensorEntry& entry : file.header().entries) {
    const std::string name = parameter_name(entry.name);
    const base::Text fault = fault_of(entry, name, config);
    if (!fault.empty()) {
      faults.push_back(fault);
    } else if (!tensors.insert({name, {&file.mapping(), file.path(), entry.dtype, entry.shape, entry.begin, entry.bytes}}).second) {
      faults.push_back(base::say("duplicate, with and without 'default': {}", name));
    }
  }
  if (tensors.empty()) faults.push_back(base::say("no tensor belongs to an adapter"));
  if (faults.empty()) return tensors;
  throw base::DataError(base::say("'{}/{}' has tensors that do not match {}:{}", folder, adapter_weights_name,
                                  config::adapter_config_name, listed(faults)));
}

class PeftFolder : public AdapterSource {
 public:
  explicit PeftFolder(const std::string& path)
      : path_(path),
        config_(config::parse_peft_config(base::read_file(path + "/" + config::adapter_config_name),
                                          path + "/" + config::adapter_config_name)),
        file_(open_peft_weights(path)),
        tensors_(match_peft_tensors(file_, config_, path)),
        lora_(config::lora_of(config_, modules_of(tensors_), path + "/" + config::adapter_config_name)) {
    for (const auto& [name, tensor] : tensors_) {
      parameters_.push_back({name, tensor.shape});
      targets_.insert(target_of(name));
      bytes_ += tensor.bytes;
    }
    const double alpha = lora_.rslora ? lora_.alpha * std::sqrt(static_cast<double>(lora_.rank)) : lora_.alpha;
    fingerprint_ =
        base::hash_bytes(fmt::format("{} {}{}{} {}", lora_.rank, alpha, lora_.rank_pattern, lora_.alpha_pattern,
                                     base::hash_file(path + "/" + adapter_weights_name)));
  }

  const std::string& path() const override { return path_; }
  const config::LoraSettings& lora() const override { return lora_; }
  const std::string& base() const override { return config_.base; }
  std::string fingerprint() const override { return fingerprint_; }
  std::vector<base::Text> notes() const override { return config_.notes; }
  const std::vector<shape::ParameterInfo>& parameters() const override { return parameters_; }

  void check(const config::ModelSettings& model, const config::LoraSettings& lora) const override {
    check_adapter(path_, parameters_, model, lora, meant_and_missing(model), config_.limits);
  }

  void load(const std::vector<checkpoint::Slice>& wanted, comm::Channel& world) override {
    checkpoint::agree(world, [&] { bytes_read_ += read_weights(tensors_, wanted); });
  }
  std::int64_t bytes_read() const override { return bytes_read_; }
  std::int64_t bytes() const override { return bytes_; }

  std::string tokenizer() const override { return config::has_tokenizer(path_) ? path_ : ""; }
  std::vector<std::string> auxiliary_files() const override { return auxiliary_files_in(path_); }
  std::string config_json() const override { return ""; }

 private:
  static std::vector<config::AdaptedModule> modules_of(const Assignment& tensors) {
    std::set<config::AdaptedModule> modules;
    for (const auto& [name, tensor] : tensors)
      if (const auto module = config::adapted_module(module_of(name))) modules.insert(*module);
    return {modules.begin(), modules.end()};
  }

  // The modules that target_modules means in this model and the file lacks, of targets that it has nothing of.
  std::vector<std::string> meant_and_missing(const config::ModelSettings& model) const {
    if (!config_.modules.is_stated()) return {};
    config::LoraSettings all = lora_;
    all.targets = config::LoraSettings{}.targets;
    std::vector<std::string> names;
    for (const auto& info : all_adapter_parameters(model, all))
      if (targets_.count(target_of(info.name)) == 0 && config_.means(module_of(info.name))) names.push_back(info.name);
    return names;
  }

  const std::string path_;
  const config::PeftConfig config_;
  const checkpoint::SafetensorsFile file_;
  const Assignment tensors_;
  const config::LoraSettings lora_;
  std::vector<shape::ParameterInfo> parameters_;
  std::set<std::string> targets_;
  std::string fingerprint_;
  std::int64_t bytes_ = 0, bytes_read_ = 0;
};

}  // namespace

std::unique_ptr<AdapterSource> open_peft_folder(const std::string& path, comm::Channel& world) {
  return open_replicated<PeftFolder>(path, world);
}

}  // namespace troika::weights
