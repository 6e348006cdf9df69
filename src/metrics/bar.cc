#include "metrics/bar.h"

namespace troika::metrics {

std::string draw_bar(double fraction, std::size_t columns) {
  const auto full = static_cast<std::size_t>(fraction * static_cast<double>(columns));
  std::string bar = std::string(full, '=');
  if (full < columns) bar += '>';
  bar.resize(columns, ' ');
  return "[" + bar + "]";
}

// Spaces wipe what a longer text left.
void RewrittenLine::draw(const std::string& text) {
  const std::size_t wipe = columns_ > text.size() ? columns_ - text.size() : 0;
  std::fprintf(out_, "\r%s%s", text.c_str(), std::string(wipe, ' ').c_str());
  std::fflush(out_);
  columns_ = text.size();
  text_ = text;
}

void RewrittenLine::print_above(const std::string& text) {
  const bool was_drawn = drawn();
  if (was_drawn) std::fprintf(out_, "\r%s\r", std::string(columns_, ' ').c_str());
  std::fprintf(out_, "%s\n", text.c_str());
  columns_ = 0;
  if (was_drawn) draw(std::string(text_));
  std::fflush(out_);
}

void RewrittenLine::end() {
  if (!drawn()) return;
  std::fprintf(out_, "\n");
  std::fflush(out_);
  columns_ = 0;
}

}  // namespace troika::metrics
