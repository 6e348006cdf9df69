// Programs that are started and left alone, so that they outlive whoever started them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config/flag_table.h"
#include "serve/routes.h"

namespace troika::serve {

struct Program {
  std::vector<std::string> words;  // the first is the path of the program
  config::Environment environment;
  std::string folder;  // it works in; "": this process's
  std::string log;     // gets its output, appended; made where it is not there, of a detached one never behind a link
};

struct DetachedStart {
  bool ended = false;        // within the time that was waited
  int exit_code = 0;         // of the end; 128 + the signal that killed it
  std::string last_words{};  // of the end: the last lines of its output
};

// In a session of its own, without terminal, standard input and open files of this process, with no signal blocked or ignored. While it
// and what it has started lives, its log is locked. Waits `patience_seconds` for an end. ConfigError when it cannot be started,
// and when another program has the log.
DetachedStart start_detached(const Program& program, double patience_seconds);

// Whether a program that start_detached has started lives, or what that has started.
bool has_writer(const std::string& log);

// A program that somebody waits for: started, and ended with what it has started when it takes too long.
struct ShortProgram : Program {
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

// Why a run failed, is slow or does not learn, found by a process of its own.
// What `troika why FOLDER --json` prints, with the sentence of its cause. That program gives up a disk that does not answer after
// 10 s, and is ended where nobody waits any more. Refused 404 for a folder that holds no records yet.
std::string why_json(const Options& options, const std::string& folder, const Asked& asked);
// The same, "" where no cause is found.
std::string found_why(const Options& options, const std::string& folder, const Asked& asked);

}  // namespace troika::serve
