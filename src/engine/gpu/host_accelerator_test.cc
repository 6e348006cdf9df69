#include "gpu/host_accelerator_test_support.h"

#include <gtest/gtest.h>

#include "tensor/operations.h"

namespace troika::gpu {
namespace {
using tensor::Dtype;
using tensor::Tensor;

Tensor numbers(const tensor::Sizes& sizes, Dtype dtype) {
  return tensor::range(sizes.product(), Dtype::fp64, -7, 0.625).view(sizes).to(dtype);
}

// As on the host: copies with conversions and strides, sums, products, rows by index.
TEST(HostAccelerator, SmallOperationsHaveTheBitsOfTheHost) {
  HostAccelerator accelerator;
  const tensor::Device device(accelerator, 0);
  for (const Dtype from : {Dtype::fp32, Dtype::bf16, Dtype::fp16, Dtype::fp64, Dtype::int64, Dtype::int32}) {
    const Tensor x = numbers({3, 4, 5}, from), there = x.to(device);
    EXPECT_TRUE(tensor::equal(there.cpu(), x));
    for (const Dtype to : {Dtype::fp32, Dtype::bf16, Dtype::fp16, Dtype::fp64, Dtype::int64, Dtype::int32}) {
      EXPECT_TRUE(tensor::equal(there.to(to).cpu(), x.to(to))) << base::name_of(from) << " to " << base::name_of(to);
      EXPECT_TRUE(tensor::equal(there.transpose(0, 2).narrow(0, 1, 3).to(to).cpu(), x.transpose(0, 2).narrow(0, 1, 3).to(to)));
      const Tensor sum = numbers({4, 5}, to), sum_there = sum.to(device);
      tensor::add(sum, x[1]);
      tensor::add(sum_there, there[1]);
      EXPECT_TRUE(tensor::equal(sum_there.cpu(), sum)) << base::name_of(from) << " to " << base::name_of(to);
    }
    const Tensor scaled = x.clone(), scaled_there = there.clone();
    tensor::multiply(scaled, 2);
    tensor::multiply(scaled_there, 2);
    EXPECT_TRUE(tensor::equal(scaled_there.cpu(), scaled));
    const Tensor index = tensor::of(std::vector<std::int64_t>{2, 0, 2});
    EXPECT_TRUE(tensor::equal(tensor::rows_of(there, index.to(device)).cpu(), tensor::rows_of(x, index)));
    tensor::add_rows(scaled, index, x);
    tensor::add_rows(scaled_there, index.to(device), there);
    EXPECT_TRUE(tensor::equal(scaled_there.cpu(), scaled));
    const Tensor places = tensor::of(std::vector<std::int64_t>{1, 2, 0});
    tensor::set_rows(scaled, places, x);
    tensor::set_rows(scaled_there, places.to(device), there);
    EXPECT_TRUE(tensor::equal(scaled_there.cpu(), scaled));
    EXPECT_TRUE(tensor::equal(tensor::cat({there, there}, 1).cpu(), tensor::cat({x, x}, 1)));
    EXPECT_TRUE(tensor::equal(tensor::full({2, 3}, 3, {from, device}).cpu(), tensor::full({2, 3}, 3, from)));
  }
  EXPECT_GT(accelerator.launches(), 0);
}

TEST(HostAccelerator, TheHostCannotReadTheMemoryOfADevice) {
  HostAccelerator accelerator;
  const Tensor x = numbers({5}, Dtype::fp32).to(tensor::Device(accelerator, 0));
  EXPECT_DEATH(static_cast<void>(*static_cast<volatile float*>(x.data())), "");
  EXPECT_EQ(x.cpu().data<float>()[2], -5.75f);
}

TEST(HostAccelerator, MultipliesMatricesThatLieEitherWay) {
  HostAccelerator accelerator;
  const tensor::Device device(accelerator, 0);
  const Tensor a = numbers({2, 3, 4}, Dtype::fp32).to(device), b = numbers({2, 5, 4}, Dtype::fp32).to(device);
  const Tensor out = tensor::zeros({2, 3, 5}, device), bias = tensor::ones({5}, device);
  accelerator.multiply(a, b.transpose(1, 2), out, bias, {});
  const Tensor once = out.cpu();
  accelerator.multiply(a, b.transpose(1, 2), out, {}, out);
  const Tensor x = a.cpu(), y = b.cpu(), twice = out.cpu();
  for (int i = 0; i < 2; ++i)
    for (int m = 0; m < 3; ++m)
      for (int n = 0; n < 5; ++n) {
        float sum = 0;
        for (int k = 0; k < 4; ++k) sum += x[i].data<float>()[m * 4 + k] * y[i].data<float>()[n * 4 + k];
        EXPECT_FLOAT_EQ(once[i].data<float>()[m * 5 + n], sum + 1);
        EXPECT_FLOAT_EQ(twice[i].data<float>()[m * 5 + n], 2 * sum + 1);
      }
}

}  // namespace
}  // namespace troika::gpu
