#include "data/conversations.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text_files_test_support.h"

namespace troika::data {
namespace {
using base::message_of;
using nlohmann::ordered_json;
using testing::AllOf;
using testing::HasSubstr;

std::string messages_of(const std::string& record, const RecordShape& shape) {
  return conversation_of(ordered_json::parse(record), shape, "a record").messages().dump();
}

std::string error_of(const std::string& record, const RecordShape& shape) {
  return base::message_of<base::DataError>([&] { messages_of(record, shape); });
}

TEST(Alpaca, BecomesAQuestionAndAnAnswer) {
  const RecordShape shape = usual_shape(Format::alpaca);
  EXPECT_EQ(messages_of(R"({"instruction": "Add", "input": "1 2", "output": "3"})", shape),
            R"([{"role":"user","content":"Add\n1 2"},{"role":"assistant","content":"3"}])");
  EXPECT_EQ(messages_of(R"({"instruction": "Hi", "input": "", "output": ""})", shape),
            R"([{"role":"user","content":"Hi"},{"role":"assistant","content":""}])");
}

TEST(Alpaca, HasSystemAndHistory) {
  EXPECT_EQ(messages_of(R"({"instruction": "c", "output": "d", "system": "s", "history": [["a", "b"]]})",
                        usual_shape(Format::alpaca)),
            R"([{"role":"system","content":"s"},{"role":"user","content":"a"},{"role":"assistant","content":"b"},)"
            R"({"role":"user","content":"c"},{"role":"assistant","content":"d"}])");
}

TEST(Alpaca, NamesTheMemberThatIsWrong) {
  const RecordShape shape = usual_shape(Format::alpaca);
  EXPECT_EQ(error_of(R"({"instruction": "a"})", shape), "a record: 'output' is missing");
  EXPECT_EQ(error_of(R"({"output": "a"})", shape), "a record: 'instruction' is missing");
  EXPECT_EQ(error_of(R"({"instruction": 5, "output": "a"})", shape),
            "a record: 'instruction' must be a string, not number");
  EXPECT_THAT(error_of(R"({"instruction": "a", "output": "b", "history": [["c"]]})", shape), HasSubstr("'history'"));
  EXPECT_THAT(error_of("[1]", shape), HasSubstr("must be an object, not array"));
}

TEST(ShareGpt, RenamesRolesAndReadsCallsAndTools) {
  const Conversation conversation = conversation_of(
      ordered_json::parse(R"({"system": "s", "tools": "[{\"name\": \"f\", \"parameters\": {}}]", "conversations": [
        {"from": "human", "value": "q"}, {"from": "function_call", "value": "{\"name\": \"f\", \"arguments\": {\"b\": 1, \"a\": 2}}"},
        {"from": "observation", "value": "3"}, {"from": "gpt", "value": "three"}]})"),
      usual_shape(Format::sharegpt), "a record");
  EXPECT_EQ(conversation.messages().dump(),
            R"([{"role":"system","content":"s"},{"role":"user","content":"q"},{"role":"assistant","content":"",)"
            R"("tool_calls":[{"type":"function","function":{"name":"f","arguments":{"b":1,"a":2}}}]},)"
            R"({"role":"tool","content":"3"},{"role":"assistant","content":"three"}])");
  EXPECT_EQ(conversation.tools().dump(), R"([{"type":"function","function":{"name":"f","parameters":{}}}])");
}

TEST(ShareGpt, NamesTheMessageThatIsWrong) {
  const RecordShape shape = usual_shape(Format::sharegpt);
  EXPECT_THAT(error_of(R"({"conversations": [{"from": "human", "value": "q"}, {"from": "bot", "value": "a"}]})", shape),
              AllOf(HasSubstr("'conversations[1].from' is 'bot'"), HasSubstr("human, gpt")));
  EXPECT_EQ(error_of(R"({"conversations": [{"from": "human"}]})", shape),
            "a record: 'conversations[0].value' is missing");
  EXPECT_THAT(error_of(R"({"conversations": []})", shape), HasSubstr("no messages"));
  EXPECT_THAT(error_of(R"({"conversations": [{"from": "function_call", "value": "call f"}]})", shape),
              HasSubstr("'conversations[0].value': not valid JSON"));
  EXPECT_THAT(error_of(R"({"conversations": [{"from": "human", "value": "a"}], "tools": "{"})", shape),
              HasSubstr("'tools': not valid JSON"));
}

TEST(Messages, KeepTheirMembersInOrder) {
  EXPECT_EQ(
      messages_of(R"({"messages": [{"content": "q", "role": "user"}, {"role": "assistant", "content": null,
                           "tool_calls": [{"id": "1", "function": {"name": "f"}}]}, {"role": "tool", "tool_call_id": "1", "content": "2"},
                           {"role": "assistant", "content": "a", "reasoning_content": "r"}]})",
                  usual_shape(Format::messages)),
      R"([{"role":"user","content":"q"},{"role":"assistant","content":"","tool_calls":[{"id":"1","function":{"name":"f"}}]},)"
      R"({"role":"tool","content":"2","tool_call_id":"1"},{"role":"assistant","content":"a","reasoning_content":"r","thinking":"r"}])");
}

TEST(Messages, RefuseWhatIsNotText) {
  const RecordShape shape = usual_shape(Format::messages);
  EXPECT_THAT(error_of(R"({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]})", shape),
              HasSubstr("'messages[0].content' has a part of type 'image_url'"));
  EXPECT_THAT(error_of(R"({"messages": [{"role": "user", "content": 5}]})", shape), HasSubstr("'messages[0].content'"));
  EXPECT_THAT(error_of(R"({"messages": "text"})", shape), HasSubstr("'messages' must be an array, not string"));
}

TEST(Messages, JoinContentThatIsAListOfTexts) {
  EXPECT_EQ(messages_of(R"({"messages": [{"role": "user", "content": [{"type": "text", "text": "A"},
                             {"type": "text", "text": "0"}]}, {"role": "assistant", "content": []}]})",
                        usual_shape(Format::messages)),
            R"([{"role":"user","content":"A0"},{"role":"assistant","content":""}])");
  EXPECT_THAT(
      error_of(R"({"messages": [{"role": "user", "content": [{"type": "text"}]}]})", usual_shape(Format::messages)),
      HasSubstr("'text' is missing"));
}

TEST(Messages, HaveNoMembersThatAreNull) {
  EXPECT_EQ(messages_of(R"({"messages": [{"role": "user", "content": "q", "tool_calls": null, "name": null},
                             {"role": "assistant", "content": "a", "reasoning_content": null, "thinking": null}]})",
                        usual_shape(Format::messages)),
            R"([{"role":"user","content":"q"},{"role":"assistant","content":"a"}])");
}

TEST(Messages, HaveReasoningUnderTheNamesThatTemplatesRead) {
  const auto answer = [](const std::string& members) {
    const std::string record =
        R"({"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a", )";
    return ordered_json::parse(messages_of(record + members + "}]}", usual_shape(Format::messages)))[1];
  };
  for (const char* name : {"reasoning_content", "thinking", "reasoning"}) {
    const ordered_json one = answer(std::string("\"") + name + "\": \"r\"");
    EXPECT_EQ(one["reasoning_content"], "r") << name;
    EXPECT_EQ(one["thinking"], "r") << name;
  }
  const ordered_json both = answer(R"("reasoning": "c", "thinking": "b", "reasoning_content": null)");
  EXPECT_EQ(both["reasoning_content"], "b");
  EXPECT_EQ(both["reasoning"], "c");
}

TEST(Messages, HaveArgumentsOfCallsAsObjects) {
  const auto arguments = [](const std::string& given) {
    const std::string record = R"({"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": null,
      "tool_calls": [{"function": {"name": "f", "arguments": )" +
                               given + "}}]}]}";
    const Conversation one = conversation_of(ordered_json::parse(record), usual_shape(Format::messages), "a record");
    return one.messages()[1]["tool_calls"][0]["function"]["arguments"].dump();
  };
  EXPECT_EQ(arguments(R"("{\"b\": 1, \"a\": \"x\"}")"), R"({"b":1,"a":"x"})");
  EXPECT_EQ(arguments(R"({"b": 1})"), R"({"b":1})");
  EXPECT_EQ(arguments(R"("{\"b\"")"), R"("{\"b\"")");
  EXPECT_EQ(arguments(R"("5")"), R"("5")");
}

TEST(ShapeOf, TellsFormatsByTheirMembers) {
  const auto format = [](const std::string& record, const std::string& text_key = "text") {
    return word_of(shape_of(ordered_json::parse(record), text_key, "a record").format);
  };
  EXPECT_EQ(format(R"({"instruction": "a", "output": "b", "text": "c"})"), "alpaca");
  EXPECT_EQ(format(R"({"conversations": [{"from": "human", "value": "a"}]})"), "sharegpt");
  EXPECT_EQ(format(R"({"conversations": [{"role": "user", "content": "a"}]})"), "messages");
  EXPECT_EQ(format(R"({"prompt": "a", "messages": [{"role": "user", "content": "a"}]})"), "messages");
  EXPECT_EQ(format(R"({"input_ids": [1]})"), "tokenized");
  EXPECT_EQ(format(R"({"text": "a"})"), "text");
  EXPECT_EQ(format(R"({"body": "a", "messages": []})", "body"), "text");
  EXPECT_THAT(base::message_of<base::DataError>([&] { format(R"({"question": "a", "answer": "b"})"); }),
              AllOf(HasSubstr("the keys question, answer"), HasSubstr("--data.text-key")));
}

}  // namespace
}  // namespace troika::data
