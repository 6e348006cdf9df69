#include "data/input_text.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "base/text.h"
#include "base/text_files_test_support.h"
#include "data/chunks.h"
#include "data/compress_test_support.h"

namespace troika::data {
namespace {
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string text = base::source_like_text(20000, 3);  // several pieces of output

TEST(InputText, ReadsWhatIsCompressedAsWhatItWas) {
  const base::TestFolder folder;
  for (const std::string& path :
       {folder.write("a.txt", text), folder.write("a.txt.gz", gzip(text)), folder.write("a.txt.zst", zstd(text))}) {
    EXPECT_EQ(InputText(path, folder / "scratch").text(), text);
    EXPECT_EQ(first_text(path, 1000), text.substr(0, 1000));
  }
  EXPECT_TRUE(base::list_directory(folder / "scratch").empty());
}

TEST(InputText, ReadsSeveralMembersOneAfterTheOther) {
  const base::TestFolder folder;
  EXPECT_EQ(InputText(folder.write("a.gz", gzip("one ") + gzip("two")), folder.path()).text(), "one two");
  EXPECT_EQ(InputText(folder.write("a.zst", zstd("one ") + zstd("two")), folder.path()).text(), "one two");
}

TEST(InputText, RefusesWhatIsTruncatedDamagedOrFollowedByOtherThings) {
  const base::TestFolder folder;
  const auto error = [&](const std::string& name, const std::string& content) {
    const std::string path = folder.write(name, content);
    return base::message_of<base::DataError>([&] { InputText(path, folder / "scratch"); });
  };
  const std::string gz = gzip(text), zst = zstd(text);
  for (const std::size_t size : {std::size_t{1}, gz.size() / 2, gz.size() - 1})
    EXPECT_THAT(error("a.gz", gz.substr(0, size)), AllOf(HasSubstr("a.gz' ends after"), HasSubstr("copy it again")));
  for (const std::size_t size : {std::size_t{1}, zst.size() / 2, zst.size() - 1})
    EXPECT_THAT(error("a.zst", zst.substr(0, size)), AllOf(HasSubstr("a.zst' ends after"), HasSubstr("copy it again")));
  EXPECT_THAT(error("a.gz", "plain text"), HasSubstr("is damaged at byte"));
  EXPECT_THAT(error("a.zst", "plain text"), HasSubstr("is damaged at byte"));
  EXPECT_THAT(error("a.gz", gz + "more"), HasSubstr("is damaged at byte"));
  EXPECT_THAT(error("a.zst", zst + "more"), HasSubstr("is damaged at byte"));
  EXPECT_THAT(error("a.gz", ""), HasSubstr("ends after 0 bytes"));
  std::string turned = gz;
  turned[gz.size() / 2] ^= 0x55;
  EXPECT_THAT(error("a.gz", turned), testing::AnyOf(HasSubstr("is damaged at byte"), HasSubstr("ends after")));
}

std::vector<std::string> records_of(const std::string& path, std::size_t chunk_bytes) {
  const Corpus corpus = find_corpus({path}, JsonFiles::records);
  ChunkReader reader(corpus, {}, chunk_bytes);
  std::vector<std::string> records;
  std::int64_t bytes = 0;
  while (const auto chunk = reader.next()) {
    for_each_record(*chunk, [&](std::string_view record, const base::Text& origin) {
      records.push_back(origin.english.substr(0, origin.english.find(" of")) + " " + base::trim(record));
    });
    bytes += chunk->input_bytes;
  }
  EXPECT_EQ(bytes, corpus.bytes);
  return records;
}

TEST(Records, OfAnArrayAreItsElementsAtAnyChunkSize) {
  const base::TestFolder folder;
  const std::string array = " [ {\"a\": [1, \"]}\\\"\"]} ,\n{\"b\":{}},3 , \"x,\\\\\" ]\n";
  const auto same = ElementsAre("[0] {\"a\": [1, \"]}\\\"\"]}", "[1] {\"b\":{}}", "[2] 3", "[3] \"x,\\\\\"");
  for (const std::size_t size : {1, 20, 1000}) {
    EXPECT_THAT(records_of(folder.write("a.json", array), size), same);
    EXPECT_THAT(records_of(folder.write("a.json.gz", gzip(array)), size), same);
  }
  EXPECT_TRUE(records_of(folder.write("b.json", "[ ]"), 10).empty());
  EXPECT_THAT(records_of(folder.write("c.json.zst", zstd("{}\n\n{\"a\":1}")), 10),
              ElementsAre("line 1 {}", "line 3 {\"a\":1}"));
}

TEST(Records, OfAnArrayThatIsCutOrFollowedByMoreAreRefused) {
  const base::TestFolder folder;
  const auto error = [&](const std::string& content) {
    const std::string path = folder.write("a.json", content);
    return base::message_of<base::DataError>([&] { records_of(path, 4); });
  };
  EXPECT_THAT(error("[{}, {}"), HasSubstr("ends inside its array"));
  EXPECT_THAT(error("[{}, \"a"), HasSubstr("ends inside its array"));
  EXPECT_THAT(error("[{}] {}"), HasSubstr("text after its array of records, at byte 5"));
}

TEST(JsonLines, GiveOneDocumentPerLineWhereTheyAreCompressed) {
  const base::TestFolder folder;
  const Corpus corpus = find_corpus({folder.write("a.jsonl.gz", gzip("{\"text\": \"one\"}\n{\"text\": \"two\"}\n"))});
  ChunkReader reader(corpus, {});
  std::string texts;
  for_each_part(*reader.next(), "text", [&](const DocumentPart& part) { texts += std::string(part.view) + ";"; });
  EXPECT_EQ(texts, "one;two;");
}

}  // namespace
}  // namespace troika::data
