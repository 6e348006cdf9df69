// A program that somebody waits for: started, and ended with what it has started when it takes too long.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config/flag_table.h"

namespace troika::serve {

struct ShortProgram {
  std::vector<std::string> words;  // the first is the path of the program
  config::Environment environment;
  std::string folder;  // it works in; "": this process's
  std::string log;     // gets its output; made
  double deadline_seconds = 60;
  std::function<bool()> abandoned = {};  // asked several times a second: nobody waits any more; empty: somebody does
  enum class Errors { as_output, dropped } errors = Errors::as_output;
};

enum class ShortEnd { well, badly, too_late, abandoned };

// Returns when it has ended, or was killed at the deadline, or because nobody waits for it; what it leaves behind is killed as well. No signal is blocked or ignored in
// it. ConfigError when it cannot be started. Threads: any.
ShortEnd run_short(const ShortProgram& program);

// Below /tmp, with what is in it as long as this lives. ConfigError.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace troika::serve
