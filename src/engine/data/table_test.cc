#include "data/table.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "base/text_files_test_support.h"
#include "data/chunks.h"
#include "data/compress_test_support.h"

namespace troika::data {
namespace {
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// The records of `content` under the name `name`, cut into chunks of `chunk_bytes`, with their places.
std::vector<std::string> records_in(const std::string& name, const std::string& content,
                                    std::size_t chunk_bytes = 1 << 20) {
  const base::TestFolder folder;
  const Corpus corpus = find_corpus({folder.write(name, content)}, JsonFiles::records);
  ChunkReader reader(corpus, {}, chunk_bytes);
  std::vector<std::string> records;
  while (const auto chunk = reader.next()) {
    for_each_record(*chunk, [&](std::string_view record, const base::Text& origin) {
      records.push_back(origin.english.substr(0, origin.english.find(" of")) + " " + std::string(record));
    });
  }
  return records;
}

std::string refusal_of(const std::string& name, const std::string& content) {
  return base::message_of<base::DataError>([&] { records_in(name, content); });
}

TEST(Table, HasARecordOfTextsPerRow) {
  const std::string content =
      "\xEF\xBB\xBFinstruction,\"out\"\"put\",n\r\n"
      "a,\"b, \"\"c\"\"\",1\r\n"
      "\r\n"
      "\"two\r\nlines\",,x \"y\"\r\n"
      "é,\"\",0";
  for (const std::size_t chunk_bytes : {1u, 20u, 1000u})
    EXPECT_THAT(records_in("a.csv", content, chunk_bytes),
                ElementsAre("line 2 {\"instruction\":\"a\",\"out\\\"put\":\"b, \\\"c\\\"\",\"n\":\"1\"}",
                            "line 4 {\"instruction\":\"two\\r\\nlines\",\"out\\\"put\":\"\",\"n\":\"x \\\"y\\\"\"}",
                            "line 6 {\"instruction\":\"é\",\"out\\\"put\":\"\",\"n\":\"0\"}"));
}

TEST(Table, MayHaveTabsOtherLineBreaksCapitalsAndCompression) {
  EXPECT_THAT(records_in("a.tsv", "a\tb\n1,2\t\"x\ty\"\n"), ElementsAre("line 2 {\"a\":\"1,2\",\"b\":\"x\\ty\"}"));
  EXPECT_THAT(records_in("a.CSV", "a\r1\r2"), ElementsAre("line 2 {\"a\":\"1\"}", "line 3 {\"a\":\"2\"}"));
  EXPECT_THAT(records_in("a.csv.GZ", gzip("a,b\n1,2\n")), ElementsAre("line 2 {\"a\":\"1\",\"b\":\"2\"}"));
}

TEST(Table, HasListsAsJsonInItsFields) {
  EXPECT_THAT(records_in("a.csv", "messages,tools\n\"[{\"\"role\"\": \"\"user\"\"}]\",\n"),
              ElementsAre("line 2 {\"messages\":[{\"role\": \"user\"}]}"));
  EXPECT_THAT(refusal_of("a.csv", "messages\n\"[{'role': 'user'}]\"\n"),
              AllOf(HasSubstr("line 2 of '"), HasSubstr("'messages': not valid JSON at byte 3: single quotes")));
}

TEST(Table, IsRefusedByLineWhereItIsMalformed) {
  EXPECT_THAT(refusal_of("a.csv", "a,b\n1,2\n3\n"),
              AllOf(HasSubstr("line 3 of"), HasSubstr("the number of fields is 1, but the header has 2")));
  EXPECT_THAT(refusal_of("a.csv", "a,b\n\"1\n2\",3\n4,5,6\n"), AllOf(HasSubstr("line 4 of"), HasSubstr("the number of fields is 3")));
  EXPECT_THAT(refusal_of("a.csv", "a,b\n1,\"2\n3,4\n"), AllOf(HasSubstr("line 2 of"), HasSubstr("never closed")));
  EXPECT_THAT(refusal_of("a.csv", "a,b\n1,\"2\" 3\n"),
              AllOf(HasSubstr("line 2 of"), HasSubstr("follows a closing quote")));
  EXPECT_THAT(refusal_of("a.csv", "a,a\n1,2\n"), HasSubstr("'a' is listed twice"));
  EXPECT_THAT(refusal_of("a.csv", "a;b\n1;2\n"), HasSubstr("fields separated by commas, but its header has ';'"));
  EXPECT_THAT(refusal_of("a.tsv", "a,b\n1,2\n"), HasSubstr("fields separated by tabs, but its header has ','"));
  EXPECT_THAT(refusal_of("a.csv", "a,b\n1,caf\xE9 cr\xE8me\n"),
              AllOf(HasSubstr("line 2 of"), HasSubstr("iconv -f LATIN1")));
}

TEST(Table, NamedInsideAFolderOfTextIsText) {
  const base::TestFolder folder;
  folder.write("a.txt", "some text");
  folder.write("b.csv", "a,b\n1,2\n");
  EXPECT_EQ(find_corpus({folder.path()}).files[1].kind, FileKind::text);
  EXPECT_EQ(find_corpus({folder / "b.csv"}).files[0].kind, FileKind::table);
  EXPECT_EQ(find_corpus({folder / "b.csv"}, JsonFiles::as_text).files[0].kind, FileKind::text);
}

}  // namespace
}  // namespace troika::data
