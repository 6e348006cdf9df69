#include "commands/chat/conversations.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "base/file.h"
#include "base/temporary_folder_test_support.h"

namespace troika::commands {
namespace {
using testing::HasSubstr;

class Conversations : public testing::Test {
 protected:
  std::vector<ConversationLine> read(const std::string& text, const std::string& system = "") const {
    base::write_file_atomic(path_, text);
    return read_conversations(path_, system);
  }
  std::string refusal(const std::string& text) const {
    try {
      read(text);
    } catch (const base::DataError& error) {
      return error.what();
    }
    return "";
  }

  const base::TemporaryFolder folder_;
  const std::string path_ = folder_.path() + "/in.jsonl";
};

TEST_F(Conversations, GetTheSystemMessageWhereTheyHaveNone) {
  const auto lines = read(R"({"id": 1, "messages": [{"role": "user", "content": "a"}]}

{"messages": [{"role": "system", "content": "own"}, {"role": "user", "content": "b"}]})",
                          "Be brief.");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].object["messages"][0]["content"], "Be brief.");
  EXPECT_EQ(lines[0].object["messages"].size(), 2u);
  EXPECT_EQ(lines[1].object["messages"][0]["content"], "own");
  EXPECT_EQ(lines[1].number, 3);
}

TEST_F(Conversations, AreGivenToTemplatesAsThoseOfTraining) {
  const auto lines = read(
      R"({"messages": [{"role": "assistant", "content": null, "tool_calls": [{"function": {"name": "f", "arguments": "{\"a\": 1}"}}]},)"
      R"({"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]})",
      "s");
  EXPECT_EQ(lines[0].conversation.messages()[1]["tool_calls"][0]["function"]["arguments"].dump(), R"({"a":1})");
  EXPECT_EQ(lines[0].conversation.messages()[2]["content"], "ab");
  EXPECT_TRUE(lines[0].object["messages"][2]["content"].is_array());
  EXPECT_THAT(refusal(R"({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]})"),
              HasSubstr("line 1 of '" + path_ + "': 'content' has a part of type 'image_url'"));
}

TEST_F(Conversations, HaveCallsAsTheyWereBeforeToolsAndEveryDigit) {
  const auto lines = read(
      R"({"messages": [{"role": "assistant", "content": null, "function_call": {"name": "f", "arguments": {"n": 100000000000000000001}}},)"
      R"({"role": "user", "content": "a"}]})",
      "");
  const auto& call = lines[0].conversation.messages()[0]["tool_calls"][0]["function"];
  EXPECT_EQ(call["name"], "f");
  EXPECT_TRUE(call["arguments"]["n"].is_binary());
}

TEST_F(Conversations, ThatCannotBeAnsweredAreNamedWithTheirLine) {
  EXPECT_THAT(refusal("\n{\"messages\": \n"), HasSubstr("line 2 of '" + path_ + "' is not valid JSON"));
  EXPECT_THAT(refusal("[1]"), HasSubstr(R"(has no key "messages" with at least one message)"));
  EXPECT_THAT(refusal(R"({"messages": []})"), HasSubstr("at least one message"));
  EXPECT_THAT(refusal(R"({"messages": [{"content": "a"}]})"), HasSubstr(R"(a message without a text "role")"));
  EXPECT_THAT(refusal(R"({"messages": [{"role": "assistant", "content": "a"}]})"), HasSubstr("ends with an answer"));
  EXPECT_THAT(refusal("\n"), HasSubstr("holds no conversations"));
}

}  // namespace
}  // namespace troika::commands
