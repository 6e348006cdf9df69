// Which token comes next, given the model's logits. What is set applies in the order of Hugging Face's transformers:
// repetition penalty, temperature, top-k, top-p, min-p. A. Holtzman et al., "The Curious Case of Neural Text Degeneration",
// 2019 (top-p); N. Keskar et al., "CTRL", 2019 (repetition penalty).
#pragma once

#include <cstdint>
#include <vector>

namespace troika::inference {

struct Sampling {
  double repetition_penalty = 1.0;  // of ids seen before: positive logits are divided by it, others multiplied
  double temperature = 1.0;         // 0: always the likeliest token
  std::int64_t top_k = 0;           // only the k likeliest; 0: all
  double top_p = 1.0;               // only the likeliest whose probabilities first reach p
  double min_p = 0.0;               // only those at least min_p times as likely as the likeliest
};

// Each id once.
class SeenIds {
 public:
  void add(std::int32_t id);
  const std::vector<std::int32_t>& ids() const { return ids_; }

 private:
  std::vector<bool> seen_;
  std::vector<std::int32_t> ids_;
};

// Changes the logits of `seen`; ids outside the vocabulary are passed over.
void penalise_repetition(std::vector<float>& logits, const SeenIds& seen, double penalty);

// The id drawn from at least one logit; `u` is uniform in [0, 1). The repetition penalty is not applied here. Ties: the
// lower id is likelier. Sorts only what it keeps. DataError when the highest logit is not a finite number.
std::int32_t draw(const std::vector<float>& logits, const Sampling& sampling, double u);

}  // namespace troika::inference
