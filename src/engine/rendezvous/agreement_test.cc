#include "rendezvous/join.h"

#include <gmock/gmock.h>

#include <thread>

#include "base/error.h"

namespace troika::rendezvous {
namespace {
using ::testing::Each;
using ::testing::HasSubstr;

// The outcome that each of the ranks is given.
std::vector<std::string> outcomes(const std::vector<Facts>& facts) {
  const StoreServer server(0);
  std::vector<std::string> told(facts.size());
  std::vector<std::thread> ranks;
  for (std::size_t rank = 0; rank < facts.size(); ++rank) {
    ranks.emplace_back([&, rank] {
      Identity me;
      me.world_rank = static_cast<int>(rank);
      me.world_size = static_cast<int>(facts.size());
      StoreClient client("127.0.0.1", server.port(), 5);
      try {
        agree(client, me, "start", facts[rank], 10);
        told[rank] = "agreed";
      } catch (const base::ConfigError& error) {
        told[rank] = error.what();
      }
    });
  }
  for (std::thread& rank : ranks) rank.join();
  return told;
}

const char* const yaml = "batch:\n  seq_len: 64\noptimizer:\n  lr: 0.1\n  beta1: 0.9\ntrain:\n  out: a\n";

TEST(Agreement, LetsEqualRanksPass) {
  const Facts facts{{{"settings", yaml}, {"settings hash", "11"}, {"build", "x"}}};
  EXPECT_THAT(outcomes({facts, facts, facts}), Each("agreed"));
  EXPECT_THAT(outcomes({facts}), Each("agreed"));
}

TEST(Agreement, TellsEveryRankTheFieldThatDiffers) {
  std::string other = yaml;
  other.replace(other.find("0.1"), 3, "0.2");
  const Facts first{{{"settings", yaml}, {"settings hash", "11"}, {"program", "p"}}};
  const Facts second{{{"settings", other}, {"settings hash", "12"}, {"program", "q"}}};
  EXPECT_THAT(outcomes({first, first, second}), Each(HasSubstr("optimizer.lr = 0.2 on rank 2 but 0.1 on rank 0")));
}

TEST(Agreement, IgnoresFieldsThatTheHashLeavesOut) {
  std::string other = yaml;
  other.replace(other.find("out: a"), 6, "out: b");
  EXPECT_EQ(
      difference({{{"settings", yaml}, {"settings hash", "1"}}}, {{{"settings", other}, {"settings hash", "1"}}}, 1)
          .english,
      "");
}

TEST(Agreement, NamesAnyOtherFact) {
  EXPECT_THAT(outcomes({{{{"build", "1.0 abc"}}}, {{{"build", "1.0 abd"}}}}),
              Each(HasSubstr("build = 1.0 abd on rank 1 but 1.0 abc on rank 0")));
  EXPECT_THAT(difference({{{"data", "x"}}}, {{}}, 4).english, HasSubstr("data = (absent) on rank 4 but x on rank 0"));
}

TEST(Agreement, ReadsListsBelowTheirName) {
  const Facts a{{{"settings", "parallel:\n  stage_layers:\n    - 1\n    - 2\n"}}};
  const Facts b{{{"settings", "parallel:\n  stage_layers:\n    - 2\n    - 1\n"}}};
  EXPECT_EQ(difference(a, b, 1).english, "parallel.stage_layers = - 2 - 1 on rank 1 but - 1 - 2 on rank 0");
}

}  // namespace
}  // namespace troika::rendezvous
