// Trainings that others published, with the machines that they ran on.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "machine/profiles.h"
#include "planner/search.h"

namespace troika::planner {

struct PublishedRow {
  std::string name;
  config::ModelSettings model;
  std::int64_t seq_len;
  Layout layout;
  std::string accelerator;
  // Megatron of then: scores of attention in memory and of the whole mask, sums of gradients in floats.
  enum class Attention { in_memory, fused } attention;
  bool sequence_parallel;
  double seconds;  // of a step
};

// D. Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM", SC 2021, table 1 (step
// seconds from the printed FLOP/s); V. Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models",
// 2022, table 5; torchtitan's published runs of Llama 3 8B on H100.
const std::vector<PublishedRow>& published_rows();

Question question_of(const PublishedRow& row, const machine::Reach& reach);
double predicted_seconds(const PublishedRow& row, const machine::Reach& reach);

// The idle share of a step of eight stages on A100, with an equal part of layers + 2 blocks each (the first and the last give one
// for the embedding and the head).
double bubble_of_balanced_pipeline(std::int64_t layers, std::int64_t hidden, std::int64_t heads, std::int64_t micro,
                                   int microbatches, config::Schedule schedule, int virtual_stages);

// The logarithm of a row's prediction over its measurement, and its change with those of products, attention and links.
struct Linear {
  double off = 0;
  std::array<double, 3> slope{};
};
Linear linear_at(const PublishedRow& row, const machine::Reach& reach);

// The reach near `at` with the least sum of the squared logarithms of these rows, which are linear there.
machine::Reach fit(const std::vector<Linear>& rows, const machine::Reach& at);

}  // namespace troika::planner
