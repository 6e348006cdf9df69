#include "serve/request_pool.h"

#include <gmock/gmock.h>

#include <optional>
#include <thread>

namespace troika::serve {
namespace {

TEST(Turn, ComesAgainWhenTheOneBeforeHasEnded) {
  Turn turn;
  std::optional<Turn::Held> first(std::in_place, turn, "runs/a");
  std::thread other([&] { const Turn::Held second(turn, "runs/a"); });
  first.reset();
  other.join();
}

TEST(Turn, IsNotWaitedForForEver) {
  Turn turn(std::chrono::milliseconds(10));
  {
    const Turn::Held first(turn, "runs/a");
    try {
      const Turn::Held second(turn, "runs/a");
      FAIL() << "both at once";
    } catch (const base::PeerError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("the disk of runs/a has not answered for 0.01 s"));
    }
  }
  const Turn::Held third(turn, "runs/a");
}

}  // namespace
}  // namespace troika::serve
