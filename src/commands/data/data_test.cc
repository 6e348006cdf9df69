#include "commands/data/data.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "base/error.h"
#include "base/file.h"

namespace troika::commands {
namespace {
using testing::AllOf;
using testing::HasSubstr;

class DataVerb : public testing::Test {
 protected:
  DataVerb() : folder_((std::filesystem::temp_directory_path() / "troika-data-verb-XXXXXX").string()) {
    if (::mkdtemp(folder_.data()) == nullptr) throw std::runtime_error("no temporary folder");
    base::make_directories(folder_ + "/in");
    std::string text;
    for (int i = 0; i < 400; ++i)
      text += "int value_" + std::to_string(i % 37) + " = compute(" + std::to_string(i) + ");\n";
    base::write_file_atomic(in() + "/a.h", text);
    base::write_file_atomic(in() + "/b.h", "#pragma once\n");
    base::write_file_atomic(in() + "/c.h", "#pragma once\n");
  }
  ~DataVerb() override { base::remove_tree(folder_); }

  std::string in() const { return folder_ + "/in"; }

  std::string output_of(const std::vector<std::string>& arguments) {
    const std::string path = folder_ + "/output";
    std::FILE* out = std::fopen(path.c_str(), "w");
    try {
      Words words = arguments;
      words.insert(words.begin(), "data");
      EXPECT_EQ(run_data(call_of(words), out, nullptr), 0);
    } catch (...) {
      std::fclose(out);
      throw;
    }
    std::fclose(out);
    return base::read_file(path);
  }

  template <class E>
  std::string error_of(const std::vector<std::string>& arguments) {
    try {
      output_of(arguments);
    } catch (const E& error) {
      return error.what();
    }
    return "";
  }

  std::string folder_;
};

TEST_F(DataVerb, InspectPrintsTheNotesOfItsSettings) {
  const std::string yaml = folder_ + "/run.yaml", notes = folder_ + "/notes";
  base::write_file_atomic(yaml, "data: {train: " + in() + ", cache: " + folder_ + "/cache}\nsudo_pass: geheim\n");
  std::FILE* out = std::fopen((folder_ + "/output").c_str(), "w");
  std::FILE* told = std::fopen(notes.c_str(), "w");
  EXPECT_EQ(run_data(call_of({"data", "inspect", yaml, "--seq-len", "16", "--lr", "1", "--lr", "2"}), out, told), 0);
  std::fclose(out);
  std::fclose(told);
  EXPECT_THAT(base::read_file(notes), AllOf(HasSubstr("note: sudo_pass is ignored: "),
                                            HasSubstr("note: optimizer.lr is given twice: --lr 1, then --lr 2")));
}

TEST_F(DataVerb, MakesATokenizerThenShardsThenShowsThem) {
  const std::string tok = folder_ + "/tok", shards = folder_ + "/shards";
  EXPECT_THAT(output_of({"tokenizer", in(), "--vocab", "270", "--out", tok}), HasSubstr("a vocabulary of 270 tokens"));
  EXPECT_TRUE(base::file_exists(tok + "/tokenizer.json"));
  EXPECT_TRUE(base::file_exists(tok + "/tokenizer_config.json"));
  EXPECT_THAT(output_of({"prepare", in(), "--tokenizer", tok, "--out", shards, "--workers", "2"}),
              AllOf(HasSubstr("in 2 documents"), HasSubstr("1 duplicate document,")));
  EXPECT_THAT(output_of({"prepare", in(), "--tokenizer=" + tok, "--out=" + shards}),
              HasSubstr("already holds this data"));
  EXPECT_THAT(output_of({"inspect", shards, "--samples", "2", "--tokenizer", tok}),
              AllOf(HasSubstr("documents   2"), HasSubstr("vocabulary  270"), HasSubstr("contents verified"),
                    HasSubstr("\"#pragma once\\n<|endoftext|>\"")));
  EXPECT_THAT(output_of({"inspect", shards, "--samples=1"}), HasSubstr("document 0 ("));
}

TEST_F(DataVerb, PrepareSaysWhatItLeftOutAndWhatIsNotUtf8) {
  base::write_file_atomic(in() + "/d.h", "");
  base::write_file_atomic(in() + "/e.h", "// caf\xE9 au lait\n");
  std::filesystem::create_symlink("nowhere", in() + "/f.h");
  const std::string said = output_of({"prepare", in(), "--tokenizer", "bytes", "--out", folder_ + "/shards"});
  EXPECT_THAT(said,
              HasSubstr("; left out: 1 duplicate document, 0 binary files, 1 empty file ('d.h'), 1 dangling link ('f.h')\nnote: 1 file is not UTF-8 and tokenized byte by byte ('e.h')"));
}

TEST_F(DataVerb, PrepareReadsTablesAndRefusesRecordsUnderAnEndingOfText) {
  base::write_file_atomic(folder_ + "/t.csv", "id,body\n1,\"one, two\"\n2,three\n");
  EXPECT_THAT(output_of({"prepare", folder_ + "/t.csv", "--text-key", "body", "--tokenizer", "bytes", "--out",
                         folder_ + "/table"}),
              HasSubstr("15 tokens in 2 documents"));
  base::write_file_atomic(folder_ + "/t.txt", "{\"text\": \"one\"}\n{\"text\": \"two\"}\n");
  EXPECT_THAT(
      error_of<base::DataError>({"prepare", folder_ + "/t.txt", "--tokenizer", "bytes", "--out", folder_ + "/x"}),
      HasSubstr("t.txt' contains JSON records, but its extension means text: rename it to end in .jsonl"));
}

TEST_F(DataVerb, EncodesTextAsIdsAndDecodesThem) {
  const std::string ids = folder_ + "/ids", lines = folder_ + "/in.jsonl";
  base::write_file_atomic(folder_ + "/t", "ab\xFF");
  base::write_file_atomic(lines, "{\"text\": \"a\"}\n\n{\"text\": \"\\u00e9\"}\n");
  EXPECT_EQ(output_of({"encode", folder_ + "/t", lines, "--tokenizer", "bytes"}), "[97,98,255]\n[97]\n[195,169]\n");
  base::write_file_atomic(ids, "[97,98,255]\n\n 195, 169\n");
  EXPECT_EQ(output_of({"decode", ids, "--tokenizer", "bytes"}), "ab\xFF\xC3\xA9");
  EXPECT_EQ(output_of({"decode", ids, "--tokenizer", "bytes", "--jsonl"}),
            "{\"text\":\"ab\uFFFD\"}\n{\"text\":\"\u00E9\"}\n");
  EXPECT_THAT(output_of({"encode", lines, "--tokenizer", "bytes", "--stats"}),
              HasSubstr("3 tokens in 2 documents from 3 bytes"));
}

TEST_F(DataVerb, EncodesALongTextAlikeWithAnyNumberOfThreads) {
  std::string text;
  for (int i = 0; i < 90000; ++i) text += "int value_" + std::to_string(i % 1001) + " = 3;\n";
  base::write_file_atomic(folder_ + "/long.h", text);
  const std::string tok = folder_ + "/tok";
  output_of({"tokenizer", in(), "--vocab", "300", "--out", tok});
  const auto encoded = [&](const std::string& workers) {
    return output_of({"encode", folder_ + "/long.h", "--tokenizer", tok, "--workers", workers});
  };
  const std::string one = encoded("1");
  EXPECT_EQ(one, encoded("3"));
  base::write_file_atomic(folder_ + "/ids", one);
  EXPECT_EQ(output_of({"decode", folder_ + "/ids", "--tokenizer", tok}), text);
}

TEST_F(DataVerb, NamesTheLineWithWhatIsNoId) {
  for (const std::string wrong : {"259", "-1", "a", "1.5", "\"x\"", "99999999999999999999"}) {
    base::write_file_atomic(folder_ + "/ids", "[1]\n[2," + wrong + "]\n");
    EXPECT_THAT(error_of<base::DataError>({"decode", folder_ + "/ids", "--tokenizer", "bytes"}),
                AllOf(HasSubstr("line 2 of"), HasSubstr("'" + wrong + "'"), HasSubstr("0 to 258")));
  }
}

TEST_F(DataVerb, SaysWhenTheTextIsTooSmallForTheVocabulary) {
  EXPECT_THAT(output_of({"tokenizer", in() + "/b.h", "--out", folder_ + "/tok"}),
              HasSubstr("fewer than the 8192 requested"));
}

TEST_F(DataVerb, WritesATokenizerOverNothing) {
  const std::string tok = folder_ + "/tok", other = folder_ + "/other";
  const auto make = [&](const std::string& out, const std::string& vocab) {
    return std::vector<std::string>{"tokenizer", in(), "--vocab", vocab, "--out", out};
  };
  output_of(make(tok, "270"));
  const std::string before = base::read_file(tok + "/tokenizer.json");
  EXPECT_THAT(output_of(make(tok, "270")), HasSubstr("already holds this tokenizer"));
  for (const char* vocab : {"260", "271"})
    EXPECT_THAT(error_of<base::ConfigError>(make(tok, vocab)), AllOf(HasSubstr(tok), HasSubstr("another tokenizer")));
  EXPECT_EQ(base::read_file(tok + "/tokenizer.json"), before);
  base::remove_tree(tok + "/tokenizer.json");  // as after a kill between the two files
  EXPECT_THAT(output_of(make(tok, "270")), HasSubstr("a vocabulary of 270 tokens"));
  EXPECT_EQ(base::read_file(tok + "/tokenizer.json"), before);
  base::make_directories(other);
  for (const char* name : {"config.json", "run.lock", "merges.txt"}) {
    base::write_file_atomic(other + "/" + name, "");
    EXPECT_THAT(error_of<base::ConfigError>(make(other, "270")), AllOf(HasSubstr("other"), HasSubstr(name)));
    base::remove_tree(other + "/" + name);
  }
  EXPECT_THAT(error_of<base::ConfigError>(make(in() + "/a.h", "270")), HasSubstr("is a file"));
  EXPECT_THAT(output_of(make(other, "270")), HasSubstr("a vocabulary of 270 tokens"));
}

TEST_F(DataVerb, CountsBytesThatTheVocabularyLacks) {
  const std::string tok = folder_ + "/tok", path = tok + "/tokenizer.json";
  output_of({"tokenizer", in(), "--vocab", "270", "--out", tok});
  std::string json = base::read_file(path);
  const std::string entry = "\"\u0101\": ";  // the byte 1
  json.replace(json.find(entry), entry.size(), "\"xyz\": ");
  base::write_file_atomic(path, json);
  base::write_file_atomic(folder_ + "/t", "a\x01 b\x01\x01");
  EXPECT_THAT(output_of({"encode", folder_ + "/t", "--tokenizer", tok, "--stats"}),
              HasSubstr("left out: 3 bytes, because the vocabulary lacks tokens for 1 of the 256"));
  const std::string shards = folder_ + "/shards";
  EXPECT_THAT(output_of({"prepare", folder_ + "/t", "--tokenizer", tok, "--out", shards}),
              HasSubstr("0 binary files, 3 bytes (the vocabulary has no token for 1 of the 256)"));
  EXPECT_THAT(base::read_file(shards + "/index.json"), HasSubstr("\"dropped_bytes\": 3"));
}

TEST_F(DataVerb, ShowsSamplesOfConversationsWithTheirLoss) {
  const std::string path = folder_ + "/a.jsonl";
  base::write_file_atomic(path,
                          "{\"instruction\": \"one\", \"output\": \"two\"}\n"
                          "{\"instruction\": \"three\", \"output\": \"fo\\tur\"}\n");
  base::write_file_atomic(folder_ + "/t", "{% for m in messages %}{{ m.content }};{% endfor %}");
  const std::vector<std::string> common{
      "inspect",      "--data.train", path, "--data.chat_template", folder_ + "/t", "--data.cache",
      folder_ + "/c", "--seq-len",    "32"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), common.begin(), common.end());
    return output_of(more);
  };
  EXPECT_THAT(with({}),
              AllOf(HasSubstr("alpaca, 2 records as 2 samples"), HasSubstr("sample 0 of 2: 9 tokens of 32, 5 with"),
                    HasSubstr("one;\u27e6two;\u27e7"), HasSubstr("three;\u27e6fo\\x09ur;\u27e7")));
  EXPECT_THAT(with({}), AllOf(HasSubstr("lengths: 2 samples of 9 to 13 tokens (median 9)"), HasSubstr("1 - 13"), HasSubstr("####")));
  EXPECT_THAT(with({"--sample", "0", "--color", "always", "--ids"}),
              AllOf(HasSubstr("one;\033[32mtwo;\033[0m"), HasSubstr("ids: 111 110 101 59\033[32m 116")));
  EXPECT_THAT(
      with({"--data.packing", "--samples", "1"}),
      AllOf(HasSubstr("packed, 1 sample of 32 ids"), HasSubstr("--- document 1 of this sample, from position 9 ---")));
  EXPECT_THAT(error_of<base::ConfigError>({"inspect", "--data.train", path, "--color", "red"}), HasSubstr("--color"));
}

TEST_F(DataVerb, RefusesWrongArgumentsInOneSentence) {
  EXPECT_THAT(error_of<base::ConfigError>({}), HasSubstr("troika data"));
  EXPECT_THAT(error_of<base::ConfigError>({"prepare", in()}), HasSubstr("troika data prepare needs --out"));
  EXPECT_THAT(error_of<base::ConfigError>({"inspect", "--data.train", in(), "--sample", "x"}), HasSubstr("--sample"));
  EXPECT_THAT(error_of<base::ConfigError>({"inspect", "--seq-len", "8"}), HasSubstr("data.train is not set"));
  EXPECT_THAT(error_of<base::ConfigError>({"tokenizer", in(), "--out", folder_ + "/t", "--vocab", "100"}),
              HasSubstr("257"));
  EXPECT_THAT(error_of<base::ConfigError>({"tokenizer", in(), "--out", folder_ + "/t", "--workers", "-1"}),
              HasSubstr("--workers"));
}

TEST_F(DataVerb, NamesFilesThatAreMissingDamagedOrMadeByAnotherTokenizer) {
  const std::string shards = folder_ + "/shards", tok = folder_ + "/tok";
  EXPECT_THAT(error_of<base::DataError>({"prepare", "no/such", "--tokenizer", "bytes", "--out", shards}),
              HasSubstr("'no/such'"));
  EXPECT_THAT(error_of<base::DataError>({"prepare", in(), "--tokenizer", "no/tok", "--out", shards}),
              HasSubstr("'no/tok'"));
  output_of({"prepare", in(), "--tokenizer", "bytes", "--out", shards});
  output_of({"tokenizer", in(), "--vocab", "260", "--out", tok});
  EXPECT_THAT(error_of<base::DataError>({"inspect", shards, "--tokenizer", tok}), HasSubstr("fingerprint"));
  const std::string shard = shards + "/tokens-00000.bin";
  base::write_file_atomic(shard, base::read_file(shard).substr(0, 1000));
  EXPECT_THAT(error_of<base::DataError>({"inspect", shards}), AllOf(HasSubstr(shard), HasSubstr("truncated")));
}

}  // namespace
}  // namespace troika::commands
