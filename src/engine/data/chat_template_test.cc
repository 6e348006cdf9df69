#include "data/chat_template.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/temporary_folder_test_support.h"
#include "base/text_files_test_support.h"

namespace troika::data {
namespace {
using nlohmann::ordered_json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using End = ChatTemplate::End;

// Like chatml, but earlier turns lose their thinking, and without enable_thinking the prompt holds an empty one: what
// Qwen3 does.
const char* const forgetful = R"({% for m in messages %}
<|{{ m.role }}|>{% if m.role == 'assistant' and loop.last %}<think>{{ m.reasoning_content or '' }}</think>{% endif %}
{{ m.content }}<|end|>
{% endfor %}
{% if add_generation_prompt %}<|assistant|>{% if not enable_thinking %}<think></think>{% endif %}{% endif %})";

// The prompt ends in the middle of what the turn does not show: what DeepSeek R1 does.
const char* const suggestive =
    R"({% for m in messages %}<|{{ m.role }}|>{{ m.content.split('</think>')[-1] }}<|end|>{% endfor %}
{% if add_generation_prompt %}<|assistant|><think>{% endif %})";

ChatTemplate with(const char* source, bool thinking = true) {
  return ChatTemplate(source, "test.jinja", {"<s>", "<|end|>", thinking, ""});
}

ChatTemplate chatml() { return open_chat_template("chatml", "bytes", true); }

Conversation conversation(const char* messages) { return {ordered_json::parse(messages), nullptr}; }

const char* const two_turns =
    R"([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b", "reasoning_content": "r"},
        {"role": "user", "content": "c"}, {"role": "assistant", "content": "d", "reasoning_content": "s"}])";

// Each sample as its text, with answers in angle quotes.
std::vector<std::string> shown(const std::vector<std::vector<TextSpan>>& samples) {
  std::vector<std::string> all;
  for (const auto& sample : samples) {
    all.emplace_back();
    for (const TextSpan& span : sample) all.back() += span.has_loss ? "«" + span.text + "»" : span.text;
  }
  return all;
}

TEST(ChatTemplate, RendersWhatAModelReads) {
  const Conversation talk =
      conversation(R"([{"role": "system", "content": "S"}, {"role": "user", "content": "Grüße {{ x }}"}])");
  EXPECT_EQ(chatml().render(talk, End::conversation),
            "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nGrüße {{ x }}<|im_end|>\n");
  EXPECT_THAT(chatml().render(talk, End::answer_begins), testing::EndsWith("<|im_end|>\n<|im_start|>assistant\n"));
}

TEST(ChatTemplate, PutsLossOnAnswersUpToTheirEndMark) {
  EXPECT_THAT(shown(chatml().samples(conversation(two_turns), LossOn::answers)),
              ElementsAre("<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n«b<|im_end|>»\n"
                          "<|im_start|>user\nc<|im_end|>\n<|im_start|>assistant\n«d<|im_end|>»\n"));
  EXPECT_THAT(shown(chatml().samples(conversation(two_turns), LossOn::last_answer)),
              ElementsAre("<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\nb<|im_end|>\n"
                          "<|im_start|>user\nc<|im_end|>\n<|im_start|>assistant\n«d<|im_end|>»\n"));
  EXPECT_THAT(shown(chatml().samples(conversation(R"([{"role": "user", "content": "a"}])"), LossOn::all)),
              ElementsAre("«<|im_start|>user\na<|im_end|>\n»"));
}

TEST(ChatTemplate, MakesASampleOfEachTurnThatIsShownOtherwiseLater) {
  EXPECT_THAT(shown(with(forgetful).samples(conversation(two_turns), LossOn::answers)),
              ElementsAre("<|user|>a<|end|>\n<|assistant|>«<think>r</think>b<|end|>»\n",
                          "<|user|>a<|end|>\n<|assistant|>b<|end|>\n<|user|>c<|end|>\n<|assistant|>«<think>s</"
                          "think>d<|end|>»\n"));
  EXPECT_THAT(with(forgetful).samples(conversation(two_turns), LossOn::last_answer), testing::SizeIs(1));
}

TEST(ChatTemplate, LeavesThinkingOutWhereItIsNotWanted) {
  EXPECT_THAT(shown(with(forgetful, false).samples(conversation(two_turns), LossOn::last_answer)),
              ElementsAre("<|user|>a<|end|>\n<|assistant|>b<|end|>\n<|user|>c<|end|>\n<|assistant|><think></"
                          "think>«d<|end|>»\n"));
  const Conversation inside = conversation(
      R"([{"role": "user", "content": "a"}, {"role": "assistant", "content": "<think>\nr\n</think>\n\nb"}])");
  EXPECT_THAT(shown(with(forgetful, false).samples(inside, LossOn::answers)),
              ElementsAre("<|user|>a<|end|>\n<|assistant|><think></think>«b<|end|>»\n"));
}

TEST(ChatTemplate, BeginsAnAnswerWhereItPartsFromThePrompt) {
  const Conversation talk = conversation(
      R"([{"role": "user", "content": "a"}, {"role": "assistant", "content": "<think>r</think><thorn>"}])");
  EXPECT_THAT(shown(with(suggestive).samples(talk, LossOn::answers)),
              ElementsAre("<|user|>a<|end|><|assistant|>«<thorn><|end|>»"));
}

TEST(ChatTemplate, PutsNoLossOnAQuestionThatThePromptShowsOtherwise) {
  const ChatTemplate with_last_question = with(
      "{% for m in messages[1:] %}{% if m.role == 'user' %}[I]{% if loop.last %}{{ messages[0].content }} {% endif %}"
      "{{ m.content }}[/I]{% else %} {{ m.content }}<|end|>{% endif %}{% endfor %}");
  const Conversation talk = conversation(
      R"([{"role": "system", "content": "S"}, {"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}])");
  EXPECT_THAT(shown(with_last_question.samples(talk, LossOn::answers)), ElementsAre("[I]a[/I]« b<|end|>»"));
}

TEST(ChatTemplate, FindsNoAnswerWhereNobodyAsked) {
  EXPECT_THAT(chatml().samples(conversation(R"([{"role": "user", "content": "a"}])"), LossOn::answers), IsEmpty());
  EXPECT_THAT(chatml().samples(conversation(R"([{"role": "assistant", "content": "a"}])"), LossOn::answers), IsEmpty());
  EXPECT_THAT(chatml().samples(conversation("[]"), LossOn::answers), IsEmpty());
}

TEST(ChatTemplate, LeavesOutWhatFollowsTheLastAnswer) {
  const Conversation talk = conversation(
      R"([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}])");
  EXPECT_THAT(shown(chatml().samples(talk, LossOn::answers)),
              ElementsAre("<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n«b<|im_end|>»\n"));
}

// The samples found in a conversation, as JSON.
std::string found_in(const ChatTemplate& chat_template, const Conversation& talk, LossOn loss_on = LossOn::answers) {
  Findings findings;
  chat_template.samples(talk, loss_on, &findings);
  return findings.to_text();
}

TEST(ChatTemplate, PutsNoLossOnMaskedAnswers) {
  const ordered_json messages =
      ordered_json::parse(R"([{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "5"},
      {"role": "user", "content": "Wrong."}, {"role": "assistant", "content": "4"}])");
  const Conversation first(messages, nullptr, {"", "weight", "", ""}), last(messages, nullptr, {"", "", "", "train"});
  EXPECT_THAT(shown(chatml().samples(first, LossOn::answers)),
              ElementsAre("<|im_start|>user\n2+2?<|im_end|>\n<|im_start|>assistant\n5<|im_end|>\n"
                          "<|im_start|>user\nWrong.<|im_end|>\n<|im_start|>assistant\n«4<|im_end|>»\n"));
  EXPECT_THAT(shown(chatml().samples(last, LossOn::answers)),
              ElementsAre("<|im_start|>user\n2+2?<|im_end|>\n<|im_start|>assistant\n«5<|im_end|>»\n"));
  EXPECT_THAT(chatml().samples(last, LossOn::last_answer), IsEmpty());
  EXPECT_THAT(chatml().samples({messages, nullptr, {"label", "label", "label", "label"}}, LossOn::all), IsEmpty());
  EXPECT_EQ(found_in(chatml(), first), R"({"masked weight":1})");
}

TEST(ChatTemplate, PutsNoLossOnAnswersThatSayNothing) {
  const Conversation talk = conversation(R"([{"role": "user", "content": "a"}, {"role": "assistant", "content": " \n"},
      {"role": "user", "content": "c"}, {"role": "assistant", "content": "d"}])");
  EXPECT_THAT(shown(chatml().samples(talk, LossOn::answers)),
              ElementsAre(AllOf(HasSubstr("assistant\n \n<|im_end|>"), HasSubstr("«d<|im_end|>»"))));
  EXPECT_EQ(found_in(chatml(), talk), R"({"empty":1})");
  const Conversation one = conversation(R"([{"role": "user", "content": "a"}, {"role": "assistant", "content": ""}])");
  EXPECT_THAT(chatml().samples(one, LossOn::answers), IsEmpty());
}

TEST(ChatTemplate, PutsNoLossOnAnswersThatItLeavesOut) {
  const ChatTemplate content_only = with(
      "{% for m in messages if m.role != 'system' %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
      "{% if add_generation_prompt %}<|assistant|>{% endif %}");
  Conversation call = conversation(R"([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "a"},
      {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": {}}}]}])");
  call.tools() = ordered_json::parse(R"([{"type": "function", "function": {"name": "f"}}])");
  EXPECT_THAT(content_only.samples(call, LossOn::answers), IsEmpty());
  EXPECT_EQ(found_in(content_only, call),
            R"({"emptied":1,"left_out system":1,"left_out tool_calls":1,"left_out tools":1})");
  EXPECT_EQ(found_in(chatml(), call), "{}");
  const Conversation thought = conversation(
      R"([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b", "reasoning_content": "because"}])");
  EXPECT_EQ(found_in(chatml(), thought), R"({"left_out reasoning_content":1})");
  EXPECT_EQ(found_in(with(forgetful), conversation(two_turns)), "{}");  // each turn shows it once
  const Conversation observed =
      conversation(R"([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"},
      {"role": "tool", "content": "a long result of the tool"}, {"role": "assistant", "content": "c"}])");
  EXPECT_EQ(found_in(with("{% for m in messages if m.role != 'tool' %}{{ m.content }}|{% endfor %}"), observed),
            R"({"left_out tool":1})");
}

TEST(ChatTemplate, LeavesOutThinkingWhereverItStands) {
  const auto answer = [](const std::string& content) {
    const Conversation talk{{{{"role", "user"}, {"content", "a"}}, {{"role", "assistant"}, {"content", content}}},
                            nullptr};
    const auto samples = shown(with(forgetful, false).samples(talk, LossOn::answers));
    return samples.empty() ? "" : samples[0].substr(samples[0].find("«"));
  };
  EXPECT_EQ(answer("hm</think>\n\nb"), "«b<|end|>»\n");
  EXPECT_EQ(answer("first <think>hm</think>then"), "«first then<|end|>»\n");
  EXPECT_EQ(answer("<think>x</think>b<think>y</think>c"), "«bc<|end|>»\n");
  EXPECT_EQ(answer("<think>never done"), "");
  EXPECT_EQ(answer("a tag is <think>, say"), "«a tag is <think>, say<|end|>»\n");
  EXPECT_EQ(found_in(with(forgetful, false), conversation(two_turns)), R"({"unthought":2})");
}

TEST(ChatTemplate, TellsOneDateInAllSamples) {
  const ChatTemplate dated = with("{{ strftime_now('%d %b %Y') }}{% for m in messages %}{{ m.content }}{% endfor %}");
  EXPECT_THAT(shown(dated.samples(conversation(two_turns), LossOn::all)), ElementsAre("«01 Jan 2025abcd»"));
}

TEST(ChatTemplate, HasTheFingerprintOfWhatDecidesItsText) {
  EXPECT_EQ(with(forgetful).fingerprint(), with(forgetful).fingerprint());
  EXPECT_NE(with(forgetful).fingerprint(), with(suggestive).fingerprint());
  EXPECT_NE(with(forgetful).fingerprint(), with(forgetful, false).fingerprint());
  EXPECT_EQ(with(forgetful).fingerprint().size(), 16U);
}

TEST(ChatTemplate, HasToolsAndTheirCallsInChatml) {
  Conversation talk = conversation(R"([{"role": "system", "content": "S"}, {"role": "user", "content": "a"},
      {"role": "assistant", "content": null, "tool_calls": [{"function": {"name": "f", "arguments": {"x": 1}}}]}])");
  talk.tools() = ordered_json::parse(R"([{"name": "f"}])");
  EXPECT_EQ(
      chatml().render(talk, End::conversation),
      "<|im_start|>system\nS\n\n<tools>\n{\"name\": \"f\"}\n</tools><|im_end|>\n<|im_start|>user\na<|im_end|>\n"
      "<|im_start|>assistant\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"x\": 1}}\n</tool_call><|im_end|>\n");
}

TEST(ChatTemplate, ReadsTheOneOfTheTokenizer) {
  const std::string folder = base::temporary_folder();
  base::write_file_atomic(folder + "/tokenizer_config.json", R"({"bos_token": {"content": "<s>"}, "eos_token": "</s>",
      "chat_template": [{"name": "tool_use", "template": "T"},
                        {"name": "default", "template": "{{ bos_token }}{{ messages[0].content }}{{ eos_token }}"}]})");
  const ChatTemplate from_list = open_chat_template("auto", folder + "/tokenizer.json", true);
  Conversation talk = conversation(R"([{"role": "user", "content": "a"}])");
  EXPECT_EQ(from_list.render(talk, End::conversation), "<s>a</s>");
  EXPECT_EQ(from_list.end_mark(), "</s>");
  talk.tools() = {{{"name", "f"}}};
  EXPECT_EQ(from_list.render(talk, End::conversation), "T");
  base::write_file_atomic(folder + "/chat_template.jinja", "J{{ eos_token }}");
  EXPECT_EQ(open_chat_template("auto", folder, true).render(talk, End::conversation), "J</s>");
  const ChatTemplate alpaca = open_chat_template("alpaca", folder, true);
  EXPECT_THAT(shown(alpaca.samples(conversation(two_turns), LossOn::last_answer)),
              ElementsAre(HasSubstr("### Response:\n«d</s>»\n\n")));
  EXPECT_THAT(base::message_of<base::DataError>([&] {
                alpaca.render(conversation(R"([{"role": "user", "content": "a"}, {"role": "tool", "content": "b"}])"),
                              End::conversation);
              }),
              HasSubstr("the template 'alpaca' has no form for messages of the role 'tool'"));
}

TEST(ChatTemplate, SaysWhatToDoWithoutOne) {
  try {
    open_chat_template("auto", "bytes", true);
    FAIL();
  } catch (const base::ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("give --chat-template chatml, alpaca or a Jinja file"));
  }
  EXPECT_THROW(open_chat_template("no/such.jinja", "bytes", true), base::ConfigError);
  EXPECT_THROW(with("{{ x | foo }}"), base::DataError);
}

}  // namespace
}  // namespace troika::data
