#include "tokenizer/bpe.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <map>
#include <set>
#include <thread>
#include <tuple>

#include "base/error.h"
#include "base/random.h"
#include "base/text_files_test_support.h"
#include "tokenizer/tokenizer_json.h"
#include "tokenizer/unicode.h"

namespace troika::tokenizer {
namespace {
using testing::ElementsAre;
using testing::HasSubstr;

BpeModel trained(std::int64_t vocab_size, const char* pattern) {
  BpeTrainerOptions options;
  options.vocab_size = vocab_size;
  options.pattern = pattern;
  const std::string text = base::source_like_text(3000, 1);
  PreTokenizer::Scratch scratch;
  std::vector<std::string_view> pieces;
  PreTokenizer({pattern}).split(text, &scratch, &pieces);
  WordCounts words;
  for (const std::string_view piece : pieces) {
    if (piece.size() > 1) ++words[std::string(piece)];
  }
  return train_bpe(words, options);
}

// Byte-pair encoding said plainly: look at all pairs, merge the best one, begin again.
std::vector<std::int32_t> encode_by_hand(const std::string& text, const BpeModel& model) {
  std::map<std::pair<std::string, std::string>, std::size_t> rank;
  std::map<std::string, std::int32_t> id;
  for (std::size_t i = 0; i < model.tokens.size(); ++i) id.emplace(model.tokens[i], static_cast<std::int32_t>(i));
  for (std::size_t i = 0; i < model.merges.size(); ++i) {
    const auto [left, right] = model.merges[i];
    rank.emplace(std::pair(model.tokens[static_cast<std::size_t>(left)], model.tokens[static_cast<std::size_t>(right)]),
                 i);
  }
  const PreTokenizer pretokenizer(model.patterns);
  PreTokenizer::Scratch scratch;
  std::vector<std::string_view> pieces;
  pretokenizer.split(text, &scratch, &pieces);
  std::vector<std::int32_t> ids;
  for (const std::string_view piece : pieces) {
    std::vector<std::string> parts;
    for (const char c : piece) parts.emplace_back(1, c);
    for (;;) {
      std::size_t best = model.merges.size(), place = 0;
      for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
        const auto found = rank.find({parts[i], parts[i + 1]});
        if (found != rank.end() && found->second < best) best = found->second, place = i;
      }
      if (best == model.merges.size()) break;
      parts[place] += parts[place + 1];
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(place) + 1);
    }
    for (const std::string& part : parts) ids.push_back(id.at(part));
  }
  return ids;
}

std::string all_bytes_many_times() {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes.push_back(static_cast<char>(byte));
  return base::random_text(bytes, 20000, 3) + bytes;
}

TEST(BpeTokenizer, AgreesWithPlainByteExactMerging) {
  for (const char* pattern : {qwen2_pattern, gpt2_pattern}) {
    const BpeModel model = trained(600, pattern);
    const BpeTokenizer tokenizer(model);
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const std::string text = base::source_like_text(40, seed) + base::random_text("return value  \n(a)1", 300, seed);
      ASSERT_EQ(tokenizer.encode(text), encode_by_hand(text, model)) << text;
    }
    const std::string bytes = all_bytes_many_times();
    EXPECT_EQ(tokenizer.encode(bytes), encode_by_hand(bytes, model));
  }
}

Merger merger_of(const BpeModel& model) {
  CharSymbols::ByteIds byte_ids;
  for (std::size_t byte = 0; byte < 256; ++byte) byte_ids[byte] = static_cast<std::int32_t>(byte);
  return Merger(byte_ids, lacking_bytes_of(model), model.tokens, model.merges, TokenTable(model.tokens, {}));
}

// Merges of random ranks, of bytes inside a character and across its borders.
BpeModel random_merges(std::uint64_t seed, const std::string& text) {
  const base::Philox random(seed, "random merges");
  BpeModel model;
  for (int byte = 0; byte < 256; ++byte) model.tokens.emplace_back(1, static_cast<char>(byte));
  std::map<std::string, std::int32_t> ids;
  for (std::size_t i = 0; i < 256; ++i) ids[model.tokens[i]] = static_cast<std::int32_t>(i);
  std::set<std::pair<std::int32_t, std::int32_t>> pairs;
  for (std::uint64_t i = 0; i < 4000 && pairs.size() < 60; ++i) {
    const std::size_t size = 2 + random.bits(3 * i) % 5, at = random.bits(3 * i + 1) % (text.size() - size);
    const std::size_t left = 1 + random.bits(3 * i + 2) % (size - 1);
    const auto first = ids.find(text.substr(at, left)), second = ids.find(text.substr(at + left, size - left));
    if (first == ids.end() || second == ids.end()) continue;
    const auto [result, is_new] = ids.emplace(text.substr(at, size), static_cast<std::int32_t>(model.tokens.size()));
    if (is_new) model.tokens.push_back(result->first);
    if (!pairs.emplace(first->second, second->second).second) continue;
    const std::size_t rank = seed % 2 == 0 ? model.merges.size() : random.bits(i) % (model.merges.size() + 1);
    model.merges.emplace(model.merges.begin() + static_cast<std::ptrdiff_t>(rank), first->second, second->second);
  }
  model.patterns = {};
  return model;
}

TEST(BpeTokenizer, MergesCharactersAsTheirBytesWouldBe) {
  const std::vector<std::string> characters = {" ",      "a",      "b",      "\u00e9",     "\u00e8",    "\u043f",
                                               "\u0440", "\u4e2d", "\u4e2e", "\U0001F600", "\U00020000"};
  const auto random_characters = [&](std::uint64_t seed, std::size_t size) {
    const base::Philox random(seed, "some characters");
    std::string text;
    for (std::size_t i = 0; i < size; ++i) text += characters[random.bits(i) % characters.size()];
    return text;
  };
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const BpeModel model = random_merges(seed, random_characters(seed, 400));
    const Merger merger = merger_of(model);
    Merger::Scratch scratch;
    for (std::uint64_t size = 1; size < 60; size += 1 + size / 4) {
      const std::string text = random_characters(1000 * seed + size, size);
      std::vector<std::int32_t> ids(text.size());
      ids.resize(static_cast<std::size_t>(merger.merge(text, &scratch, ids.data()).end - ids.data()));
      ASSERT_EQ(ids, encode_by_hand(text, model)) << seed << " " << size;
    }
  }
}

void expect_merged_as_by_hand(const Merger& merger, const BpeModel& model, const std::string& text) {
  Merger::Scratch scratch;
  std::vector<std::int32_t> ids(text.size());
  ids.resize(static_cast<std::size_t>(merger.merge(text, &scratch, ids.data()).end - ids.data()));
  ASSERT_EQ(ids, encode_by_hand(text, model)) << text;
}

// Few characters, so that stretches without a place that no merge reaches across are long.
TEST(BpeTokenizer, MergesLongStretchesByWindowsAsPlainly) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    const std::string letters = seed % 3 == 0 ? "a" : seed % 3 == 1 ? "ab" : "abc";
    const BpeModel model = random_merges(seed, base::random_text(letters, 400, seed));
    const Merger merger = merger_of(model);
    for (const std::size_t size : {63u, 64u, 65u, 66u, 127u, 130u, 255u, 257u, 600u})
      expect_merged_as_by_hand(merger, model, base::random_text(letters, size, seed + size));
    expect_merged_as_by_hand(merger, model, std::string(300, 'a'));
    expect_merged_as_by_hand(merger, model, std::string(200, 'a') + std::string(200, 'b'));
  }
}

TEST(BpeTokenizer, MergesTokensThatNoWindowHolds) {
  BpeModel model;
  for (int byte = 0; byte < 256; ++byte) model.tokens.emplace_back(1, static_cast<char>(byte));
  std::int32_t last = 'a';
  for (std::size_t size = 2; size <= 512; size *= 2) {
    model.merges.emplace_back(last, last);
    last = static_cast<std::int32_t>(model.tokens.size());
    model.tokens.emplace_back(size, 'a');
  }
  model.patterns = {};
  const Merger merger = merger_of(model);
  for (const std::size_t size : {300u, 511u, 512u, 1000u, 1300u})
    expect_merged_as_by_hand(merger, model, std::string(size, 'a') + "b");
}

// Random merges in random order over the pieces of a pattern, with what else a tokenizer.json may ask for: pieces taken whole,
// a space in front, tokens twice, added tokens.
BpeModel odd_model(std::uint64_t seed, const std::string& text) {
  BpeModel model = random_merges(seed, text);
  model.patterns = {seed % 2 == 0 ? qwen2_pattern : gpt2_pattern};
  model.whole_pieces_first = seed % 3 == 0;
  model.prefix_space = seed % 5 == 0;
  for (std::size_t i = 0; i < 3 && seed % 2 == 0; ++i)
    model.tokens.push_back(model.tokens[model.tokens.size() - 1 - 2 * i]);
  const auto whole = static_cast<std::int32_t>(model.tokens.size());
  model.tokens.emplace_back(" abab");  // that no merges make, or others
  model.added = {{whole + 1, "<|a|>", true, false}, {whole + 2, "bab", false, true}};
  return model;
}

std::vector<std::int32_t> encode_section_by_hand(const std::string& text, const BpeModel& model) {
  if (text.empty()) return {};
  const std::string spaced = model.prefix_space && text[0] != ' ' ? " " + text : text;
  std::map<std::string, std::int32_t> id;
  for (std::size_t i = 0; i < model.tokens.size(); ++i) id.emplace(model.tokens[i], static_cast<std::int32_t>(i));
  PreTokenizer::Scratch scratch;
  std::vector<std::string_view> pieces;
  PreTokenizer(model.patterns).split(spaced, &scratch, &pieces);
  BpeModel piece_model = model;
  piece_model.patterns = {};
  std::vector<std::int32_t> ids;
  for (const std::string_view piece : pieces) {
    const auto whole = id.find(std::string(piece));
    const bool is_whole = model.whole_pieces_first && whole != id.end();
    const auto found = is_whole ? std::vector{whole->second} : encode_by_hand(std::string(piece), piece_model);
    ids.insert(ids.end(), found.begin(), found.end());
  }
  return ids;
}

// Added tokens are found first, "<|a|>" before "bab".
std::vector<std::int32_t> encode_odd_by_hand(std::string text, const BpeModel& model, std::size_t added = 0) {
  if (added == model.added.size()) return encode_section_by_hand(text, model);
  std::vector<std::int32_t> ids;
  const auto append = [&](const std::vector<std::int32_t>& more) { ids.insert(ids.end(), more.begin(), more.end()); };
  const std::string& mark = model.added[added].content;
  for (std::size_t at = 0; (at = text.find(mark)) != std::string::npos; text.erase(0, at + mark.size())) {
    append(encode_odd_by_hand(text.substr(0, at), model, added + 1));
    ids.push_back(model.added[added].id);
  }
  append(encode_odd_by_hand(text, model, added + 1));
  return ids;
}

TEST(BpeTokenizer, AgreesWithPlainMergingForOddVocabularies) {
  const std::vector<std::string> parts = {"a", "b", "ab",     " ",      " ab",        "a",    "\n",
                                          ".", "1", "\u00e9", "\u4e2d", "\U0001F600", "<|a|>"};
  const auto random_parts = [&](std::uint64_t seed, std::size_t size) {
    const base::Philox random(seed, "some parts");
    std::string text;
    for (std::size_t i = 0; i < size; ++i) {
      const std::string& part = parts[random.bits(2 * i) % parts.size()];
      const std::size_t times = random.bits(2 * i + 1) % 20 == 0 ? random.bits(2 * i + 1) / 20 % 90 : 1;
      for (std::size_t k = 0; k < times; ++k) text += part;
    }
    return text;
  };
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const BpeModel model = odd_model(seed, random_parts(seed, 300));
    const BpeTokenizer tokenizer(model);
    for (const std::size_t size : {1u, 2u, 5u, 40u, 100u}) {
      const std::string text = random_parts(1000 + 10 * seed + size, size);
      const auto expected = encode_odd_by_hand(text, model);
      for (int time = 0; time < 2; ++time) ASSERT_EQ(tokenizer.encode(text), expected) << seed << " " << text;
    }
  }
}

TEST(BpeTokenizer, GivesBackAnyBytes) {
  const BpeTokenizer tokenizer(trained(600, qwen2_pattern));
  for (const std::string& text :
       {std::string(), std::string("\0\0", 2), all_bytes_many_times(), base::source_like_text(100, 9),
        std::string("日本\xE6\x97"), std::string("a<|endoftext|>b<|endoftext|"), std::string(100000, 'n'),
        std::string(5000, '\n')}) {
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
  }
}

TEST(BpeTokenizer, GivesTheSameIdsFromItsCache) {
  const BpeTokenizer tokenizer(trained(600, qwen2_pattern));
  const std::string text = base::source_like_text(200, 5);
  const auto first = tokenizer.encode(text);
  EXPECT_EQ(tokenizer.encode(text), first);
}

TEST(BpeTokenizer, IsSafeToShareBetweenThreads) {
  const BpeTokenizer tokenizer(trained(400, qwen2_pattern));
  const std::string text = base::source_like_text(300, 6);
  const auto expected = tokenizer.encode(text);
  std::vector<std::vector<std::int32_t>> found(3);
  std::vector<std::thread> threads;
  for (auto& ids : found) threads.emplace_back([&] { ids = tokenizer.encode(text); });
  for (auto& thread : threads) thread.join();
  for (const auto& ids : found) EXPECT_EQ(ids, expected);
}

TEST(BpeTokenizer, CutsTextOnlyWhereIdsStayTheSame) {
  const BpeTokenizer tokenizer(trained(600, qwen2_pattern));
  const std::string text = base::source_like_text(200, 7);
  const auto whole = tokenizer.encode(text);
  for (std::size_t from = 1; from < text.size(); from += 50) {
    const std::size_t at = tokenizer.next_cut(text, from);
    auto parts = tokenizer.encode(text.substr(0, at));
    const auto rest = tokenizer.encode(text.substr(at));
    parts.insert(parts.end(), rest.begin(), rest.end());
    ASSERT_EQ(parts, whole);
  }
}

BpeModel bytes_only() {
  BpeModel model;
  for (const unsigned char byte : bytes_in_alphabet_order()) model.tokens.emplace_back(1, static_cast<char>(byte));
  return model;
}

TEST(BpeTokenizer, FindsAddedTokensLeftmostAndLongestFirst) {
  BpeModel model = bytes_only();
  model.added = {{256, "<|a|>", true, false}, {257, "<|a|>b", true, false}, {258, "yy", false, true}};
  const BpeTokenizer tokenizer(model);
  const auto byte = [&](char c) { return tokenizer.encode(std::string(1, c))[0]; };
  EXPECT_THAT(tokenizer.encode("x<|a|>b<|a|>c"), ElementsAre(byte('x'), 257, 256, byte('c')));
  EXPECT_THAT(tokenizer.encode("yyy<|a|>yy"), ElementsAre(258, byte('y'), 256, 258));
  EXPECT_EQ(tokenizer.vocab_size(), 259);
}

TEST(BpeTokenizer, TakesControlTokensForTextWhereItIsToldTo) {
  BpeModel model = bytes_only();
  model.added = {{256, "<|a|>", true, false}, {257, "<t>", false, false}, {258, "<|n|>", true, true}};
  const BpeTokenizer tokenizer(model);
  const std::string text = "x<|a|><t><|a|><|n|>";
  const std::vector<Stretch> found = tokenizer.control_tokens(text);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[1].begin, 9u);
  EXPECT_EQ(found[2].end, 19u);
  EXPECT_EQ(tokenizer.encode_with_plain(text, {}, Before::nothing), tokenizer.encode(text));
  const std::vector<std::int32_t> ids = tokenizer.encode_with_plain(text, {{1, 6}, {14, 19}}, Before::nothing);
  EXPECT_EQ(ids.size(), 1u + 5 + 1 + 1 + 5);
  EXPECT_THAT(std::vector<std::int32_t>(ids.begin() + 6, ids.begin() + 8), ElementsAre(257, 256));
  EXPECT_EQ(tokenizer.decode(ids), text);
  EXPECT_TRUE(ByteTokenizer().control_tokens(text).empty());
}

TEST(BpeTokenizer, DoesNotCutTextWhenAnAddedTokenHoldsANewline) {
  BpeModel model = bytes_only();
  model.added = {{256, "end\nbegin", true, false}};
  EXPECT_EQ(BpeTokenizer(model).next_cut("an end\nbegin", 3), 12u);
}

TEST(BpeTokenizer, GivesTheBytesOfTheComposedForm) {
  BpeModel model = trained(600, qwen2_pattern);
  model.normalizers = {{NormalizerStep::Kind::nfc}};
  const BpeTokenizer composing(model);
  model.normalizers.clear();
  const BpeTokenizer plain(model);
  const std::string text = "Cafe\u0301 \u1112\u1161\u11AB\n<\u0338 \xFF\u0301",
                    form = "Caf\u00E9 \uD55C\n\u226E \xFF\u0301";
  EXPECT_EQ(composing.decode(composing.encode(text)), form);
  EXPECT_EQ(composing.encode(text), plain.encode(form));
  EXPECT_NE(composing.fingerprint(), plain.fingerprint());
}

TEST(BpeTokenizer, LooksForNormalizedTokensInComposedText) {
  BpeModel model = bytes_only();
  model.normalizers = {{NormalizerStep::Kind::nfc}};
  model.added = {{256, "e\u0301", false, true}, {257, "o\u0301", false, false}};
  const BpeTokenizer tokenizer(model);
  const auto ids = [&](const std::string& text) { return tokenizer.encode(text); };
  EXPECT_THAT(ids("\u00E9e\u0301"), ElementsAre(256, 256));
  EXPECT_THAT(ids("o\u0301"), ElementsAre(257));
  EXPECT_EQ(ids("\u00F3").size(), 2u);  // not the token: that is looked for as it is written
}

TEST(BpeTokenizer, CutsComposedTextWithStrippingTokensOnlyWhereIdsStayTheSame) {
  BpeModel model = trained(600, qwen2_pattern);
  model.normalizers = {{NormalizerStep::Kind::nfc}};
  for (const auto& [content, left, right] :
       {std::tuple("<l>", true, false), {"<r>", false, true}, {"e\u0301!", true, true}}) {
    model.added.push_back(
        {static_cast<std::int32_t>(600 + model.added.size()), content, false, content[0] == 'e', left, right, false});
  }
  const std::vector<std::string> words = {"<l>", "<r>",    "\n", "\n", " ",    "e",    "\u0301",
                                          "<",   "\u0338", "a",  "!",  "\xFF", "value"};
  std::size_t cuts = 0;
  for (std::size_t tokens = 1; tokens <= model.added.size(); ++tokens) {
    BpeModel some = model;
    some.added.resize(tokens);
    const BpeTokenizer tokenizer(some);
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      std::string text;
      for (const char c : base::random_text("abcdefghijklm", 60, seed))
        text += words[static_cast<std::size_t>(c - 'a')];
      const auto whole = tokenizer.encode(text);
      for (std::size_t at = tokenizer.next_cut(text, 1); at < text.size();
           at = tokenizer.next_cut(text, at + 1), ++cuts) {
        auto parts = tokenizer.encode(text.substr(0, at));
        const auto rest = tokenizer.encode(text.substr(at));
        parts.insert(parts.end(), rest.begin(), rest.end());
        ASSERT_EQ(parts, whole) << at << " of " << testing::PrintToString(text);
      }
    }
  }
  EXPECT_GT(cuts, 500u);
}

TEST(BpeTokenizer, PutsASpaceBeforeTextThatBeginsWithNone) {
  BpeModel model = bytes_only();
  model.prefix_space = true;
  model.added = {{256, "<m>", true, false}};
  const BpeTokenizer tokenizer(model);
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("a<m>b<m> c<m>")), " a<m> b<m> c<m>");
  EXPECT_TRUE(tokenizer.encode("").empty());
  EXPECT_EQ(tokenizer.next_cut("ab\ncd", 1), 5u);
}

TEST(BpeTokenizer, TakesTheLastOfEqualMerges) {
  BpeModel model = bytes_only();
  const auto byte = [&](char c) { return BpeTokenizer(bytes_only()).encode(std::string(1, c))[0]; };
  for (const char* token : {"ab", "bc"}) model.tokens.emplace_back(token);
  model.merges = {{byte('a'), byte('b')}, {byte('b'), byte('c')}, {byte('a'), byte('b')}};
  EXPECT_THAT(BpeTokenizer(model).encode("abc"), ElementsAre(byte('a'), 257));
}

BpeModel without_bytes(BpeModel model, const std::string& bytes) {
  for (std::string& token : model.tokens) {
    if (token.size() == 1 && bytes.find(token) != std::string::npos) token.clear();
  }
  return model;
}

// As what is left of the text by itself, but for where it is cut into pieces: what is beside a dropped byte is merged.
TEST(BpeTokenizer, DropsTheBytesThatNoTokenSpellsAndCountsThem) {
  const std::string bytes("\0\1\x7F\xC0\xE4\xF5", 6);
  BpeModel model = without_bytes(trained(600, qwen2_pattern), bytes);
  for (const bool whole : {false, true}) {
    model.whole_pieces_first = whole;
    const BpeTokenizer tokenizer(model);
    EXPECT_EQ(tokenizer.lacking_bytes(), 6);
    const std::string text = "return \x7Freturn\x01 (\x01);\xC0\n\u4e2d\u00e9 return";
    for (int time = 0; time < 2; ++time) {
      EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), "return return ();\n\xB8\xAD\u00e9 return") << time;
      EXPECT_EQ(tokenizer.dropped_bytes(text), 5);
    }
    EXPECT_EQ(tokenizer.dropped_bytes("return"), 0);
    EXPECT_TRUE(tokenizer.encode(std::string(3, '\1')).empty());
  }
  BpeModel ab = without_bytes(bytes_only(), "\x01");
  const auto id = [&](char c) { return BpeTokenizer(ab).encode(std::string(1, c)).at(0); };
  ab.tokens.emplace_back("!!");
  ab.merges = {{id('!'), id('!')}};
  EXPECT_THAT(BpeTokenizer(ab).encode("!\x01!"), ElementsAre(256));  // one piece
  EXPECT_EQ(BpeTokenizer(trained(300, qwen2_pattern)).dropped_bytes(bytes), 0);
}

TEST(BpeTokenizer, GivesTheUnknownTokenForBytesThatNoTokenSpells) {
  BpeModel model = without_bytes(bytes_only(), "\x01\x02");
  model.tokens.emplace_back("<unk>");
  model.unknown = 256;
  const auto ids = [&](const std::string& text) { return BpeTokenizer(model).encode(text); };
  EXPECT_THAT(ids("\x01\x02!\x02"), ElementsAre(256, 256, ids("!").at(0), 256));
  EXPECT_EQ(BpeTokenizer(model).dropped_bytes("\x01"), 0);
  const std::string apart = BpeTokenizer(model).fingerprint();
  model.fuse_unknown = true;
  EXPECT_THAT(ids("\x01\x02!\x02"), ElementsAre(256, ids("!").at(0), 256));
  EXPECT_NE(BpeTokenizer(model).fingerprint(), apart);
  model.tokens.emplace_back("<unk>!");
  model.merges = {{256, ids("!").at(0)}};
  EXPECT_THAT(base::message_of<base::DataError>([&] { BpeTokenizer tokenizer(model); }), HasSubstr("unk_token"));
}

TEST(BpeTokenizer, RefusesAVocabularyWithoutBytes) {
  BpeModel model;
  model.tokens = {"the", "of"};
  EXPECT_THAT(base::message_of<base::DataError>([&] { BpeTokenizer tokenizer(model); }),
              HasSubstr("no token for any of the 256 bytes"));
}

TEST(TokenizerJson, ReadsBackWhatItWrites) {
  const base::TestFolder folder;
  const BpeModel model = trained(500, qwen2_pattern);
  save_tokenizer(model, folder / "tok");
  const BpeTokenizer written(model);
  for (const std::string& spec : {folder / "tok", folder / "tok/tokenizer.json"}) {
    const auto read = open_tokenizer(spec);
    EXPECT_EQ(read->fingerprint(), written.fingerprint());
    EXPECT_EQ(read->end_of_document_id(), 499);
    EXPECT_EQ(read->encode("int x = 1;<|endoftext|>"), written.encode("int x = 1;<|endoftext|>"));
  }
}

// A file as GPT-2's: use_regex by default, merges as text; the space is spelled U+0120.
std::string small_json(const std::string& change_from = "", const std::string& change_to = "") {
  std::string vocab;
  int id = 0;
  for (const unsigned char byte : bytes_in_alphabet_order()) {
    std::string spelling = spell_bytes(std::string(1, static_cast<char>(byte)));
    if (spelling == "\"" || spelling == "\\") spelling = "\\" + spelling;
    vocab += "\"" + spelling + "\": " + std::to_string(id++) + ", ";
  }
  std::string text =
      R"({"normalizer": null, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
 "decoder": {"type": "ByteLevel"}, "added_tokens": [{"id": 260, "content": "</s>", "special": true, "lstrip": false}],
 "model": {"type": "BPE", "vocab": {)" +
      vocab + R"("Ġt": 256, "he": 257, "Ġthe": 258, "th": 259}, "merges": ["Ġ t", ["h", "e"], "Ġt he", "t h"]}})";
  if (!change_from.empty()) text.replace(text.find(change_from), change_from.size(), change_to);
  return text;
}

TEST(TokenizerJson, ReadsBothSpellingsOfMergesAndKeepsTheirRank) {
  const base::TestFolder folder;
  const auto tokenizer = open_tokenizer(folder.write("tokenizer.json", small_json()));
  const std::int32_t e = tokenizer->encode("e")[0];
  EXPECT_THAT(tokenizer->encode(" the the"), ElementsAre(258, 258));
  EXPECT_THAT(tokenizer->encode("the</s>the"),
              ElementsAre(tokenizer->encode("t")[0], 257, 260, tokenizer->encode("t")[0], 257));
  EXPECT_THAT(tokenizer->encode("thae"), ElementsAre(259, tokenizer->encode("a")[0], e));
  EXPECT_EQ(tokenizer->vocab_size(), 261);
  EXPECT_EQ(tokenizer->end_of_document_id(), -1);
}

TEST(TokenizerJson, TakesTheDocumentEndFromTheConfigurationBesideIt) {
  const base::TestFolder folder;
  folder.write("tokenizer_config.json", R"({"eos_token": {"content": "</s>"}})");
  EXPECT_EQ(open_tokenizer(folder.write("tokenizer.json", small_json()))->end_of_document_id(), 260);
}

TEST(TokenizerJson, TakesWholePiecesFirstWhenTheFileIgnoresMerges) {
  const base::TestFolder folder;
  const auto json = small_json(R"("type": "BPE")", R"("type": "BPE", "ignore_merges": true)");
  EXPECT_THAT(open_tokenizer(folder.write("tokenizer.json", json))->encode("th"), ElementsAre(259));
}

TEST(TokenizerJson, ReadsTheComposedFormAloneAndInASequence) {
  for (const char* given : {R"({"type": "NFC"})", R"({"type": "Sequence", "normalizers": [{"type": "NFC"}]})"}) {
    EXPECT_EQ(parse_tokenizer_json(small_json("null", given), "here").normalizers.size(), 1u);
  }
  const char* nothing = R"({"type": "Sequence", "normalizers": []})";
  EXPECT_TRUE(parse_tokenizer_json(small_json("null", nothing), "here").normalizers.empty());
}

BpeModel with_pre_tokenizer(const std::string& parts) {
  return parse_tokenizer_json(small_json(R"({"type": "ByteLevel", "add_prefix_space": false})",
                                         R"({"type": "Sequence", "pretokenizers": [)" + parts + "]}"),
                              "here");
}

TEST(TokenizerJson, ReadsPreTokenizersInTurn) {
  const std::string byte_level = R"({"type": "ByteLevel", "use_regex": false})";
  EXPECT_TRUE(with_pre_tokenizer(byte_level).patterns.empty());
  const BpeModel model = with_pre_tokenizer(R"({"type": "Split", "pattern": {"String": "a.b"}, "behavior": "Isolated"},
      {"type": "Digits", "individual_digits": true}, {"type": "ByteLevel"})");
  EXPECT_THAT(model.patterns, ElementsAre("a\\.b", "\\p{N}", gpt2_pattern));
  EXPECT_TRUE(with_pre_tokenizer(R"({"type": "ByteLevel", "add_prefix_space": true})").prefix_space);
}

TEST(TokenizerJson, SplitsTextByEveryBehavior) {
  const auto pieces = [](const std::string& behavior, const std::string& more = "") {
    const BpeModel model =
        with_pre_tokenizer(R"({"type": "Split", "pattern": {"String": "-"}, "behavior": ")" + behavior + "\"" + more +
                           R"(}, {"type": "ByteLevel", "use_regex": false})");
    std::vector<std::string> all;
    PieceRegex::Scratch scratch;
    const auto table = std::make_shared<const UnicodeTable>();
    const PreTokenizer rest(model.patterns, table);
    PieceCuts(model.cuts, table).cut("--a-b--", Before::nothing, &scratch, [&](std::string_view piece) {
      std::vector<std::string_view> last;
      rest.split(piece, &scratch, &last);
      all.insert(all.end(), last.begin(), last.end());
    });
    return all;
  };
  EXPECT_THAT(pieces("Isolated"), ElementsAre("-", "-", "a", "-", "b", "-", "-"));
  EXPECT_THAT(pieces("Removed"), ElementsAre("a", "b"));
  EXPECT_THAT(pieces("Removed", R"(, "invert": true)"), ElementsAre("-", "-", "-", "-", "-"));
  EXPECT_THAT(pieces("MergedWithPrevious"), ElementsAre("-", "-", "a-", "b-", "-"));
  EXPECT_THAT(pieces("MergedWithNext"), ElementsAre("-", "-a", "-b", "-", "-"));
  EXPECT_THAT(pieces("Contiguous"), ElementsAre("--", "a", "-", "b", "--"));
}

TEST(TokenizerJson, RefusesPreTokenizersByName) {
  const std::string byte_level = R"(, {"type": "ByteLevel", "use_regex": false})";
  const std::string other = R"({"type": "Split", "pattern": {"Regex": " "}, "behavior": "Doubled"})";
  EXPECT_THAT(base::message_of<base::DataError>([&] { with_pre_tokenizer(other + byte_level); }),
              HasSubstr("a Split with the behavior 'Doubled'"));
  EXPECT_THAT(base::message_of<base::DataError>([&] { with_pre_tokenizer(R"({"type": "Metaspace"})" + byte_level); }),
              HasSubstr("the pre-tokenizer 'Metaspace'"));
  EXPECT_THAT(
      base::message_of<base::DataError>([&] { with_pre_tokenizer(R"({"type": "ByteLevel"}, {"type": "Digits"})"); }),
      HasSubstr("'Digits' after ByteLevel"));
  std::string many;
  for (int i = 0; i < 65; ++i) many += R"({"type": "Digits"}, )";
  EXPECT_THAT(base::message_of<base::DataError>([&] { with_pre_tokenizer(many + R"({"type": "ByteLevel"})"); }),
              HasSubstr("more than 64"));
}

TEST(TokenizerJson, KeepsTokensThatNoBytesSpellFromText) {
  const std::string json =
      small_json(R"("th": 259)", "\"\u65E5\": 259");  // and the bytes of that character have no token
  const BpeTokenizer tokenizer(parse_tokenizer_json(json.substr(0, json.find(", \"t h\"")) + "]}}", "here"));
  EXPECT_EQ(tokenizer.encode("\u65E5").size(), 3u);
  EXPECT_EQ(tokenizer.decode({259}), "\u65E5");
}

// As a vocabulary with U+00E9 (there the byte 0xE9) or the result of a merge among the added tokens.
TEST(TokenizerJson, MergesByTheVocabularysBytesAndShowsTheTextOfAnAddedToken) {
  const auto ids = BpeTokenizer(parse_tokenizer_json(small_json(), "here")).encode("\xE9");
  for (const auto& [content, id] : {std::pair("\u00E9", ids.at(0)), {"\u0120t", 256}, {"\u0120the", 258}}) {
    const std::string added = R"({"id": )" + std::to_string(id) + R"(, "content": ")" + content + R"("}, )";
    const BpeModel model = parse_tokenizer_json(small_json(R"({"id": 260)", added + R"({"id": 260)"), "here");
    const BpeTokenizer tokenizer(model);
    EXPECT_THAT(tokenizer.encode(" the"), ElementsAre(258));
    EXPECT_THAT(tokenizer.encode("\xE9"), ElementsAre(ids[0]));
    EXPECT_THAT(tokenizer.encode(content), ElementsAre(id));
    EXPECT_EQ(tokenizer.id_to_bytes(id), content);
    const base::TestFolder folder;
    save_tokenizer(model, folder / "tok");
    EXPECT_EQ(open_tokenizer(folder / "tok")->fingerprint(), tokenizer.fingerprint());
  }
  EXPECT_THAT(base::message_of<base::DataError>([&] {
                const std::string two = R"({"id": 260, "content": "<s>"}, {"id": 260)";
                parse_tokenizer_json(small_json(R"({"id": 260)", two), "here");
              }),
              HasSubstr("has the id 260 of another token"));
}

std::string with_post_processor(const std::string& given) {
  return small_json(R"("normalizer": null)", R"("normalizer": null, "post_processor": )" + given);
}

std::string template_of(const std::string& single, const std::string& ids = "[260]") {
  return R"({"type": "TemplateProcessing", "single": )" + single +
         R"(, "special_tokens": {"</s>": {"id": "</s>", "tokens": ["</s>"], "ids": )" + ids + "}}}";
}

TEST(TokenizerJson, GivesTheIdsInFrontOfATextAndEncodesWithoutThem) {
  const std::string mark = R"({"SpecialToken": {"id": "</s>", "type_id": 0}})", text = R"({"Sequence": {"id": "A"}})";
  const std::string front = template_of("[" + mark + ", " + text + ", " + mark + "]");
  const auto begin = [](const std::string& given) {
    return BpeTokenizer(parse_tokenizer_json(with_post_processor(given), "here")).begin_ids();
  };
  EXPECT_THAT(begin("null"), ElementsAre());
  EXPECT_THAT(begin(R"({"type": "ByteLevel"})"), ElementsAre());
  EXPECT_THAT(begin(front), ElementsAre(260));
  EXPECT_THAT(begin(template_of("[" + text + ", " + mark + "]")), ElementsAre());
  const std::string later = template_of("[" + mark + ", " + text + "]", "[257, 258]");
  EXPECT_THAT(begin(R"({"type": "Sequence", "processors": [{"type": "ByteLevel"}, )" + front + ", " + later + "]}"),
              ElementsAre(257, 258, 260));
  const BpeModel model = parse_tokenizer_json(with_post_processor(front), "here");
  EXPECT_THAT(BpeTokenizer(model).encode(" the"), ElementsAre(258));
  const base::TestFolder folder;
  save_tokenizer(model, folder / "tok");
  EXPECT_THAT(open_tokenizer(folder / "tok")->begin_ids(), ElementsAre(260));
}

TEST(TokenizerJson, NamesWhatIsWrongInATemplate) {
  const std::string mark = R"({"SpecialToken": {"id": "</s>"}})", text = R"({"Sequence": {}})";
  const std::string sound = "[" + mark + ", " + text + "]";
  std::string many = "260";
  for (int i = 0; i < 64; ++i) many += ", 260";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({"type": "TemplateProcessing"})", "'single' is missing"},
      {template_of("\"$A\""), "'single' must be"},
      {template_of("[1, " + text + "]"), "an entry other than SpecialToken and Sequence"},
      {template_of("[" + mark + "]"), "no Sequence"},
      {template_of(R"([{"SpecialToken": {"id": "<s>"}}, )" + text + "]"), "'<s>' is missing"},
      {template_of(sound, "[261]"), "'</s>' has the id 261, but ids range from 0 to 260"},
      {template_of(sound, "[-1]"), "has the id -1"},
      {template_of(sound, "[18446744073709551615]"), "has the id 18446744073709551615"},
      {template_of(sound, "[1.5]"), "has the id 1.5"},
      {template_of(sound, "7"), "'ids' must be"},
      {template_of(sound, "[" + many + "]"), "more than 64 ids"},
  };
  for (const auto& [given, part] : cases) {
    EXPECT_THAT(
        base::message_of<base::DataError>([&, &g = given] { parse_tokenizer_json(with_post_processor(g), "here"); }),
        testing::AllOf(HasSubstr("here: "), HasSubstr(part)));
  }
}

TEST(TokenizerJson, ReadsWhatBytesWithoutATokenBecome) {
  const std::string lacking = small_json("\"!\": 0, ", "");
  const auto with = [&](const std::string& key) {
    std::string json = lacking;
    json.replace(json.find(R"("type": "BPE")"), 13, R"("type": "BPE", )" + key);
    return BpeTokenizer(parse_tokenizer_json(json, "here")).encode("!!he");
  };
  EXPECT_THAT(with(R"("unk_token": null)"), ElementsAre(257));
  EXPECT_THAT(with(R"("unk_token": "th")"), ElementsAre(259, 259, 257));
  EXPECT_THAT(with(R"("unk_token": "th", "fuse_unk": true)"), ElementsAre(259, 257));
  EXPECT_THAT(base::message_of<base::DataError>([&] { with(R"("unk_token": "<unk>")"); }),
              testing::AllOf(HasSubstr("here"), HasSubstr("'<unk>'"), HasSubstr("1 of the 256")));
  EXPECT_THAT(base::message_of<base::DataError>([&] { with(R"("byte_fallback": true)"); }), HasSubstr("byte_fallback"));
  const std::string complete =
      small_json(R"("type": "BPE")", R"("type": "BPE", "byte_fallback": true, "unk_token": "<unk>")");
  EXPECT_EQ(parse_tokenizer_json(complete, "here").unknown, -1);
}

TEST(TokenizerJson, RefusesWhatIsTooLarge) {
  const base::TestFolder folder;
  const std::string path = folder.write("tokenizer.json", "{}");
  std::filesystem::resize_file(path, (std::uintmax_t{256} << 20) + 1);  // a hole
  EXPECT_THAT(base::message_of<base::DataError>([&] { open_tokenizer(path); }),
              testing::AllOf(HasSubstr("tokenizer.json"), HasSubstr("268435457 bytes")));
  const std::string long_token(std::size_t{5} << 20, 'x');
  EXPECT_THAT(base::message_of<base::DataError>([&] { parse_tokenizer_json(small_json("</s>", long_token), "here"); }),
              testing::AllOf(HasSubstr("here: the added tokens"), HasSubstr("4194304 bytes"), HasSubstr("'xxx")));
}

TEST(TokenizerJson, TakesTheDocumentEndOnlyFromWhatItIsGiven) {
  EXPECT_EQ(parse_tokenizer_json(small_json(), "here").end_of_document, -1);
  EXPECT_EQ(parse_tokenizer_json(small_json("</s>", "<|endoftext|>"), "here").end_of_document, 260);
}

TEST(TokenizerJson, RefusesByNameWhatItDoesNotDo) {
  const base::TestFolder folder;
  const std::vector<std::vector<std::string>> cases = {
      {R"("normalizer": null)", R"("normalizer": {"type": "Nmt"})", "the normalizer 'Nmt'"},
      {R"("type": "BPE")", R"("type": "Unigram")", "a Unigram model"},
      {R"("type": "BPE")", R"("type": "BPE", "dropout": 0.1)", "dropout"},
      {R"("type": "BPE")", R"("type": "BPE", "end_of_word_suffix": "</w>")", "end_of_word_suffix"},
      {R"({"type": "ByteLevel", "add_prefix_space": false})", R"({"type": "Whitespace"})", "without the ByteLevel"},
      {R"("t h"])", R"("t q", "zz y"])", "not in the vocabulary"},
      {R"("th": 259)", R"("th": 258)", "two tokens have the id 258"},
      {R"("th": 259)", R"("th": "259")", "no usable id"},
      {R"("added_tokens")", R"("added)", "not valid JSON"},
      {R"("type": "ByteLevel"})", R"("type": "Sequence", "decoders": [{"type": "ByteLevel"}, {"type": "Strip"}]})",
       "the decoder 'Strip'"},
      {R"("normalizer": null)", R"("normalizer": null, "post_processor": {"type": "Magic"})",
       "the post-processor 'Magic'"},
      {R"("th": 259)", R"("th": 16000000)", "no usable id"},
      {R"("th": 259)", R"("th": 18446744073709551615)", "no usable id"},
      {R"("th": 259)", R"("th": -1)", "no usable id"},
      {R"("th": 259)", R"("th": {"a": 1})", "no usable id"},
      {R"("th": 259)", R"("": 259)", "no usable id"},
      {R"("id": 260)", R"("id": 9000000)", "no usable id"},
      {R"("id": 260)", R"("id": 259)", "has the id 259 of another token"},
      {R"("content": "</s>")", R"("content": "he")", "has the id 260, but 257 in the vocabulary"},
      {R"("t h"])", R"("th"])", "('th') is not a pair"},
      {R"("t h"])", R"(["t", "h", "e"]])", "is not a pair"},
      {R"("t h"])", R"(["t", 1]])", "is not a pair"},
      {R"("t h"])", R"([["t"], "h"]])", "is not a pair"},
      {R"("t h"])", R"("t e"])", "the result of merge 3"},
      {R"("normalizer": null)", "\"normalizer\": " + std::string(300, '['), "nested deeper"},
      {R"("normalizer": null)", R"("normalizer": 1e999)", "too large"},
      {R"("merges": ["Ġ t", ["h", "e"], "Ġt he", "t h"])", R"("merges": null)", "('merges' is null)"},
      {R"("merges": ["Ġ t", ["h", "e"], "Ġt he", "t h"])", R"("merges": {})", "('merges' is {})"},
      {R"(, "merges": ["Ġ t", ["h", "e"], "Ġt he", "t h"])", "", "('merges' is missing)"},
      {R"("merges": ["Ġ t", ["h", "e"], "Ġt he", "t h"])", R"("merges": [])", "4 tokens have several bytes"},
      {R"("vocab": {)", R"("vocab": null, "words": {)", "('vocab' is null)"},
  };
  for (const auto& change : cases) {
    const std::string path = folder.write("tokenizer.json", small_json(change[0], change[1]));
    const std::string message = base::message_of<base::DataError>([&] { open_tokenizer(path); });
    EXPECT_THAT(message, HasSubstr(change[2]));
    EXPECT_THAT(message, HasSubstr("tokenizer.json"));
  }
}

}  // namespace
}  // namespace troika::tokenizer
