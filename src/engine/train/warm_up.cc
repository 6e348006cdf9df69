#include "train/warm_up.h"

#include <algorithm>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <vector>

#include "inference/batch_tokens.h"
#include "kernels/flat.h"
#include "kernels/grid.h"
#include "model/decoder.h"
#include "model/dtype_of.h"
#include "plan/memory_check.h"
#include "plan/memory.h"
#include "sharding/context_group.h"
#include "sharding/tensor_group.h"
#include "tensor/accelerator.h"
#include "tensor/device.h"
#include "train/mute_channel.h"

namespace troika::train {
namespace {

// One of each kind: all blocks are alike.
std::set<int> segments_of(const plan::Plan& plan, const mesh::Coordinate& at) {
  std::set<int> segments;
  const int head = plan.program.segments() - 1;
  bool has_block = false;
  for (int stage = 0; stage < plan.program.stages(); ++stage) {
    if (plan.program.pp_rank_of_stage[static_cast<std::size_t>(stage)] != at.pp) continue;
    for (int g = plan.program.first_segment(stage); g < plan.program.end_segment(stage); ++g) {
      const bool block = g > 0 && g < head;
      if (!block || !has_block) segments.insert(g);
      has_block = has_block || block;
    }
  }
  return segments;
}

model::Tokens tokens_of(const plan::Plan& plan, const sharding::ContextGroup& context, const tensor::Device& device) {
  data::TokenBatch batch;
  batch.rows = plan.resolved.batch.micro;
  batch.length = plan.resolved.batch.seq_len;
  batch.inputs.assign(static_cast<std::size_t>(batch.rows * batch.length), 0);
  batch.targets = batch.inputs;
  batch.documents = plan.data.documents;
  return inference::tokens_of(batch, context, device);
}

// A microbatch's way through one segment. What is not trained has no gradients.
class Pass {
 public:
  Pass(const model::Decoder& segment, const tensor::Tensor& x_mD, const model::Tokens& tokens, bool trained,
       shape::SavedActivations activations)
      : segment_(segment), tokens_(tokens) {
    for (const tensor::Tensor& parameter : segment.parameters()) parameter.zero();
    result_ = segment.forward(x_mD, tokens, activations);
    if (result_.y_mD.defined()) dy_mD_ = tensor::zeros(result_.y_mD.sizes(), result_.y_mD.type());
    if (trained) gradients_ = segment.new_gradients();
  }
  void backward() {
    segment_.backward_input(dy_mD_, tokens_, result_);
    if (!gradients_.empty()) segment_.backward_weight(gradients_, tokens_, result_);
  }

 private:
  const model::Decoder& segment_;
  const model::Tokens& tokens_;
  model::DecoderResult result_;
  tensor::Tensor dy_mD_;
  std::vector<tensor::Tensor> gradients_;
};

// Gradients are summed between the passes of microbatches: a few as they are, more of them as integers.
void add_up(const tensor::Device& device) {
  constexpr std::int64_t elements = 4096;
  const kernels::GridStretches grid{{elements, 20}};
  const tensor::Tensor x = tensor::zeros({elements}, tensor::TensorType(tensor::Dtype::fp32, device));
  const tensor::Tensor sum = tensor::empty({elements}, tensor::TensorType(tensor::Dtype::int64, device));
  for (const kernels::Into into : {kernels::Into::fresh, kernels::Into::sum}) kernels::add_on_grid(sum, x, grid, into);
  kernels::from_integers(sum, grid, x);
  kernels::add_into(x, x.clone());
  kernels::round_to_grid(x, grid, {});
}

// A rank's groups, which pass nothing on, and what its segments are made and fed with.
class Microbatch {
 public:
  Microbatch(const plan::Plan& plan, const mesh::Coordinate& at, const tensor::Device& device)
      : plan_(plan), tensor_ranks_(at.tp, plan.shape.tp), context_ranks_(at.cp, plan.shape.cp) {
    if (plan.shape.tp > 1) tensor_group_ = sharding::TensorGroup(tensor_ranks_, plan.sequence_parallel());
    if (plan.shape.cp > 1) context_group_ = sharding::ContextGroup(context_ranks_);
    options_.seq_len = plan.resolved.batch.seq_len;
    options_.device = device;
    options_.dtype = model::dtype_of(plan.precision());
    options_.parallel = {&tensor_group_, &context_group_};
    tokens_ = tokens_of(plan, context_group_, device);
    x_mD_ = tensor::zeros({plan.rows(at), plan.model().hidden}, tensor::TensorType(options_.dtype, device));
  }
  model::Decoder decoder(int segment) const { return {plan_.model(), segment, segment + 1, options_}; }
  Pass pass(const model::Decoder& one, int segment) const {
    const auto saved = plan_.saved_activations();
    return {one, segment == 0 ? tensor::Tensor() : x_mD_, tokens_, plan_.trained.own(segment),
            saved == shape::SavedActivations::none ? shape::SavedActivations::all : saved};
  }

 private:
  const plan::Plan& plan_;
  MuteChannel tensor_ranks_, context_ranks_;
  sharding::TensorGroup tensor_group_;
  sharding::ContextGroup context_group_;
  model::Decoder::Options options_;
  model::Tokens tokens_;
  tensor::Tensor x_mD_;
};

// In pieces, as a run's buffers are.
std::vector<std::shared_ptr<tensor::Memory>> hold(std::int64_t bytes, const tensor::Device& device) {
  constexpr std::int64_t piece_bytes = 256 << 20;
  std::vector<std::shared_ptr<tensor::Memory>> held;
  for (; bytes > 0; bytes -= piece_bytes)
    held.push_back(tensor::allocate(static_cast<std::size_t>(std::min(bytes, piece_bytes)), device));
  return held;
}

std::int64_t used_bytes(const tensor::Device& device) {
  tensor::synchronize(device);
  return device.accelerator().memory(device).used;
}

}  // namespace

void warm_up(const plan::Plan& plan, const mesh::Coordinate& at, const tensor::Device& device) {
  try {
    const Microbatch microbatch(plan, at, device);
    for (const int segment : segments_of(plan, at)) {
      const model::Decoder one = microbatch.decoder(segment);
      microbatch.pass(one, segment).backward();
    }
    add_up(device);
    tensor::synchronize(device);
  } catch (const std::bad_alloc&) {
  }
}

ProvedMemory prove_microbatch(const plan::Plan& plan, const mesh::Coordinate& at, const tensor::Device& device,
                              std::int64_t reserved) {
  const int grid_rank = plan.program.grid_rank(at.pp, at.dp);
  const plan::Memory memory = plan::memory_in(plan, grid_rank, plan::Room::Where::gpu);
  ProvedMemory proved;
  proved.planned = memory.with_saving() - memory.program;
  warm_up(plan, at, device);  // what libraries take is there from here on
  device.accelerator().begin_peaks(device);
  const std::int64_t before = used_bytes(device);
  try {
    const Microbatch microbatch(plan, at, device);
    for (const int segment : segments_of(plan, at)) {
      const model::Decoder one = microbatch.decoder(segment);
      std::int64_t own = 0;
      {
        const Pass pass = microbatch.pass(one, segment);
        own = used_bytes(device) - before;
      }
      const std::int64_t operation = plan::gpu_operation_bytes(plan, at, segment);
      const auto beside = hold(proved.planned - operation - own, device), more = hold(reserved, device);
      microbatch.pass(one, segment).backward();
      tensor::synchronize(device);
    }
    proved.suffices = true;
  } catch (const std::bad_alloc&) {
    tensor::synchronize(device);
  }
  proved.peak = device.accelerator().memory(device).used_peak - before - reserved;
  device.accelerator().begin_peaks(device);
  return proved;
}

}  // namespace troika::train
