// Prints a growing text in whole UTF-8 characters: a token may end inside one.
#pragma once

#include <cstdio>
#include <string>

namespace troika::commands {

class Printer {
 public:
  explicit Printer(std::FILE* out) : out_(out) {}  // must outlive it
  void add(const std::string& bytes);
  void finish();  // what is left, and a newline

 private:
  std::size_t whole_characters() const;

  std::FILE* out_;
  std::string pending_;
};

}  // namespace troika::commands
