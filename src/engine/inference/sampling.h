// The choice of the next token, given the model's logits. Settings apply in the order of Hugging Face's transformers:
// repetition penalty, temperature, top-k, top-p, min-p. A. Holtzman et al., "The Curious Case of Neural Text Degeneration",
// 2019 (top-p); N. Keskar et al., "CTRL", 2019 (repetition penalty).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/language.h"

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

// Ends a growing text before the first of some texts to stop at. What may yet become the beginning of one is held back.
class StopText {
 public:
  explicit StopText(std::vector<std::string> stops);  // none of them empty: ConfigError

  // Adds bytes; returns those that belong to the text for certain. Nothing more once found() is true.
  std::string add(std::string_view bytes);
  bool found() const { return found_; }
  // Returns what was held back, where the text ends without a stop.
  std::string rest();

 private:
  std::size_t possible_beginning() const;  // where in held_

  std::vector<std::string> stops_;
  std::string held_;
  bool found_ = false;
};

// The generation settings recommended by a model's publisher: generation_config.json beside its weights.
// Members that are absent or null are unset.
struct GenerationConfig {
  std::optional<bool> do_sample;  // false: always the likeliest token
  std::optional<double> temperature, top_p, min_p, repetition_penalty;
  std::optional<std::int64_t> top_k;
  std::vector<std::int32_t> stop_ids;  // eos_token_id, one or several
};

// Other members are passed over. DataError when a member has another type or is out of range; `origin` is named.
GenerationConfig parse_generation_config(std::string_view json, base::Origin origin);

// That some of its stop ids are not in a vocabulary of so many tokens, and which; "" where all are.
base::Text foreign_stop_ids(const GenerationConfig& config, std::int64_t vocab);

}  // namespace troika::inference
