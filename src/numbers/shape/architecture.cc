#include "shape/architecture.h"

#include "base/error.h"

namespace troika::shape {

const Architecture& architecture_of(const config::ModelSettings& model) {
  using config::Family;
  switch (model.architecture) {
    case Family::qwen3:
      return qwen3;
    case Family::qwen2:
      return qwen2;
    case Family::llama:
      return llama;
    case Family::mistral:
      return mistral;
    case Family::gpt2:
      return gpt2;
  }
  throw base::BugError("a model family without an architecture");
}

NormSizes norm_sizes(const Architecture& architecture, std::int64_t width) {
  if (architecture.norm == Architecture::NormKind::rms) return {width, 1};  // the inverse root
  return {2 * width, 2};                                                    // with a bias; mean and inverse root
}

}  // namespace troika::shape
