#include "gguf/tensor_type.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>

#include "base/error.h"

namespace troika::gguf {
namespace {

using base::Dtype;

constexpr int most_block_numbers = 256;

float half_at(const std::byte* from) {
  base::Fp16 half;
  std::memcpy(&half, from, sizeof half);
  return base::to_float(half);
}

int byte_at(const std::byte* from, int i) { return std::to_integer<int>(from[i]); }
int signed_at(const std::byte* from, int i) { return static_cast<std::int8_t>(byte_at(from, i)); }

// 16 bytes: the lower halves of the bits are numbers 0 to 15, the upper ones 16 to 31.
int nibble(const std::byte* from, int i) { return byte_at(from, i % 16) >> (i / 16 * 4) & 15; }

// A fifth bit for each of 32 numbers.
int fifth_bit(const std::byte* from, int i) { return (byte_at(from, i / 8) >> (i % 8) & 1) << 4; }

void read_q4_0(const std::byte* block, float* to) {
  const float scale = half_at(block);
  for (int i = 0; i < 32; ++i) to[i] = scale * static_cast<float>(nibble(block + 2, i) - 8);
}

void read_q4_1(const std::byte* block, float* to) {
  const float scale = half_at(block), least = half_at(block + 2);
  for (int i = 0; i < 32; ++i) to[i] = scale * static_cast<float>(nibble(block + 4, i)) + least;
}

void read_q5_0(const std::byte* block, float* to) {
  const float scale = half_at(block);
  for (int i = 0; i < 32; ++i)
    to[i] = scale * static_cast<float>((nibble(block + 6, i) | fifth_bit(block + 2, i)) - 16);
}

void read_q5_1(const std::byte* block, float* to) {
  const float scale = half_at(block), least = half_at(block + 2);
  for (int i = 0; i < 32; ++i)
    to[i] = scale * static_cast<float>(nibble(block + 8, i) | fifth_bit(block + 4, i)) + least;
}

void read_q8_0(const std::byte* block, float* to) {
  const float scale = half_at(block);
  for (int i = 0; i < 32; ++i) to[i] = static_cast<float>(signed_at(block + 2, i)) * scale;
}

// 12 bytes with the scales and minima of 8 groups of 32 numbers, 6 bits each.
struct GroupScale {
  float scale, least;
};
GroupScale group_scale(const std::byte* block, int group) {
  const std::byte* packed = block + 4;
  const int low = group % 4;
  int scale = byte_at(packed, low), least = byte_at(packed, low + 4);
  const int both = byte_at(packed, low + 8);
  scale = group < 4 ? scale & 63 : (both & 15) | (scale >> 2 & 48);
  least = group < 4 ? least & 63 : both >> 4 | (least >> 2 & 48);
  return {half_at(block) * static_cast<float>(scale), half_at(block + 2) * static_cast<float>(least)};
}

// Four stretches of 32 bytes: the lower halves of a stretch are a group, the upper ones the next.
int nibble_of_group(const std::byte* from, int group, int i) {
  return byte_at(from, group / 2 * 32 + i) >> (group % 2 * 4) & 15;
}

void read_q4_k(const std::byte* block, float* to) {
  for (int group = 0; group < 8; ++group) {
    const GroupScale s = group_scale(block, group);
    for (int i = 0; i < 32; ++i)
      to[group * 32 + i] = s.scale * static_cast<float>(nibble_of_group(block + 16, group, i)) - s.least;
  }
}

void read_q5_k(const std::byte* block, float* to) {
  for (int group = 0; group < 8; ++group) {
    const GroupScale s = group_scale(block, group);
    for (int i = 0; i < 32; ++i) {
      const int fifth = (byte_at(block + 16, i) >> group & 1) << 4;
      to[group * 32 + i] = s.scale * static_cast<float>(nibble_of_group(block + 48, group, i) | fifth) - s.least;
    }
  }
}

// 128 bytes of lower halves and 64 of two upper bits, in two equal parts; a scale for each 16 numbers.
void read_q6_k(const std::byte* block, float* to) {
  const std::byte *low = block, *high = block + 128, *scales = block + 192;
  const float scale = half_at(block + 208);
  for (int i = 0; i < 256; ++i) {
    const int part = i / 128, group = i % 128 / 32, at = i % 32;
    const int four = byte_at(low, part * 64 + group % 2 * 32 + at) >> (group / 2 * 4) & 15;
    const int two = byte_at(high, part * 32 + at) >> (group * 2) & 3;
    to[i] = scale * static_cast<float>(signed_at(scales, i / 16)) * static_cast<float>((four | two << 4) - 32);
  }
}

const TensorType types[] = {{0, "F32", 1, 4, Dtype::fp32, nullptr, 0},    {1, "F16", 1, 2, Dtype::fp16, nullptr, 1},
                            {30, "BF16", 1, 2, Dtype::bf16, nullptr, 32}, {8, "Q8_0", 32, 34, {}, read_q8_0, 7},
                            {2, "Q4_0", 32, 18, {}, read_q4_0, 2},        {3, "Q4_1", 32, 20, {}, read_q4_1, 3},
                            {6, "Q5_0", 32, 22, {}, read_q5_0, 8},        {7, "Q5_1", 32, 24, {}, read_q5_1, 9},
                            {12, "Q4_K", 256, 144, {}, read_q4_k, 15},    {13, "Q5_K", 256, 176, {}, read_q5_k, 17},
                            {14, "Q6_K", 256, 210, {}, read_q6_k, 18}};

struct OtherType {
  std::uint32_t id;
  const char* name;
};
constexpr OtherType others[] = {{9, "Q8_1"},    {10, "Q2_K"},    {11, "Q3_K"},  {15, "Q8_K"},   {16, "IQ2_XXS"},
                                {17, "IQ2_XS"}, {18, "IQ3_XXS"}, {19, "IQ1_S"}, {20, "IQ4_NL"}, {21, "IQ3_S"},
                                {22, "IQ2_S"},  {23, "IQ4_XS"},  {24, "I8"},    {25, "I16"},    {26, "I32"},
                                {27, "I64"},    {28, "F64"},     {29, "IQ1_M"}, {34, "TQ1_0"},  {35, "TQ2_0"},
                                {39, "MXFP4"},  {40, "NVFP4"},   {41, "Q1_0"}};

}  // namespace

const TensorType* find_type(std::uint32_t id) {
  const auto found = std::find_if(std::begin(types), std::end(types), [&](const auto& type) { return type.id == id; });
  return found == std::end(types) ? nullptr : found;
}

const TensorType& type_named(const std::string& name) {
  for (const TensorType& type : types)
    if (name == type.name) return type;
  throw base::BugError("no GGUF type " + name);
}

std::string name_of_type(std::uint32_t id) {
  if (const TensorType* type = find_type(id)) return type->name;
  for (const OtherType& other : others)
    if (other.id == id) return other.name;
  return "type " + std::to_string(id);
}

std::string names_of_types() {
  std::string names;
  for (const TensorType& type : types) names += (names.empty() ? "" : ", ") + std::string(type.name);
  return names;
}

void read_blocks(const TensorType& type, const std::byte* data, std::int64_t begin, std::int64_t count, float* to) {
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t inside = (begin + done) % type.block_numbers;
    const std::int64_t now = std::min(type.block_numbers - inside, count - done);
    const std::byte* block = data + (begin + done) / type.block_numbers * type.block_bytes;
    if (now == type.block_numbers) {
      type.read_block(block, to + done);
    } else {
      float numbers[most_block_numbers];
      type.read_block(block, numbers);
      std::memcpy(to + done, numbers + inside, static_cast<std::size_t>(now) * sizeof(float));
    }
    done += now;
  }
}

void write_q8_0(const float* numbers, std::int64_t count, std::byte* to) {
  for (; count > 0; count -= 32, numbers += 32, to += 34) {
    float largest = 0;
    for (int i = 0; i < 32; ++i) largest = std::max(largest, std::fabs(numbers[i]));
    const float scale = largest / 127, inverse = scale == 0 ? 0 : 1 / scale;
    const base::Fp16 half = base::to_fp16(scale);
    std::memcpy(to, &half, sizeof half);
    for (int i = 0; i < 32; ++i) {
      const float rounded = std::round(numbers[i] * inverse);  // half away from zero
      to[2 + i] = static_cast<std::byte>(std::isfinite(rounded) ? static_cast<int>(rounded) : 0);
    }
  }
}

}  // namespace troika::gguf
