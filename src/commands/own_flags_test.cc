#include "commands/own_flags.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace troika::commands {
namespace {
using testing::ElementsAre;

TEST(OwnFlags, AreTakenFromAmongTheSettings) {
  Words words{"--lr", "1", "--json", "--csv", "a.csv", "--seq-len", "8", "--seconds=0.5"};
  EXPECT_TRUE(take_word(words, "--json"));
  EXPECT_FALSE(take_word(words, "--json"));
  EXPECT_EQ(take_value(words, "--csv"), "a.csv");
  EXPECT_EQ(take_number(words, "--seconds", 1, 0, 10), 0.5);
  EXPECT_THAT(words, ElementsAre("--lr", "1", "--seq-len", "8"));
  EXPECT_EQ(take_value(words, "--csv"), std::nullopt);
  EXPECT_EQ(take_number(words, "--seconds", 1, 0, 10), 1);
}

TEST(OwnFlags, AreRefusedWithoutAValueOrWithAWrongOne) {
  Words without{"--csv", "--json"}, wrong{"--seconds", "soon"}, large{"--seconds", "99"};
  EXPECT_THROW(take_value(without, "--csv"), base::ConfigError);
  EXPECT_THROW(take_number(wrong, "--seconds", 1, 0, 10), base::ConfigError);
  EXPECT_THROW(take_number(large, "--seconds", 1, 0, 10), base::ConfigError);
}

}  // namespace
}  // namespace troika::commands
