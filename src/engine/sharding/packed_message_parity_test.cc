#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "kernels/grid.h"
#include "kernels/parity_test_support.h"
#include "kernels/reference/reference_test_support.h"
#include "sharding/packed_message.h"
#include "tensor/libtorch_test_support.h"

namespace troika::sharding {
namespace {

// In every third block multiples of 4096, in every seventh zeros.
at::Tensor integers_of(std::int64_t count, int bits) {
  const at::Tensor x = kernels::random_normal("x", {count}).to(at::kDouble).mul(std::ldexp(1.0, bits - 3)).to(at::kLong);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t block = i / cpu::packed_block;
    std::int64_t& value = x.data_ptr<std::int64_t>()[i];
    if (block % 3 == 1) value &= ~std::int64_t{4095};
    if (block % 7 == 6) value = 0;
  }
  return x;
}

PackedStream stream_of(const at::Tensor& x, std::int64_t front_words) {
  const Packing packing(x);
  PackedStream stream;
  stream.front = at::empty({front_words}, at::kLong);
  if (packing.words() > front_words) stream.rest = at::empty({packing.words() - front_words}, at::kLong);
  packing.pack(x, stream);
  return stream;
}

TEST(PackedStream, ComesBackWhereverItIsCut) {
  for (const std::int64_t count : {1, 5, 255, 256, 257, 1030, 40000}) {
    for (const int bits : {3, 24, 44, 62}) {
      const at::Tensor x = integers_of(count, bits);
      const std::int64_t words = Packing(x).words();
      for (const std::int64_t front :
           {directory_words(count), (directory_words(count) + words) / 2, words, words + 9}) {
        const PackedStream stream = stream_of(x, front);
        const Packing unpacking(count, stream.front);
        EXPECT_EQ(unpacking.words(), words);
        const at::Tensor sum = at::full({count}, 7, at::kLong);
        unpacking.add(stream, sum);
        EXPECT_TRUE(at::equal(sum, x + 7))
            << count << " integers of " << bits << " bits, " << front << " words in front";
      }
    }
  }
}

TEST(PackedStream, HasTheWordsOfThePlainBodies) {
  const at::Tensor x = integers_of(cpu::packed_block, 44);
  const std::int64_t* const integers = x.data_ptr<std::int64_t>();
  const PackedStream stream = stream_of(x, Packing(x).words());
  const cpu::BlockFormat format = kernels::reference::block_format(integers);
  EXPECT_EQ(tensor::theirs(stream.front[0]).item<std::int64_t>(), format.width | format.shift << 8);
  std::vector<std::uint64_t> words(static_cast<std::size_t>(4 * format.width));
  kernels::reference::pack_block(integers, format, words.data());
  for (std::size_t i = 0; i < words.size(); ++i) {
    EXPECT_EQ(static_cast<std::uint64_t>(tensor::theirs(stream.front).data_ptr<std::int64_t>()[i + 1]), words[i]);
  }
  const at::Tensor sum = at::full({cpu::packed_block}, -5, at::kLong);
  kernels::reference::add_block(words.data(), format, sum.data_ptr<std::int64_t>());
  EXPECT_TRUE(at::equal(sum, x - 5));
}

TEST(PackedStream, WithoutDirectoryIsRefused) {
  EXPECT_THROW(Packing(2000, at::zeros({1}, at::kLong)), base::BugError);
  EXPECT_THROW(Packing(10, at::full({1}, 0x2930, at::kLong)), base::BugError);  // 48 bits, shifted by 41
}

}  // namespace
}  // namespace troika::sharding
