#include "commands/chat/arguments.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace troika::commands {
namespace {
using testing::HasSubstr;
using Words = std::vector<std::string>;

std::string refusal(const Words& words) {
  try {
    parse_chat_arguments(words);
  } catch (const base::ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(ChatArguments, AreThoseOfGenerateAndItsOwn) {
  const auto a = parse_chat_arguments({"run", "--system", "Be brief.", "--thinking", "false", "--hide_thinking",
                                       "--chat_template=chatml", "--temperature", "0", "--context", "512"});
  EXPECT_EQ(a.path, "run");
  EXPECT_EQ(a.system, "Be brief.");
  EXPECT_FALSE(a.thinking);
  EXPECT_TRUE(a.hide_thinking);
  EXPECT_EQ(a.chat_template, "chatml");
  EXPECT_EQ(a.temperature, 0);
  EXPECT_EQ(a.context, 512);
  EXPECT_EQ(a.new_tokens, 2048);
  EXPECT_TRUE(parse_chat_arguments({"run"}).thinking);
}

TEST(ChatArguments, WrongOnesAreToldWithARemedy) {
  EXPECT_THAT(refusal({}), HasSubstr("name a model folder, a run or a checkpoint: troika chat PATH"));
  EXPECT_THAT(refusal({"run", "--sistem", "x"}), HasSubstr("did you mean '--system'? See troika chat --help"));
  EXPECT_THAT(refusal({"run", "--input", "x"}), HasSubstr("--input and --output belong together"));
  EXPECT_THAT(refusal({"run", "--thinking", "maybe"}), HasSubstr("--thinking"));
}

TEST(ChatArguments, TheHelpNamesTheDefaultOfMaxNewTokens) {
  const auto a = parse_chat_arguments({"--help"});
  EXPECT_TRUE(a.help);
  EXPECT_THAT(a.help_text, HasSubstr("the most tokens to draw (default 2048)"));
}

}  // namespace
}  // namespace troika::commands
