#include "commands/plan/what_if.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace troika::commands {
namespace {
using testing::HasSubstr;

std::string refusal_of_what_if(const std::vector<std::string>& words) {
  try {
    what_if_report(words, base::Language::english);
  } catch (const base::ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(PlanWhatIf, IsAskedByItsFlag) {
  EXPECT_TRUE(asks_what_if({"--what-if", "runs/a", "link", "x10"}));
  EXPECT_TRUE(asks_what_if({"--json", "--what-if=runs/a", "link", "x10"}));
  EXPECT_FALSE(asks_what_if({"runs/a.yaml", "--gpu", "h100"}));
}

TEST(PlanWhatIf, ReadsFlagsAmongChanges) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"--what-if", "no/such/run", "-1", "host", "--json", "link", "x10"},
                                             {"--json", "--what-if=no/such/run", "-1 host", "link x10"}})
    EXPECT_THAT(refusal_of_what_if(words), HasSubstr("there is no run folder no/such/run"));
}

TEST(PlanWhatIf, RefusesOtherFlagsAndWordsThatAreNoChange) {
  EXPECT_THAT(refusal_of_what_if({"--what-if", "x", "link", "x10", "--jsno"}), HasSubstr("did you mean --json?"));
  EXPECT_THAT(refusal_of_what_if({"--what-if", "x", "lnik", "x10"}), HasSubstr("nearest is 'link'"));
  EXPECT_THAT(refusal_of_what_if({"--what-if"}), HasSubstr("--what-if needs a value"));
}

}  // namespace
}  // namespace troika::commands
