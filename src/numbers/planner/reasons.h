// A plan's reasons in sentences, in both languages.
#pragma once

#include <optional>
#include <vector>

#include "base/language.h"
#include "config/settings/settings.h"
#include "planner/search.h"
#include "shape/shard_plan.h"

namespace troika::planner {

// Reasons for one layout: how its memory and its time come about, and its notable features.
std::vector<base::Text> reasons_of(const Question& question, const Estimate& estimate);

// Does the model fit one device? Does one layer? Is it deep enough to be cut into stages? One sentence each.
std::vector<base::Text> three_questions(const Question& question);

// Changes that would make the best layout faster, each tried by prediction: a link or a batch twice as large, memory, more or fewer
// machines. Only changes by more than a twentieth, the largest first.
std::vector<base::Text> what_would_help(const Question& question, const Estimate& best);

// The fastest layout on fewer of the hosts, of those with more positions/s than that; nothing where none is, and of clusters of
// accelerators or of more than a few hosts.
struct OnFewerHosts {
  int hosts = 0;
  Estimate estimate;
};
std::optional<OnFewerHosts> fastest_on_fewer_hosts(const Question& question, double tokens_per_second);

// Advice when nothing fits: the needs, and the nearest alternative that would fit. Tries more machines, which takes a while for
// large models; the first part alone does not.
base::Text nothing_fits(const Question& question, const Answer& answer);
base::Text what_is_lacking(const Question& question, const Answer& answer);

// "64 hosts with 8 x h100, 78.2 GiB each" and what kind of numbers these are.
base::Text describe(const Question& question);
base::Text sources_of(const machine::Cluster& cluster);

// Bytes of what a training keeps of a model between steps: S. Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training
// Trillion Parameter Models", 2020.
struct BytesPerParameter {
  double weights = 0, gradients = 0, state = 0;
};

// The bytes of mixed-precision Adam as the paper counts them.
inline constexpr BytesPerParameter bytes_of_zero_paper{2, 2, 12};

// Ours, with the sum of several microbatches' gradients in integers.
inline BytesPerParameter bytes_of_training(config::Optimizer optimizer, config::Precision precision) {
  const auto element = config::bytes_of(precision);
  return {static_cast<double>(element), 8, static_cast<double>(shape::shape_of(optimizer).bytes(element))};
}

// The bytes of one of `replicas` ranks.
inline double model_state_bytes(double parameters, double replicas, int zero, const BytesPerParameter& bytes) {
  const auto part = [&](double each, int from) { return each / (zero >= from ? replicas : 1); };
  return parameters * (part(bytes.weights, 3) + part(bytes.gradients, 2) + part(bytes.state, 1));
}

}  // namespace troika::planner
