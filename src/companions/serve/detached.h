// Programs that are started and left alone, so that they outlive whoever started them.
#pragma once

#include <string>
#include <vector>

#include "config/flag_table.h"

namespace troika::serve {

struct DetachedProgram {
  std::vector<std::string> words;  // the first is the path of the program
  config::Environment environment;
  std::string folder;  // it works in
  std::string log;     // gets its output, appended; made where it is not there, never behind a link
};

struct DetachedStart {
  bool ended = false;        // within the time that was waited
  int exit_code = 0;         // of the end; 128 + the signal that killed it
  std::string last_words{};  // of the end: the last lines of its output
};

// In a session of its own, without terminal, standard input and open files of this process, with no signal blocked or ignored. While it
// and what it has started lives, its log is locked. Waits `patience_seconds` for an end. ConfigError when it cannot be started,
// and when another program has the log.
DetachedStart start_detached(const DetachedProgram& program, double patience_seconds);

// Whether a program that start_detached has started lives, or what that has started.
bool has_writer(const std::string& log);

}  // namespace troika::serve
