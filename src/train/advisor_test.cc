#include "train/advisor.h"

#include <gmock/gmock.h>

#include <cstdio>
#include <thread>

#include "train/measure_link.h"
#include "train/thread_ranks_test_support.h"

namespace troika::train {
namespace {
using testing::HasSubstr;

TEST(Link, IsMeasuredAlikeOnEveryRank) {
  constexpr double bytes_per_second = 1.25e6, latency_seconds = 0.002;
  auto channels = comm::make_thread_channels(3, "world", 30, {bytes_per_second, latency_seconds});
  std::vector<schedule::Link> links(3);
  std::vector<std::thread> ranks;
  for (std::size_t r = 0; r < 3; ++r) ranks.emplace_back([&, r] { links[r] = measure_link(*channels[r]); });
  for (auto& rank : ranks) rank.join();
  for (const schedule::Link& link : links) {
    EXPECT_EQ(link.latency_seconds, links[0].latency_seconds);
    EXPECT_EQ(link.bytes_per_second, links[0].bytes_per_second);
  }
  EXPECT_GE(links[0].latency_seconds, 0.9 * latency_seconds);
  EXPECT_LT(links[0].bytes_per_second, 1.2 * bytes_per_second);
  EXPECT_GT(links[0].bytes_per_second, 0.3 * bytes_per_second);
}

TEST(Advisor, SpeaksBeforeTheFirstAndAfterTheLastStep) {
  const TemporaryFolder folder;
  const auto stream = small_corpus(folder.path());
  config::Settings s = small_settings(folder.path());
  s.train.steps = 2;
  s.parallel.pp = 2;
  std::FILE* screen = std::tmpfile();
  train_on_threads(s, 2, *stream, [&](Surroundings& surroundings, int rank) {
    if (rank == 0) surroundings.screen = screen;
  });
  std::string text(static_cast<std::size_t>(std::ftell(screen)), '\0');
  std::rewind(screen);
  ASSERT_EQ(std::fread(text.data(), 1, text.size(), screen), text.size());
  std::fclose(screen);
  EXPECT_THAT(text, HasSubstr("link    "));
  EXPECT_THAT(text, HasSubstr("the speed of a matrix product here"));
  EXPECT_THAT(text, HasSubstr("the seconds of 1 step, "));
}

}  // namespace
}  // namespace troika::train
