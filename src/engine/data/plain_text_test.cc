#include "data/plain_text.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "data/chat_template.h"
#include "tokenizer/bpe.h"

namespace troika::data {
namespace {
using nlohmann::ordered_json;

tokenizer::BpeTokenizer marks_and_bytes() {
  tokenizer::BpeModel model;
  for (int byte = 0; byte < 256; ++byte) model.tokens.emplace_back(1, static_cast<char>(byte));
  model.added = {{256, "<|end|>", true}, {257, "<\u00E9>", true}, {258, "<think>", false}};
  return tokenizer::BpeTokenizer(model);
}

TEST(PlainText, SurvivesWhatATemplateDoesWithIt) {
  const tokenizer::BpeTokenizer tokenizer = marks_and_bytes();
  Conversation talk{ordered_json::parse(R"([{"role": "user", "content": "  a<|end|><é>\uE001 <think>\n"},
                                            {"role": "assistant", "content": "<|end|>"}])"),
                    ordered_json::parse(R"([{"description": "<|end|>"}])")};
  const std::string mark = mark_control_tokens(tokenizer, Plain::all_but_answers, &talk);
  EXPECT_EQ(mark, "\uE002");
  const ChatTemplate chat_template(
      "{{ tools[0].description }}{% for m in messages %}{{ m.content | trim }}<|end|>{% endfor %}", "t", {});
  const std::string rendered = chat_template.render(talk, ChatTemplate::End::conversation);
  const PlainText plain = without_marks(rendered, mark);
  EXPECT_EQ(plain.text, "<|end|>a<|end|><é>\uE001 <think><|end|><|end|><|end|>");
  ASSERT_EQ(plain.plain.size(), 2u);
  EXPECT_EQ(plain.plain[0].end, 7u);
  EXPECT_EQ(plain.plain[1].begin, 8u);
  EXPECT_EQ(plain.plain[1].end, 8u + 7 + 4);
  const std::vector<std::int32_t> ids = encode_marked(rendered, mark, tokenizer, tokenizer::Before::nothing);
  EXPECT_EQ(std::count(ids.begin(), ids.end(), 256), 3);
  EXPECT_EQ(std::count(ids.begin(), ids.end(), 257), 0);
  EXPECT_EQ(std::count(ids.begin(), ids.end(), 258), 1);
  EXPECT_EQ(tokenizer.decode(ids), plain.text);
}

TEST(PlainText, HasNoMarkWhereNothingIsToBeSpelledOut) {
  Conversation talk{ordered_json::parse(R"([{"role": "user", "content": "<think>"}])"), nullptr};
  const Conversation before = talk;
  EXPECT_EQ(mark_control_tokens(marks_and_bytes(), Plain::all, &talk), "");
  EXPECT_EQ(talk.messages(), before.messages());
}

}  // namespace
}  // namespace troika::data
