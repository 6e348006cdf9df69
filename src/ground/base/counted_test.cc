#include "base/say.h"

#include <gtest/gtest.h>

namespace troika::base {
namespace {

TEST(Counted, OneIsInTheSingular) {
  EXPECT_EQ(counted(1, "file"), "1 file");
  EXPECT_EQ(counted(0, "file"), "0 files");
  EXPECT_EQ(counted(2, "process", "processes"), "2 processes");
  EXPECT_EQ(counted(1, "process", "processes"), "1 process");
  EXPECT_EQ(noun_of(1, "token"), "token");
  EXPECT_EQ(counted_text(1, "layer").english, "1 layer");
  EXPECT_EQ(counted_text(3, "layer").chinese, "3");
}

}  // namespace
}  // namespace troika::base
