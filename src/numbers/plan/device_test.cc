#include "plan/device.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "config/presets.h"

namespace troika::plan {
namespace {
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Build = CudaHere::Build;

constexpr auto loaded = host::NvidiaDriver::loaded, absent = host::NvidiaDriver::absent;

// "" when there is none.
std::string refusal(const std::string& device, const RanksOfHost& ranks, const CudaHere& here) {
  try {
    check_device(device, ranks, here);
  } catch (const base::ConfigError& error) {
    EXPECT_THAT(error.what(), Not(HasSubstr("\n")));
    return error.what();
  }
  return "";
}

TEST(CheckDevice, ABuildThatCannotIsTold) {
  EXPECT_EQ(refusal("cuda", {}, {Build::without_cuda, loaded, 0}),
            "train.device is 'cuda', but this build has no CUDA back end; use --device cpu");
  EXPECT_THAT(refusal("cuda:1", {}, {Build::without_cuda, absent, 0}), HasSubstr("no CUDA back end"));
}

TEST(CheckDevice, NoDriverAndNoDeviceAreTwoThings) {
  EXPECT_EQ(refusal("cuda", {}, {Build::with_cuda, absent, 0}),
            "train.device is 'cuda', but this machine has no NVIDIA driver (/proc/driver/nvidia/version is missing); install it, or use --device cpu");
  EXPECT_THAT(refusal("cuda", {}, {Build::unknown, absent, 0}), HasSubstr("no NVIDIA driver"));
  EXPECT_EQ(refusal("cuda", {}, {Build::with_cuda, loaded, 0}),
            "train.device is 'cuda', but the NVIDIA driver of this machine reports 0 devices; check nvidia-smi and CUDA_VISIBLE_DEVICES, or use --device cpu");
}

TEST(CheckDevice, WhatIsTooOldIsToldWithWhatIsNeeded) {
  EXPECT_EQ(refusal("cuda", {}, {Build::with_cuda, loaded, 0, 520, 12}),
            "train.device is 'cuda', but driver 520 is older than 525, which CUDA 12 needs; update it");
  EXPECT_EQ(refusal("cuda", {}, {Build::with_cuda, loaded, 1, 525, 12, machine::Capability{7, 5}}),
            "train.device is 'cuda', but Troika's kernels need compute capability 8.0 or later, but this GPU has 7.5");
  EXPECT_EQ(refusal("cuda", {}, {Build::with_cuda, loaded, 1, 580, 13, machine::Capability{12, 0}}), "");
}

TEST(CheckDevice, WhatIsMissingIsToldInTheReadersLanguage) {
  CudaHere here{Build::with_cuda, loaded, 0};
  here.missing = {"cuBLASLt is not found", "找不到 cuBLASLt"};
  try {
    check_device("cuda", {}, here);
    ADD_FAILURE();
  } catch (const base::ConfigError& error) {
    EXPECT_EQ(error.in(base::Language::english), "train.device is 'cuda', but cuBLASLt is not found");
    EXPECT_EQ(error.in(base::Language::chinese), "train.device 为“cuda”，但找不到 cuBLASLt");
  }
  EXPECT_EQ(refusal("auto", {}, here), "") << "the CPU computes";
}

TEST(CheckDevice, ADeviceThatIsNotThereIsToldWithTheLastThatIs) {
  EXPECT_EQ(refusal("cuda:2", {}, {Build::with_cuda, loaded, 2}),
            "train.device is 'cuda:2', but this host has 2 CUDA devices; the last is cuda:1");
  EXPECT_EQ(refusal("cuda:1", {}, {Build::with_cuda, loaded, 2}), "");
}

TEST(CheckDevice, MoreRanksThanDevicesNeedGlooOrFewerRanks) {
  EXPECT_EQ(refusal("cuda", {4}, {Build::with_cuda, loaded, 2}),
            "this host has 2 CUDA devices for 4 ranks; use --nproc-per-node 2, or let ranks share a device over gloo "
            "with --comm.backend gloo, or --device cpu");
  EXPECT_THAT(refusal("cuda", {2}, {Build::unknown, loaded, 1}), HasSubstr("1 CUDA device for 2 ranks"));
  EXPECT_THAT(refusal("auto", {3}, {Build::with_cuda, loaded, 1}), HasSubstr("1 CUDA device for 3 ranks"));
  EXPECT_THAT(refusal("cuda:0", {2}, {Build::with_cuda, loaded, 4}),
              AllOf(HasSubstr("'cuda:0'"), HasSubstr("2 ranks"), HasSubstr("--comm.backend gloo")));
  EXPECT_EQ(refusal("cuda", {4, config::Backend::gloo}, {Build::with_cuda, loaded, 2}), "");
  EXPECT_EQ(refusal("cuda", {2}, {Build::with_cuda, loaded, 2}), "");
}

TEST(CheckDevice, TheCpuAndWhatIsNotKnownPass) {
  EXPECT_EQ(refusal("cpu", {4}, {Build::without_cuda, absent, 0}), "");
  EXPECT_EQ(refusal("auto", {4}, {Build::without_cuda, loaded, 1}), "");
  EXPECT_EQ(refusal("auto", {4}, {Build::with_cuda, absent, 0}), "");
  EXPECT_EQ(refusal("auto", {4}, {Build::unknown, loaded, 1}), "") << "the build may be one for CPUs";
  EXPECT_EQ(refusal("cuda", {4}, {Build::unknown, loaded, std::nullopt}), "") << "only the ranks can count them";
}

}  // namespace

namespace {
using testing::AllOf;
using testing::HasSubstr;

TEST(DeviceRates, BoundAnOperationByTheSlowerOfTwo) {
  const DeviceRates rates{"x", 100, 10, {}};
  EXPECT_EQ(bound_time({200, 5}, rates).seconds, 2);
  EXPECT_EQ(bound_time({200, 5}, rates).by, Bound::products);
  EXPECT_EQ(bound_time({0, 5}, rates).seconds, 0.5);
  EXPECT_EQ(bound_time({0, 5}, rates).by, Bound::memory);
}

TEST(DeviceRates, SayWhatKindOfNumberTheyAre) {
  for (const DeviceRates& rates : all_device_rates()) {
    EXPECT_THAT(rates.source.english, testing::AnyOf(HasSubstr("measured"), HasSubstr("data sheet"))) << rates.name;
    EXPECT_GT(rates.flops_per_second, rates.bytes_per_second) << rates.name;
    EXPECT_EQ(find_device_rates(rates.name).source.english, rates.source.english);
  }
}

TEST(DeviceRates, AreThoseOfTheCardInAnySpelling) {
  EXPECT_EQ(find_device_rates("RTX 4090").name, "rtx-4090");
  EXPECT_EQ(find_device_rates("NVIDIA H200").name, "h200");
}

TEST(DeviceRates, RefuseAnotherNameWithTheNearest) {
  try {
    find_device_rates("h201");
    FAIL();
  } catch (const base::ConfigError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("--device-rates h201"), HasSubstr("(did you mean h200?)"),
                                    HasSubstr("--tflops and --terabytes")));
  }
}

}  // namespace

namespace {
using testing::HasSubstr;

config::Settings of_preset(const std::string& name) {
  config::Settings s;
  s.model = config::find_preset(name);
  return s;
}

TEST(GpuBits, OfUsualModelsEveryOperationRepeatsItself) {
  for (const char* preset : {"qwen3-0.6b", "qwen3-8b", "gpt2-124m", "bench-35m"})
    EXPECT_EQ(unequal_operation(of_preset(preset)).english, "") << preset;
  config::Settings adapted = of_preset("qwen3-0.6b");
  adapted.lora.rank = 8;
  EXPECT_EQ(unequal_operation(adapted).english, "");
}

TEST(GpuBits, AParameterThatBeginsBetweenSixteenBytesIsNamed) {
  config::Settings s = of_preset("gpt2-124m");
  s.model.hidden = 12;
  s.model.heads = s.model.kv_heads = 1;
  s.model.head_dim = 12;
  s.model.vocab = 57;  // 57 x 12 elements before the positions
  EXPECT_THAT(unequal_operation(s).english, HasSubstr("does not begin on 16 bytes"));
}

}  // namespace

}  // namespace troika::plan
