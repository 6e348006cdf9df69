#include "commands/chat/chat.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "config/flag_table.h"

namespace troika::commands {
namespace {
using testing::HasSubstr;
using Words = std::vector<std::string>;

std::string chat_refusal(const Words& words) {
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
  EXPECT_THAT(chat_refusal({}), HasSubstr("troika chat needs PATH"));
  EXPECT_THAT(chat_refusal({"run", "--sistem", "x"}), HasSubstr("unknown flag --sistem; did you mean --system?"));
  EXPECT_THAT(chat_refusal({"run", "--input", "x"}), HasSubstr("--input and --output belong together"));
  EXPECT_THAT(chat_refusal({"run", "--thinking", "maybe"}), HasSubstr("--thinking"));
}

TEST(ChatArguments, TheHelpNamesTheDefaultOfMaxNewTokens) {
  ChatArguments a;
  EXPECT_THAT(config::help_page(chat_flags(a), base::Phrase("talks"), base::Language::english),
              HasSubstr("Maximum number of tokens to generate. [2048]"));
}

}  // namespace
}  // namespace troika::commands
