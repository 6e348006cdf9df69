// On the CPU an operation on bf16 computes in fp32 and rounds once: its results are those of the same numbers in fp32, rounded.
// Products are apart: their sums have another order.
#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "kernels/attention.h"
#include "kernels/vocabulary.h"
#include "kernels/linear.h"
#include "kernels/rows.h"
#include "kernels/parity_test_support.h"
#include "kernels/rope.h"
#include "tensor/libtorch_test_support.h"

namespace troika::kernels {
namespace {

struct HalfOperation {
  std::string name;
  std::function<std::vector<at::Tensor>(at::ScalarType)> results;
};

// The same numbers in either dtype.
at::Tensor number(const char* name, at::IntArrayRef sizes, at::ScalarType dtype) {
  return random_normal(name, sizes.vec()).to(at::kBFloat16).to(dtype);
}

std::vector<at::Tensor> norms(at::ScalarType dtype, std::int64_t M, std::int64_t D) {
  const auto of = [&](const char* name) { return number(name, {M, D}, dtype); };
  const at::Tensor x = of("x"), w = number("w", {D}, dtype), bias = number("bias", {D}, dtype), plus = of("plus");
  const at::Tensor dw_rms = at::empty({D}), dw = at::empty({D}), dbias = at::empty({D});
  RmsNormSaved rms;
  LayerNormSaved layer;
  const at::Tensor y_rms = rms_norm_forward(x, w, 1e-6, &rms), y = layer_norm_forward(x, w, bias, 1e-5, &layer);
  const at::Tensor dx_rms = rms_norm_backward(of("dy"), x, w, rms, dw_rms, plus);
  const at::Tensor dx = layer_norm_backward(of("dy"), x, w, layer, dw, dbias, plus);
  return {y_rms, y, dx_rms, dx, dw_rms, dw, dbias, rms.rstd_M, layer.mean_M, layer.rstd_M};
}

std::vector<at::Tensor> rotations(at::ScalarType dtype, std::int64_t B, std::int64_t T, std::int64_t n,
                                  std::int64_t H) {
  std::vector<std::int64_t> positions(static_cast<std::size_t>(T));
  for (std::size_t t = 0; t < positions.size(); ++t) positions[t] = static_cast<std::int64_t>(3 * t);
  const RopeTable rope = make_rope_table(positions, {H, 1e6}, tensor::Device());
  const at::Tensor x = number("x", {B, T, n + 2, H}, dtype).narrow(2, 1, n), w = number("w", {H}, dtype);
  const at::Tensor dy = number("dy", {B, T, n, H}, dtype), dw = at::empty({H});
  const at::Tensor dx = at::empty({2, B, T, n + 1, H}, x.options());
  QkNormRopeSaved saved;
  const at::Tensor y = rope_forward(x, rope), y_normed = qk_norm_rope_forward(x, w, 1e-6, rope, &saved);
  rope_backward(dy, rope, dx[0].narrow(2, 0, n));
  qk_norm_rope_backward(dy, x, w, rope, saved, dx[1].narrow(2, 1, n), dw);
  return {y, y_normed, dx[0].narrow(2, 0, n), dx[1].narrow(2, 1, n), dw, saved.rstd_BTn};
}

std::vector<at::Tensor> activations(at::ScalarType dtype, std::int64_t M, std::int64_t F) {
  const at::Tensor both = number("gate_up", {M, 2 * F}, dtype), dh = number("dh", {M, F}, dtype);
  const at::Tensor x = number("x", {M, F}, dtype);
  return {swiglu_forward(both), swiglu_backward(dh, both), gelu_forward(x), kernels::gelu_backward(dh, x)};
}

std::vector<at::Tensor> attention(at::ScalarType dtype, std::int64_t T, std::int64_t H) {
  const at::Tensor qkv = number("qkv", {2, T, 8, H}, dtype), dout = number("dout", {2, T, 4, H}, dtype);
  const AttentionInput input{qkv.narrow(2, 0, 4), qkv.narrow(2, 4, 2), qkv.narrow(2, 6, 2), {0, 0, 1, 1}, 0, 0, {}};
  const AttentionOutput output = attention_forward(input);
  // Backward reads what forward wrote, so both dtypes are given the same.
  const AttentionOutput rounded{tensor::theirs(output.out_BTnH.to(tensor::Dtype::bf16)).to(dtype), output.lse_BnT};
  const AttentionGradients d = attention_backward(dout, input, rounded);
  return {output.out_BTnH, output.lse_BnT, d.dq_BTnH, d.dk_BSkH, d.dv_BSkH};
}

std::vector<at::Tensor> tables(at::ScalarType dtype, std::int64_t M, std::int64_t D) {
  const at::Tensor ids = at::arange(M, at::kLong).mul(7).remainder(13), dx = number("dx", {M, D}, dtype);
  const NamedRows rows = embedding_backward_weight(dx, ids, 2, 9);
  const at::Tensor dbias = at::empty({D});
  linear_backward_bias(dx, dbias);
  return {embedding_forward(ids, number("table", {9, D}, dtype), 2), rows.gradient_rD, dbias};
}

std::vector<at::Tensor> losses(at::ScalarType dtype, std::int64_t M, std::int64_t v) {
  const at::Tensor logits = number("logits", {M, v}, at::kFloat), lse = at::empty({M});
  const at::Tensor column = at::arange(M, at::kLong).mul(5).remainder(v + 2),
                   weight = number("weight", {M}, at::kFloat);
  const at::Tensor kept = at::empty({M, v}, at::TensorOptions().dtype(dtype));
  log_sum_exp_and_keep(logits.clone(), lse, kept);
  const at::Tensor rounded = kept.to(at::kBFloat16).to(dtype).clone();
  return {lse, kept, cross_entropy_gradient(logits.clone(), lse, column, weight, tensor::ours(dtype)),
          cross_entropy_gradient(rounded, at::zeros({M}), column, weight, tensor::ours(dtype))};
}

std::vector<HalfOperation> half_operations() {
  using at::ScalarType;
  return {{"norms", [](ScalarType dtype) { return norms(dtype, 130, 77); }},
          {"norms of whole vectors", [](ScalarType dtype) { return norms(dtype, 3, 64); }},
          {"rotations", [](ScalarType dtype) { return rotations(dtype, 2, 70, 3, 64); }},
          {"rotations of narrow heads", [](ScalarType dtype) { return rotations(dtype, 1, 7, 1, 22); }},
          {"activations", [](ScalarType dtype) { return activations(dtype, 70, 333); }},
          {"attention of heads without pairs", [](ScalarType dtype) { return attention(dtype, 300, 21); }},
          {"tables", [](ScalarType dtype) { return tables(dtype, 200, 33); }},
          {"losses", [](ScalarType dtype) { return losses(dtype, 40, 1001); }}};
}

TEST(HalvesParity, AreFloatsRoundedOnce) {
  for (const HalfOperation& operation : half_operations()) {
    const std::vector<at::Tensor> halves = operation.results(at::kBFloat16), floats = operation.results(at::kFloat);
    for (std::size_t i = 0; i < halves.size(); ++i)
      EXPECT_TRUE(at::equal(halves[i], floats[i].to(halves[i].scalar_type()))) << operation.name << ", result " << i;
  }
}

// The same products of the same numbers in fp32, whose sums have another order; `halves` in bf16 where it was rounded,
// half a unit in the last place for each rounding.
void expect_product(const char* name, const at::Tensor& halves, const at::Tensor& floats, int roundings = 1) {
  const double unit = halves.scalar_type() == at::kBFloat16 ? roundings * 0x1p-8 : 1e-5;
  const double most = floats.abs().max().item<double>();
  EXPECT_LE((halves.to(at::kFloat) - floats).abs().max().item<double>(), unit * most) << name;
}

TEST(HalvesParity, ProductsAreThoseOfFloats) {
  for (const auto& [M, I, O] : std::vector<std::array<std::int64_t, 3>>{{3, 5, 7}, {40, 130, 77}, {200, 64, 96}}) {
    for (const bool transposed : {false, true}) {
      const auto of = [&](at::ScalarType dtype) {
        const at::Tensor x = number("x", {M, I}, dtype), dy = number("dy", {M, O}, dtype);
        const at::Tensor stored = transposed ? number("w", {I, O}, dtype) : number("w", {O, I}, dtype);
        const at::Tensor w = transposed ? stored.t() : stored, bias = number("bias", {O}, dtype);
        const at::Tensor y = at::empty({M, O + 3}).narrow(1, 0, O), dw_stored = at::empty(stored.sizes());
        const at::Tensor dw = transposed ? dw_stored.t() : dw_stored;
        linear_forward_float(x, w, y);
        linear_backward_weight(dy, x, dw);
        const at::Tensor once = dw.clone();
        linear_backward_weight(dy, x, dw, tensor::Sum::added);
        return std::vector<at::Tensor>{linear_forward(x, w, bias), y, linear_backward_input(dy, w), once, dw};
      };
      const std::vector<at::Tensor> halves = of(at::kBFloat16), floats = of(at::kFloat);
      const char* const names[] = {"forward", "forward in fp32", "input", "weight", "weight added"};
      for (std::size_t i = 0; i < halves.size(); ++i) expect_product(names[i], halves[i], floats[i]);
    }
  }
}

TEST(HalvesParity, AttentionIsThatOfFloatsWithinTheRoundingOfItsWeights) {
  for (const auto& [T, H] : std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 2}, {9, 64}, {70, 22}, {300, 64}}) {
    const std::vector<at::Tensor> halves = attention(at::kBFloat16, T, H), floats = attention(at::kFloat, T, H);
    const char* const names[] = {"out", "lse", "dq", "dk", "dv"};
    for (std::size_t i = 0; i < halves.size(); ++i) expect_product(names[i], halves[i], floats[i], 2);
  }
}

}  // namespace
}  // namespace troika::kernels
