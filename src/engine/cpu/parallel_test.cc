#include "cpu/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace troika::cpu {
namespace {

// How many threads work on one call, whose pieces wait until `expected` of them have come.
std::size_t working_threads(std::size_t expected) {
  std::mutex mutex;
  std::condition_variable came;
  std::set<std::thread::id> seen;
  parallel_for(24, [&](std::int64_t) {
    std::unique_lock<std::mutex> lock(mutex);
    seen.insert(std::this_thread::get_id());
    came.notify_all();
    came.wait_for(lock, std::chrono::seconds(20), [&] { return seen.size() >= expected; });
  });
  return seen.size();
}

TEST(Parallel, DoesEveryPieceOnce) {
  for (const std::int64_t total : {0, 1, 7, 64, 1000, 1001}) {
    std::vector<std::atomic<int>> visits(static_cast<std::size_t>(total));
    parallel_pieces(total, 8, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
    });
    for (const auto& count : visits) EXPECT_EQ(count, 1);
  }
}

// Also where a stream's own thread never takes it: the others do.
TEST(Parallel, StreamsDoEveryPieceOnce) {
  for (const int threads : {1, 2, 5}) {
    set_threads(threads);
    for (const std::int64_t total : {0, 1, 7, 64, 1000, 1001}) {
      std::vector<std::atomic<int>> visits(static_cast<std::size_t>(total));
      parallel_streams(total, 8, [&](std::int64_t begin, std::int64_t end) {
        EXPECT_EQ(begin % 8, 0);
        for (std::int64_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
      });
      for (const auto& count : visits) EXPECT_EQ(count, 1);
    }
  }
  set_threads(1);
}

// A number for the whole process would let the last rank decide for all.
TEST(Parallel, EveryCallingThreadHasItsOwnNumberOfThreads) {
  std::vector<std::size_t> working(3);
  std::vector<std::thread> ranks;
  for (std::size_t rank = 0; rank < working.size(); ++rank) {
    ranks.emplace_back([&, rank] {
      set_threads(static_cast<int>(rank) + 1);
      working[rank] = working_threads(rank + 1);
    });
  }
  for (auto& rank : ranks) rank.join();
  EXPECT_EQ(working, (std::vector<std::size_t>{1, 2, 3}));
}

TEST(Parallel, ACallFromInsideABodyStaysOnItsThread) {
  set_threads(3);
  std::atomic<int> elsewhere{0};
  parallel_for(6, [&](std::int64_t) {
    const auto mine = std::this_thread::get_id();
    parallel_for(20, [&](std::int64_t) { elsewhere += std::this_thread::get_id() != mine ? 1 : 0; });
  });
  EXPECT_EQ(elsewhere, 0);
  parallel_for(1, [&](std::int64_t) { EXPECT_EQ(threads(), 1); });
  EXPECT_EQ(threads(), 3);
  set_threads(1);
}

TEST(Parallel, ThrowsWhatABodyThrewAfterAllAreDone) {
  set_threads(2);
  std::atomic<int> done{0};
  const auto work = [&](std::int64_t i) {
    ++done;
    if (i == 3) throw std::runtime_error("three");
  };
  EXPECT_THROW(parallel_for(10, work), std::runtime_error);
  EXPECT_EQ(done, 10);
  set_threads(1);
}

}  // namespace
}  // namespace troika::cpu
