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
  EXPECT_THAT(error_of(R"({"instruction": "a", "output": null})", shape), HasSubstr("'output' is null"));
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

// The loss of the answers to "q" in `messages`: 1 where they carry loss.
std::string learnt(const std::string& answer_members, const std::string& record_members = "",
                   config::LossOn loss_on = config::LossOn::answers) {
  const std::string record =
      R"({"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a")" + answer_members +
      R"(}, {"role": "user", "content": "r"}, {"role": "assistant", "content": "b"}])" + record_members + "}";
  const Conversation one =
      conversation_of(ordered_json::parse(record), usual_shape(Format::messages), "a record", loss_on);
  EXPECT_EQ(one.messages()[1].dump(), R"({"role":"assistant","content":"a"})");
  return std::string(one.masked_by(1).empty() ? "1" : "0") + (one.masked_by(3).empty() ? "1" : "0");
}

std::string mark_error(const std::string& answer_members, const std::string& record_members = "",
                       config::LossOn loss_on = config::LossOn::answers) {
  return base::message_of<base::DataError>([&] { learnt(answer_members, record_members, loss_on); });
}

TEST(Marks, TakeTheLossOffAnAnswer) {
  for (const char* off :
       {R"("weight": 0)", R"("weight": 0.0)", R"("train": false)", R"("training": false)", R"("trainable": 0)",
        R"("loss": false)", R"("loss_mask": 0)", R"("mask": true)", R"("masked": true)", R"("loss_scale": 0)"})
    EXPECT_EQ(learnt(std::string(", ") + off), "01") << off;
  for (const char* on : {R"("weight": 1)", R"("train": true)", R"("mask": false)", R"("loss_mask": 1)",
                         R"("train": null)", R"("weight": 1, "train": true)"})
    EXPECT_EQ(learnt(std::string(", ") + on), "11") << on;
  EXPECT_EQ(learnt("", R"(, "weight": 0)"), "00");
  EXPECT_EQ(learnt("", R"(, "label": false)"), "00");
  EXPECT_EQ(learnt("", R"(, "label": true)"), "11");
  EXPECT_EQ(learnt("", R"(, "label": 0)"), "11");  // a class
}

TEST(Marks, AreUnderstoodInShareGptAndAlpacaToo) {
  const auto masked = [](const std::string& record, Format format) {
    return conversation_of(ordered_json::parse(record), usual_shape(format), "a record").masked_by(1);
  };
  EXPECT_EQ(
      masked(R"({"conversations": [{"from": "human", "value": "q"}, {"from": "gpt", "value": "a", "weight": 0}]})",
             Format::sharegpt),
      "weight");
  EXPECT_EQ(masked(R"({"instruction": "q", "output": "a", "train": false})", Format::alpaca), "train");
  EXPECT_EQ(masked(R"({"instruction": "q", "output": "a", "weight": 1})", Format::alpaca), "");
}

TEST(Marks, AreRefusedWhereTheySayNeitherOnNorOff) {
  EXPECT_THAT(
      mark_error(R"(, "weight": 0.5)"),
      HasSubstr(
          "a record: 'messages[1].weight' is 0.5, but only 1 or true (loss) and 0 or false (no loss) are understood"));
  EXPECT_THAT(mark_error(R"(, "train": "no")"), HasSubstr("'messages[1].train' is \"no\""));
  EXPECT_THAT(mark_error(R"(, "loss_mask": [0, 1])"), HasSubstr("'messages[1].loss_mask' is [0,1]"));
  EXPECT_THAT(mark_error(R"(, "mask": 1)"), HasSubstr("'messages[1].mask' is 1, which some programs read as masked"));
  EXPECT_THAT(mark_error(R"(, "train_detail": [{}])"), HasSubstr("marks parts of a message"));
  EXPECT_THAT(mark_error("", R"(, "weight": 2)"), HasSubstr("'weight' is 2"));
}

TEST(Marks, AreRefusedWhereTheyContradict) {
  EXPECT_THAT(mark_error(R"(, "weight": 1, "train": false)"),
              HasSubstr("'messages[1].weight' and 'messages[1].train' contradict each other"));
  EXPECT_THAT(mark_error(R"(, "weight": 1)", R"(, "train": false)"),
              HasSubstr("'train' and 'messages[1].weight' contradict each other"));
  EXPECT_THAT(mark_error(R"(, "weight": 0)", "", config::LossOn::all), HasSubstr("data.loss_on is all"));
  const RecordShape shape = usual_shape(Format::messages);
  EXPECT_THAT(error_of(R"({"messages": [{"role": "user", "content": "q", "train": true}]})", shape),
              HasSubstr("'messages[0].train' asks for loss on a message with the role 'user'"));
  EXPECT_EQ(error_of(R"({"messages": [{"role": "user", "content": "q", "train": false}]})", shape), "");
}

TEST(Messages, NameTheRoleThatIsNearest) {
  const auto error = [](const std::string& role) {
    return error_of(R"({"messages": [{"role": "user", "content": "q"}, {"role": ")" + role + R"(", "content": "a"}]})",
                    usual_shape(Format::messages));
  };
  for (const char* role : {"Assistant", "model", "bot", "asistant", "gpt"})
    EXPECT_THAT(error(role), AllOf(HasSubstr("'messages[1].role' is '" + std::string(role) + "', which is not a role"),
                                   HasSubstr("(nearest: assistant)"), HasSubstr("developer, user")));
  EXPECT_THAT(error("human"), HasSubstr("(nearest: user)"));
  EXPECT_THAT(error("narrator"), testing::Not(HasSubstr("nearest")));
  EXPECT_EQ(error("developer"), "");
}

TEST(Messages, MayBeJsonText) {
  EXPECT_EQ(messages_of(R"({"messages": "[{\"role\": \"user\", \"content\": \"q\"}]"})", usual_shape(Format::messages)),
            R"([{"role":"user","content":"q"}])");
  EXPECT_EQ(word_of(shape_of(ordered_json::parse(R"({"conversations": "[{\"from\": \"human\", \"value\": \"q\"}]"})"),
                             "text", "a record")
                        .format),
            "sharegpt");
  EXPECT_THAT(error_of(R"({"messages": "[{]"})", usual_shape(Format::messages)),
              HasSubstr("'messages': not valid JSON"));
}

TEST(Messages, HaveCallsAsOpenAiHadThemBeforeTools) {
  const RecordShape shape = usual_shape(Format::messages);
  const Conversation one = conversation_of(
      ordered_json::parse(R"({"functions": [{"name": "f"}], "messages": [{"role": "user", "content": "q"},
        {"role": "assistant", "content": null, "function_call": {"name": "f", "arguments": "{\"b\": 1}"}},
        {"role": "function", "name": "f", "content": "2"}, {"role": "assistant", "content": "", "tool_calls": []}]})"),
      shape, "a record");
  EXPECT_EQ(
      one.messages()[1].dump(),
      R"({"role":"assistant","content":"","tool_calls":[{"type":"function","function":{"name":"f","arguments":{"b":1}}}]})");
  EXPECT_EQ(one.messages()[2].dump(), R"({"role":"tool","content":"2","name":"f"})");
  EXPECT_EQ(one.messages()[3].dump(), R"({"role":"assistant","content":""})");
  EXPECT_EQ(one.tools().dump(), R"([{"type":"function","function":{"name":"f"}}])");
  const std::string call = R"({"messages": [{"role": "assistant", "content": "", "function_call": )";
  EXPECT_THAT(error_of(call + R"({"arguments": "{}"}}]})", shape), HasSubstr("'name' is missing"));
  EXPECT_THAT(error_of(call + R"("f"}]})", shape), HasSubstr("'messages[0].function_call': not valid JSON"));
  EXPECT_THAT(error_of(call + R"({"name": "f"}, "tool_calls": [{}]}]})", shape),
              HasSubstr("both tool_calls and function_call"));
  EXPECT_THAT(
      error_of(
          R"({"messages": [{"role": "user", "content": "q"}], "functions": [{"name": "f"}], "tools": [{"name": "g"}]})",
          shape),
      HasSubstr("both 'tools' and 'functions'"));
}

TEST(Messages, NameTheToolThatIsNone) {
  const auto error = [](const std::string& tools) {
    return error_of(R"({"messages": [{"role": "user", "content": "q"}], "tools": )" + tools + "}",
                    usual_shape(Format::messages));
  };
  EXPECT_EQ(error(R"([{"name": "f"}, "f"])"), "a record: 'tools[1]' must be an object, not string");
  EXPECT_EQ(error("[1]"), "a record: 'tools[0]' must be an object, not number");
  EXPECT_EQ(error(R"("[\"f\"]")"), "a record: 'tools[0]' must be an object, not string");
}

TEST(Messages, RefusePicturesAndSound) {
  const auto error = [](const std::string& content, const std::string& more) {
    return error_of(R"({"messages": [{"role": "user", "content": ")" + content + R"("}], )" + more + "}",
                    usual_shape(Format::messages));
  };
  EXPECT_THAT(error("q", R"("images": ["a.jpg"])"),
              HasSubstr("a record: 'images' is not empty, but only text is trained on"));
  EXPECT_THAT(error("q", R"("audio": "a.wav")"), HasSubstr("'audio' is not empty"));
  EXPECT_THAT(error("<image>What?", R"("images": [])"), HasSubstr("'messages[0].content' contains <image>"));
  EXPECT_EQ(error("q", R"("images": [], "videos": null, "audios": "", "video": false)"), "");
  EXPECT_THAT(error_of(R"({"instruction": "<image>", "input": "What?", "output": "a"})", usual_shape(Format::alpaca)),
              HasSubstr("'instruction' contains <image>"));
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
