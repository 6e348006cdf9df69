#include "train/peft_tensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "checkpoint/conversion.h"
#include "checkpoint/listed.h"
#include "config/adapter_folder.h"
#include "config/lora.h"
#include "train/adapter_source.h"

namespace troika::train {
namespace {

bool ends_with(const std::string& text, const std::string& ending) {
  return text.size() >= ending.size() && text.compare(text.size() - ending.size(), ending.size(), ending) == 0;
}

// "base_model.model.X.lora_A.default.weight" and "base_model.model.X.lora_A.weight" -> "X.lora_A.weight"; "" for
// others.
std::string parameter_name(const std::string& stored) {
  const std::string prefix = peft_prefix;
  if (stored.rfind(prefix, 0) != 0) return "";
  for (const std::string ending : {lora_a, lora_b}) {
    const std::string named = ending.substr(0, ending.rfind('.')) + ".default.weight";
    for (const std::string& form : {ending, named}) {
      if (ends_with(stored, form) && stored.size() > prefix.size() + form.size())
        return stored.substr(prefix.size(), stored.size() - prefix.size() - form.size()) + ending;
    }
  }
  return "";
}

// "" when `entry` is the parameter `name`.
std::string fault_of(const checkpoint::TensorEntry& entry, const std::string& name, const ModulePattern& modules) {
  const auto& products = config::adapted_products();
  if (name.empty()) return fmt::format("unknown: {}", entry.name);
  if (std::find(products.begin(), products.end(), target_of(name)) == products.end())
    return fmt::format("not beside a product of a layer ({}): {}", fmt::join(products, ", "), entry.name);
  if (!checkpoint::is_weight_dtype(entry.dtype))
    return fmt::format("dtype: {} is {} and should be F32, BF16 or F16", entry.name,
                       checkpoint::safetensors_name(entry.dtype));
  return modules.matches(module_of(name)) ? "" : fmt::format("not in target_modules: {}", entry.name);
}

}  // namespace

checkpoint::SafetensorsFile open_peft_weights(const std::string& folder) {
  const std::string path = folder + "/" + adapter_weights_name;
  if (base::file_exists(path)) return checkpoint::SafetensorsFile(path);
  const bool pickled = base::file_exists(folder + "/adapter_model.bin");
  throw base::DataError(fmt::format("the adapter's folder '{}' has no {}{}", folder, adapter_weights_name,
                                    pickled ? "; adapter_model.bin is a program as well as data and is not read: save "
                                              "the adapter as safetensors (safe_serialization=True)"
                                            : "; complete the copy"));
}

checkpoint::Assignment match_peft_tensors(const checkpoint::SafetensorsFile& file, const ModulePattern& modules,
                                          const std::string& folder) {
  checkpoint::Assignment tensors;
  std::vector<std::string> faults;
  for (const checkpoint::TensorEntry& entry : file.header().entries) {
    const std::string name = parameter_name(entry.name), fault = fault_of(entry, name, modules);
    if (!fault.empty()) {
      faults.push_back(fault);
    } else if (!tensors.insert({name, {&file, entry.dtype, entry.shape, entry.begin, entry.bytes}}).second) {
      faults.push_back(fmt::format("there twice, with and without 'default': {}", name));
    }
  }
  if (tensors.empty()) faults.push_back("no tensor is an adapter's");
  if (faults.empty()) return tensors;
  throw base::DataError(fmt::format("'{}/{}' holds what is no adapter that {} describes:{}", folder,
                                    adapter_weights_name, config::adapter_config_name, checkpoint::listed(faults)));
}

}  // namespace troika::train
