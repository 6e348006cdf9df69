// Shapes: B sequences, t positions of this rank, n query heads, k key/value heads, H head width.
#include "sharding/context_group.h"

#include <algorithm>
#include <utility>

#include "sharding/ring.h"
#include "tensor/operations.h"

namespace troika::sharding {
namespace {

// Pieces of which some query sees some key, with what attention reads.
struct SeenPiece {
  Piece piece;
  kernels::AttentionInput input;
};

std::vector<SeenPiece> seen_pieces(const Ring& ring, int visitor, const LocalAttention& local,
                                   const tensor::Tensor& kv_2BtkH) {
  std::vector<SeenPiece> seen;
  const std::vector<Piece> pieces = ring.pieces(visitor);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    kernels::AttentionInput input;
    if (local.documents != nullptr) {
      const auto& bounds = local.documents->of_visitor[static_cast<std::size_t>(visitor)][i];
      if (!bounds) continue;
      input.documents = *bounds;
    }
    input.q_BTnH = local.q_BtnH.narrow(1, piece.q.begin, piece.q.count);
    input.k_BSkH = kv_2BtkH.select(0, 0).narrow(1, piece.k.begin, piece.k.count);
    input.v_BSkH = kv_2BtkH.select(0, 1).narrow(1, piece.k.begin, piece.k.count);
    input.kv_of_head = local.kv_of_head;
    input.q_offset = piece.q_position;
    seen.push_back({piece, std::move(input)});
  }
  return seen;
}

std::optional<kernels::DocumentBounds> bounds_of(const Ring& ring, int visitor, const Piece& piece,
                                                 const tensor::Tensor& first_key_Bt, const tensor::Device& device) {
  const tensor::Tensor first_key_BT =
      ring.keys_before(first_key_Bt.narrow(1, piece.q.begin, piece.q.count), piece, visitor);
  if (tensor::smallest(first_key_BT) >= static_cast<double>(piece.k.count)) return std::nullopt;
  return kernels::document_bounds(first_key_BT, device);
}

kernels::AttentionOutput narrow(const kernels::AttentionOutput& output, std::int64_t begin, std::int64_t count) {
  return {output.out_BTnH.narrow(1, begin, count), output.lse_BnT.narrow(2, begin, count)};
}

bool contains(const shape::Range& outer, const shape::Range& inner) {
  return inner.count > 0 && outer.begin <= inner.begin && inner.end() <= outer.end();
}

}  // namespace

std::vector<std::int64_t> ContextGroup::positions(std::int64_t T) const {
  const shape::SequenceChunks chunks = shape::sequence_chunks(T, rank(), size());
  std::vector<std::int64_t> mine;
  for (const shape::Range& range : {chunks.low, chunks.high}) {
    for (std::int64_t p = range.begin; p < range.end(); ++p) mine.push_back(p);
  }
  return mine;
}

std::shared_ptr<const LocalDocuments> ContextGroup::documents(const tensor::Tensor& first_key_Bt, std::int64_t T,
                                                              const tensor::Device& device) const {
  LocalDocuments found;
  if (channel_ == nullptr) {
    found.of_visitor.emplace_back().emplace_back(kernels::document_bounds(first_key_Bt, device));
    return std::make_shared<const LocalDocuments>(std::move(found));
  }
  const Ring ring(*channel_, T, on_wait_);
  for (int visitor = 0; visitor < size(); ++visitor) {
    auto& of_pieces = found.of_visitor.emplace_back();
    for (const Piece& piece : ring.pieces(visitor))
      of_pieces.push_back(bounds_of(ring, visitor, piece, first_key_Bt, device));
  }
  return std::make_shared<const LocalDocuments>(std::move(found));
}

static kernels::AttentionInput whole_input(const LocalAttention& local) {
  kernels::AttentionInput input;
  input.q_BTnH = local.q_BtnH;
  input.k_BSkH = local.k_BtkH;
  input.v_BSkH = local.v_BtkH;
  input.kv_of_head = local.kv_of_head;
  if (local.documents != nullptr) input.documents = *local.documents->of_visitor[0][0];
  return input;
}

std::vector<base::Text> ContextGroup::why_products(const LocalAttention& local, std::int64_t T) const {
  std::vector<base::Text> all;
  const auto ask = [&](const kernels::AttentionInput& input) {
    base::Text why = kernels::why_products(input);
    const auto is_it = [&](const base::Text& other) { return other.english == why.english; };
    if (!why.english.empty() && std::none_of(all.begin(), all.end(), is_it)) all.push_back(std::move(why));
  };
  if (channel_ == nullptr) {
    ask(whole_input(local));
    return all;
  }
  const Ring ring(*channel_, T, on_wait_);
  const tensor::Tensor own_2BtkH = tensor::stack({local.k_BtkH, local.v_BtkH});
  for (int visitor = 0; visitor < size(); ++visitor)
    for (const auto& [piece, input] : seen_pieces(ring, visitor, local, ring.buffer_of(visitor, own_2BtkH, own_2BtkH.dtype()))) ask(input);
  return all;
}

kernels::AttentionOutput ContextGroup::attend(const LocalAttention& local, std::int64_t T) const {
  if (channel_ == nullptr) return kernels::attention_forward(whole_input(local));
  const Ring ring(*channel_, T, on_wait_);
  const std::vector<shape::Range> chunks{ring.low(rank()), ring.high(rank())};
  std::vector<kernels::AttentionOutput> sums(2);
  ring.travel(tensor::stack({local.k_BtkH, local.v_BtkH}), [&](int step, const tensor::Tensor& kv_2BtkH) {
    for (const auto& [piece, input] : seen_pieces(ring, ring.visitor(step), local, kv_2BtkH)) {
      const auto part = kernels::attention_forward(input);
      for (std::size_t c = 0; c < 2; ++c) {
        if (!contains(piece.q, chunks[c])) continue;
        const auto of_chunk = narrow(part, chunks[c].begin - piece.q.begin, chunks[c].count);
        if (step == 0) sums[c] = of_chunk;
        if (step > 0) kernels::attention_merge(sums[c], of_chunk);
      }
    }
  });
  const tensor::Tensor& q = local.q_BtnH;
  const kernels::AttentionOutput output{tensor::empty(q.sizes(), q.type()),
                                        tensor::empty({q.size(0), q.size(2), q.size(1)}, q.type().of(tensor::Dtype::fp32))};
  for (std::size_t c = 0; c < 2; ++c) {
    if (chunks[c].count == 0) continue;
    const auto place = narrow(output, chunks[c].begin, chunks[c].count);
    place.out_BTnH.copy_from(sums[c].out_BTnH);
    place.lse_BnT.copy_from(sums[c].lse_BnT);
  }
  return output;
}

kernels::AttentionGradients ContextGroup::attend_backward(const tensor::Tensor& dout_BtnH, const LocalAttention& local,
                                                          const kernels::AttentionOutput& output,
                                                          std::int64_t T) const {
  if (channel_ == nullptr) return kernels::attention_backward(dout_BtnH, whole_input(local), output);
  const Ring ring(*channel_, T, on_wait_);
  const tensor::Tensor own_2BtkH = tensor::stack({local.k_BtkH, local.v_BtkH});
  tensor::Tensor dq_BtnH = tensor::zeros(local.q_BtnH.sizes(), local.q_BtnH.type().of(tensor::Dtype::fp32));
  comm::Transfer leaving;
  ring.travel(own_2BtkH, [&](int step, const tensor::Tensor& kv_2BtkH) {
    const int visitor = ring.visitor(step);
    tensor::Tensor dkv_2BtkH = ring.buffer_of(visitor, own_2BtkH, tensor::Dtype::fp32);
    comm::Transfer arriving;
    if (step > 0) arriving = ring.receive_gradients(dkv_2BtkH);
    std::vector<std::pair<Piece, kernels::AttentionGradients>> parts;
    for (const auto& [piece, input] : seen_pieces(ring, visitor, local, kv_2BtkH)) {
      parts.emplace_back(piece, kernels::attention_backward(dout_BtnH.narrow(1, piece.q.begin, piece.q.count), input,
                                                            narrow(output, piece.q.begin, piece.q.count)));
    }
    ring.wait({&arriving, &leaving});
    if (step == 0) dkv_2BtkH.zero();
    for (const auto& [piece, d] : parts) {
      tensor::add(dq_BtnH.narrow(1, piece.q.begin, piece.q.count), d.dq_BTnH);
      tensor::add(dkv_2BtkH[0].narrow(1, piece.k.begin, piece.k.count), d.dk_BSkH);
      tensor::add(dkv_2BtkH[1].narrow(1, piece.k.begin, piece.k.count), d.dv_BSkH);
    }
    leaving = ring.send_gradients(dkv_2BtkH);
  });
  const tensor::Tensor home_2BtkH = ring.buffer_of(rank(), own_2BtkH, tensor::Dtype::fp32);
  comm::Transfer arriving = ring.receive_gradients(home_2BtkH);
  ring.wait({&arriving, &leaving});
  return {dq_BtnH.to(local.q_BtnH.dtype()), home_2BtkH.select(0, 0).to(local.k_BtkH.dtype()),
          home_2BtkH.select(0, 1).to(local.v_BtkH.dtype())};
}

}  // namespace troika::sharding
