// Products one of whose matrices has more than 2^31 elements, and the same small.
#include "cuda/vast_test_support.h"
#include "gpu/device_runner_test_support.h"
#include "tensor/accelerator.h"
#include "tensor/operations.h"

namespace troika::gpu {
namespace {
using tensor::Dtype;
using tensor::Tensor;

// Gradients of logits [M, V]: 3 at the first place, 2 at the last, else 0.
void expect_products(std::int64_t M, std::int64_t V) {
  constexpr std::int64_t K = 16;
  const auto& runner = dynamic_cast<const DeviceRunner&>(cuda::test_runner());
  const tensor::Device& device = runner.device();
  tensor::Accelerator& gpu = device.accelerator();
  const tensor::TensorType bf16(Dtype::bf16, device), fp32(Dtype::fp32, device);
  const Tensor logits = tensor::empty({M, V}, bf16), w = tensor::ones({V, K}, bf16), x = tensor::ones({M, K}, bf16);
  const auto at = [&](std::int64_t m, std::int64_t v) { return logits.narrow(0, m, 1).narrow(1, v, 1); };
  gpu.multiply(x, w.transpose(0, 1), logits, {}, {});
  for (const std::int64_t m : {std::int64_t{0}, M / 2, M - 1}) EXPECT_EQ(tensor::value_of(at(m, V - 1)), K) << m;
  logits.fill(0);
  at(0, 0).fill(3);
  at(M - 1, V - 1).fill(2);
  const Tensor dx = tensor::empty({M, K}, fp32), dw = tensor::zeros({V, K}, fp32);
  gpu.multiply(logits, w, dx, {}, {});
  gpu.multiply(logits.transpose(0, 1), x, dw, {}, dw);
  for (const Tensor& gradient : {dx, dw}) {
    const Tensor here = gradient.cpu();
    const std::int64_t last = here.elements() - 1;
    EXPECT_EQ(here.data<float>()[0], 3);
    EXPECT_EQ(here.data<float>()[K], 0);
    EXPECT_EQ(here.data<float>()[last - K], 0);
    EXPECT_EQ(here.data<float>()[last], 2);
  }
}

TEST(SmallProducts, HaveTheFirstAndTheLastPlace) { expect_products(5, 7); }

TEST(VastProducts, HaveTheFirstAndTheLastPlace) {
  TROIKA_NEEDS_BYTES(std::int64_t{6} * 1000000000);
  expect_products(16384, 151936);
}

}  // namespace
}  // namespace troika::gpu
