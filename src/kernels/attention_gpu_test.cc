// Attention in halves on a CUDA device beside the reference implementation in fp32, there too.
// B sequences, T query positions, S key positions, n query heads, k key/value heads, H head width.
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <thread>

#include "kernels/attention.h"
#include "kernels/parity_test_support.h"
#include "kernels/reference/reference.h"
#include "tensor/device.h"

namespace troika::kernels {
namespace {

struct GpuCase {
  std::int64_t B = 2, H = 64, k = 2;
  CausalWindow window{257, 257};
  std::vector<std::int64_t> kv_of_head{0, 0, 1, 1};
  std::int64_t document = 0;  // length of documents, 0: joined
};

c10::Device gpu() { return tensor::pick_device("cuda", 0); }

// Sequences differ.
DocumentBounds bounds_of(const GpuCase& c) {
  if (c.document == 0) return {};
  const at::Tensor shift_B1 = at::arange(c.B, at::kLong).unsqueeze(1);
  const at::Tensor place_BT = at::arange(c.window.T, at::kLong) + c.window.q_offset + shift_B1;
  const at::Tensor first_key_BT = (place_BT - place_BT.remainder(c.document) - shift_B1).clamp_min(0);
  return document_bounds(first_key_BT, c.window, gpu());
}

AttentionInput input_of(const GpuCase& c, at::ScalarType dtype) {
  const auto values = [&](const char* name, std::int64_t positions, std::int64_t heads) {
    return random_normal(name, {c.B, positions, heads, c.H}).to(dtype).to(gpu());
  };
  AttentionInput input;
  input.q_BTnH = values("q", c.window.T, static_cast<std::int64_t>(c.kv_of_head.size()));
  input.k_BSkH = values("k", c.window.S, c.k);
  input.v_BSkH = values("v", c.window.S, 2 * c.k).narrow(2, c.k, c.k);  // strided, as beside k
  input.kv_of_head = c.kv_of_head;
  input.q_offset = c.window.q_offset;
  input.k_offset = c.window.k_offset;
  input.documents = bounds_of(c);
  return input;
}

AttentionInput in_fp32(AttentionInput input) {
  for (at::Tensor* x : {&input.q_BTnH, &input.k_BSkH, &input.v_BSkH}) *x = x->to(at::kFloat);
  return input;
}

at::Tensor dout_of(const AttentionInput& input) {
  return random_normal("dout", input.q_BTnH.sizes()).to(input.q_BTnH.scalar_type()).to(gpu());
}

// Flash attention rounds weights and their gradients to halves before it multiplies by them, and the gradients of a
// group's heads before it adds them.
void expect_gpu_parity(const GpuCase& c) {
  for (const at::ScalarType dtype : {at::kBFloat16, at::kHalf}) {
    SCOPED_TRACE(fmt::format("{} T {} S {} H {} documents of {}", c10::toString(dtype), c.window.T, c.window.S, c.H,
                             c.document));
    const AttentionInput input = input_of(c, dtype), exact = in_fp32(input);
    const AttentionOutput got = attention_forward(input), want = reference::attention_forward(exact);
    const at::Tensor blind = at::isneginf(want.lse_BnT), dout = dout_of(input);
    Parity out(dtype, 2), gradients(dtype, 4), lse(1e-3);
    EXPECT_TRUE(got.out_BTnH.is_contiguous());
    EXPECT_EQ(got.out_BTnH.scalar_type(), dtype);
    EXPECT_TRUE(at::equal(at::isneginf(got.lse_BnT), blind));
    out.compare("out", got.out_BTnH, want.out_BTnH);
    lse.compare("lse", got.lse_BnT.masked_fill(blind, 0.0), want.lse_BnT.masked_fill(blind, 0.0));
    const AttentionGradients d = attention_backward(dout, input, got);
    const AttentionGradients wanted = reference::attention_backward(dout.to(at::kFloat), exact, want);
    gradients.compare("dq", d.dq_BTnH, wanted.dq_BTnH);
    gradients.compare("dk", d.dk_BSkH, wanted.dk_BSkH);
    gradients.compare("dv", d.dv_BSkH, wanted.dv_BSkH);
  }
}

TEST(AttentionGpu, WidthsOfHeads) {
  for (const std::int64_t H : {8, 40, 64, 96, 128, 256}) expect_gpu_parity({2, H});
}

TEST(AttentionGpu, WidthsThatFlashAttentionDoesNotTake) {
  for (const std::int64_t H : {20, 264}) expect_gpu_parity({1, H});
}

TEST(AttentionGpu, MapsOfHeads) {
  expect_gpu_parity({3, 64, 4, {129, 129}, {0, 1, 2, 3}});
  expect_gpu_parity({2, 64, 1, {129, 129}, {0, 0, 0, 0}});
  expect_gpu_parity({2, 64, 3, {129, 129}, {2, 0, 2, 1, 0}});
  expect_gpu_parity({2, 64, 4, {129, 129}, {1, 3, 1}});
}

TEST(AttentionGpu, PackedDocuments) {
  for (const std::int64_t document : {1, 7, 100, 130, 1000})
    expect_gpu_parity({3, 64, 2, {257, 257}, {0, 0, 1, 1}, document});
}

TEST(AttentionGpu, PiecesOfAContext) {
  const std::vector<std::int64_t> heads{0, 0, 1, 1};
  for (const std::int64_t document : {0, 50, 333}) {
    expect_gpu_parity({2, 64, 2, {100, 299, 199, 0}, heads, document});   // the rank's own chunks
    expect_gpu_parity({2, 64, 2, {100, 60, 500, 440}, heads, document});  // earlier keys
    expect_gpu_parity({2, 64, 2, {100, 60, 0, 100}, heads, document});    // later keys
    expect_gpu_parity({2, 64, 2, {1, 300, 299, 0}, heads, document});     // a token against a cache
    expect_gpu_parity({2, 64, 2, {300, 100, 0, 200}, heads, document});   // the first 200 queries see nothing
  }
}

TEST(AttentionGpu, BackwardTakesAMergedOutputInFp32) {
  for (const at::ScalarType dtype : {at::kBFloat16, at::kHalf}) {
    const AttentionInput whole = input_of({2, 64, 2, {100, 160, 60, 0}}, dtype);
    AttentionInput own = whole, earlier = whole;
    const auto narrow = [&](AttentionInput& part, std::int64_t begin, std::int64_t count) {
      part.k_BSkH = whole.k_BSkH.narrow(1, begin, count);
      part.v_BSkH = whole.v_BSkH.narrow(1, begin, count);
      part.k_offset = begin;
    };
    narrow(own, 60, 100);
    narrow(earlier, 0, 60);
    AttentionOutput merged = attention_forward(own);
    attention_merge(merged, attention_forward(earlier));
    const AttentionOutput want = reference::attention_forward(in_fp32(whole));
    const at::Tensor dout = dout_of(whole).to(at::kFloat);
    const AttentionGradients wanted = reference::attention_backward(dout, in_fp32(whole), want);
    Parity(dtype, 2).compare("merged out", merged.out_BTnH, want.out_BTnH);
    const AttentionGradients of_own = attention_backward(dout, own, merged),
                             of_earlier = attention_backward(dout, earlier, merged);
    Parity gradients(dtype, 4);
    gradients.compare("dq", of_own.dq_BTnH.to(at::kFloat) + of_earlier.dq_BTnH, wanted.dq_BTnH);
    gradients.compare("dk", at::cat({of_earlier.dk_BSkH, of_own.dk_BSkH}, 1), wanted.dk_BSkH);
    gradients.compare("dv", at::cat({of_earlier.dv_BSkH, of_own.dv_BSkH}, 1), wanted.dv_BSkH);
  }
}

at::Tensor backward_bits(const GpuCase& c) {
  const AttentionInput input = input_of(c, at::kBFloat16);
  const AttentionGradients d = attention_backward(dout_of(input), input, attention_forward(input));
  return at::cat({d.dq_BTnH.flatten(), d.dk_BSkH.flatten(), d.dv_BSkH.flatten()});
}

TEST(AttentionGpu, EveryBackwardHasTheSameBits) {
  for (const std::int64_t document : {0, 700}) {
    for (const std::vector<std::int64_t>& heads : {std::vector<std::int64_t>{0, 0, 1, 1}, {1, 0, 1, 1}}) {
      const GpuCase c{1, 128, 2, {4096, 4096}, heads, document};
      const at::Tensor first = backward_bits(c);
      for (int run = 0; run < 5; ++run) EXPECT_TRUE(at::equal(backward_bits(c), first)) << run;
    }
  }
}

TEST(AttentionGpu, RanksAsThreadsHaveTheSameBitsAndLeaveTheFlagAsItWas) {
  const GpuCase c{1, 64, 2, {1024, 1024}};
  const at::Tensor want = backward_bits(c);
  std::vector<at::Tensor> got(4);
  std::vector<std::thread> ranks;
  for (at::Tensor& bits : got) ranks.emplace_back([&] { bits = backward_bits(c); });
  for (std::thread& rank : ranks) rank.join();
  for (const at::Tensor& bits : got) EXPECT_TRUE(at::equal(bits, want));
  EXPECT_FALSE(at::globalContext().deterministicAlgorithms());
}

TEST(AttentionGpu, Fp32IsTheReferenceImplementation) {
  const AttentionInput input = input_of({}, at::kFloat);
  EXPECT_TRUE(at::equal(attention_forward(input).out_BTnH, reference::attention_forward(input).out_BTnH));
}

}  // namespace
}  // namespace troika::kernels
