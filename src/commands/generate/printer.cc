#include "commands/generate/printer.h"

namespace troika::commands {

void Printer::add(const std::string& bytes) {
  pending_ += bytes;
  const std::size_t whole = whole_characters();
  std::fwrite(pending_.data(), 1, whole, out_);
  std::fflush(out_);
  pending_.erase(0, whole);
}

void Printer::finish() {
  std::fwrite(pending_.data(), 1, pending_.size(), out_);
  std::fputc('\n', out_);
  std::fflush(out_);
  pending_.clear();
}

std::size_t Printer::whole_characters() const {
  for (std::size_t back = 1; back <= 3 && back <= pending_.size(); ++back) {
    const auto byte = static_cast<unsigned char>(pending_[pending_.size() - back]);
    if (byte < 0x80) break;
    if (byte >= 0xC0)
      return (byte >= 0xF0 ? 4u : byte >= 0xE0 ? 3u : 2u) > back ? pending_.size() - back : pending_.size();
  }
  return pending_.size();
}

}  // namespace troika::commands
