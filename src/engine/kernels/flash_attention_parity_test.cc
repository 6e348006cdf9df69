// Attention of a GPU by cuDNN beside the CPU's, over the stand-ins of their libraries.
#include <gmock/gmock.h>

#include <functional>

#include "shape/gpu_chunks.h"
#include "gpu/nvidia_test_support.h"
#include "kernels/attention.h"
#include "kernels/parity_test_support.h"
#include "tensor/libtorch_test_support.h"

namespace troika::kernels {
namespace {
using tensor::Repeatable;
using tensor::Tensor;
using ::testing::HasSubstr;

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

AttentionInput on(const tensor::Device& device, const AttentionInput& here) {
  AttentionInput there = here;
  for (Tensor AttentionInput::*x : {&AttentionInput::q_BTnH, &AttentionInput::k_BSkH, &AttentionInput::v_BSkH})
    there.*x = (here.*x).to(device);
  return there;
}

void expect_the_cpus(std::int64_t flash_bytes) {
  const auto gpus = gpu::stand_in_gpus(flash_bytes);
  const tensor::Device device(*gpus, 0);
  for (const at::ScalarType dtype : {at::kBFloat16, at::kHalf}) {
    for (const Repeatable repeatable : {Repeatable::yes, Repeatable::no}) {
      gpus->set_repeatable(repeatable);
      Parity parity(dtype, 4);
      for (const Shape& s : std::vector<Shape>{{2, 12, 12, 2, 2, 8, 0}, {2, 9, 9, 4, 2, 16, 0}, {1, 5, 13, 4, 1, 8, 8}, {2, 5, 7, 2, 2, 8, 20}}) {
        const AttentionInput here = input_of(s, dtype);
        const AttentionInput there = on(device, here);
        EXPECT_EQ(why_products(there).english, "");
        const std::int64_t before = gpu::stand_in_attentions();
        const AttentionOutput want = attention_forward(here), got = attention_forward(there);
        parity.compare("out", got.out_BTnH.cpu(), want.out_BTnH);
        parity.compare("lse", got.lse_BnT.cpu(), want.lse_BnT);
        const Tensor dout = random_normal("dout", {s.B, s.T, s.n, s.H}).to(dtype);
        const AttentionGradients d = attention_backward(dout, here, want), dd = attention_backward(dout.to(device), there, got);
        const shape::FlashSizes piece = shape::flash_piece({s.B, s.n, s.k, s.T, s.S, s.H}, repeatable, flash_bytes);
        EXPECT_EQ(gpu::stand_in_attentions() - before, 1 + s.B / piece.B * (s.k / piece.k)) << "forward, and pieces of backward";
        parity.compare("dq", dd.dq_BTnH.cpu(), d.dq_BTnH);
        parity.compare("dk", dd.dk_BSkH.cpu(), d.dk_BSkH);
        parity.compare("dv", dd.dv_BSkH.cpu(), d.dv_BSkH);
      }
    }
  }
}

TEST(FlashAttention, AgreesWithTheCpuInBothDirections) {
  expect_the_cpus(shape::most_flash_bytes);
}

TEST(FlashAttention, AgreesWithTheCpuInPiecesOfSequencesAndHeads) {
  const std::int64_t of_head = shape::flash_gradient_bytes(1, 12, 12);
  for (const std::int64_t heads : {1, 2, 4}) expect_the_cpus(heads * of_head);
}

TEST(FlashAttention, IsByProductsWhereNoHeadsGradientsFit) {
  const auto gpus = gpu::stand_in_gpus(shape::flash_gradient_bytes(1, 12, 12) - 1);
  const tensor::Device device(*gpus, 0);
  const Tensor x = tensor::zeros({1, 12, 2, 8}, {tensor::Dtype::bf16, device});
  EXPECT_THAT(gpus->attention_lacks({x, x, x}).english, HasSubstr("MiB for each head"));
  gpus->set_repeatable(Repeatable::no);
  EXPECT_EQ(gpus->attention_lacks({x, x, x}).english, "");
}

TEST(FlashAttention, SaysWhyProductsComputeIt) {
  const auto gpus = gpu::stand_in_gpus();
  const tensor::Device device(*gpus, 0);
  const auto why = [&](const Shape& s, at::ScalarType dtype, const std::function<void(AttentionInput&)>& change = {}) {
    AttentionInput input = on(device, input_of(s, dtype));
    if (change) change(input);
    const std::int64_t before = gpu::stand_in_attentions();
    attention_forward(input);
    gpus->synchronize(device);
    const base::Text text = why_products(input);
    EXPECT_EQ(text.english.empty(), gpu::stand_in_attentions() > before) << text.english;
    EXPECT_EQ(text.english.empty(), text.chinese.empty());
    return text.english;
  };
  const Shape usual{1, 4, 4, 2, 2, 8, 0};
  EXPECT_EQ(why(usual, at::kBFloat16), "");
  EXPECT_EQ(why(usual, at::kFloat), "cuDNN does not support attention in fp32");
  EXPECT_THAT(why({1, 4, 4, 2, 2, 12, 0}, at::kBFloat16), HasSubstr("not 12"));
  EXPECT_THAT(why(usual, at::kBFloat16, [](AttentionInput& x) { x.kv_of_head = {0, 0}; }), HasSubstr("unequal groups"));
  EXPECT_THAT(why(usual, at::kBFloat16, [](AttentionInput& x) { x.k_offset = 1; }), HasSubstr("see none of 4 keys"));
  EXPECT_EQ(why({1, 8, 8, 2, 2, 8, 0}, at::kBFloat16, [](AttentionInput& x) { x.parts = equal_parts(2, 4); }), "");
  EXPECT_EQ(why({1, 8, 8, 2, 2, 8, 0}, at::kBFloat16, [](AttentionInput& x) { x.parts = {{{0, 3}, {0, 3}}, {{3, 5}, {3, 5}}}; }), "");
}

}  // namespace
}  // namespace troika::kernels
