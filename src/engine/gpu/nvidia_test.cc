#include "gpu/nvidia.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <thread>

#include "base/error.h"
#include "gpu/nvidia_test_support.h"
#include "tensor/device.h"
#include "tensor/operations.h"
#include "tensor/streams.h"
#include "tensor/upload.h"

namespace troika::gpu {
namespace {
using tensor::Device;
using tensor::Dtype;
using tensor::Tensor;
using ::testing::HasSubstr;

Tensor steps_of(const tensor::Sizes& sizes, Dtype dtype = Dtype::fp32) {
  return tensor::range(sizes.product(), Dtype::fp64, -7, 0.625).view(sizes).to(dtype);
}

class NvidiaTest : public ::testing::Test {
 protected:
  ~NvidiaTest() override { fail_stand_in(0); }
  const std::unique_ptr<Nvidia> gpus = stand_in_gpus();
  const Device one{*gpus, 0}, other{*gpus, 1};
};

TEST_F(NvidiaTest, CopiesAndOperationsHaveTheBitsOfTheHost) {
  for (const Dtype dtype : {Dtype::fp32, Dtype::bf16, Dtype::fp16, Dtype::fp64, Dtype::int64, Dtype::int32, Dtype::uint8}) {
    const Tensor x = tensor::range(60, Dtype::int64, 3).view({3, 4, 5}).to(dtype);
    const Tensor there = x.to(one);
    EXPECT_TRUE(tensor::equal(there.cpu(), x));
    EXPECT_TRUE(tensor::equal(there.transpose(0, 2).contiguous().cpu(), x.transpose(0, 2).contiguous()));
    EXPECT_TRUE(tensor::equal(there.to(Dtype::fp64).cpu(), x.to(Dtype::fp64)));
    EXPECT_TRUE(tensor::equal(there.to(other).cpu(), x)) << "from device to device";
    const Tensor to_columns = tensor::zeros({5, 4, 3}, dtype).to(one);
    to_columns.transpose(0, 2).copy_from(x);
    EXPECT_TRUE(tensor::equal(to_columns.cpu().transpose(0, 2).contiguous(), x)) << "from the host into columns";
  }
}

TEST_F(NvidiaTest, ProductsOfMatricesThatLieEitherWayAreThoseOfLoops) {
  for (const Dtype dtype : {Dtype::fp32, Dtype::bf16, Dtype::fp16}) {
    for (int turned = 0; turned < 8; ++turned) {
      const auto laid = [&](int bit, std::int64_t rows, std::int64_t columns) {
        const Tensor x = steps_of({2, rows, columns}, dtype);
        return (turned & bit) != 0 ? x.transpose(1, 2).contiguous().to(one).transpose(1, 2) : x.to(one);
      };
      const Tensor a = laid(1, 3, 4), b = laid(2, 4, 5), bias = steps_of({5}, dtype).to(one);
      const Tensor flat = tensor::zeros({2, 3, 5}, {Dtype::fp32, one}), columns = tensor::zeros({2, 5, 3}, {Dtype::fp32, one});
      const Tensor out = (turned & 4) != 0 ? columns.transpose(1, 2) : flat;
      gpus->multiply(a, b, out, {}, {});
      gpus->multiply(a[0], b[0], out[0], {}, out[0]);
      const Tensor rounded = tensor::empty({3, 5}, {dtype, one});
      gpus->multiply(a[1], b[1], rounded, bias, {});
      const Tensor elsewhere = tensor::empty({3, 5}, {dtype, one}), wide = steps_of({3, 8}, dtype).to(one);
      gpus->multiply(a[1], b[1], elsewhere, bias, wide.narrow(1, 2, 5));
      const Tensor x = a.cpu().to(Dtype::fp64).contiguous(), y = b.cpu().to(Dtype::fp64).contiguous();
      const Tensor got = out.cpu().contiguous(), with_bias = rounded.cpu().to(Dtype::fp64), row = bias.cpu().to(Dtype::fp64);
      const Tensor with_both = elsewhere.cpu().to(Dtype::fp64), added = wide.cpu().to(Dtype::fp64);
      for (int i = 0; i < 2; ++i)
        for (int m = 0; m < 3; ++m)
          for (int n = 0; n < 5; ++n) {
            double sum = 0;
            for (int k = 0; k < 4; ++k) sum += x[i].data<double>()[m * 4 + k] * y[i].data<double>()[k * 5 + n];
            EXPECT_NEAR(got[i].data<float>()[m * 5 + n], i == 0 ? 2 * sum : sum, 1e-4 * (1 + std::abs(sum))) << turned;
            if (i == 1) {
              const double biased = sum + row.data<double>()[n];
              const double tolerance = dtype == Dtype::fp32 ? 1e-5 : 1e-2, both = biased + added.data<double>()[m * 8 + 2 + n];
              EXPECT_NEAR(with_bias.data<double>()[m * 5 + n], biased, tolerance * (1 + std::abs(biased)));
              EXPECT_NEAR(with_both.data<double>()[m * 5 + n], both, tolerance * (1 + std::abs(both)));
            }
          }
    }
  }
}

// The stand-in's algorithms add in different orders: 1 + 1e8 - 1e8 in one, -1e8 + 1e8 + 1 in another.
class ProductChoices : public NvidiaTest {
 protected:
  float product() const {
    const Tensor a = tensor::ones({1, 3}, Dtype::fp32), b = tensor::ones({3, 1}, Dtype::fp32);
    const float terms[] = {1, 1e8F, -1e8F};
    std::copy_n(terms, 3, b.data<float>());
    const Tensor out = tensor::empty({1, 1}, {Dtype::fp32, one});
    gpus->multiply(a.to(one), b.to(one), out, {}, {});
    return out.cpu().data<float>()[0];
  }
  std::vector<tensor::ProductChoice> measured() const {
    return gpus->measure_products(one, [this] { product(); });
  }
};

TEST_F(ProductChoices, AreTheFastestThatTheLibraryRecommendsAndServeWhoeverIsGivenThem) {
  EXPECT_EQ(product(), 0) << "what it recommends first";
  const auto choices = measured();
  ASSERT_EQ(choices.size(), 1U);
  EXPECT_EQ(choices[0].kind, "Stand-in GPU, cuBLASLt 12.9.1: fp32 3x1 stride 3 aligned 4 by fp32 1x3 stride 1 aligned 4 to fp32 1x1 stride 1 aligned 4");
  EXPECT_EQ(product(), 1) << "the second, which takes 1 ms";
  EXPECT_EQ(gpus->use_products(one, {}), 0U);
  EXPECT_EQ(product(), 0);
  EXPECT_EQ(gpus->use_products(one, choices), 1U);
  EXPECT_EQ(product(), 1);
}

TEST_F(ProductChoices, ThatAreGivenAreNotMeasuredAgain) {
  auto third = measured();
  third[0].algorithm[15] = '2';
  gpus->use_products(one, third);
  EXPECT_EQ(measured()[0].algorithm, third[0].algorithm);
}

TEST_F(ProductChoices, OfAnotherDeviceOrVersionServeNobodyAndDamagedOnesAreRefused) {
  auto choices = measured();
  auto others = choices;
  others[0].kind.replace(others[0].kind.find("12.9.1"), 6, "13.0.0");
  EXPECT_EQ(gpus->use_products(one, others), 0U);
  EXPECT_EQ(product(), 0);
  for (const std::string& damaged : {std::string("7"), choices[0].algorithm + "0", std::string(128, '0')}) {
    choices[0].algorithm = damaged;
    gpus->use_products(one, choices);
    EXPECT_THROW(product(), base::DataError) << damaged;
    EXPECT_THROW(product(), base::DataError) << "again";
  }
}

// A thread has no device until it is given one, and the last that it had is another's (the driver refuses it).
TEST_F(NvidiaTest, EveryThreadIsGivenTheDeviceThatItWorksOn) {
  const Tensor x = steps_of({100});
  Tensor there[2] = {x.to(one), x.to(other)};
  std::thread([&] {
    for (int i = 0; i < 4; ++i) tensor::add(there[i % 2], there[i % 2]);
    for (Tensor& tensor : there) {
      const auto streams = tensor::make_streams(tensor.device());
      const Tensor back = streams->new_host_tensor({100}, Dtype::fp32);
      streams->wait(tensor::in_lane, streams->record(tensor::compute_lane));
      streams->copy(tensor::in_lane, back, tensor);
      tensor::await(streams->record(tensor::in_lane), [] {});
      EXPECT_TRUE(tensor::equal(back, tensor.cpu()));
      tensor.reset();
    }
  }).join();
}

TEST_F(NvidiaTest, AKernelNeverMeetsMemoryOfAnotherDevice) {
  EXPECT_THROW(tensor::add(steps_of({4}).to(one), steps_of({4}).to(other)), base::BugError);
}

// The memory is used again by what is queued behind it, which its stream does behind all that was there before.
TEST_F(NvidiaTest, MemoryThatIsReleasedEarlyIsNotLostToWhatIsQueued) {
  const Tensor sum = tensor::zeros({1000}, one);
  for (int i = 0; i < 50; ++i) tensor::add(sum, tensor::ones({1000}, one));
  EXPECT_EQ(tensor::smallest(sum), 50);
  EXPECT_EQ(tensor::largest(sum), 50);
}

TEST_F(NvidiaTest, HostMemoryIsNotGivenOutAgainBeforeTheDeviceHasReadIt) {
  const auto streams = tensor::make_streams(one);
  std::vector<Tensor> there;
  for (int i = 0; i < 20; ++i) {
    const Tensor here = streams->new_host_tensor({1000}, Dtype::fp32);
    here.fill(i);
    there.push_back(tensor::empty({1000}, {Dtype::fp32, one}));
    streams->wait(tensor::in_lane, streams->record(tensor::compute_lane));
    streams->copy(tensor::in_lane, there.back(), here);
    streams->wait(tensor::compute_lane, streams->record(tensor::in_lane));
  }
  for (int i = 0; i < 20; ++i) EXPECT_EQ(tensor::largest(there[static_cast<std::size_t>(i)]), i);
}

TEST_F(NvidiaTest, PiecesAreBroughtThereWhileTheHostFillsTheNext) {
  const Tensor there = tensor::zeros({3 * tensor::Upload::pieces, 1000}, one);
  tensor::Upload upload;
  const auto bring = [&](std::int64_t piece, float value) {
    upload.copy(there[piece], [&](void* to) { std::fill_n(static_cast<float*>(to), 1000, value); });
  };
  bring(0, -1);
  tensor::add(there[0], tensor::ones({1000}, one));  // behind what was brought, and before what is brought there next
  const Tensor before = there[0].clone();
  for (std::int64_t i = 0; i < there.size(0); ++i) bring(i, static_cast<float>(i));
  EXPECT_EQ(tensor::largest(before), 0);
  EXPECT_EQ(tensor::smallest(before), 0);
  for (std::int64_t i = 0; i < there.size(0); ++i) {
    EXPECT_EQ(tensor::smallest(there[i]), i);
    EXPECT_EQ(tensor::largest(there[i]), i);
  }
  EXPECT_THROW(upload.copy(tensor::zeros({tensor::Upload::piece_bytes}, one), [](void*) {}), base::BugError);
}

TEST_F(NvidiaTest, WhatLiesThereIsReadWithOneWaitForEachBuffer) {
  std::vector<Tensor> here, there;
  for (const std::int64_t elements : {5, 0, 700000, 1, 3000000, 1 << 20}) {
    here.push_back(tensor::range(elements, Dtype::int64, static_cast<double>(elements)).to(here.size() == 3 ? Dtype::bf16 : Dtype::fp32));
    there.push_back(here.size() == 5 ? here.back() : here.back().to(one));  // one of them is the host's
  }
  for (const Tensor& x : there)
    if (!x.is_cpu() && x.elements() > 0) tensor::add(x, x);  // which the lane out has to wait for
  std::vector<Tensor> got;
  for (const Tensor& x : here) got.push_back(tensor::empty(x.sizes(), x.dtype()));
  std::vector<std::int64_t> read(here.size());
  const std::int64_t before = waits_of_stand_in();
  {
    tensor::Download download([] {});
    download.read(there, [&](std::size_t tensor, const Tensor& piece) {
      got[tensor].narrow(0, read[tensor], piece.elements()).copy_from(piece);
      read[tensor] += piece.elements();
    });
  }
  const std::int64_t bytes = 4 * (700000 + 3000000 + (1 << 20)), buffers = bytes / tensor::Download::buffer_bytes + 2;
  EXPECT_LE(waits_of_stand_in() - before, buffers);
  for (std::size_t i = 0; i < here.size(); ++i) {
    if (!there[i].is_cpu() && here[i].elements() > 0) tensor::add(here[i], here[i]);
    EXPECT_TRUE(tensor::equal(got[i], here[i])) << i;
  }
}

TEST_F(NvidiaTest, ADeviceThatIsFullSaysSoAndOneThatFailsDoesNot) {
  const std::int64_t free = gpus->free_bytes(one);
  try {
    tensor::empty({free}, {Dtype::fp32, other});
    ADD_FAILURE();
  } catch (const tensor::OutOfMemory& error) {
    EXPECT_EQ(error.what(), "can't allocate memory: a tensor needs " + std::to_string(4 * free) + " bytes of cuda:1");
  }
  {
    const Tensor most = tensor::empty({free / 3 * 2}, {Dtype::uint8, one});
  }
  EXPECT_NO_THROW(tensor::empty({free / 3 * 2}, {Dtype::uint8, one})) << "what was released is given out again";
  const Tensor x = tensor::ones({4}, one);
  fail_stand_in(700);
  try {
    tensor::empty({4}, {Dtype::fp32, one});
    ADD_FAILURE();
  } catch (const base::BugError& error) {
    EXPECT_THAT(error.what(), HasSubstr("the GPU failed at an allocation: CUDA_ERROR_ILLEGAL_ADDRESS"));
  }
}

TEST_F(NvidiaTest, TellsHowMuchMemoryItHoldsAndHeld) {
  const Tensor kept = tensor::zeros({1 << 10}, one);
  tensor::PoolBytes both;
  {
    const Tensor passing = tensor::zeros({1 << 20}, one);
    both = gpus->memory(one);
  }
  tensor::synchronize(one);
  const tensor::PoolBytes after = gpus->memory(one);
  EXPECT_GE(both.used, kept.bytes() + (4 << 20));
  EXPECT_LE(after.used, both.used - (4 << 20));
  EXPECT_GE(after.used, kept.bytes());
  EXPECT_GE(after.used_peak, both.used);
  EXPECT_GE(after.reserved_peak, after.used_peak);
  gpus->begin_peaks(one);
  EXPECT_EQ(gpus->memory(one).used_peak, after.used);
}

TEST_F(NvidiaTest, TheDeviceTellsTheTimeBetweenTwoPointsOfALane) {
  const auto streams = tensor::make_streams(one);
  const tensor::Event begin = streams->record(tensor::compute_lane, tensor::Timed::yes);
  tensor::zeros({4}, one);
  const tensor::Event end = streams->record(tensor::compute_lane, tensor::Timed::yes);
  tensor::await(end, [] {});
  EXPECT_NEAR(streams->seconds_between(begin, end), 1e-3, 1e-9) << "what the stand-in says of a kernel";
}

TEST_F(NvidiaTest, TellsWhatItIs) {
  EXPECT_EQ(gpus->devices(), stand_in_devices);
  EXPECT_EQ(tensor::describe(one).english, "Stand-in GPU, compute capability 9.0, 4 multiprocessors, driver for CUDA 13.0, cuBLAS 12.9.1, cuDNN 9.28.0");
}

std::string refusal(const NvidiaParts& parts) {
  try {
    const Nvidia gpus(parts);
    tensor::synchronize(Device(const_cast<Nvidia&>(gpus), 0));
  } catch (const base::ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(NvidiaRefusal, NamesWhatIsMissingOrTooOld) {
  const std::string driver = TROIKA_BINARY_DIR "/libgpu_driver_stand_in.so", blas = TROIKA_BINARY_DIR "/libgpu_blas_stand_in.so";
  EXPECT_THAT(refusal({driver, blas, {}}), HasSubstr("no kernels for GPUs"));
  EXPECT_THAT(refusal({"libno_such_driver.so", blas, {{80, true, nullptr}}}), HasSubstr("cannot load libno_such_driver.so"));
  EXPECT_THAT(refusal({driver, "libno_such_blas.so", {{80, true, nullptr}}}), HasSubstr("cannot load libno_such_blas.so"));
  EXPECT_THAT(refusal({driver, "libm.so.6", {{80, true, nullptr}}}), HasSubstr("'libm.so.6' has no function cublasLtCreate"));
  EXPECT_THAT(refusal({driver, blas, {{100, false, nullptr}}}), HasSubstr("no kernels for compute capability 9.0, which cuda:0 (Stand-in GPU) has"));
  ::setenv("TROIKA_STAND_IN_DRIVER", "11080", 1);
  EXPECT_THAT(refusal({driver, blas, {{80, true, nullptr}}}), HasSubstr("supports CUDA 11.8; CUDA 12.0 or later is needed (driver 525"));
  ::unsetenv("TROIKA_STAND_IN_DRIVER");
}

TEST(DeviceCodeChoice, PrefersTheNearestOfTheSameGeneration) {
  const std::vector<DeviceCode> all = {{80, false, {}}, {86, false, {}}, {90, false, {}}, {80, true, {}}};
  const auto chosen = [&](int capability) {
    const DeviceCode* const code = code_for(all, capability);
    return code == nullptr ? "none" : (code->is_text ? "text " : "") + std::to_string(code->capability);
  };
  EXPECT_EQ(chosen(75), "none");
  EXPECT_EQ(chosen(80), "80");
  EXPECT_EQ(chosen(87), "86");
  EXPECT_EQ(chosen(89), "86");
  EXPECT_EQ(chosen(90), "90");
  EXPECT_EQ(chosen(120), "text 80");
}

}  // namespace
}  // namespace troika::gpu
