#include "gguf/header.h"

#include <gmock/gmock.h>

#include <cstring>

#include "base/error.h"
#include "base/temporary_folder_test_support.h"
#include "gguf/gguf_test_support.h"

namespace troika::gguf {
namespace {
using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::file_bytes;

Keys some_keys() {
  Keys keys;
  keys.text("general.architecture", "llama");
  keys.whole("llama.block_count", 3);
  keys.number("llama.eps", 1e-6);
  keys.truth("a.truth", true);
  keys.texts("a.texts", {"x", "", "\xC3\xA4"});
  keys.wholes("a.wholes", {1, -2});
  return keys;
}

std::string good_file() { return file_bytes(some_keys(), {{"w", {2, 32}, "Q8_0"}, {"norm", {5}}}); }

// "" where the file is accepted.
std::string complaint(const std::string& content) {
  try {
    const Header header(content, "a.gguf");
    return "";
  } catch (const base::DataError& error) {
    EXPECT_THAT(error.what(), HasSubstr("'a.gguf'"));
    return error.what();
  }
}

template <class T>
std::string with(std::string content, std::size_t at, T value) {
  std::memcpy(content.data() + at, &value, sizeof value);
  return content;
}

TEST(GgufHeader, HasWhatThePackageOfLlamaCppWrote) {
  const File file(TROIKA_SOURCE_DIR "/src/ground/gguf/golden/quantised.gguf");
  const Header& header = file.header();
  EXPECT_EQ(header.text("general.architecture"), "llama");
  EXPECT_EQ(header.whole("llama.block_count", 0), 3);
  EXPECT_EQ(header.number("llama.eps", 0), 1e-6) << "as it was written, not as F32 has it";
  EXPECT_TRUE(header.truth("a.truth", false));
  EXPECT_THAT(header.texts("a.texts"), ElementsAre("x", "", "\xC3\xA4"));
  EXPECT_THAT(header.numbers("a.wholes"), ElementsAre(1, -2));
  EXPECT_EQ(header.whole("a.long", 0), -5);
  EXPECT_EQ(header.whole("none", 7), 7);
  EXPECT_EQ(header.tensors().size(), 22);
  EXPECT_THAT(header.find_tensor("Q4_K")->shape, ElementsAre(2, 256));
}

TEST(GgufHeader, ReadsBackWhatKeysWrite) {
  const std::string content = good_file();
  const Header header(content, "a.gguf");
  EXPECT_THAT(header.texts("a.texts"), ElementsAre("x", "", "\xC3\xA4"));
  EXPECT_THAT(header.numbers("a.wholes"), ElementsAre(1, -2));
  EXPECT_EQ(header.number("llama.eps", 0), 1e-6);
  ASSERT_EQ(header.tensors().size(), 2);
  EXPECT_EQ(header.tensors()[0].bytes, 2 * 34);
  EXPECT_EQ(header.tensors()[1].begin % alignment, 0);
  EXPECT_THAT(header.keys_after("a."), ElementsAre("texts", "truth", "wholes"));
  EXPECT_EQ(complaint(with<std::uint32_t>(content, 4, 2)), "") << "version 2";
}

TEST(GgufHeader, IsRefusedWhereverTheFileEnds) {
  const std::string content = good_file();
  for (std::size_t bytes = 0; bytes < content.size() - 12; ++bytes)
    EXPECT_NE(complaint(content.substr(0, bytes)), "") << bytes;
  EXPECT_THAT(complaint(content.substr(0, content.size() - 40)), HasSubstr("it was not copied whole"));
}

TEST(GgufHeader, OfOtherFormsIsRefusedBySayingWhichItIs) {
  const std::string content = good_file();
  EXPECT_THAT(complaint("GGML" + content.substr(4)), HasSubstr("does not begin with GGUF"));
  EXPECT_THAT(complaint(with<std::uint32_t>(content, 4, 0x03000000)), HasSubstr("is a big-endian GGUF file"));
  EXPECT_THAT(complaint(with<std::uint32_t>(content, 4, 1)), HasSubstr("has version 1 of the GGUF format"));
  EXPECT_THAT(complaint(with<std::uint64_t>(content, 8, 1ULL << 60)),
              HasSubstr("it claims 1152921504606846976 tensors"));
  Keys parts = some_keys();
  parts.whole("split.count", 3);
  EXPECT_THAT(complaint(file_bytes(parts, {})), HasSubstr("is one of 3 files of a model"));
  Keys skewed = some_keys();
  skewed.whole("general.alignment", 24);
  EXPECT_THAT(complaint(file_bytes(skewed, {})), HasSubstr("general.alignment is 24, not a power of two"));
  Keys twice = some_keys();
  twice.whole("llama.block_count", 3);
  EXPECT_THAT(complaint(file_bytes(twice, {})), HasSubstr("the key llama.block_count twice"));
}

TEST(GgufHeader, WithTensorsThatCannotBeIsRefused) {
  const std::string content = good_file();
  const std::size_t w =
      content.find(std::string("\x01\0\0\0\0\0\0\0w", 9)) + 9;  // behind its name: dimensions, sizes, type, offset
  EXPECT_THAT(complaint(with<std::uint32_t>(content, w, 9)), HasSubstr("tensor 'w' has 9 dimensions"));
  EXPECT_THAT(complaint(with<std::uint64_t>(content, w + 4, 0)), HasSubstr("tensor 'w' has a dimension of 0"));
  EXPECT_THAT(complaint(with<std::uint64_t>(content, w + 4, 1ULL << 62)), HasSubstr("tensor 'w' has a dimension of"));
  EXPECT_THAT(complaint(with<std::uint64_t>(content, w + 4, 33)), HasSubstr("Q8_0 needs a multiple of 32"));
  EXPECT_THAT(complaint(with<std::uint32_t>(content, w + 20, 23)),
              AllOf(HasSubstr("tensor 'w' in IQ4_XS, which is not read"),
                    HasSubstr("F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K")));
  EXPECT_THAT(complaint(with<std::uint32_t>(content, w + 20, 99)), HasSubstr("in type 99"));
  EXPECT_THAT(complaint(with<std::uint64_t>(content, w + 24, 8)), HasSubstr("no multiple of the alignment 32"));
  EXPECT_THAT(complaint(with<std::uint64_t>(content, w + 24, 96)), HasSubstr("tensor 'w' "));
  EXPECT_THAT(complaint(with<std::uint64_t>(content, w + 24, ~0ULL)), HasSubstr("not copied whole"));
  EXPECT_THAT(complaint(file_bytes(some_keys(), {{"w", {32}}, {"w", {32}}})), HasSubstr("tensor 'w' twice"));
}

TEST(GgufHeader, ValuesOfAnotherTypeAreRefused) {
  const std::string content = good_file();
  const Header header(content, "a.gguf");
  EXPECT_THROW(header.whole("general.architecture", 0), base::DataError);
  EXPECT_THROW(header.text("llama.block_count"), base::DataError);
  EXPECT_THROW(header.truth("llama.block_count", false), base::DataError);
  EXPECT_THROW(header.texts("a.wholes"), base::DataError);
  EXPECT_THROW(header.numbers("a.texts"), base::DataError);
  EXPECT_THROW(header.whole("llama.eps", 0), base::DataError);
}

}  // namespace
}  // namespace troika::gguf
