// Attention of a GPU by cuDNN beside the CPU's, over the stand-ins of their libraries.
#include <gtest/gtest.h>

#include <cmath>

#include "gpu/nvidia_test_support.h"
#include "kernels/attention.h"
#include "kernels/parity_test_support.h"
#include "tensor/libtorch_test_support.h"

namespace troika::kernels {
namespace {
using tensor::Repeatable;
using tensor::Tensor;

struct Shape {
  std::int64_t B, T, S, n, k, H, q_offset;
};

AttentionInput input_of(const Shape& s, at::ScalarType dtype) {
  AttentionInput input;
  const Tensor all = random_normal("qkv", {s.B, s.S, s.n + 2 * s.k, s.H}).to(dtype);
  input.q_BTnH = all.narrow(1, 0, s.T).narrow(2, 0, s.n);  // views, as the joint projection leaves them
  input.k_BSkH = all.narrow(2, s.n, s.k);
  input.v_BSkH = all.narrow(2, s.n + s.k, s.k);
  for (std::int64_t head = 0; head < s.n; ++head) input.kv_of_head.push_back(head / (s.n / s.k));
  input.q_offset = s.q_offset;
  return input;
}

TEST(FlashAttention, AgreesWithTheCpuInBothDirections) {
  const auto gpus = gpu::stand_in_gpus();
  const tensor::Device device(*gpus, 0);
  for (const at::ScalarType dtype : {at::kBFloat16, at::kHalf}) {
    for (const Repeatable repeatable : {Repeatable::yes, Repeatable::no}) {
      gpus->set_repeatable(repeatable);
      Parity parity(dtype, 4);
      for (const Shape& s : std::vector<Shape>{{2, 12, 12, 2, 2, 8, 0}, {2, 9, 9, 4, 2, 16, 0}, {1, 5, 13, 4, 1, 8, 8}, {2, 5, 7, 2, 2, 8, 20}}) {
        const AttentionInput here = input_of(s, dtype);
        AttentionInput there = here;
        for (Tensor AttentionInput::*x : {&AttentionInput::q_BTnH, &AttentionInput::k_BSkH, &AttentionInput::v_BSkH})
          there.*x = (here.*x).to(device);
        EXPECT_EQ(gpus->attention_lacks({there.q_BTnH, there.k_BSkH, there.v_BSkH}), "");
        const AttentionOutput want = attention_forward(here), got = attention_forward(there);
        parity.compare("out", got.out_BTnH.cpu(), want.out_BTnH);
        parity.compare("lse", got.lse_BnT.cpu(), want.lse_BnT);
        const Tensor dout = random_normal("dout", {s.B, s.T, s.n, s.H}).to(dtype);
        const AttentionGradients d = attention_backward(dout, here, want), dd = attention_backward(dout.to(device), there, got);
        parity.compare("dq", dd.dq_BTnH.cpu(), d.dq_BTnH);
        parity.compare("dk", dd.dk_BSkH.cpu(), d.dk_BSkH);
        parity.compare("dv", dd.dv_BSkH.cpu(), d.dv_BSkH);
      }
    }
  }
}

TEST(FlashAttention, SaysWhyProductsComputeIt) {
  const auto gpus = gpu::stand_in_gpus();
  const tensor::Device device(*gpus, 0);
  const Tensor single = tensor::zeros({1, 4, 2, 8}, {tensor::Dtype::fp32, device});
  EXPECT_EQ(gpus->attention_lacks({single, single, single}), "cuDNN has no attention in fp32");
}

}  // namespace
}  // namespace troika::kernels
