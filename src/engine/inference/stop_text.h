// Ends a growing text before the first of some texts to stop at. What may yet become the beginning of one is held back.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace troika::inference {

class StopText {
 public:
  explicit StopText(std::vector<std::string> stops);  // none of them empty: ConfigError

  // Adds bytes; returns those that belong to the text for certain. Nothing more once found() is true.
  std::string add(std::string_view bytes);
  bool found() const { return found_; }
  // Returns what was held back, where the text ends without a stop.
  std::string rest();

 private:
  std::size_t possible_beginning() const;  // where in held_

  std::vector<std::string> stops_;
  std::string held_;
  bool found_ = false;
};

}  // namespace troika::inference
