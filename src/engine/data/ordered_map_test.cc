#include "data/ordered_map.h"

#include <gmock/gmock.h>

#include <stdexcept>
#include <string>

namespace troika::data {
namespace {

std::optional<int> count_to(int* next, int last) { return *next < last ? std::optional<int>((*next)++) : std::nullopt; }

TEST(OrderedMap, HandsResultsOverInTheOrderOfTheItems) {
  for (const int workers : {1, 2, 3, 8}) {
    int next = 0;
    std::vector<int> found;
    OrderedMap<int, int>::run(
        workers, [&] { return count_to(&next, 500); }, [](int& item) { return item * item; },
        [&](int&& result) { found.push_back(result); });
    ASSERT_EQ(found.size(), 500u);
    for (int i = 0; i < 500; ++i) ASSERT_EQ(found[static_cast<std::size_t>(i)], i * i);
  }
}

TEST(OrderedMap, ThrowsTheErrorOfTheEarliestItemAfterTheResultsBeforeIt) {
  for (const int workers : {1, 2, 3}) {
    int next = 0, consumed = 0;
    std::string message;
    try {
      OrderedMap<int, int>::run(
          workers, [&] { return count_to(&next, 100); },
          [](int& item) -> int {
            if (item >= 10) throw std::runtime_error("item " + std::to_string(item));
            return item;
          },
          [&](int&&) { ++consumed; });
    } catch (const std::runtime_error& error) {
      message = error.what();
    }
    EXPECT_EQ(message, "item 10");
    EXPECT_EQ(consumed, 10);
  }
}

TEST(OrderedMap, EndsItsThreadsWhenTheOtherSidesThrow) {
  int next = 0;
  const auto same = [](int& item) { return item; };
  EXPECT_THROW((OrderedMap<int, int>::run(
                   2, [&] { return count_to(&next, 100); }, same,
                   [](int&& result) {
                     if (result == 5) throw std::runtime_error("full");
                   })),
               std::runtime_error);
  EXPECT_THROW((OrderedMap<int, int>::run(
                   2, []() -> std::optional<int> { throw std::runtime_error("gone"); }, same, [](int&&) {})),
               std::runtime_error);
}

TEST(WorkerCount, IsAllCoresForZeroAndNeverBelowOne) {
  EXPECT_GE(worker_count(0), 1);
  EXPECT_EQ(worker_count(3), 3);
  EXPECT_EQ(worker_count(100000), 256);
}

}  // namespace
}  // namespace troika::data
