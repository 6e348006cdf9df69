#include <fmt/format.h>

#include "bench/operations.h"
#include "kernels/vocabulary.h"
#include "tensor/tensor.h"

namespace troika::bench {
namespace {

void add_table(const std::string& table, std::int64_t rows, const StepShapes& s, Operations& operations) {
  const std::int64_t M = s.M(), D = s.model.hidden;
  const std::string shape = fmt::format("M {} v {} D {}", M, rows, D);
  const auto forward = [=] {
    const tensor::Tensor ids_M = s.ids(rows), table_vD = s.normal({rows, D});
    return [=] { kernels::embedding_forward(ids_M, table_vD, 0); };
  };
  const auto backward = [=] {
    const tensor::Tensor ids_M = s.ids(rows), dx_MD = s.normal({M, D});
    const auto body = [=](auto function) {
      return [=] {
        const kernels::NamedRows named = function(dx_MD, ids_M, 0, rows);
        return std::vector{named.row_r, named.gradient_rD};
      };
    };
    return body(kernels::embedding_backward_weight);
  };
  const double MD = static_cast<double>(M * D), bytes = s.element_bytes();
  operations.push_back({table + " forward", shape, s.microbatches, 0, 2 * bytes * MD, forward});
  operations.push_back({table + " backward", shape, s.microbatches, 0, (bytes + 4) * MD, backward});
}

}  // namespace

void add_embedding(const StepShapes& s, Operations& operations) {
  add_table("embedding", s.model.vocab, s, operations);
  if (s.model.architecture == config::Family::gpt2) add_table("positions", s.model.max_positions, s, operations);
}

}  // namespace troika::bench
