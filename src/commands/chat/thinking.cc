#include "commands/chat/thinking.h"

#include <algorithm>

namespace troika::commands {

constexpr std::string_view open_tag = "<think>", close_tag = "</think>", white_space = " \t\r\n";

// The length of the longest end of `text` that begins `tag`.
static std::size_t begun(std::string_view text, std::string_view tag) {
  std::size_t length = std::min(text.size(), tag.size() - 1);
  while (length > 0 && text.substr(text.size() - length) != tag.substr(0, length)) --length;
  return length;
}

static std::string trimmed_front(const std::string& text) {
  return text.substr(std::min(text.find_first_not_of(white_space), text.size()));
}

// Whether more of what is held can be told apart.
bool ThinkingSplit::step(std::vector<Piece>* pieces) {
  const auto take = [&](Part part, std::size_t bytes) {
    if (bytes > 0) pieces->push_back({part, held_.substr(0, bytes)});
    held_.erase(0, bytes);
  };
  if (part_ == Part::before) {
    const std::string rest = trimmed_front(held_);
    const bool undecided = rest.size() < open_tag.size() && open_tag.substr(0, rest.size()) == rest;
    if (undecided) return false;
    part_ = std::string_view(rest).substr(0, open_tag.size()) == open_tag ? Part::thinking : Part::answer;
    return true;
  }
  if (part_ == Part::answer) {
    take(Part::answer, held_.size());
    return false;
  }
  const std::size_t end = held_.find(close_tag);
  const bool ends = end != std::string::npos;
  take(Part::thinking, ends ? end + close_tag.size() : held_.size() - begun(held_, close_tag));
  if (ends) part_ = Part::answer;
  return ends;
}

std::vector<ThinkingSplit::Piece> ThinkingSplit::add(std::string_view bytes) {
  std::vector<Piece> pieces;
  held_ += bytes;
  while (step(&pieces)) {
  }
  return pieces;
}

std::vector<ThinkingSplit::Piece> ThinkingSplit::finish() {
  std::vector<Piece> pieces;
  if (!held_.empty()) pieces.push_back({part_ == Part::thinking ? Part::thinking : Part::answer, held_});
  held_.clear();
  return pieces;
}

void AnswerPrinter::show(const std::vector<ThinkingSplit::Piece>& pieces) {
  for (const ThinkingSplit::Piece& piece : pieces)
    piece.part == ThinkingSplit::Part::thinking ? show_thinking(piece.text) : show_answer(piece.text);
}

void AnswerPrinter::show_thinking(const std::string& text) {
  hid_ = show_ == ShowThinking::hidden;
  if (hid_) return;
  if (show_ == ShowThinking::dimmed && !dimmed_) printer_.style("\x1b[2m");
  dimmed_ = show_ == ShowThinking::dimmed;
  printer_.add(text);
}

void AnswerPrinter::show_answer(std::string text) {
  if (dimmed_) printer_.style("\x1b[0m");
  dimmed_ = false;
  if (hid_) text = trimmed_front(text);
  hid_ = hid_ && text.empty();
  printer_.add(text);
}

void AnswerPrinter::finish() {
  show(split_.finish());
  if (dimmed_) printer_.style("\x1b[0m");
  printer_.finish();
}

std::string without_thinking(const std::string& content) {
  ThinkingSplit split;
  std::string answer;
  bool thought = false;
  const auto collect = [&](const std::vector<ThinkingSplit::Piece>& pieces) {
    for (const ThinkingSplit::Piece& piece : pieces) {
      if (piece.part == ThinkingSplit::Part::thinking)
        thought = true;
      else
        answer += piece.text;
    }
  };
  collect(split.add(content));
  collect(split.finish());
  return thought ? trimmed_front(answer) : answer;
}

std::string opened_thinking(const std::string& prompt) {
  const std::size_t end = prompt.find_last_not_of(white_space) + 1;  // 0: nothing but white space
  const bool opened = end >= open_tag.size() && prompt.compare(end - open_tag.size(), open_tag.size(), open_tag) == 0;
  return opened ? prompt.substr(end - open_tag.size()) : "";
}

}  // namespace troika::commands
