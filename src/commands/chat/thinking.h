// The text that a model writes in <think>...</think> before it answers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "commands/generate/printer.h"

namespace troika::commands {

// Parts a growing text; thinking is only what begins the text, but for white space. The tags belong to the thinking.
class ThinkingSplit {
 public:
  enum class Part { before, thinking, answer };
  struct Piece {
    Part part = Part::answer;  // thinking or answer
    std::string text;
  };
  std::vector<Piece> add(std::string_view bytes);
  std::vector<Piece> finish();  // what was held back, for it might have become a tag

 private:
  bool step(std::vector<Piece>* pieces);

  Part part_ = Part::before;
  std::string held_;
};

enum class ShowThinking { plain, dimmed, hidden };

// Prints an answer as it grows.
class AnswerPrinter {
 public:
  AnswerPrinter(std::FILE* out, ShowThinking show) : printer_(out), show_(show) {}
  void add(std::string_view bytes) { show(split_.add(bytes)); }
  void finish();  // what is left, and a newline

 private:
  void show(const std::vector<ThinkingSplit::Piece>& pieces);
  void show_thinking(const std::string& text);
  void show_answer(std::string text);

  Printer printer_;
  const ShowThinking show_;
  ThinkingSplit split_;
  bool dimmed_ = false, hid_ = false;  // the terminal is; thinking was left out, and nothing was shown since
};

std::string without_thinking(const std::string& content);

// The beginning of an answer that its prompt has already written: "<think>" and the white space behind it, or "".
std::string opened_thinking(const std::string& prompt);

}  // namespace troika::commands
