#include "config/huggingface/out_folder.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"

namespace troika::config {
namespace {

constexpr const char* names_of_models[] = {"adapter_config.json",
                                           "adapter_model.bin",
                                           "adapter_model.safetensors",
                                           "config.json",
                                           "manifest.json",
                                           "model.safetensors",
                                           "model.safetensors.index.json",
                                           "pytorch_model.bin",
                                           "pytorch_model.bin.index.json",
                                           "tokenizer.json",
                                           "tokenizer.model",
                                           "tokenizer_config.json"};

}  // namespace

void refuse_out_of_model(const std::string& out) {
  const std::string folder = base::without_end_slashes(out);
  const auto held = std::find_if(std::begin(names_of_models), std::end(names_of_models),
                                 [&](const char* name) { return base::file_exists(folder + "/" + name); });
  if (out.empty() || held == std::end(names_of_models)) return;
  throw base::ConfigError(base::say("--out '{0}' holds {1}, which belongs to a model, an adapter, a tokenizer or a checkpoint: whoever gives '{2}' later would get that and not what was trained; give the run a folder of its own, such as {2}/run", out, *held, folder));
}

}  // namespace troika::config
