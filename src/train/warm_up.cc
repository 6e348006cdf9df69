#include "train/warm_up.h"

#include <new>
#include <set>

#include "inference/batch_tokens.h"
#include "kernels/flat.h"
#include "kernels/grid.h"
#include "model/decoder.h"
#include "model/dtype_of.h"
#include "sharding/context_group.h"
#include "sharding/tensor_group.h"
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

void pass_through(const model::Decoder& segment, const tensor::Tensor& x_mD, const model::Tokens& tokens,
                  shape::SavedActivations activations) {
  for (const tensor::Tensor& parameter : segment.parameters()) parameter.zero();
  model::DecoderResult result = segment.forward(x_mD, tokens, activations);
  const tensor::Tensor dy_mD = result.y_mD.defined() ? tensor::zeros(result.y_mD.sizes(), result.y_mD.type()) : tensor::Tensor();
  segment.backward_input(dy_mD, tokens, result);
  segment.backward_weight(segment.new_gradients(), tokens, result);
}

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

}  // namespace

void warm_up(const plan::Plan& plan, const mesh::Coordinate& at, const tensor::Device& device) {
  MuteChannel tensor_ranks(at.tp, plan.shape.tp), context_ranks(at.cp, plan.shape.cp);
  sharding::TensorGroup tensor_group;
  sharding::ContextGroup context_group;
  if (plan.shape.tp > 1) tensor_group = sharding::TensorGroup(tensor_ranks, plan.sequence_parallel());
  if (plan.shape.cp > 1) context_group = sharding::ContextGroup(context_ranks);
  model::Decoder::Options options;
  options.seq_len = plan.resolved.batch.seq_len;
  options.device = device;
  options.dtype = model::dtype_of(plan.precision());
  options.parallel = {&tensor_group, &context_group};
  const auto activations = plan.saved_activations() == shape::SavedActivations::none ? shape::SavedActivations::all
                                                                                     : plan.saved_activations();
  try {
    const model::Tokens tokens = tokens_of(plan, context_group, device);
    const tensor::Tensor x_mD = tensor::zeros({plan.rows(at), plan.model().hidden}, tensor::TensorType(options.dtype, device));
    for (const int segment : segments_of(plan, at)) {
      const model::Decoder one(plan.model(), segment, segment + 1, options);
      pass_through(one, segment == 0 ? tensor::Tensor() : x_mD, tokens, activations);
    }
    add_up(device);
    tensor::synchronize(device);
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace troika::train
