#include "cpu/stream_zeros.h"

#include <gtest/gtest.h>

#include <vector>

#include "cpu/targets_test_support.h"

namespace troika::cpu {
namespace {

TEST(StreamZeros, WriteTheirRangeAndNothingElse) {
  on_every_target([] {
    for (std::size_t begin = 0; begin < 20; ++begin) {
      for (std::size_t count = 0; count < 70; ++count) {
        std::vector<float> x(100, 42.0f), want = x;
        std::fill_n(want.begin() + static_cast<std::ptrdiff_t>(begin), count, 0.0f);
        stream_zeros(static_cast<std::int64_t>(count), x.data() + begin);
        ASSERT_EQ(x, want) << begin << ", " << count;
      }
    }
  });
}

}  // namespace
}  // namespace troika::cpu
