// Every kernel that an operation may run, once: the list from which device code is compiled and tests name kernels.
#pragma once

#include "cuda/activation_dispatch.h"
#include "cuda/attention_dispatch.h"
#include "cuda/bias_dispatch.h"
#include "cuda/elements_dispatch.h"
#include "cuda/vocabulary_dispatch.h"
#include "cuda/flat_dispatch.h"
#include "cuda/grid_dispatch.h"
#include "cuda/norm_dispatch.h"
#include "cuda/rope_dispatch.h"

namespace troika::cuda {

// Names the operations, so that all their kernels are instances of Run's call; `run` gets kernels of empty arrays.
template <class Run>
void every_kernel(const Run& run) {
  using namespace dispatch;
  for (const Gate gate : {Gate::silu, Gate::gelu}) {
    gated_forward(run, gate, {}, nullptr, nullptr);
    gated_backward(run, gate, {}, nullptr, nullptr, nullptr, 0);
  }
  gelu_forward(run, {}, nullptr, nullptr);
  gelu_backward(run, {}, nullptr, nullptr, nullptr, 0);
  softmax(run, {}, nullptr, Dtype::fp32, nullptr);
  softmax_gradient(run, {}, nullptr, nullptr, Dtype::fp32, nullptr, nullptr);
  head_dots(run, {}, Dtype::fp32, nullptr, nullptr, nullptr);
  sum_of_shares(run, {}, {}, {}, nullptr, nullptr);
  linear_backward_bias(run, {}, nullptr, nullptr, nullptr);
  log_sum_exp(run, {}, nullptr, nullptr, Dtype::fp32, nullptr);
  cross_entropy_gradient(run, {}, Dtype::fp32, nullptr, {}, Dtype::fp32);
  logits_of_columns(run, {}, nullptr, nullptr, nullptr);
  columns_of_targets(run, 0, nullptr, 0, nullptr);
  weights_of_targets(run, 0, nullptr, 0, 0, nullptr);
  log_add_exp(run, 0, nullptr, nullptr, nullptr);
  loss_sum(run, 0, nullptr, nullptr, nullptr, 0, nullptr);
  dispatch::dropout(run, {}, {}, nullptr, nullptr);
  copy_elements(run, {}, {}, {});
  add_elements(run, {}, {}, {}, 0);
  fill_elements(run, {}, {}, 0);
  multiply_elements(run, {}, {}, 0);
  gather_rows(run, {}, {}, {});
  scatter_rows(run, {}, {}, {});
  add_rows(run, {}, {}, {});
  embedding_forward(run, {}, 0, nullptr, nullptr, nullptr);
  sort_tokens(run, 0, nullptr, nullptr, nullptr);
  embedding_backward_weight(run, {}, 0, {}, nullptr, nullptr, nullptr);
  add_into(run, 0, nullptr, nullptr);
  sum_of_parts(run, 0, {}, Dtype::fp32, nullptr, nullptr);
  bits_sum(run, 0, 2, nullptr, nullptr);
  chunk_squares(run, {{}}, nullptr, 1, nullptr);
  adamw(run, {}, {{}}, {}, Dtype::fp32, nullptr);
  round_into(run, 0, nullptr, Dtype::fp32, nullptr);
  round_to_grid(run, {{}}, nullptr, nullptr);
  set_integers(run, {{}}, nullptr, nullptr, nullptr);
  add_integers(run, {{}}, nullptr, nullptr, nullptr);
  add_rows_on_grid(run, {}, nullptr, nullptr, 0, nullptr);
  from_integers(run, {{}}, nullptr, nullptr);
  integer_chunk_squares(run, {{}}, nullptr, 1, nullptr);
  rms_norm_forward(run, {}, {}, {}, 0, nullptr, nullptr);
  rms_norm_backward(run, {}, nullptr, nullptr, {}, nullptr, nullptr, nullptr, nullptr, nullptr);
  layer_norm_forward(run, {}, {}, nullptr, nullptr, 0, nullptr, nullptr, nullptr);
  layer_norm_backward(run, {}, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  dispatch::rope(run, {}, Turn::forward, {}, {});
  qk_norm_rope_forward(run, {}, 0, {}, {}, nullptr);
  qk_norm_rope_backward(run, {}, {}, {}, nullptr, {}, nullptr, nullptr);
}

}  // namespace troika::cuda
