#include "data/encoded_chunk.h"

#include <gmock/gmock.h>

#include "base/text_files_test_support.h"

namespace troika::data {
namespace {

// An id for each byte, in a vocabulary that takes 16 bits or more.
class SpacedBytes final : public tokenizer::Tokenizer {
 public:
  explicit SpacedBytes(std::int32_t step) : step_(step) {}
  std::vector<std::int32_t> encode(std::string_view text) const override {
    std::vector<std::int32_t> ids;
    for (const char c : text) ids.push_back(step_ * static_cast<unsigned char>(c));
    return ids;
  }
  std::string id_to_bytes(std::int32_t id) const override { return std::string(1, static_cast<char>(id / step_)); }
  std::int64_t vocab_size() const override { return 256 * step_; }
  std::int32_t end_of_document_id() const override { return -1; }
  std::string fingerprint() const override { return "0123456789abcdef"; }
  std::size_t next_cut(std::string_view text, std::size_t) const override { return text.size(); }

 private:
  const std::int32_t step_;
};

Chunk only_chunk(const Corpus& corpus) {
  return ChunkReader(corpus, [](std::string_view text, std::size_t) { return text.size(); }).next().value();
}

TEST(EncodedChunk, ComesBackFromItsPartWithIdsOfAnyWidth) {
  const base::TestFolder folder;
  const std::string text = base::random_text("ab\xC3\xA9\xFF z", 999, 1);
  const Corpus corpus = find_corpus({folder.write("a.txt", text)});
  for (const std::int32_t step : {1, 256, 257, 5000}) {
    const SpacedBytes tokenizer(step);
    const PartStore store(folder / ("parts" + std::to_string(step)));
    for (const bool reused : {false, true}) {
      const EncodedChunk chunk = encode_chunk(only_chunk(corpus), "text", tokenizer, store);
      EXPECT_EQ(chunk.reused, reused);
      ASSERT_EQ(chunk.parts.size(), 1u);
      EXPECT_EQ(chunk.parts[0].ids, tokenizer.encode(text));
      EXPECT_EQ(chunk.parts[0].key, document_key(text));
    }
  }
}

TEST(EncodedChunk, IsMadeAgainWhereThePartIsOfAnotherVersion) {
  const base::TestFolder folder;
  const Corpus corpus = find_corpus({folder.write("a.txt", "some text")});
  const PartStore store(folder / "parts");
  store.put(0, std::string("\1\0\0\0\0\0\0\0 and what an older one wrote", 40));
  const SpacedBytes tokenizer(1);
  const EncodedChunk chunk = encode_chunk(only_chunk(corpus), "text", tokenizer, store);
  EXPECT_FALSE(chunk.reused);
  EXPECT_EQ(chunk.parts[0].ids, tokenizer.encode("some text"));
  EXPECT_TRUE(encode_chunk(only_chunk(corpus), "text", tokenizer, store).reused);
}

// The first id is what is in front, the others are bytes; the id of '>' is a mark.
class NotedBytes final : public tokenizer::Tokenizer {
 public:
  std::vector<std::int32_t> encode(std::string_view text) const override {
    return encode_with_plain(text, {}, tokenizer::Before::nothing);
  }
  std::vector<std::int32_t> encode_with_plain(std::string_view text, const std::vector<tokenizer::Stretch>&,
                                              tokenizer::Before before) const override {
    std::vector<std::int32_t> ids{256 + static_cast<std::int32_t>(before)};
    for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
    return ids;
  }
  tokenizer::Before before_next(const std::vector<std::int32_t>& ids) const override {
    return ids.empty()         ? tokenizer::Before::nothing
           : ids.back() == '>' ? tokenizer::Before::mark
                               : tokenizer::Before::text;
  }
  std::string id_to_bytes(std::int32_t id) const override { return {static_cast<char>(id)}; }
  std::int64_t vocab_size() const override { return 300; }
  std::int32_t end_of_document_id() const override { return -1; }
  std::string fingerprint() const override { return "noted"; }
  std::size_t next_cut(std::string_view text, std::size_t) const override { return text.size(); }
};

TEST(EncodedRecords, AnAnswerContinuesTheTextBeforeItOrFollowsAMark) {
  const base::TestFolder folder;
  const NotedBytes tokenizer;
  const auto befores = [&](const std::string& source) {
    const ChatTemplate chat_template(source, "the template", {});
    const Encoding encoding{tokenizer, chat_template, LossOn::answers, usual_shape(Format::alpaca)};
    const std::string path = folder.write("records.jsonl", R"({"instruction": "q", "output": "a"})");
    std::vector<std::int32_t> marks;
    for (const std::int32_t id :
         encode_records(only_chunk(find_corpus({path})), encoding, PartStore(folder / std::to_string(source.size())))
             .ids)
      if (id >= 256) marks.push_back(id - 256);
    return marks;
  };
  const std::string messages =
      "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{% if add_generation_prompt %}<assistant>";
  EXPECT_THAT(befores(messages + "{% endif %}"), testing::ElementsAre(0, 1));
  const std::string spaced =
      "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{% if add_generation_prompt %}assistant: ";
  EXPECT_THAT(befores(spaced + "{% endif %}"), testing::ElementsAre(0, 2, 2));
}

TEST(NarrowIds, AreTheLowerHalves) {
  std::vector<std::uint16_t> narrow;
  for (const std::size_t size : {100u, 16u, 15u, 0u, 33u}) {
    std::vector<std::int32_t> ids;
    for (std::size_t i = 0; i < size; ++i) ids.push_back(static_cast<std::int32_t>(65535 - i * 1337 % 65536));
    narrow_ids(ids, &narrow);
    EXPECT_EQ(std::vector<std::int32_t>(narrow.begin(), narrow.end()), ids);
  }
}

}  // namespace
}  // namespace troika::data
