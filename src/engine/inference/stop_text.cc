#include "inference/stop_text.h"

#include <algorithm>

#include "base/error.h"
#include "base/say.h"

namespace troika::inference {

StopText::StopText(std::vector<std::string> stops) : stops_(std::move(stops)) {
  const auto empty = [](const std::string& stop) { return stop.empty(); };
  if (std::any_of(stops_.begin(), stops_.end(), empty))
    throw base::ConfigError(base::say("a text to stop at is empty; give --stop at least one character"));
}

std::string StopText::add(std::string_view bytes) {
  if (found_) return {};
  held_ += bytes;
  std::size_t first = std::string::npos;
  for (const std::string& stop : stops_) first = std::min(first, held_.find(stop));
  found_ = first != std::string::npos;
  const std::size_t certain = found_ ? first : possible_beginning();
  std::string text = held_.substr(0, certain);
  held_.erase(0, found_ ? held_.size() : certain);
  return text;
}

std::string StopText::rest() {
  std::string text;
  text.swap(held_);
  return text;
}

std::size_t StopText::possible_beginning() const {
  std::size_t first = held_.size();
  for (const std::string& stop : stops_) {
    for (std::size_t length = std::min(stop.size() - 1, held_.size()); length > 0; --length) {
      if (held_.compare(held_.size() - length, length, stop, 0, length) != 0) continue;
      first = std::min(first, held_.size() - length);
      break;
    }
  }
  return first;
}

}  // namespace troika::inference
