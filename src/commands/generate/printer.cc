#include "commands/generate/printer.h"

#include <unistd.h>

#include <utility>

#include "base/terminal_text.h"

namespace troika::commands {

Printer::Printer(std::FILE* out, Form form)
    : out_(out), on_terminal_(::isatty(::fileno(out)) == 1), form_(on_terminal_ ? Form::text : form) {}

void Printer::add(const std::string& bytes) {
  pending_ += bytes;
  const std::size_t later = form_ == Form::raw ? 0 : base::unfinished_bytes(pending_);
  const std::string rest = pending_.substr(pending_.size() - later);
  pending_.erase(pending_.size() - later);
  write(std::exchange(pending_, rest));
  std::fflush(out_);
}

void Printer::style(const char* escape) {
  write(std::exchange(pending_, {}));
  std::fputs(escape, out_);
}

void Printer::finish() {
  write(std::exchange(pending_, {}));
  std::fputc('\n', out_);
  std::fflush(out_);
}

void Printer::write(const std::string& bytes) {
  const std::string text = form_ == Form::raw ? bytes
                           : on_terminal_     ? base::terminal_text(bytes)
                                              : base::valid_utf8(bytes);
  std::fwrite(text.data(), 1, text.size(), out_);
}

}  // namespace troika::commands
