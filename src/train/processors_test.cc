#include "train/processors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "comm/threads_channel.h"

namespace troika::train {
namespace {

std::vector<std::string> answers(const std::vector<std::string>& names) {
  auto channels = comm::make_thread_channels(static_cast<int>(names.size()), "world", 20);
  std::vector<std::string> found(names.size());
  std::vector<std::thread> ranks;
  for (std::size_t i = 0; i < names.size(); ++i) {
    ranks.emplace_back([&, i] { found[i] = mixed_processors(*channels[i], names[i]); });
  }
  for (auto& rank : ranks) rank.join();
  return found;
}

TEST(Processors, EqualOnesAreNotRemarkedOn) { EXPECT_THAT(answers({"a", "a", "a"}), testing::Each("")); }

TEST(Processors, MixedOnesAreNamedAlikeOnEveryRank) {
  const auto found = answers({"a", "a", "b"});
  EXPECT_THAT(found[0], testing::HasSubstr("rank 2 on 'b'"));
  EXPECT_THAT(found, testing::Each(found[0]));
}

TEST(Processors, ThisHostHasAName) { EXPECT_FALSE(processor_name().empty()); }

}  // namespace
}  // namespace troika::train
