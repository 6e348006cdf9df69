// `troika demo`: from text of this machine to a trained model in two layouts, by the commands that a user would type.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/language.h"
#include "commands/verbs.h"
#include "config/flag_table.h"

namespace troika::commands {

// Returns 0, 130 when stopped, or the code of the command that failed, which has said why.
// ConfigError: the folder holds something else, cannot be written, or has no room; no text.
int run_demo(const Call& call);

struct DemoArguments {
  std::string folder = "troika-demo";
  std::int64_t steps = 700;
  std::vector<std::string> texts;  // empty: what this machine has
  bool only_data = false;
};

config::FlagTable demo_flags(DemoArguments& a);

// The text that `troika demo` trains on.
struct Corpus {
  std::vector<std::string> paths;
  base::Text what;     // "the C and C++ headers of this machine"
  std::string prompt;  // that its texts begin with
};

// `given` where it is not empty; else what is below `root`, which is "" but in tests: headers, or licences; else the licences that
// are installed with the program, whose folder is `programs`. ConfigError where there is none.
Corpus corpus_of(const std::vector<std::string>& given, const std::string& programs, const std::string& root);

// One command after the other in processes of their own, which a stop request of the caller reaches.

// While it lives SIGINT and SIGTERM end the command under way and no other; that command decides how (a training saves). For a
// process with one thread.
class Stages {
 public:
  // `program`: the path of troika.
  Stages(std::string program, std::map<std::string, std::string> environment);
  ~Stages();
  Stages(const Stages&) = delete;
  Stages& operator=(const Stages&) = delete;

  // Runs `troika words...` on this terminal. Returns its exit code, 128 + n where signal n ended it, and 130 where a stop was asked
  // for, however the command took it. It ends when this process does. ConfigError where it cannot be started.
  int run(const std::vector<std::string>& words);

 private:
  const std::string program_;
  const std::map<std::string, std::string> environment_;
  sigset_t waited_, before_;
};

}  // namespace troika::commands
