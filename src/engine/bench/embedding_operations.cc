#include <fmt/format.h>

#include "base/say.h"
#include "bench/operations.h"
#include "kernels/output_loss.h"
#include "kernels/vocabulary.h"
#include "shape/layout.h"
#include "shape/gpu_chunks.h"
#include "tensor/operations.h"
#include "tensor/tensor.h"

namespace troika::bench {
namespace {

void add_table(const base::Text& table, std::int64_t rows, const StepShapes& s, Operations& operations) {
  const std::int64_t M = s.M(), D = s.model.hidden;
  const std::string shape = fmt::format("M {} v {} D {}", M, rows, D);
  const auto forward = [=] {
    const tensor::Tensor ids_M = s.ids(rows), table_vD = s.normal({rows, D});
    return [=] { kernels::embedding_forward(ids_M, table_vD, 0); };
  };
  const auto backward = [=] {
    const tensor::Tensor ids_M = s.ids(rows), dx_MD = s.normal({M, D});
    return [=] { kernels::embedding_backward_weight(dx_MD, ids_M, 0, rows); };
  };
  const double MD = static_cast<double>(M * D), bytes = s.element_bytes();
  operations.push_back({base::say("{} forward", table), shape, s.microbatches, 0, 2 * bytes * MD, forward});
  operations.push_back({base::say("{} backward", table), shape, s.microbatches, 0, (bytes + 4) * MD, backward});
}

}  // namespace

void add_embedding(const StepShapes& s, Operations& operations) {
  add_table(base::say("embedding"), s.model.vocab, s, operations);
  if (s.model.architecture == config::Family::gpt2) add_table(base::say("positions"), s.model.max_positions, s, operations);
}

namespace {

struct LossInputs {
  tensor::Tensor x_MD, w_vD, targets_M;
};

// Forward and both halves of backward, as the head calls them: the loss, dx, dw.
void run(const LossInputs& in, const tensor::Tensor& dw_vD) {
  const std::int64_t M = in.x_MD.size(0), D = in.x_MD.size(1), v = in.w_vD.size(0);
  const double scale = 1.0 / static_cast<double>(M);
  const auto loss = kernels::row_loss(config::Loss::cross_entropy);
  kernels::OutputLossSaved saved;
  const auto bytes = static_cast<std::int64_t>(in.x_MD.element_bytes());
  const bool gradients = shape::output_loss_keep({M, D, v, 1, bytes}) == shape::LossKeep::gradients;
  const kernels::OutputLossPart whole =
      gradients ? kernels::output_loss_forward_with_gradients(*loss, in.x_MD, in.w_vD, in.targets_M, scale, saved)
                : kernels::output_loss_forward(in.x_MD, in.w_vD, in.targets_M, 0, &saved);
  loss->sum(whole, in.targets_M);
  kernels::output_loss_backward_input(*loss, in.w_vD, in.targets_M, 0, whole.lse_M, scale, saved);
  if (gradients) return;
  kernels::output_loss_backward_weight(
      in.x_MD, saved, shape::rows_of_table_piece(D),
      [&](std::int64_t first, std::int64_t count) { return tensor::Destination{dw_vD.narrow(0, first, count)}; });
}

Body loss_body(const StepShapes& s) {
  const std::int64_t M = s.M(), D = s.model.hidden, v = s.model.vocab;
  const LossInputs in{s.normal({M, D}), s.normal({v, D}), s.ids(v)};
  tensor::multiply(in.w_vD, 0.02);
  return [in, dw_vD = tensor::empty({v, D}, s.device)] { run(in, dw_vD); };
}

}  // namespace

void add_output_loss(const StepShapes& s, Operations& operations) {
  const std::int64_t M = s.M(), D = s.model.hidden, v = s.model.vocab;
  const double flops = 6.0 * static_cast<double>(M) * static_cast<double>(D) * static_cast<double>(v);
  const double bytes =
      s.element_bytes() * static_cast<double>(2 * M * D + 2 * v * D) + 4.0 * static_cast<double>(v * D);
  operations.push_back({base::say("output loss, both passes"), fmt::format("M {} D {} v {}", M, D, v), s.microbatches, flops,
                        bytes, [s] { return loss_body(s); }});
}

}  // namespace troika::bench
