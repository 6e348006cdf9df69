#include "model/architecture.h"

#include <fmt/format.h>

#include "base/error.h"

namespace troika::model {

const Architecture& architecture_of(const config::ModelSettings& model) {
  if (model.architecture == "qwen3") return qwen3;
  if (model.architecture == "qwen2") return qwen2;
  if (model.architecture == "llama") return llama;
  if (model.architecture == "mistral") return mistral;
  if (model.architecture == "gpt2") return gpt2;
  throw base::ConfigError(fmt::format(
      "model.architecture '{}' is unknown: set it to qwen3, qwen2, llama, mistral or gpt2", model.architecture));
}

bool has_rotary_positions(const Architecture& architecture) {
  return architecture.positions != Architecture::Positions::learned;
}

}  // namespace troika::model
