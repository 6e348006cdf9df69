// Prints a growing text of a model: its bytes may be no text, and a token may end inside a character.
#pragma once

#include <cstdio>
#include <string>

namespace troika::commands {

class Printer {
 public:
  // text: in whole characters, U+FFFD where the bytes are none. raw: the bytes. On a terminal always text, of which nothing steers it
  // (base::terminal_text).
  enum class Form { text, raw };
  explicit Printer(std::FILE* out, Form form = Form::text);  // must outlive it
  void add(const std::string& bytes);
  void style(const char* escape);  // ours, not the model's
  void finish();                   // what is left, and a newline

 private:
  void write(const std::string& bytes);

  std::FILE* out_;
  const bool on_terminal_;
  const Form form_;
  std::string pending_;
};

}  // namespace troika::commands
