// A line of the screen that redraws itself.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>

namespace troika::metrics {

std::string draw_bar(double fraction, std::size_t columns);  // "[==>  ]"; `columns` between the brackets

// Owns nothing; `out` must outlive it. One thread. Never throws for a closed or full output.
class RewrittenLine {
 public:
  explicit RewrittenLine(std::FILE* out) : out_(out) {}

  void draw(const std::string& text);         // over what stands there
  void print_above(const std::string& text);  // another line, without tearing this one
  void end();                                 // goes on in the next line; nothing when nothing is drawn
  bool drawn() const { return columns_ > 0; }

 private:
  std::FILE* out_;
  std::size_t columns_ = 0;
  std::string text_;
};

}  // namespace troika::metrics
