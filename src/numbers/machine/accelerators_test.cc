#include "machine/accelerators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "machine/profiles.h"

namespace troika::machine {
namespace {

std::string name(const std::string& text) {
  const Accelerator* found = accelerator_called(text);
  return found == nullptr ? "none" : found->name;
}

std::string refusal(const std::string& text) {
  try {
    return find_accelerator(text, "--gpu").name;
  } catch (const base::ConfigError& error) {
    return error.what();
  }
}

TEST(Accelerators, AreKnownByTheNamesOfTheirDrivers) {
  const std::pair<const char*, const char*> drivers[] = {
      {"NVIDIA A100-SXM4-80GB", "a100-80"},
      {"NVIDIA A100-SXM4-40GB", "a100-40"},
      {"NVIDIA A100-PCIE-40GB", "a100-40"},
      {"NVIDIA A100 80GB PCIe", "a100-80"},
      {"NVIDIA A800-SXM4-80GB", "a800"},
      {"NVIDIA H100 80GB HBM3", "h100"},
      {"NVIDIA H100 PCIe", "h100-pcie"},
      {"NVIDIA H800", "h800"},
      {"NVIDIA H20", "h20"},
      {"NVIDIA H200", "h200"},
      {"NVIDIA B200", "b200"},
      {"NVIDIA L4", "l4"},
      {"NVIDIA L40", "l40"},
      {"NVIDIA L40S", "l40s"},
      {"NVIDIA A10", "a10"},
      {"NVIDIA A10G", "a10g"},
      {"NVIDIA RTX A6000", "rtx-a6000"},
      {"NVIDIA RTX 6000 Ada Generation", "rtx-6000-ada"},
      {"NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "rtx-pro-6000"},
      {"NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", "rtx-pro-6000"},
      {"NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx-pro-6000"},
      {"NVIDIA GeForce RTX 5090", "rtx-5090"},
      {"NVIDIA GeForce RTX 5070 Ti", "rtx-5070-ti"},
      {"NVIDIA GeForce RTX 4090", "rtx-4090"},
      {"NVIDIA GeForce RTX 4070 Ti SUPER", "rtx-4070-ti-super"},
      {"NVIDIA GeForce RTX 4060 Ti", "rtx-4060-ti-8"},
      {"NVIDIA GeForce RTX 3090", "rtx-3090"},
      {"NVIDIA GeForce RTX 3080", "rtx-3080-10"},
  };
  for (const auto& [driver, expected] : drivers) EXPECT_EQ(name(driver), expected) << driver;
}

TEST(Accelerators, AreKnownByTheNamesThatPeopleWrite) {
  for (const char* text : {"RTX 4090", "rtx4090", "GeForce RTX 4090", "4090", "RTX_4090", "4090 24GB", "RTX 4090 24G"})
    EXPECT_EQ(name(text), "rtx-4090") << text;
  for (const char* text : {"A6000", "RTX-A6000", "RTXA6000", "a6000-48gb"}) EXPECT_EQ(name(text), "rtx-a6000") << text;
  for (const char* text : {"a100-80gb", "A100 80G", "A100 SXM4 80GB", "a100_80gb"}) EXPECT_EQ(name(text), "a100-80") << text;
  EXPECT_EQ(name("A100"), "a100-40");
  EXPECT_EQ(name("3080 ti"), "rtx-3080-ti");
  EXPECT_EQ(name("RTX3080Ti"), "rtx-3080-ti");
  EXPECT_EQ(name("3080 12gb"), "rtx-3080-12");
  EXPECT_EQ(name("RTX 4060 Ti 16GB"), "rtx-4060-ti-16");
  EXPECT_EQ(name("L40S"), "l40s");
  EXPECT_EQ(name("RTX 6000 Ada"), "rtx-6000-ada");
  for (const std::string& own : accelerator_names()) EXPECT_EQ(name(own), own);
}

TEST(Accelerators, OtherCardsAreNotTakenForThem) {
  for (const char* text : {"", "NVIDIA", "NVIDIA T400 4GB", "NVIDIA GeForce RTX 4090 Laptop GPU", "RTX 4090 D", "RTX 4090 48GB",
                           "NVIDIA H100 80GB HBM3 MIG 1g.10gb", "Quadro RTX 6000", "6000", "NVIDIA GeForce RTX 3060 Ti"})
    EXPECT_EQ(name(text), "none") << text;
}

TEST(Accelerators, ARefusalHasTheNamesThatAreNear) {
  EXPECT_EQ(refusal("RTX 4095"), "--gpu 'RTX 4095' is unknown (did you mean rtx-4090?)");
  EXPECT_EQ(refusal("5060"), "--gpu '5060' is unknown (did you mean rtx-5090, rtx-5080, rtx-5070?)");
  EXPECT_THAT(refusal("banana"), testing::HasSubstr("(known names are a100-40, a100-80, "));
}

TEST(Accelerators, ACardWithoutKernelsIsRefusedForThatReason) {
  for (const char* text : {"t4", "Tesla T4", "rtx 2080 ti", "Quadro RTX 6000"})
    EXPECT_EQ(refusal(text), "--gpu '" + std::string(text) +
                                 "': Troika's kernels need compute capability 8.0 or later, but this GPU has 7.5");
  EXPECT_THAT(refusal("Tesla V100-SXM2-32GB"), testing::HasSubstr("this GPU has 7.0"));
}

TEST(Accelerators, TellTheCapabilityOfWhatADriverCallsACard) {
  const auto told = [](const char* model) {
    const auto capability = capability_called(model);
    return capability ? to_text(*capability) : "";
  };
  EXPECT_EQ(told("Tesla T4"), "7.5");
  EXPECT_EQ(told("NVIDIA GeForce RTX 3090"), "8.6");
  EXPECT_EQ(told("NVIDIA H100 80GB HBM3"), "9.0");
  EXPECT_EQ(told("NVIDIA RTX 9999"), "");
  EXPECT_EQ(told(""), "");
}

TEST(Accelerators, CardsLackSomethingWhereNoneOfThemIsNewEnough) {
  EXPECT_EQ(lack_of_cards({"Tesla T4", "Tesla V100-SXM2-32GB"})->english,
            "Troika's kernels need compute capability 8.0 or later, but this GPU has 7.0");
  EXPECT_FALSE(lack_of_cards({"Tesla T4", "NVIDIA A10"}));
  EXPECT_FALSE(lack_of_cards({"Tesla T4", "NVIDIA RTX 9999"}));
  EXPECT_FALSE(lack_of_cards({}));
}

TEST(Accelerators, AreAllGoodRows) {
  std::set<std::string> names;
  for (const Accelerator& a : accelerators()) {
    EXPECT_TRUE(names.insert(a.name).second) << a.name;
    EXPECT_FALSE(lack_of_card(a.capability)) << a.name;
    EXPECT_LT(a.half_measured, a.half_sheet) << a.name;
    EXPECT_GT(a.half_sheet, a.fp32_sheet) << a.name;
    EXPECT_GT(find_profile(a.name).host.rates.bf16.flops_per_second, 0) << a.name;
  }
}

}  // namespace

namespace {

TEST(Capability, KernelsExistFrom80On) {
  for (const Capability card : {Capability{8, 0}, {8, 6}, {8, 9}, {9, 0}, {10, 0}, {12, 0}})
    EXPECT_FALSE(lack_of_card(card)) << to_text(card);
  EXPECT_EQ(lack_of_card({7, 5})->english, "Troika's kernels need compute capability 8.0 or later, but this GPU has 7.5");
  EXPECT_EQ(lack_of_card({7, 0})->chinese, "Troika 的内核需要计算能力 8.0 及以上，而该显卡为 7.0");
}

TEST(Capability, ADriverIsAsNewAsCudaNeeds) {
  EXPECT_EQ(lack_of_driver(520, 12)->english, "driver 520 is older than 525, which CUDA 12 needs; update it");
  EXPECT_EQ(lack_of_driver(570, 13)->chinese, "驱动 570 早于 CUDA 13 所需的 580；请更新驱动");
  EXPECT_FALSE(lack_of_driver(525, 12));
  EXPECT_FALSE(lack_of_driver(1, 99)) << "what is not known is no lack";
}

}  // namespace

}  // namespace troika::machine
