#include "checkpoint/gather.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "base/host_name.h"
#include "checkpoint/disks.h"
#include "checkpoint/layouts_test_support.h"

namespace troika::checkpoint {
using namespace testing_support;

TEST(Gather, ResultsComeByRank) {
  run_ranks(3, [](comm::Channel& world) {
    const auto texts = gather(world, [&] { return std::string(static_cast<std::size_t>(world.rank()), 'x'); });
    EXPECT_EQ(texts, (std::vector<std::string>{"", "x", "xx"}));
  });
}

TEST(Gather, ErrorOfOneRankIsThrownOnAllWithItsKind) {
  for (int failed = 0; failed < 3; ++failed)
    run_ranks(3, [&](comm::Channel& world) {
      try {
        agree(world, [&] {
          if (world.rank() == failed) throw base::ConfigError(base::verbatim("no such thing"));
        });
        ADD_FAILURE() << "nothing was thrown";
      } catch (const base::ConfigError& error) {
        EXPECT_EQ(error.what(), "rank " + std::to_string(failed) + " on " + base::host_name() + ": no such thing");
      }
      agree(world, [] {});  // the channel is still usable
    });
}

TEST(Disks, SharedAndUnsharedFoldersAreToldApart) {
  const std::string a = fresh_folder("a"), b = fresh_folder("b");
  const std::vector<std::string> folders{a, b, a, fresh_folder("c"), b, a};
  run_ranks(6, [&](comm::Channel& world) {
    const Disks disks = detect_disks(folders[static_cast<std::size_t>(world.rank())], world);
    EXPECT_EQ(disks.leader, (std::vector<int>{0, 1, 0, 3, 1, 0}));
    EXPECT_EQ(disks.members(5), (std::vector<int>{0, 2, 5}));
    EXPECT_EQ(disks.leads(world.rank()), world.rank() == 0 || world.rank() == 1 || world.rank() == 3);
  });
  EXPECT_TRUE(base::list_directory(a).empty());
}

TEST(Disks, AbsentFoldersAreNobodysAndNoneIsCreated) {
  const std::string absent = fresh_folder("a") + "/absent";
  run_ranks(2, [&](comm::Channel& world) { EXPECT_EQ(detect_disks(absent, world).leader, (std::vector<int>{0, 1})); });
  EXPECT_FALSE(base::directory_exists(absent));
}

}  // namespace troika::checkpoint
