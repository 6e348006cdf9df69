#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "kernels/parity_test_support.h"
#include "kernels/swiglu.h"

namespace troika::kernels {
namespace {

TEST(SwigluParity, ForwardAndGradientAgreeWithAutograd) {
  Parity parity;
  for (const auto& [M, F] : std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {3, 5}, {48, 192}, {33, 77}}) {
    for (const double scale : {1.0, 20.0}) {
      const at::Tensor gate_up = random_normal("gate_up", {M, 2 * F}).mul_(scale), dh = random_normal("dh", {M, F});
      const at::Tensor both = leaf(gate_up);
      const at::Tensor gate = both.narrow(1, 0, F), up = both.narrow(1, F, F);
      const at::Tensor h_ref = gate / (1.0 + at::exp(-gate)) * up;
      differentiate(h_ref, dh);
      parity.compare("h", swiglu_forward(gate_up), h_ref);
      parity.compare("d(gate_up)", swiglu_backward(dh, gate_up), both.grad());
    }
  }
}

TEST(SwigluParity, GatesFarFromZeroStayFinite) {
  at::Tensor gate_up = at::ones({2, 2});
  gate_up[0][0] = 200.0f;
  gate_up[1][0] = -200.0f;
  const at::Tensor h = swiglu_forward(gate_up), d = swiglu_backward(at::ones({2, 1}), gate_up);
  EXPECT_FLOAT_EQ(h[0][0].item<float>(), 200.0f);
  EXPECT_FLOAT_EQ(h[1][0].item<float>(), 0.0f);
  EXPECT_FLOAT_EQ(d[0][0].item<float>(), 1.0f);
  EXPECT_FLOAT_EQ(d[1][0].item<float>(), 0.0f);
}

}  // namespace
}  // namespace troika::kernels
