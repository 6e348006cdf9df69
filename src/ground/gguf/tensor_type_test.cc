#include "gguf/tensor_type.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "gguf/header.h"

namespace troika::gguf {
namespace {

// Tensors in each type that is read, and beside each what gguf.quants.dequantize of the package gguf 0.19 makes of it.
const File& golden() {
  static const File file(TROIKA_SOURCE_DIR "/src/ground/gguf/golden/quantised.gguf");
  return file;
}

const std::byte* data_of(const std::string& name) {
  return golden().mapping().data() + golden().header().find_tensor(name)->begin;
}

TEST(GgufTensorTypes, OfBlocksHaveTheBitsOfThePackageOfLlamaCpp) {
  int checked = 0;
  for (const Tensor& tensor : golden().header().tensors()) {
    if (tensor.type->dtype) continue;
    std::vector<float> numbers(512), part(100);
    read_blocks(*tensor.type, data_of(tensor.name), 0, 512, numbers.data());
    EXPECT_EQ(std::memcmp(numbers.data(), data_of(tensor.name + ".fp32"), 512 * 4), 0) << tensor.name;
    read_blocks(*tensor.type, data_of(tensor.name), 205, 100, part.data());
    EXPECT_EQ(std::memcmp(numbers.data() + 205, part.data(), 100 * 4), 0) << tensor.name << ", from inside a block on";
    ++checked;
  }
  EXPECT_EQ(checked, 8);
}

TEST(GgufTensorTypes, Q8_0IsWrittenWithTheBytesOfThePackage) {
  std::vector<std::byte> written(512 / 32 * 34);
  write_q8_0(reinterpret_cast<const float*>(data_of("F32.fp32")), 512, written.data());
  EXPECT_EQ(std::memcmp(written.data(), data_of("Q8_0"), written.size()), 0);
}

TEST(GgufTensorTypes, Q8_0RoundsHalvesAwayFromZeroAndKeepsZeros) {
  std::vector<float> numbers(32, 0.0F);
  std::vector<std::byte> written(34);
  write_q8_0(numbers.data(), 32, written.data());
  EXPECT_EQ(written, std::vector<std::byte>(34));
  numbers[0] = 127;  // so that the scale is 1
  numbers[1] = 2.5F;
  numbers[2] = -2.5F;
  write_q8_0(numbers.data(), 32, written.data());
  EXPECT_EQ(static_cast<std::int8_t>(written[3]), 3);
  EXPECT_EQ(static_cast<std::int8_t>(written[4]), -3);
}

}  // namespace
}  // namespace troika::gguf
