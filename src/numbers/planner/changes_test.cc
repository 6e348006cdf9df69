#include "planner/changes.h"

#include <gmock/gmock.h>

#include "planner/recorded_run_test_support.h"

namespace troika::planner {
namespace {
using testing::HasSubstr;

std::string refused_words(const std::vector<std::string>& words) {
  return refused<base::ConfigError>([&] { parse_changes(words); });
}

TEST(Changes, AreReadOneAfterTheOther) {
  const Changes changes = parse_changes({"link", "x10", "latency", "x2", "host", "2", "x0.5", "host", "pi1", "x3", "+1",
                                         "host", "schedule", "zb-h1", "micro_batch", "2"});
  EXPECT_EQ(changes.link.bandwidth_factor, 10);
  EXPECT_EQ(changes.link.latency_factor, 2);
  ASSERT_EQ(changes.hosts.size(), 2U);
  EXPECT_EQ(changes.hosts[0].host, "2");
  EXPECT_EQ(changes.hosts[0].factor, 0.5);
  EXPECT_EQ(changes.hosts[1].host, "pi1");
  EXPECT_EQ(changes.more_hosts, 1);
  EXPECT_EQ(changes.schedule, config::Schedule::zb_h1);
  EXPECT_EQ(changes.micro, 2);
  EXPECT_TRUE(changes.of_program());
}

TEST(Changes, StandInOneWordOrInSeveral) {
  EXPECT_EQ(parse_changes({"link x0.1"}).link.bandwidth_factor, 0.1);
  EXPECT_EQ(parse_changes({"-1 host", "link x2"}).more_hosts, -1);
  EXPECT_FALSE(parse_changes({"link x0.1", "host 1 x2"}).of_program());
}

TEST(Changes, GiveLinksRatesAndLatencies) {
  EXPECT_EQ(parse_changes({"link", "100Mbit/s"}).link.bytes_per_second, 12.5e6);
  EXPECT_EQ(parse_changes({"link", "100", "Mbit/s"}).link.bytes_per_second, 12.5e6);
  const schedule::Link link = parse_changes({"link 1GB/s", "link x0.5", "latency 5ms"}).link.of({0.001, 1e6});
  EXPECT_DOUBLE_EQ(link.bytes_per_second, 5e8);
  EXPECT_DOUBLE_EQ(link.latency_seconds, 0.005);
}

TEST(Changes, AWordThatIsNoneIsNamedWithTheNearest) {
  EXPECT_THAT(refused_words({"lnik", "x10"}), HasSubstr("'lnik' is no change; nearest is 'link'"));
  EXPECT_THAT(refused_words({"schedule", "zb-h2"}), HasSubstr("'zb-h2' is no schedule; nearest is 'zb-h1'"));
  EXPECT_THAT(refused_words({}), HasSubstr("no change is named; changes are link x10"));
}

TEST(Changes, ThatLackTheirValueOrHaveAnImpossibleOneAreRefused) {
  EXPECT_THAT(refused_words({"link"}), HasSubstr("behind 'link' stands no factor or rate"));
  EXPECT_THAT(refused_words({"link", "10"}), HasSubstr("link '10' is neither a factor such as x10 nor a rate"));
  EXPECT_THAT(refused_words({"link", "x0"}), HasSubstr("the factor 'x0' is not above 0"));
  EXPECT_THAT(refused_words({"host", "1", "half"}), HasSubstr("host 1 'half' is no factor such as x0.5"));
  EXPECT_THAT(refused_words({"+1", "rank"}), HasSubstr("behind '+1' stands 'rank', not 'host'"));
  EXPECT_THAT(refused_words({"micro_batch", "0"}), HasSubstr("micro_batch '0' is no number of sequences"));
}

}  // namespace
}  // namespace troika::planner
