// Small training runs in a layout given in words, with ranks as threads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "metrics/step_metrics.h"
#include "tensor/libtorch_test_support.h"
#include "train/thread_ranks_test_support.h"

namespace troika::train {

// Writes a layout such as "dp 2 pp 2 zero 3 zb-h1" into settings. Words: dp, pp, tp, cp, zero with a number; a schedule, with
// interleaved the virtual stages; `recompute`, `offload` and a way; `overlap off`; `plain` (no sequence parallel);
// `accumulation` and rounds; `threads` and their
// number per rank; `stages` and layers per stage; `bf16`, `fp16`. Returns the world size.
int apply_layout(const std::string& words, config::Settings* settings);

// `layout` with threads: 1, 2, 3, 1, ... by its turn. OMP_NUM_THREADS says where to begin, so the same test in processes with
// 1, 2 and 3 runs every layout with every number.
std::string take_turns(const std::string& layout, std::size_t turn);

// Makes the model a GPT-2 of the same width, layers and feed-forward.
void use_gpt2(config::Settings* settings);
// Makes it a Qwen2, or a Llama with rotary frequencies of which some are stretched.
void use_qwen2(config::Settings* settings);
void use_llama(config::Settings* settings);
// Gemma 3 with windows in two of three layers, and Mistral with a window.
void use_gemma(config::Settings* settings);
void use_windowed_mistral(config::Settings* settings);

using Rows = std::vector<metrics::StepMetrics>;

// Runs in folders of their own, by name; 12 microbatches of one sequence, a model of 8 layers.
class LayoutRuns {
 public:
  LayoutRuns();
  // The run's rows, of earlier runs of this name too. Losses and gradient norms must be the same on all ranks (checked).
  Rows train(const std::string& name, const std::string& layout, const Customise& customise = {});
  std::string folder(const std::string& name) const { return folder_.path() + "/" + name; }
  const data::TokenStream& stream() const { return *stream_; }

  config::Settings settings;               // of the next run, but for layout and folder
  const data::Samples* samples = nullptr;  // to train on; null: those of the stream
  const data::Samples* valid = nullptr;    // to evaluate on; null: no evaluation
  Trainer::SegmentMaker segments;          // empty: those of the model
  MakeChannels channels;                   // empty: threads

 private:
  TemporaryFolder folder_;
  std::shared_ptr<const data::TokenStream> stream_;
};

bool equal_bits(const at::Tensor& a, const at::Tensor& b);  // of fp32

// Expects the same steps, loss bits, gradient norms (not a number where a step was skipped) and losses of evaluations.
void expect_equal_rows(const Rows& rows, const Rows& expected, const std::string& what);

}  // namespace troika::train
