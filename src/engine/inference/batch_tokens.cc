#include "inference/batch_tokens.h"

#include <algorithm>

#include "tensor/device.h"
#include "tensor/operations.h"
#include "tensor/tensor.h"

namespace troika::inference {
namespace {

// For every element of the batch, the position at which its document begins; [B, T].
tensor::Tensor document_begins(const data::TokenBatch& batch) {
  const tensor::Tensor begins_BT = tensor::zeros({batch.rows, batch.length}, tensor::Dtype::int64);
  auto* begins = begins_BT.data<std::int64_t>();
  for (std::size_t i = 0; i < batch.document_starts.size(); ++i) {
    const std::int64_t start = batch.document_starts[i], row_end = (start / batch.length + 1) * batch.length;
    const bool last = i + 1 == batch.document_starts.size();
    const std::int64_t end = last ? row_end : std::min(row_end, batch.document_starts[i + 1]);
    std::fill(begins + start, begins + end, start % batch.length);
  }
  return begins_BT;
}

// positions_t - begins_Bt, [B, t].
tensor::Tensor places_in_documents(const tensor::Tensor& positions_t, const tensor::Tensor& begins_Bt) {
  const tensor::Tensor places_Bt = begins_Bt.clone();
  const auto* const position = positions_t.data<std::int64_t>();
  auto* const place = places_Bt.data<std::int64_t>();
  for (std::int64_t i = 0; i < places_Bt.elements(); ++i) place[i] = position[i % positions_t.elements()] - place[i];
  return places_Bt;
}

}  // namespace

model::Tokens tokens_of(const data::TokenBatch& batch, const sharding::ContextGroup& context,
                        const tensor::Device& device) {
  const tensor::Tensor positions_t = tensor::of(context.positions(batch.length));
  const auto own = [&](const tensor::Tensor& all_BT) {
    return context.size() > 1 ? tensor::rows_of(all_BT.t(), positions_t).t() : all_BT;
  };
  const auto own_rows = [&](const std::vector<std::int32_t>& ids) {
    const tensor::Tensor all =
        tensor::borrow(const_cast<std::int32_t*>(ids.data()), {batch.rows, batch.length}, tensor::Dtype::int32);
    return tensor::to_device(own(all).to(tensor::Dtype::int64).flatten(), device);
  };
  model::Tokens tokens;
  tokens.ids_M = own_rows(batch.inputs);
  tokens.targets_M = own_rows(batch.targets);
  tokens.B = batch.rows;
  tokens.T = positions_t.elements();
  tokens.T_whole = batch.length;
  if (batch.documents == shape::Documents::apart) {
    const tensor::Tensor begins_Bt = own(document_begins(batch));
    tokens.documents = context.documents(begins_Bt, batch.length, device);
    tokens.position_BT = tensor::to_device(places_in_documents(positions_t, begins_Bt), device);
  }
  return tokens;
}

}  // namespace troika::inference
