#include "tokenizer/sentencepiece.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "base/random.h"
#include "base/text_files_test_support.h"
#include "tokenizer/characters.h"
#include "tokenizer/tokenizer_json.h"

namespace troika::tokenizer {
namespace {
using testing::ElementsAre;
using testing::HasSubstr;
using PieceType = SentencePieceModel::Piece::Type;

// <unk> <s> </s>, the bytes as 3 to 258, then single letters and what is merged of them.
SentencePieceModel small_model(const std::vector<std::pair<std::string, float>>& pieces) {
  SentencePieceModel model;
  model.kind = SentencePieceModel::Kind::bpe;
  model.byte_fallback = true;
  model.remove_extra_spaces = false;
  model.pieces = {{"<unk>", 0, PieceType::unknown}, {"<s>", 0, PieceType::control}, {"</s>", 0, PieceType::control}};
  for (int byte = 0; byte < 256; ++byte)
    model.pieces.push_back({byte_token(static_cast<unsigned char>(byte)), 0, PieceType::byte});
  for (const auto& [text, score] : pieces) model.pieces.push_back({text, score, PieceType::normal});
  return model;
}

const std::vector<std::pair<std::string, float>> letters = {{"\u2581", -10}, {"a", -11}, {"b", -12}, {"c", -13},
                                                            {"\u2581a", -1}, {"ab", -2}, {"bc", -3}, {"\u2581ab", -4},
                                                            {"aa", -5},      {"aaa", -6}};
constexpr std::int32_t first_letter = 259;  // the id of the first_letter of them

BpeTokenizer tokenizer_of(const SentencePieceModel& model) { return BpeTokenizer(bpe_of_sentencepiece(model, "here")); }

TEST(SentencePiece, MergesTheJoinedPieceWithTheHighestScoreFirst) {
  const BpeTokenizer tokenizer = tokenizer_of(small_model(letters));
  EXPECT_THAT(tokenizer.encode("abc"), ElementsAre(first_letter + 4, first_letter + 6));  // _a, then bc
  EXPECT_THAT(tokenizer.encode("babc"),
              ElementsAre(first_letter, first_letter + 2, first_letter + 5, first_letter + 3));  // ab before bc
  EXPECT_THAT(tokenizer.encode("baaa"), ElementsAre(first_letter, first_letter + 2, first_letter + 9));
  EXPECT_THAT(tokenizer.begin_ids(), ElementsAre(1));
  EXPECT_EQ(tokenizer.end_of_document_id(), 2);
}

// Added pieces often have the score 0.
TEST(SentencePiece, MergesTheLeftmostOfPiecesWithEqualScores) {
  auto pieces = letters;
  pieces.emplace_back("cb", pieces[6].second);
  const BpeTokenizer tokenizer = tokenizer_of(small_model(pieces));
  EXPECT_THAT(tokenizer.encode("cbc"), ElementsAre(first_letter, first_letter + 10, first_letter + 3));
  EXPECT_THAT(tokenizer.encode("bbcb"),
              ElementsAre(first_letter, first_letter + 2, first_letter + 6, first_letter + 2));
}

TEST(SentencePiece, SpellsCharactersWithoutAPieceInBytes) {
  const BpeTokenizer tokenizer = tokenizer_of(small_model(letters));
  EXPECT_THAT(tokenizer.encode("\u00e9"), ElementsAre(first_letter, 3 + 0xC3, 3 + 0xA9));
  EXPECT_THAT(tokenizer.encode("a\xFF"), ElementsAre(first_letter + 4, 3 + 0xFF));
  EXPECT_EQ(tokenizer.decode({first_letter, 3 + 0xC3, 3 + 0xA9}), "\u00e9");
  EXPECT_EQ(tokenizer.decode({3 + 0xC3, 3 + 'a'}), "\uFFFD\uFFFD");
  EXPECT_EQ(tokenizer.id_to_bytes(3 + 0xC3), "\xC3");
  EXPECT_EQ(tokenizer.id_to_bytes(first_letter + 4), " a");
  EXPECT_EQ(tokenizer.id_to_bytes(1), "<s>");
  EXPECT_EQ(tokenizer.lacking_bytes(), 0);
}

TEST(SentencePiece, GivesOneUnknownTokenForARunWithoutBytes) {
  SentencePieceModel model = small_model(letters);
  model.byte_fallback = false;
  EXPECT_THAT(tokenizer_of(model).encode("a\u00e9\u4f60"
                                         "b"),
              ElementsAre(first_letter + 4, 0, first_letter + 2));
}

TEST(SentencePiece, PutsASpaceInFrontWhereATextBegins) {
  const BpeTokenizer tokenizer = tokenizer_of(small_model(letters));
  const auto after = [&](Before before) { return tokenizer.encode_with_plain("ab", {}, before); };
  EXPECT_THAT(after(Before::nothing), ElementsAre(first_letter + 7));
  EXPECT_THAT(after(Before::mark), ElementsAre(first_letter + 7));
  EXPECT_THAT(after(Before::text), ElementsAre(first_letter + 5));
  EXPECT_EQ(tokenizer.before_next({}), Before::nothing);
  EXPECT_EQ(tokenizer.before_next({first_letter}), Before::text);
  EXPECT_EQ(tokenizer.before_next({first_letter, 2}), Before::mark);
}

TEST(SentencePiece, TakesThatSpaceAwayWhereATextBegins) {
  const BpeTokenizer tokenizer = tokenizer_of(small_model(letters));
  const auto text_of = [&](Before before, const std::vector<std::int32_t>& ids) {
    const auto growing = tokenizer.begin_text(before);
    std::string text;
    for (const std::int32_t id : ids) text += growing->add(id);
    return text + growing->rest();
  };
  EXPECT_EQ(text_of(Before::nothing, {first_letter + 4, first_letter + 4}), "a a");
  EXPECT_EQ(text_of(Before::mark, {first_letter + 4, first_letter + 4}), "a a");
  EXPECT_EQ(text_of(Before::text, {first_letter + 4, first_letter + 4}), " a a");
  EXPECT_EQ(text_of(Before::nothing, {first_letter, first_letter, first_letter + 1}), " a");
}

TEST(SentencePiece, HoldsBytesBackUntilTheirRunEnds) {
  const BpeTokenizer tokenizer = tokenizer_of(small_model(letters));
  const auto growing = tokenizer.begin_text(Before::text);
  EXPECT_EQ(growing->add(3 + '\n'), "");
  EXPECT_EQ(growing->rest(), "\n");
  EXPECT_EQ(growing->add(3 + 0xC3), "");
  EXPECT_EQ(growing->rest(), "\uFFFD\uFFFD");
  EXPECT_EQ(growing->add(3 + 0xA9), "");
  EXPECT_EQ(growing->add(first_letter + 1),
            "\n\u00e9"
            "a");
  EXPECT_EQ(growing->rest(), "");
}

TEST(SentencePiece, KeepsUserDefinedPiecesWhole) {
  SentencePieceModel model = small_model(letters);
  model.dummy_prefix = false;
  model.pieces.push_back({"\u2581\u2581", 0, PieceType::user_defined});
  const std::int32_t two = static_cast<std::int32_t>(model.pieces.size()) - 1;
  EXPECT_THAT(tokenizer_of(model).encode("   ab"), ElementsAre(two, first_letter + 7));
}

TEST(SentencePiece, RemovesExtraSpaces) {
  SentencePieceModel model = small_model(letters);
  model.remove_extra_spaces = true;
  EXPECT_THAT(tokenizer_of(model).encode("  ab   ab  "), ElementsAre(first_letter + 7, first_letter + 7));
  EXPECT_TRUE(tokenizer_of(model).encode("   ").empty());
}

TEST(SentencePiece, RefusesByNameWhatItDoesNotDo) {
  const auto refusal = [](const auto& change) {
    SentencePieceModel model = small_model(letters);
    change(&model);
    return base::message_of<base::DataError>([&] { bpe_of_sentencepiece(model, "here"); });
  };
  EXPECT_THAT(refusal([](auto* m) { m->kind = SentencePieceModel::Kind::unigram; }),
              testing::AllOf(HasSubstr("here: a Unigram model"), HasSubstr("AutoTokenizer")));
  EXPECT_THAT(refusal([](auto* m) { m->character_map = "x"; }), HasSubstr("a map of characters"));
  EXPECT_THAT(refusal([](auto* m) { m->whitespace_as_suffix = true; }), HasSubstr("treat_whitespace_as_suffix"));
  EXPECT_THAT(refusal([](auto* m) { m->escape_spaces = false; }), HasSubstr("escape_whitespaces"));
  EXPECT_THAT(refusal([](auto* m) { m->pieces[first_letter + 5].type = PieceType::unused; }),
              HasSubstr("unused piece 'ab'"));
  EXPECT_THAT(refusal([](auto* m) { m->pieces.push_back(m->pieces.back()); }), HasSubstr("are both 'aaa'"));
  EXPECT_THAT(refusal([](auto* m) { m->pieces.push_back({"\xFF", 0, PieceType::normal}); }), HasSubstr("damaged"));
}

// A message of bytes: the field's number and kind, then its content.
std::string field(int number, const std::string& content) {
  return std::string(1, static_cast<char>(number << 3 | 2)) + static_cast<char>(content.size()) + content;
}

std::string varint(int number, int value) {
  return {static_cast<char>(0x80 | (number << 3 & 0x7F)), static_cast<char>(number >> 4), static_cast<char>(value)};
}

std::string model_bytes() {
  std::string bytes;
  const auto piece = [&](const std::string& text, int type) { bytes += field(1, field(1, text) + varint(3, type)); };
  piece("<unk>", 2);
  piece("<s>", 3);
  piece("</s>", 3);
  for (const char* letter : {"\u2581", "a", "b", "ab"}) piece(letter, 1);
  return bytes + field(2, varint(3, 2)) + field(3, varint(4, 0));
}

TEST(SentencePieceModel, ReadsPiecesAndOptions) {
  const SentencePieceModel model = parse_sentencepiece_model(model_bytes(), "here");
  EXPECT_EQ(model.pieces.size(), 7u);
  EXPECT_EQ(model.pieces[1].type, PieceType::control);
  EXPECT_EQ(model.pieces[6].text, "ab");
  EXPECT_EQ(model.kind, SentencePieceModel::Kind::bpe);
  EXPECT_FALSE(model.remove_extra_spaces);
  EXPECT_TRUE(model.dummy_prefix);
}

TEST(SentencePieceModel, RefusesDamagedFiles) {
  const std::string whole = model_bytes();
  for (const std::string& bytes :
       {std::string(), std::string("no model"), std::string(20, '\xFF'), whole.substr(0, whole.size() - 1),
        field(1, field(1, "a") + varint(3, 9)), std::string("\x0A\x7F\x0A\x01", 4)})
    EXPECT_THAT(base::message_of<base::DataError>([&] { parse_sentencepiece_model(bytes, "here"); }),
                HasSubstr("here: not a model of SentencePiece"));
}

TEST(SentencePiece, ReadsAddedTokensAndRolesFromTheFilesBesideIt) {
  const base::TestFolder folder;
  const std::string path = folder.write("tokenizer.model", model_bytes());
  EXPECT_THAT(open_tokenizer(folder / "")->begin_ids(), ElementsAre(1));
  folder.write("added_tokens.json", R"({"[PAD]": 7})");
  folder.write("special_tokens_map.json", R"({"pad_token": {"content": "[PAD]"}, "additional_special_tokens": ["b"]})");
  folder.write("tokenizer_config.json", R"({"add_bos_token": false, "eos_token": "<|end|>",
      "added_tokens_decoder": {"8": {"content": "<|end|>", "special": true, "rstrip": true}}})");
  const BpeModel model = load_sentencepiece(path);
  const BpeTokenizer tokenizer(model);
  EXPECT_TRUE(tokenizer.begin_ids().empty());
  EXPECT_EQ(tokenizer.end_of_document_id(), 8);
  EXPECT_EQ(tokenizer.vocab_size(), 9);
  EXPECT_THAT(tokenizer.encode("a<|end|>  [PAD]b"), ElementsAre(3, 4, 8, 7, 5));
  EXPECT_EQ(tokenizer.control_tokens("<|end|>[PAD]b</s>").size(), 4u);
  save_tokenizer(model, folder / "written");
  EXPECT_EQ(open_tokenizer(folder / "written")->encode("a<|end|>  [PAD]b"), tokenizer.encode("a<|end|>  [PAD]b"));
  folder.write("tokenizer_config.json", R"({"legacy": false})");
  EXPECT_THAT(open_tokenizer(path)->encode("a</s>a"), ElementsAre(3, 4, 2, 4));
  folder.write("added_tokens.json", R"({"[PAD]": 6})");
  EXPECT_THAT(base::message_of<base::DataError>([&] { open_tokenizer(path); }),
              HasSubstr("has the id 6 of another token"));
}

TEST(SentencePiece, CutsTextOnlyWhereIdsStayTheSame) {
  const BpeTokenizer tokenizer = tokenizer_of(small_model(letters));
  std::size_t cuts = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const std::string text = base::random_text("abc \n", 40, seed);
    for (std::size_t at = tokenizer.next_cut(text, 1); at < text.size();
         at = tokenizer.next_cut(text, at + 1), ++cuts) {
      std::vector<std::int32_t> parts = tokenizer.encode(text.substr(0, at));
      const std::vector<std::int32_t> rest =
          tokenizer.encode_with_plain(std::string_view(text).substr(at), {}, Before::text);
      parts.insert(parts.end(), rest.begin(), rest.end());
      ASSERT_EQ(parts, tokenizer.encode(text)) << testing::PrintToString(text);
    }
  }
  EXPECT_GT(cuts, 300u);
}

TEST(SentencePiece, MergesALongTextWithoutBordersInLittleTime) {
  const BpeTokenizer tokenizer = tokenizer_of(small_model(letters));
  EXPECT_EQ(tokenizer.encode(std::string(300'000, 'a')).size(), 150'000u);
}

}  // namespace
}  // namespace troika::tokenizer
