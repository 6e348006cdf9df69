#include "serve/logs.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/temporary_folder_test_support.h"
#include "base/text.h"
#include "serve/routes.h"

namespace troika::serve {
namespace {

using testing::ElementsAre;

TEST(ShownLine, IsWithoutEscapeCodesAndControlCharacters) {
  EXPECT_EQ(shown_line("plain\ttext"), "plain\ttext");
  EXPECT_EQ(shown_line("\x1b[1;31mred\x1b[0m"), "red");
  EXPECT_EQ(shown_line("\x1b]0;title\x07"
                       "a\x1b]8;;http://x\x1b\\b"),
            "ab");
  EXPECT_EQ(shown_line("a\x1b(Bb\x1b"
                       "7c\x1bPq123\x1b\\d"),
            "abcd");
  EXPECT_EQ(shown_line(std::string("a\0b\x01\x7f"
                                   "c",
                                   6)),
            "abc");
  EXPECT_EQ(shown_line("a\xc2\x9b"
                       "b"),
            "ab");  // one of the control characters beyond ASCII
  EXPECT_EQ(shown_line("\x1b[31"), "");
  EXPECT_EQ(shown_line("\x1b"), "");
  EXPECT_EQ(shown_line("a\xe2\x80\xae"
                       "b"),
            "ab");  // it would turn what follows around
  EXPECT_EQ(shown_line("10 %\r50 %\r100 %\r"), "100 %");
}

TEST(ShownLine, IsUtf8OfABoundedLength) {
  EXPECT_EQ(shown_line("步\xff"
                       "数\xe6"),
            "步\xef\xbf\xbd数\xef\xbf\xbd");
  EXPECT_EQ(shown_line("abcdef", 3), "abc ...");
  EXPECT_EQ(shown_line("步数", 4), "步 ...");
  EXPECT_EQ(shown_line(std::string(9000, 'x')), std::string(4000, 'x') + " ...");
}

TEST(LineSearch, TakesNoHeedOfCase) {
  EXPECT_TRUE(LineSearch("error").found_in("an ERROR here"));
  EXPECT_TRUE(LineSearch("ErrOr").found_in("error"));
  EXPECT_TRUE(LineSearch("步数").found_in("第 3 步数据"));
  EXPECT_FALSE(LineSearch(".*").found_in("abc"));
  EXPECT_FALSE(LineSearch("error").found_in("erro"));
  EXPECT_TRUE(LineSearch("").found_in(""));
}

class Logs : public testing::Test {
 protected:
  LogPage page(const std::string& text, const LogQuestion& question) const {
    if (text != written_) base::write_file_atomic(folder.path() + "/run.log", text);
    written_ = text;
    return read_log(*base::RunFile::open(folder.path(), "run.log"), question);
  }
  static std::vector<std::string> texts(const LogPage& page) {
    std::vector<std::string> all;
    for (const LogLine& line : page.lines) all.push_back(line.text);
    return all;
  }

  const base::TemporaryFolder folder;

 private:
  mutable std::string written_ = "nothing yet";
};

TEST_F(Logs, ShowTheLastLines) {
  const LogPage last = page("a\nb\n\nc\nd", {"", {}, 3});
  EXPECT_THAT(texts(last), ElementsAre("", "c", "d"));
  EXPECT_EQ(last.lines.back().offset, 7);
  EXPECT_EQ(last.before, 4);
  const LogPage older = page("a\nb\n\nc\nd", {"", last.before, 3});
  EXPECT_THAT(texts(older), ElementsAre("a", "b"));
  EXPECT_EQ(older.before, std::nullopt);
  EXPECT_TRUE(page("", {}).lines.empty());
}

TEST_F(Logs, ShowTheLinesThatHaveAText) {
  const std::string text = "step 1\nan \x1b[31mErr\x1b[0mor\nstep 2\nerror again\nstep 3\n";
  const LogPage found = page(text, {"error", {}, 10});
  EXPECT_THAT(texts(found), ElementsAre("an Error", "error again"));
  EXPECT_EQ(found.before, std::nullopt);
  EXPECT_THAT(texts(page(text, {"error", {}, 1})), ElementsAre("error again"));
}

TEST_F(Logs, AreReadWholeInPartsOfAnySize) {
  std::string text;
  std::vector<std::string> all;
  for (int i = 0; i < 40'000; ++i) {
    all.push_back("line " + std::to_string(i) + std::string(static_cast<std::size_t>(i % 97), '.'));
    text += all.back() + "\n";
  }
  ASSERT_GT(text.size(), std::size_t{2} << 20);
  for (const std::size_t lines : {777U, 5000U, 100'000U}) {
    std::vector<std::string> read;
    std::optional<std::int64_t> before;
    do {
      const LogPage part = page(text, {"", before, lines});
      const std::vector<std::string> older = texts(part);
      read.insert(read.begin(), older.begin(), older.end());
      for (const LogLine& line : part.lines)
        ASSERT_EQ(text.compare(static_cast<std::size_t>(line.offset), line.text.size(), line.text), 0);
      before = part.before;
    } while (before);
    EXPECT_EQ(read, all);
  }
}

TEST_F(Logs, ASearchSaysWhereItGoesOn) {
  const std::string text = "found\n" + std::string((40 << 20) / 64, '\n') + [] {
    std::string lines;
    for (int i = 0; i < (34 << 20) / 64; ++i) lines += std::string(63, 'x') + "\n";
    return lines;
  }();
  const LogPage first = page(text, {"found", {}, 10});
  EXPECT_TRUE(first.lines.empty());
  ASSERT_TRUE(first.before);
  EXPECT_THAT(texts(page(text, {"found", first.before, 10})), ElementsAre("found"));
}

TEST_F(Logs, ALineWithoutEndIsShownInPieces) {
  const LogPage pieces = page(std::string(3 << 20, 'x'), {});
  ASSERT_EQ(pieces.lines.size(), 3U);
  EXPECT_EQ(pieces.lines[1].offset, 1 << 20);
  EXPECT_EQ(pieces.lines[0].text.size(), 4004U);
}

TEST_F(Logs, OfARunAreThoseOfItsRanksAndOfItsLauncher) {
  base::make_directories(folder.path() + "/logs");
  base::write_file_atomic(folder.path() + "/logs/rank-00002.log", "two\n");
  base::write_file_atomic(folder.path() + "/logs/other.log", "no\n");
  base::write_file_atomic(folder.path() + "/run.log", "run\n");
  const auto of_rank = nlohmann::json::parse(log_json(folder.path(), "2", {}));
  EXPECT_EQ(of_rank["lines"], nlohmann::json::parse(R"([{"offset": 0, "rank": 2, "text": "two"}])"));
  EXPECT_EQ(of_rank["before"], nullptr);
  EXPECT_EQ(of_rank["ranks"], nlohmann::json::parse(R"([2, "run"])"));
  const auto of_run = nlohmann::json::parse(log_json(folder.path(), "run", {}));
  EXPECT_EQ(of_run["lines"][0]["rank"], "run");
  EXPECT_TRUE(nlohmann::json::parse(log_json(folder.path(), "7", {}))["lines"].empty());
  for (const char* other : {"../run", "-1", "", "1.log", "all/2"})
    EXPECT_THROW(log_json(folder.path(), other, {}), Refused);
}

TEST_F(Logs, NothingBehindALinkOrAPipeIsRead) {
  base::make_directories(folder.path() + "/elsewhere");
  base::write_file_atomic(folder.path() + "/elsewhere/rank-00000.log", "secret\n");
  ASSERT_EQ(::symlink((folder.path() + "/elsewhere").c_str(), (folder.path() + "/logs").c_str()), 0);
  ASSERT_EQ(::symlink((folder.path() + "/elsewhere/rank-00000.log").c_str(), (folder.path() + "/run.log").c_str()), 0);
  ASSERT_EQ(::mkfifo((folder.path() + "/launch.log").c_str(), 0600), 0);
  for (const char* which : {"0", "run", "launch"})
    EXPECT_TRUE(nlohmann::json::parse(log_json(folder.path(), which, {}))["lines"].empty()) << which;
  EXPECT_FALSE(base::RunFile::open(folder.path(), "elsewhere/../elsewhere/rank-00000.log"));
}

}  // namespace
}  // namespace troika::serve
