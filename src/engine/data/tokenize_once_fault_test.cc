#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text_files_test_support.h"
#include "data/prepare.h"
#include "tokenizer/tokenizer.h"

namespace troika::data {
namespace {
using base::message_of;
using base::TestFolder;
using testing::AllOf;
using testing::HasSubstr;

const char* const plain =
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% if m.role == 'assistant' %}\n{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";

struct Fixture {
  base::TestFolder folder;
  tokenizer::ByteTokenizer tokenizer;
  ChatTemplate chat_template{plain, "the template", {}};
  Encoding encoding{tokenizer, chat_template, LossOn::answers, usual_shape(Format::alpaca)};

  std::string write_records(std::int64_t bytes) const {
    std::string lines;
    for (std::int64_t i = 0; static_cast<std::int64_t>(lines.size()) < bytes; ++i)
      lines +=
          nlohmann::json{{"instruction", "question " + std::to_string(i % 9000)}, {"output", std::string(200, 'a')}}
              .dump() +
          "\n";
    return folder.write("records.jsonl", lines);
  }
  std::shared_ptr<const SequenceFile> tokenize(const std::string& path, const std::string& cache, std::int64_t workers,
                                               const OnProgress& on_progress = {}) const {
    return tokenize_once(find_corpus({path}), encoding, folder / cache, {workers, 0, Equal::first_kept}, on_progress);
  }
  std::string bytes_in(const std::string& cache) const {
    for (const std::string& name : base::list_directory(folder / cache))
      if (base::ends_with(name, ".sequences")) return base::read_file(folder / cache + "/" + name);
    return "";
  }
};

TEST(TokenizeOnce, GivesTheSameFileForAnyNumberOfWorkersAndAfterAKill) {
  const Fixture f;
  const std::string path = f.write_records(5 << 20);
  EXPECT_EQ(f.tokenize(path, "one", 1)->counts().duplicates, f.tokenize(path, "three", 3)->counts().duplicates);
  EXPECT_EQ(f.bytes_in("one"), f.bytes_in("three"));
  const pid_t child = ::fork();
  if (child == 0) {
    f.tokenize(path, "killed", 2, [](const Progress& progress) {
      if (progress.done_bytes > 3 << 20) ::raise(SIGKILL);
    });
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(f.bytes_in("killed"), "");
  Progress last;
  f.tokenize(path, "killed", 2, [&](const Progress& progress) { last = progress; });
  EXPECT_GE(last.parts_reused, 3);
  EXPECT_EQ(f.bytes_in("killed"), f.bytes_in("one"));
  EXPECT_EQ(base::list_directory(f.folder / "killed").size(), 2);  // the file and its lock
}

TEST(TokenizeOnce, ReusesWhatIsSoundAndMakesWhatIsDamagedAnew) {
  const Fixture f;
  const std::string path = f.write_records(1000);
  int calls = 0;
  const auto count = [&](const Progress&) { ++calls; };
  f.tokenize(path, "cache", 1, count);
  EXPECT_EQ(calls, 1);
  f.tokenize(path, "cache", 1, count);
  EXPECT_EQ(calls, 1);
  const std::string file = f.folder / "cache/" + base::list_directory(f.folder / "cache").at(0),
                    sound = base::read_file(file);
  base::write_file_atomic(file, sound.substr(0, sound.size() - 1));
  f.tokenize(path, "cache", 1, count);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(base::read_file(file), sound);
}

TEST(TokenizeOnce, NamesTheRecordAndLeavesNothingBehind) {
  const Fixture f;
  const auto error = [&](const std::string& name, const std::string& content) {
    const std::string path = f.folder.write(name, content);
    return base::message_of<base::DataError>(
        [&] { tokenize_once(find_corpus({path}, JsonFiles::records), f.encoding, f.folder / "cache", {}, {}); });
  };
  const std::string good = R"({"instruction": "a", "output": "b"})";
  EXPECT_THAT(error("a.jsonl", good + "\n\n{\"instruction\": \"a\"}\n"),
              AllOf(HasSubstr("line 3 of"), HasSubstr("'output' is missing")));
  EXPECT_THAT(error("a.jsonl", good + "\n{\"instruction\": \n"),
              AllOf(HasSubstr("line 2 of"), HasSubstr("not valid JSON")));
  EXPECT_THAT(error("a.json", "[" + good + ", {\"output\": 5, \"instruction\": \"x\"}]"),
              AllOf(HasSubstr("[1] of"), HasSubstr("'output' must be a string")));
  EXPECT_THAT(error("a.json", "[" + good + ", " + good), HasSubstr("ends inside its array"));
  EXPECT_THAT(error("a.jsonl", "{\"instruction\": \"a\", \"output\": \"\xff\"}\n"), HasSubstr("line 1 of"));
  for (const std::string& name : base::list_directory(f.folder / "cache"))
    EXPECT_THAT(name, testing::EndsWith(".lock"));
}

}  // namespace
}  // namespace troika::data
