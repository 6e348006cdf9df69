#include "data/made_once.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "base/await_test_support.h"
#include "base/text_files_test_support.h"

namespace troika::data {
namespace {

TEST(MadeOnce, OneMakesWhileTheOthersWaitAndSeeHowFarItIs) {
  const base::TestFolder folder;
  std::atomic<int> made{0}, waiting{0};
  std::atomic<bool> there{false};
  const auto get = [&] {
    const auto open = [&]() -> bool { return there; };
    const auto make = [&](const OnProgress& tell) {
      ++made;
      tell({40, 50, 3, 2});
      EXPECT_TRUE(base::await(20, [&] { return waiting > 0; }));
      there = true;
    };
    const auto see = [&](const Progress& progress) {
      EXPECT_EQ(progress.done_bytes, 40);
      EXPECT_EQ(progress.total_bytes, 50);
      EXPECT_EQ(progress.parts_reused, 2);
      if (progress.maker.empty()) return;
      EXPECT_THAT(progress.maker.english, testing::HasSubstr("process " + std::to_string(::getpid())));
      ++waiting;
    };
    make_once(folder / "thing", open, make, see);
    EXPECT_TRUE(there);
  };
  std::thread other(get);
  get();
  other.join();
  EXPECT_EQ(made, 1);
  EXPECT_GE(waiting, 1);
  EXPECT_THAT(base::list_directory(folder.path()), testing::ElementsAre("thing.lock"));
}

}  // namespace
}  // namespace troika::data
