#include "commands/cli.h"

#include <gmock/gmock.h>

#include <cstdio>
#include <new>
#include <string>

#include "base/error.h"

namespace troika::commands {
namespace {
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(Guarded, TellsEachVerbWhatNeedsLessMemory) {
  const auto last_words = [](const char* verb) {
    std::string words;
    const auto fails = []() -> int { throw std::bad_alloc(); };
    EXPECT_EQ(guarded(
                  fails, base::Language::english, [&](const rendezvous::FailureReport& report) { words = report.text(); }, verb),
              70);
    return words;
  };
  EXPECT_THAT(last_words("train"), HasSubstr("out of memory; use a smaller --micro-batch-size"));
  EXPECT_THAT(last_words("data"), AllOf(HasSubstr("--workers"), Not(HasSubstr("--micro-batch-size"))));
  EXPECT_THAT(last_words("export"), Not(HasSubstr("--micro-batch-size")));
}

TEST(CheckWritten, RefusesWhatAFullDiskHasLost) {
  std::FILE* const full = std::fopen("/dev/full", "w");
  ASSERT_NE(full, nullptr);
  std::fputs("a few words", full);
  EXPECT_NO_THROW(check_written(full));
  std::fflush(full);
  EXPECT_THROW(check_written(full), base::DataError);
  std::fclose(full);
}

}  // namespace

namespace {
using testing::ElementsAre;

TEST(HiddenValues, AreNotPassedOnByAVerbNorToTheRanksOfALaunch) {
  EXPECT_THAT(without_hidden_values({"train", "--sudo_pass", "geheim", "--steps", "3"}),
              ElementsAre("train", "--sudo_pass", "...", "--steps", "3"));
  EXPECT_THAT(without_hidden_values(
                  {"launch", "--nnodes", "2", "--", "train", "--sudo_pass=geheim", "--hf_hub_token", "geheim"}),
              ElementsAre("launch", "--nnodes", "2", "--", "train", "--sudo_pass=...", "--hf_hub_token", "..."));
  EXPECT_THAT(without_hidden_values({"launch", "bench", "step", "--sudo-pass", "geheim", "--steps", "3"}),
              ElementsAre("launch", "bench", "step", "--sudo-pass", "...", "--steps", "3"));
  EXPECT_THAT(without_hidden_values({"--lang", "zh", "train", "--sudo_pass", "geheim", "--lang=en", "--steps", "3"}),
              ElementsAre("--lang", "zh", "train", "--sudo_pass", "...", "--lang=en", "--steps", "3"));
  EXPECT_THAT(without_hidden_values({"generate", "run", "--prompt", "password=1"}),
              ElementsAre("generate", "run", "--prompt", "password=1"));
}

TEST(HiddenValues, LeaveTheLanguageWhereItWasGiven) {
  EXPECT_THAT(without_hidden_values({"why", "run", "--json", "--lang", "zh"}),
              ElementsAre("why", "run", "--json", "--lang", "zh"));
  EXPECT_THAT(without_hidden_values({"launch", "--", "train", "--sudo_pass", "geheim", "--lang", "zh", "--steps", "3"}),
              ElementsAre("launch", "--", "train", "--sudo_pass", "...", "--lang", "zh", "--steps", "3"));
  EXPECT_THAT(without_hidden_values({"train", "--lang=zh", "--sudo_pass", "geheim", "--steps", "3"}),
              ElementsAre("train", "--lang=zh", "--sudo_pass", "...", "--steps", "3"));
}

TEST(HiddenValues, OfAnotherProgramReachItButAreNotShown) {
  const Words words = {"launch", "--program",    "./mine",       "--", "--api-key",
                       "geheim", "token=geheim", "--max-tokens", "5"};
  EXPECT_EQ(without_hidden_values(words), words);
  EXPECT_THAT(with_secrets_hidden(
                  {"--api-key", "geheim", "token=geheim", "--db_password=geheim", "--max-tokens", "5", "key", "x"}),
              ElementsAre("--api-key", "...", "token=...", "--db_password=...", "--max-tokens", "5", "key", "x"));
}

TEST(HiddenValues, AreTakenOutOfWhatPsShows) {
  std::string program = "troika", verb = "train", flag = "--sudo_pass=geheim", other = "--steps", none = "";
  char* argv[] = {program.data(), verb.data(), flag.data(), other.data(), none.data(), nullptr};
  hide_in(argv, {"train", "--sudo_pass=...", "--steps", ""});
  EXPECT_EQ(flag, "--sudo_pass=......");
  EXPECT_EQ(other, "--steps");
}

}  // namespace

}  // namespace troika::commands
