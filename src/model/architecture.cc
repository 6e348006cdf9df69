#include "model/architecture.h"

#include <fmt/format.h>

#include "base/error.h"

namespace troika::model {

const Architecture& architecture_of(const config::ModelSettings& model) {
  if (model.architecture == "qwen3") return qwen3;
  if (model.architecture == "gpt2") return gpt2;
  throw base::ConfigError(
      fmt::format("model.architecture '{}' is unknown: set it to qwen3 or gpt2", model.architecture));
}

}  // namespace troika::model
