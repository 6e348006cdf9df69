// All CPU kernels of norms and activations give the reference's answer, the same bits for every number of threads,
// and a right answer on every SIMD target of this machine.

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <functional>

#include "kernels/parity_test_support.h"
#include "kernels/reference/reference_test_support.h"
#include "tensor/device.h"
#include "tensor/libtorch_test_support.h"

namespace troika::kernels {
namespace {

struct Operation {
  std::string name;
  std::function<std::vector<at::Tensor>()> fast, reference;
};

Operation rms_norm(std::int64_t M, std::int64_t D, Gain gain = Gain::weight) {
  const auto run = [M, D, gain](auto forward, auto backward) {
    const at::Tensor x = random_normal("x", {M, D}), w = random_normal("w", {D}), dy = random_normal("dy", {M, D});
    RmsNormSaved saved;
    const at::Tensor y = forward(x, w, 1e-6, &saved, at::Tensor(), gain), dw = at::empty({D});
    return std::vector<at::Tensor>{y, backward(dy, x, w, saved, dw, random_normal("plus", {M, D}), gain), dw, saved.rstd_M};
  };
  return {"rms norm", [run] { return run(rms_norm_forward, rms_norm_backward); },
          [run] { return run(reference::rms_norm_forward, reference::rms_norm_backward); }};
}

Operation layer_norm(std::int64_t M, std::int64_t D) {
  const auto run = [M, D](auto forward, auto backward) {
    const at::Tensor x = random_normal("x", {M, D}), w = random_normal("w", {D}), bias = random_normal("bias", {D});
    const at::Tensor dy = random_normal("dy", {M, D}), plus = random_normal("plus", {M, D});
    LayerNormSaved saved;
    const at::Tensor y = forward(x, w, bias, 1e-5, &saved, at::Tensor()), dw = at::empty({D}), dbias = at::empty({D});
    const at::Tensor dx = backward(dy, x, w, saved, dw, dbias, plus);
    return std::vector<at::Tensor>{y, dx, dw, dbias, saved.mean_M, saved.rstd_M};
  };
  return {"layer norm", [run] { return run(layer_norm_forward, layer_norm_backward); },
          [run] { return run(reference::layer_norm_forward, reference::layer_norm_backward); }};
}

enum class Rows { by_position, picked };

// Positions are three apart; picked: those of documents of 7 positions.
RopeTable rope_table(std::int64_t B, std::int64_t T, std::int64_t H, Rows picking) {
  std::vector<std::int64_t> positions(static_cast<std::size_t>(T));
  for (std::size_t t = 0; t < positions.size(); ++t) positions[t] = static_cast<std::int64_t>(3 * t);
  RopeTable table = make_rope_table(positions, {H, 1e6}, tensor::Device());
  if (picking == Rows::picked) table.row_BT = at::arange(B * T, at::kLong).view({B, T}).remainder(7).clamp_max_(T - 1);
  return table;
}

Operation qk_norm_rope(std::int64_t B, std::int64_t T, std::int64_t n, std::int64_t H,
                       Rows picking = Rows::by_position, Gain gain = Gain::weight) {
  const auto run = [=](auto forward, auto backward) {
    const at::Tensor x = random_normal("x", {B, T, n + 2, H}).narrow(2, 1, n), w = random_normal("w", {H});
    const at::Tensor dy = random_normal("dy", {B, T, n, H}), dx = at::empty(x.sizes()), dw = at::empty({H});
    const RopeTable rope = rope_table(B, T, H, picking);
    QkNormRopeSaved saved;
    const at::Tensor y = forward(x, w, 1e-6, rope, &saved, gain);
    backward(dy, x, w, rope, saved, dx, dw, gain);
    return std::vector<at::Tensor>{y, dx, dw, saved.rstd_BTn};
  };
  return {"qk norm rope", [run] { return run(qk_norm_rope_forward, qk_norm_rope_backward); },
          [run] { return run(reference::qk_norm_rope_forward, reference::qk_norm_rope_backward); }};
}

Operation rope(std::int64_t B, std::int64_t T, std::int64_t n, std::int64_t H, Rows picking = Rows::by_position) {
  const auto run = [=](auto forward, auto backward) {
    const at::Tensor x = random_normal("x", {B, T, n + 2, H}).narrow(2, 1, n), dx = at::empty(x.sizes());
    const RopeTable table = rope_table(B, T, H, picking);
    backward(random_normal("dy", {B, T, n, H}), table, dx);
    return std::vector<at::Tensor>{forward(x, table), dx};
  };
  return {"rope", [run] { return run(rope_forward, rope_backward); },
          [run] { return run(reference::rope_forward, reference::rope_backward); }};
}

Operation swiglu(std::int64_t M, std::int64_t F) {
  const auto run = [M, F](auto forward, auto backward) {
    const at::Tensor gate_up = random_normal("gate_up", {M, 2 * F}).mul_(3.0);
    return std::vector<at::Tensor>{forward(gate_up), backward(random_normal("dh", {M, F}), gate_up)};
  };
  return {"swiglu", [run] { return run(swiglu_forward, swiglu_backward); },
          [run] { return run(reference::swiglu_forward, reference::swiglu_backward); }};
}

Operation geglu(std::int64_t M, std::int64_t F) {
  const auto run = [M, F](auto forward, auto backward) {
    const at::Tensor gate_up = random_normal("gate_up", {M, 2 * F}).mul_(3.0);
    return std::vector<at::Tensor>{forward(gate_up), backward(random_normal("dh", {M, F}), gate_up)};
  };
  return {"geglu", [run] { return run(geglu_forward, geglu_backward); },
          [run] { return run(reference::geglu_forward, reference::geglu_backward); }};
}

Operation gelu(std::int64_t M, std::int64_t F) {
  const auto run = [M, F](auto forward, auto backward) {
    const at::Tensor x = random_normal("x", {M, F}).mul_(3.0);
    return std::vector<at::Tensor>{forward(x), backward(random_normal("dy", {M, F}), x)};
  };
  return {"gelu", [run] { return run(gelu_forward, gelu_backward); },
          [run] { return run(reference::gelu_forward, reference::gelu_backward); }};
}

Operation bias_gradient(std::int64_t M, std::int64_t O) {
  const auto run = [M, O](auto backward) {
    const at::Tensor dbias = at::empty({O});
    backward(random_normal("dy", {M, O}), dbias);
    return std::vector<at::Tensor>{dbias};
  };
  return {"bias gradient", [run] { return run([](const auto& dy, const auto& dbias) { linear_backward_bias(dy, dbias); }); },
          [run] { return run(reference::linear_backward_bias); }};
}

// Shapes that fill several pieces of work and shapes that do not fill a vector.
std::vector<Operation> operations() {
  return {rms_norm(1, 1),
          rms_norm(1030, 77),
          rms_norm(130, 77, Gain::one_plus_weight),
          layer_norm(3, 5),
          layer_norm(700, 130),
          swiglu(1, 1),
          qk_norm_rope(1, 1, 1, 2),
          qk_norm_rope(2, 130, 3, 64),
          rope(1, 1, 1, 2),
          rope(2, 130, 3, 64),
          qk_norm_rope(2, 130, 3, 64, Rows::picked),
          qk_norm_rope(2, 30, 3, 64, Rows::picked, Gain::one_plus_weight),
          rope(2, 130, 3, 64, Rows::picked),
          rope(1, 77, 5, 22),
          swiglu(200, 333),
          swiglu(70, 256),
          geglu(200, 333),
          gelu(173, 231),
          gelu(1, 5),
          bias_gradient(1, 1),
          bias_gradient(1029, 600)};
}

void expect_agreement(const Operation& operation, const std::vector<at::Tensor>& want) {
  Parity parity;
  const std::vector<at::Tensor> got = operation.fast();
  for (std::size_t i = 0; i < want.size(); ++i) parity.compare(operation.name, got[i], want[i]);
}

void expect_equal_bits(const std::string& name, const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(at::equal(a[i], b[i])) << name << ", result " << i;
}

void use_target(std::int64_t target) {  // 0: the best
  hwy::SetSupportedTargetsForTest(target);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

TEST(CpuBodiesParity, AgreeWithTheReference) {
  for (const Operation& operation : operations()) expect_agreement(operation, operation.reference());
}

TEST(CpuBodiesParity, GiveTheSameBitsOnOneTwoAndThreeThreads) {
  const int before = tensor::threads();
  for (const Operation& operation : operations()) {
    tensor::set_threads(1);
    const std::vector<at::Tensor> alone = operation.fast();
    for (const int threads : {2, 3}) {
      tensor::set_threads(threads);
      expect_equal_bits(operation.name, operation.fast(), alone);
    }
  }
  tensor::set_threads(before);
}

TEST(CpuBodiesParity, AreRightOnEverySimdTargetOfThisMachine) {
  const std::int64_t all = hwy::SupportedTargets();
  for (const Operation& operation : operations()) {
    const std::vector<at::Tensor> want = operation.reference();
    for (std::int64_t rest = all; rest != 0; rest &= rest - 1) {
      SCOPED_TRACE(hwy::TargetName(rest & -rest));
      use_target(rest & -rest);
      expect_agreement(operation, want);
    }
    use_target(0);
  }
}

TEST(CpuBodiesParity, GiveTheSameBitsForEveryVectorWidthWithFusedMultiplyAdd) {
  const std::int64_t all = hwy::SupportedTargets() & (HWY_AVX3 | HWY_AVX2 | HWY_NEON);
  for (const Operation& operation : operations()) {
    const std::vector<at::Tensor> best = operation.fast();
    for (std::int64_t rest = all; rest != 0; rest &= rest - 1) {
      use_target(rest & -rest);
      expect_equal_bits(operation.name, operation.fast(), best);
    }
    use_target(0);
  }
}

}  // namespace
}  // namespace troika::kernels
