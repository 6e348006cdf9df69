// The lines of a doctor that another one started, on its standard input and output.
#pragma once

#include "doctor/lines.h"

namespace troika::commands {

class StandardLines : public doctor::Lines {
 public:
  StandardLines(int in, int out) : in_(in), out_(out) {}  // descriptors, which stay the caller's
  void say(const std::string& line) override;
  std::optional<std::string> hear(double until) override;

 private:
  const int in_, out_;
  std::string unread_;
};

}  // namespace troika::commands
