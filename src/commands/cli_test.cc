#include "commands/cli.h"

#include <gmock/gmock.h>

#include <new>
#include <string>

namespace troika::commands {
namespace {
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(Guarded, TellsEachVerbWhatNeedsLessMemory) {
  const auto last_words = [](const char* verb) {
    std::string words;
    const auto fails = []() -> int { throw std::bad_alloc(); };
    EXPECT_EQ(guarded(
                  fails, base::Language::english, [&](const std::string& text) { words = text; }, verb),
              70);
    return words;
  };
  EXPECT_THAT(last_words("train"), HasSubstr("out of memory; use a smaller --micro-batch-size"));
  EXPECT_THAT(last_words("data"), AllOf(HasSubstr("--workers"), Not(HasSubstr("--micro-batch-size"))));
  EXPECT_THAT(last_words("export"), Not(HasSubstr("--micro-batch-size")));
}

}  // namespace
}  // namespace troika::commands
