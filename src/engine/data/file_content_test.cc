#include "data/file_content.h"

#include <gmock/gmock.h>

#include "data/compress_test_support.h"

namespace troika::data {
namespace {
using testing::AllOf;
using testing::HasSubstr;

std::string sentence(const std::string& first, const std::string& path) {
  const auto found = foreign_content(first, path);
  return found ? describe(*found, path).english : "";
}

TEST(TableCommand, HasTheNameWithoutItsEndings) {
  EXPECT_EQ(table_command("a.b/t.arrow", "arrow"),
            "python3 -c \"import datasets; datasets.Dataset.from_file('a.b/t.arrow').to_json('a.b/t.jsonl', "
            "force_ascii=False)\"");
  EXPECT_EQ(table_command("t.xlsx", "excel"),
            "python3 -c \"import pandas; pandas.read_excel('t.xlsx').to_json('t.jsonl', orient='records', lines=True, "
            "force_ascii=False)\"");
}

TEST(FileContent, OfTextIsNothing) {
  for (const char* text : {"text", "{\"text\": 1}", "\xEF\xBB\xBF{}", "caf\xE9", "ORCHID", "BZh is a word", ""})
    EXPECT_EQ(sentence(text, "a.txt"), "");
}

TEST(FileContent, IsNamedWithWhatToDo) {
  EXPECT_EQ(sentence(gzip("{}"), "a.jsonl"),
            "'a.jsonl' is not text but gzip data: rename it to end in .gz, or decompress it");
  EXPECT_THAT(sentence(gzip("{}"), "a.jsonl.gz"), HasSubstr("decompress it first"));  // twice
  EXPECT_THAT(sentence(zstd("{}"), "a"), HasSubstr("Zstandard data: rename it to end in .zst"));
  EXPECT_THAT(sentence("\xFD\x37zXZ", "a"), HasSubstr("xz data"));
  EXPECT_THAT(sentence("BZh91AY&SY...", "a"), HasSubstr("bzip2 data"));
  EXPECT_THAT(sentence("PK\x03\x04", "a"), HasSubstr("a ZIP archive"));
  EXPECT_THAT(sentence("PAR1\x15", "b/a"),
              AllOf(HasSubstr("a Parquet file"),
                    HasSubstr("\n  python3 -c \"import pandas; pandas.read_parquet('b/a').to_json('b/a.jsonl', "
                              "orient='records', lines=True")));
  EXPECT_THAT(sentence("version https://git-lfs.github.com/spec/v1\n", "a"), HasSubstr("git lfs pull"));
  EXPECT_THAT(sentence(std::string("\x7F"
                                   "ELF\0",
                                   5),
                       "a"),
              HasSubstr("binary data"));
  EXPECT_EQ(
      sentence(std::string("{\0}\0\n\0", 6), "x/a.jsonl"),
      "'x/a.jsonl' is not UTF-8 but UTF-16LE: convert it\n  iconv -f UTF-16LE -t UTF-8 'x/a.jsonl' > 'x/a.utf8.jsonl'");
  EXPECT_THAT(sentence("\xFF\xFE{", "a.txt"), HasSubstr("iconv -f UTF-16 -t UTF-8 'a.txt' > 'a.utf8.txt'"));
}

}  // namespace
}  // namespace troika::data
