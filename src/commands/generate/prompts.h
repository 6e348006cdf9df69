// Files of prompts, and of what became of them: JSONL.
#pragma once

#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "inference/generate.h"

namespace troika::commands {

struct PromptLine {
  nlohmann::json object;  // the whole line
  std::string prompt;     // its key "prompt", else "text"
  int number = 0;         // of the line in the file, from 1
};

// Lines that are not blank. DataError naming file and line.
std::vector<PromptLine> read_prompts(const std::string& path);

// What a text became as keys of `object`: completion, tokens, finish. A character that the text ends inside of becomes
// U+FFFD, for JSON holds whole characters only.
void describe(const inference::Text& text, const std::string& completion, nlohmann::json* object);
std::string to_line(const nlohmann::json& object);  // with a newline

// Writes numbered lines in their order, each as soon as it and all before it are there. DataError when the file cannot be
// written.
class OrderedLines {
 public:
  explicit OrderedLines(const std::string& path);  // an existing file is replaced
  ~OrderedLines();
  OrderedLines(const OrderedLines&) = delete;
  OrderedLines& operator=(const OrderedLines&) = delete;

  void add(std::size_t index, std::string line);

 private:
  const std::string path_;
  std::FILE* file_;
  std::size_t next_ = 0;
  std::map<std::size_t, std::string> waiting_;
};

}  // namespace troika::commands
