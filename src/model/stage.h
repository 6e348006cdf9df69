// Consecutive segments as one unit of a pipeline, with their parameters in one flat buffer.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "model/layout.h"
#include "model/segment.h"

namespace troika::model {

struct StageResult {
  at::Tensor y_MD;        // undefined on the last stage
  kernels::LossSum loss;  // zero but on the last stage
  std::vector<std::unique_ptr<Saved>> saved;
  std::int64_t saved_bytes() const;
};

// Owns the parameters. Threads: one rank's thread.
class Stage {
 public:
  // `segments` are those of [layout.first_segment, layout.end_segment). Parameters start uninitialised.
  Stage(StageLayout layout, std::vector<std::unique_ptr<Segment>> segments, const c10::Device& device);

  const StageLayout& layout() const { return layout_; }
  const at::Tensor& parameters() const { return parameters_; }  // flat, parameter_elements
  at::Tensor view(const at::Tensor& flat, const Slot& slot) const;

  StageResult forward(const at::Tensor& x_MD, const Tokens& tokens, Keep keep) const;
  at::Tensor backward_input(const at::Tensor& dy_MD, const Tokens& tokens, StageResult& result) const;
  void backward_weight(const at::Tensor& leaf, const Tokens& tokens,
                       StageResult& result) const;  // leaf: gradient_elements

  // The parameters of the segment at `index` within this stage; for head_logits, that of the head.
  SegmentBuffer segment_parameters(std::size_t index) const;

 private:
  SegmentBuffer buffer(const at::Tensor& flat, std::size_t index, std::int64_t tied_offset) const;

  StageLayout layout_;
  std::vector<std::unique_ptr<Segment>> segments_;
  at::Tensor parameters_;
};

// Sets every parameter from (seed, name, element), so any layout starts from the same bits.
void initialise(Stage& stage, std::uint64_t seed, double init_std);

}  // namespace troika::model
