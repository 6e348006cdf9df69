#include "commands/chat/thinking.h"

#include <gmock/gmock.h>

#include "base/file.h"
#include "base/temporary_folder_test_support.h"

namespace troika::commands {
namespace {

// The printed part of `text` when it comes in pieces of `step` bytes.
std::string shown(const std::string& text, ShowThinking show, std::size_t step = 1) {
  const base::TemporaryFolder folder;
  const std::string path = folder.path() + "/out";
  std::FILE* file = std::fopen(path.c_str(), "w");
  AnswerPrinter printer(file, show);
  for (std::size_t i = 0; i < text.size(); i += step) printer.add(text.substr(i, step));
  printer.finish();
  std::fclose(file);
  return base::read_file(path);
}

TEST(Thinking, IsShownDimmedOrNotAtAllHoweverItsTagsArrive) {
  const std::string text = " \n<think>\na < b </thin</think>\n\nAn <think> answer.\n";
  for (const std::size_t step : {1, 2, 3, 7, 100}) {
    EXPECT_EQ(shown(text, ShowThinking::plain, step), text + "\n");
    EXPECT_EQ(shown(text, ShowThinking::hidden, step), "An <think> answer.\n\n");
    std::string dimmed = shown(text, ShowThinking::dimmed, step);
    EXPECT_EQ(dimmed, "\x1b[2m \n<think>\na < b </thin</think>\x1b[0m\n\nAn <think> answer.\n\n");
  }
}

TEST(Thinking, AnAnswerWithoutItIsShownAsItIs) {
  for (const auto show : {ShowThinking::plain, ShowThinking::dimmed, ShowThinking::hidden}) {
    EXPECT_EQ(shown("  <thin> air", show), "  <thin> air\n");
    EXPECT_EQ(shown("Say <think>x</think>.", show), "Say <think>x</think>.\n");
    EXPECT_EQ(shown("<thi", show), "<thi\n");
    EXPECT_EQ(shown("", show), "\n");
  }
}

TEST(Thinking, ThatIsCutOffStaysThinking) {
  EXPECT_EQ(shown("<think>so </th", ShowThinking::hidden), "\n");
  EXPECT_EQ(shown("<think>so </th", ShowThinking::dimmed, 3), "\x1b[2m<think>so </th\x1b[0m\n");
}

TEST(Thinking, IsTakenOutOfAContent) {
  EXPECT_EQ(without_thinking("<think>\nwell\n</think>\n\nYes."), "Yes.");
  EXPECT_EQ(without_thinking(" Yes.\n"), " Yes.\n");
  EXPECT_EQ(without_thinking("<think>never done"), "");
}

TEST(Thinking, MayBeBegunByThePrompt) {
  EXPECT_EQ(opened_thinking("<|assistant|>\n<think>\n"), "<think>\n");
  EXPECT_EQ(opened_thinking("<|assistant|>\n<think>\n\n</think>\n\n"), "");
  EXPECT_EQ(opened_thinking(" \n"), "");
  EXPECT_EQ(opened_thinking(""), "");
}

}  // namespace
}  // namespace troika::commands
