#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/text_files_test_support.h"
#include "data/chunks.h"

namespace troika::data {
namespace {
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> names_of(const Corpus& corpus) {
  std::vector<std::string> names;
  for (const CorpusFile& file : corpus.files) names.push_back(file.name);
  return names;
}

TEST(Corpus, ListsFoldersInByteOrderWithoutBinaryEmptyAndHiddenFiles) {
  const base::TestFolder folder;
  folder.write("b.txt", "b");
  folder.write("a/z.h", "z");
  folder.write("a/Y.h", "y");
  folder.write("picture", std::string("PNG\0\1", 5));
  folder.write("empty", "");
  folder.write(".git/config", "hidden");
  folder.write("lines.jsonl", "{}\n");
  std::filesystem::create_directory_symlink(folder / "a", folder / "loop");
  std::filesystem::create_symlink(folder / "nowhere", folder / "broken");
  const Corpus corpus = find_corpus({folder.path()});
  EXPECT_THAT(names_of(corpus), ElementsAre("a/Y.h", "a/z.h", "b.txt", "lines.jsonl"));
  EXPECT_EQ(corpus.bytes, 6);
  EXPECT_EQ(corpus.skipped_binary, 1);
  EXPECT_EQ(corpus.files[3].kind, FileKind::json_lines);
}

TEST(Corpus, PassesOverByteOrderMarksAndDescriptionsOfData) {
  const base::TestFolder folder;
  folder.write("a.json", "\xEF\xBB\xBF\n[{}]");
  folder.write("b.json", "\xEF\xBB\xBF{}");
  folder.write("dataset_info.json", "{}");
  const Corpus corpus = find_corpus({folder.path()}, JsonFiles::records);
  ASSERT_THAT(names_of(corpus), ElementsAre("a.json", "b.json"));
  EXPECT_EQ(corpus.files[0].kind, FileKind::json_array);
  EXPECT_EQ(corpus.files[1].kind, FileKind::json_lines);
  EXPECT_EQ(find_corpus({folder / "dataset_info.json"}).files.size(), 1);
}

TEST(Corpus, HashesNamesAndContentsButNotWhereTheyLie) {
  const base::TestFolder a, b;
  a.write("x/1.txt", "one");
  b.write("x/1.txt", "one");
  EXPECT_EQ(corpus_hash(find_corpus({a.path()})), corpus_hash(find_corpus({b.path()})));
  b.write("x/1.txt", "two");
  EXPECT_NE(corpus_hash(find_corpus({a.path()})), corpus_hash(find_corpus({b.path()})));
}

TEST(Corpus, SaysWhatIsWrongWithAnInput) {
  const base::TestFolder folder;
  const auto error = [&](const std::string& input) {
    return base::message_of<base::DataError>([&] { find_corpus({input}); });
  };
  EXPECT_THAT(error(folder / "none.txt"), HasSubstr("none.txt' does not exist"));
  EXPECT_THAT(error(folder.write("empty.txt", "")), HasSubstr("empty.txt' is empty"));
  EXPECT_THAT(error(folder.write("program", std::string("\x7F"
                                                        "ELF\0",
                                                        5))),
              HasSubstr("program' is not text"));
  EXPECT_THAT(error(folder.path()), HasSubstr("no text files (1 binary one was"));
}

TEST(ChunkReader, CutsFilesWithoutLosingAByte) {
  const base::TestFolder folder;
  const std::string a = base::source_like_text(200, 1), b = "{\"text\": 1}\n\n{\"text\": 2}\n{\"text\": 3}";
  folder.write("a.txt", a);
  folder.write("b.jsonl", b);
  const Corpus corpus = find_corpus({folder.path()});
  for (const std::size_t size : {1u, 7u, 100u, 1000000u}) {
    ChunkReader reader(
        corpus, [](std::string_view text, std::size_t from) { return std::min(from, text.size()); }, size);
    std::string text, lines;
    while (const auto chunk = reader.next()) {
      if (chunk->kind == FileKind::json_lines) {
        EXPECT_EQ(chunk->first_record, 1 + std::count(lines.begin(), lines.end(), '\n'));
        lines += chunk->text;
      } else {
        EXPECT_EQ(chunk->begins, text.empty());
        text += chunk->text;
        EXPECT_EQ(chunk->ends, text.size() == a.size());
        EXPECT_EQ(chunk->document, a);
      }
    }
    EXPECT_EQ(text, a);
    EXPECT_EQ(lines, b);
  }
}

std::vector<std::string> texts_of(const std::string& path, const std::string& key) {
  const Corpus corpus = find_corpus({path});
  ChunkReader reader(corpus, [](std::string_view text, std::size_t) { return text.size(); });
  std::vector<std::string> texts;
  while (const auto chunk = reader.next()) {
    for_each_part(*chunk, key, [&](const DocumentPart& part) { texts.emplace_back(part.view); });
  }
  return texts;
}

TEST(JsonLines, GiveOneDocumentPerLine) {
  const base::TestFolder folder;
  const std::string path =
      folder.write("a.jsonl", "{\"t\": \"one\\n\\u00e9\"}\r\n\n  \n{\"x\": 0, \"t\": \"two\"}\n{\"t\": \"\"}");
  EXPECT_THAT(texts_of(path, "t"), ElementsAre("one\né", "two"));
}

TEST(JsonLines, NameTheLineThatIsWrongAndTheRemedy) {
  const base::TestFolder folder;
  const auto error = [&](const std::string& lines) {
    const std::string path = folder.write("a.jsonl", lines);
    return base::message_of<base::DataError>([&] { texts_of(path, "text"); });
  };
  EXPECT_THAT(error("{\"text\": \"a\"}\n{\"body\": \"b\"}\n"),
              testing::AllOf(HasSubstr("line 2 of"), HasSubstr("'text' is missing"), HasSubstr("--text-key")));
  EXPECT_THAT(error("\n\n{\"text\": 5}\n"), testing::AllOf(HasSubstr("line 3 of"), HasSubstr("must be a string")));
  EXPECT_THAT(error("{\"text\": \"a\n"), HasSubstr("not valid JSON"));
}

}  // namespace
}  // namespace troika::data
