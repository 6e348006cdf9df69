#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/text_files_test_support.h"
#include "data/chunks.h"
#include "data/json_records.h"

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
  EXPECT_EQ(
      corpus.left_out.text().english,
      "1 binary file ('picture'), 1 empty file ('empty'), 1 dangling link ('broken'), 1 link to a folder ('loop')");
  EXPECT_EQ(corpus.left_out.count(Why::binary), 1);
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

TEST(Corpus, LeavesOutLinksThatLeadOutOfItsFolder) {
  const base::TestFolder folder, outside;
  outside.write("secret.txt", "secret");
  folder.write("in/a.txt", "a");
  folder.write(".store/b", "b");
  std::filesystem::create_symlink(outside / "secret.txt", folder / "in/s.txt");
  std::filesystem::create_directory_symlink(outside.path(), folder / "in/more");
  std::filesystem::create_symlink("../.store/b", folder / "in/b.txt");
  std::filesystem::create_directory_symlink(folder.path(), outside / "top");
  const Corpus corpus = find_corpus({folder.path()});
  EXPECT_THAT(names_of(corpus), ElementsAre("in/a.txt", "in/b.txt"));
  EXPECT_EQ(corpus.left_out.text().english, "2 links that lead out of the folder ('in/more', ...)");
  EXPECT_EQ(find_corpus({outside / "top"}).files.size(), 2);
  EXPECT_EQ(find_corpus({folder / "in/s.txt"}).files.size(), 1);
  EXPECT_THAT(base::message_of<base::DataError>([&] { find_corpus({folder / "in"}); }), "");
}

TEST(Corpus, PassesOverRunsAndTokenShards) {
  const base::TestFolder folder;
  folder.write("a.txt", "a");
  folder.write("run/run.lock", "someone");
  folder.write("run/records/rank-00000.jsonl", "{}\n");
  folder.write("tokens/tokens-00000.bin", "ids");
  const Corpus corpus = find_corpus({folder.path()});
  EXPECT_THAT(names_of(corpus), ElementsAre("a.txt"));
  EXPECT_EQ(corpus.left_out.text().english, "1 run folder ('run'), 1 folder of token shards ('tokens')");
  EXPECT_THAT(base::message_of<base::DataError>([&] { find_corpus({folder / "run"}); }),
              HasSubstr("run' is a run folder, not a data folder"));
}

TEST(Corpus, RefusesRecordsThatAreBinary) {
  const base::TestFolder folder;
  const auto error = [&](JsonFiles files) {
    return base::message_of<base::DataError>([&] { find_corpus({folder.path()}, files); });
  };
  folder.write("a.jsonl", "{}\n");
  folder.write("b.json", std::string("\xFF\xFE{\0}\0", 6));
  EXPECT_THAT(error(JsonFiles::records), HasSubstr("b.json' is not UTF-8 but UTF-16: convert it"));
  EXPECT_EQ(error(JsonFiles::documents), "");
  folder.write("c.ndjson", "\x1F\x8B");
  EXPECT_THAT(error(JsonFiles::records), HasSubstr("c.ndjson'"));
  folder.write("a.txt", "text beside them");
  EXPECT_THAT(error(JsonFiles::documents), HasSubstr("c.ndjson' is not text but gzip data"));
}

TEST(Corpus, TakesRecordsByEveryEndingAndByContent) {
  const base::TestFolder folder;
  const std::string lines = "{\"a\": 1}\n{\"a\": 2}\n", one = R"({"instruction": "q", "output": "a"})";
  const auto kind = [&](const std::string& name, const std::string& content, JsonFiles files = JsonFiles::records) {
    return find_corpus({folder.write(name, content)}, files).files[0].kind;
  };
  for (const char* name : {"a.jsonl", "a.ndjson", "a.jsonlines", "a.jl", "a.JSONL", "a.NdJson"}) {
    EXPECT_EQ(kind(name, lines, JsonFiles::documents), FileKind::json_lines) << name;
    EXPECT_EQ(kind(name, lines, JsonFiles::as_text), FileKind::json_lines) << name;
  }
  for (const char* name : {"a", "a.txt", "part-00000", "a.dat"}) {
    EXPECT_EQ(kind(name, lines), FileKind::json_lines) << name;
    EXPECT_EQ(kind(name, one), FileKind::json_lines) << name;
    EXPECT_EQ(kind(name, "[" + one + "]"), FileKind::json_array) << name;
    EXPECT_EQ(kind(name, lines, JsonFiles::as_text), FileKind::text) << name;
    EXPECT_THAT(base::message_of<base::DataError>([&] { kind(name, lines, JsonFiles::documents); }),
                HasSubstr("contains JSON records, but its extension means text"));
  }
  for (const char* text : {"{\"a\": 1}", "{\n  \"a\": 1\n}\n", "[1, 2]", "{\"a\", \"b\"}\nwords", "{\"a\": 1}\nwords"})
    EXPECT_EQ(kind("a.txt", text), FileKind::text) << text;
  EXPECT_EQ(kind("long.txt", "{\"a\": \"" + std::string(200000, 'x') + "\"}\n{\"a\": 2}\n"), FileKind::json_lines);
}

TEST(Corpus, RefusesPipesAndDevicesInOneTrueSentence) {
  const base::TestFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  const auto error = [&](const std::string& input) {
    return base::message_of<base::DataError>([&] { find_corpus({input}); });
  };
  EXPECT_THAT(error(folder / "pipe"), HasSubstr("pipe' is a pipe, which can be read only once"));
  EXPECT_THAT(error("/dev/fd/999"), HasSubstr("is a pipe"));
  EXPECT_THAT(error("/dev/null"), HasSubstr("'/dev/null' is neither a file nor a folder"));
  folder.write("a.txt", "a");
  EXPECT_EQ(find_corpus({folder.path()}).left_out.text().english, "1 pipe or device ('pipe')");
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
  EXPECT_THAT(error(folder.path()), HasSubstr("no text files (left out: 1 binary file ('program'), 1 empty file ("));
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

TEST(ChunkReader, LeavesAByteOrderMarkOutOfText) {
  const base::TestFolder folder;
  const Corpus corpus = find_corpus({folder.write("a.txt",
                                                  "\xEF\xBB\xBF"
                                                  "abc"),
                                     folder.write("b.txt", "\xEF\xBB\xBF")});
  ChunkReader reader(corpus, [](std::string_view text, std::size_t) { return text.size(); });
  const auto chunk = reader.next();
  EXPECT_EQ(chunk->text, "abc");
  EXPECT_EQ(chunk->document, "abc");
  EXPECT_TRUE(chunk->begins && chunk->ends);
  EXPECT_FALSE(reader.next().has_value());
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

TEST(JsonArray, NamesTheElementBeforeACommaTooMany) {
  const base::TestFolder folder;
  const auto error = [&](const std::string& array) {
    const Corpus corpus = find_corpus({folder.write("a.json", array)}, JsonFiles::records);
    return base::message_of<base::DataError>([&] {
      ChunkReader reader(corpus, {}, 1);
      while (const auto chunk = reader.next()) for_each_record(*chunk, [](std::string_view, const base::Text&) {});
    });
  };
  EXPECT_EQ(error("[]"), "");
  EXPECT_EQ(error("[{}, {}]"), "");
  EXPECT_THAT(error("[{}, {}, ]"),
              HasSubstr("[1] of '" + (folder / "a.json") + "' is followed by a comma and no record"));
  EXPECT_THAT(error("[{},,{}]"), HasSubstr("[0] of"));
}

TEST(Records, MayBeOfAQuarterOfAGigabyte) {
  refuse_large_record(most_record_bytes, "x");
  EXPECT_EQ(base::message_of<base::DataError>([] { refuse_large_record(most_record_bytes + 1, "line 1 of 'x'"); }),
            "line 1 of 'x': a record may have at most 256.0 MiB: split it");
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
  EXPECT_THAT(error("\n{\n  \"text\": 1\n}\n"),
              testing::AllOf(HasSubstr("line 2 of"), HasSubstr("'jq -c . FILE > NEW'")));
}

}  // namespace
}  // namespace troika::data
