// Shapes: t rows of this rank, n query heads, k key/value heads, H head width.
#include "sharding/context_group.h"

#include <algorithm>
#include <utility>

#include "sharding/ring.h"
#include "tensor/operations.h"

namespace troika::sharding {
namespace {

kernels::AttentionInput input_of(const LocalAttention& local, const tensor::Tensor& k_1tkH, const tensor::Tensor& v_1tkH,
                                 std::vector<kernels::AttentionPart> parts) {
  return {local.q_1tnH, k_1tkH, v_1tkH, local.kv_of_head, 0, 0, std::move(parts), local.rule};
}

kernels::AttentionInput input_of(const LocalAttention& local, const tensor::Tensor& kv_21tkH, std::vector<kernels::AttentionPart> parts) {
  return input_of(local, kv_21tkH[0], kv_21tkH[1], std::move(parts));
}

std::vector<kernels::AttentionPart> whole_parts(const Sequences& sequences) {
  std::vector<kernels::AttentionPart> parts;
  for (const shape::SequenceRows& own : shape::rows_of_sequences(sequences, 0, 1)) parts.push_back({own.rows, own.rows, 0});
  return parts;
}

// Keys and values of the sequences' rows, without those behind them.
tensor::Tensor traveling(const LocalAttention& local, const Sequences& sequences, int rank, int size) {
  const std::int64_t rows = shape::count_rows(sequences, rank, size);
  return tensor::stack({local.k_1tkH.narrow(1, 0, rows), local.v_1tkH.narrow(1, 0, rows)});
}

// The gradient of `like`, whose rows behind the sequences have none.
tensor::Tensor gradient_of(const tensor::Tensor& like, const tensor::Tensor& d_1tkH) {
  if (d_1tkH.size(1) == like.size(1)) return d_1tkH.to(like.dtype());
  const tensor::Tensor all = tensor::zeros(like.sizes(), like.type());
  all.narrow(1, 0, d_1tkH.size(1)).copy_from(d_1tkH);
  return all;
}

}  // namespace

std::vector<std::int64_t> ContextGroup::own_rows(const Sequences& sequences) const {
  std::vector<std::int64_t> own;
  std::int64_t first = 0;
  for (const shape::Sequence& sequence : sequences) {
    const shape::SequenceChunks chunks = shape::sequence_chunks(sequence.length, rank(), size());
    for (const shape::Range& chunk : {chunks.low, chunks.high})
      for (std::int64_t i = chunk.begin; i < chunk.end(); ++i) own.push_back(first + i);
    first += sequence.length;
  }
  return own;
}

std::vector<base::Text> ContextGroup::why_products(const LocalAttention& local, const Sequences& sequences) const {
  std::vector<base::Text> all;
  const auto ask = [&](const kernels::AttentionInput& input) {
    base::Text why = kernels::why_products(input);
    const auto is_it = [&](const base::Text& other) { return other.english == why.english; };
    if (!why.english.empty() && std::none_of(all.begin(), all.end(), is_it)) all.push_back(std::move(why));
  };
  if (channel_ == nullptr) {
    ask(input_of(local, local.k_1tkH, local.v_1tkH, whole_parts(sequences)));
    return all;
  }
  const Ring ring(*channel_, sequences, on_wait_);
  const tensor::Tensor own_21tkH = traveling(local, sequences, rank(), size());
  for (int visitor = 0; visitor < size(); ++visitor) {
    for (Ring::Parts& parts : ring.calls(visitor, local.rule.window))
      ask(input_of(local, ring.buffer_of(visitor, own_21tkH, own_21tkH.dtype()), std::move(parts)));
  }
  return all;
}

kernels::AttentionOutput ContextGroup::attend(const LocalAttention& local, const Sequences& sequences) const {
  if (channel_ == nullptr) return kernels::attention_forward(input_of(local, local.k_1tkH, local.v_1tkH, whole_parts(sequences)));
  const Ring ring(*channel_, sequences, on_wait_);
  kernels::AttentionOutput sum;
  ring.travel(traveling(local, sequences, rank(), size()), [&](int step, const tensor::Tensor& kv_21tkH) {
    for (Ring::Parts& parts : ring.calls(ring.visitor(step), local.rule.window)) {
      kernels::AttentionOutput part = kernels::attention_forward(input_of(local, kv_21tkH, std::move(parts)));
      if (sum.lse_BnT.defined()) kernels::attention_merge(sum, part);
      else sum = std::move(part);
    }
    if (step == 0 && !sum.lse_BnT.defined()) sum = kernels::attention_forward(input_of(local, kv_21tkH, {{{0, 0}, {0, 0}, 0}}));
  });
  return {sum.out_BTnH.to(local.q_1tnH.dtype()), sum.lse_BnT};
}

kernels::AttentionGradients ContextGroup::attend_backward(const tensor::Tensor& dout_1tnH, const LocalAttention& local,
                                                          const kernels::AttentionOutput& output,
                                                          const Sequences& sequences) const {
  if (channel_ == nullptr)
    return kernels::attention_backward(dout_1tnH, input_of(local, local.k_1tkH, local.v_1tkH, whole_parts(sequences)), output);
  const Ring ring(*channel_, sequences, on_wait_);
  const tensor::Tensor own_21tkH = traveling(local, sequences, rank(), size());
  tensor::Tensor dq_1tnH = tensor::zeros(local.q_1tnH.sizes(), local.q_1tnH.type().of(tensor::Dtype::fp32));
  comm::Transfer leaving;
  ring.travel(own_21tkH, [&](int step, const tensor::Tensor& kv_21tkH) {
    const int visitor = ring.visitor(step);
    tensor::Tensor dkv_21tkH = ring.buffer_of(visitor, own_21tkH, tensor::Dtype::fp32);
    comm::Transfer arriving;
    if (step > 0) arriving = ring.receive_gradients(dkv_21tkH);
    std::vector<kernels::AttentionGradients> found;
    for (Ring::Parts& parts : ring.calls(visitor, local.rule.window))
      found.push_back(kernels::attention_backward(dout_1tnH, input_of(local, kv_21tkH, std::move(parts)), output));
    ring.wait({&arriving, &leaving});
    if (step == 0) dkv_21tkH.zero();
    for (const kernels::AttentionGradients& d : found) {
      tensor::add(dq_1tnH, d.dq_BTnH);
      tensor::add(dkv_21tkH[0], d.dk_BSkH);
      tensor::add(dkv_21tkH[1], d.dv_BSkH);
    }
    leaving = ring.send_gradients(dkv_21tkH);
  });
  const tensor::Tensor home_21tkH = ring.buffer_of(rank(), own_21tkH, tensor::Dtype::fp32);
  comm::Transfer arriving = ring.receive_gradients(home_21tkH);
  ring.wait({&arriving, &leaving});
  return {dq_1tnH.to(local.q_1tnH.dtype()), gradient_of(local.k_1tkH, home_21tkH[0]), gradient_of(local.v_1tkH, home_21tkH[1])};
}

}  // namespace troika::sharding
