// The settings of train as a table of flags, and the environment, read into layers.
#pragma once

#include <string>
#include <vector>

#include "config/flag_table.h"
#include "config/layers.h"

namespace troika::config {

struct CommandLine {
  Layer layer;
  std::vector<base::Text> notes;  // on flags that are ignored, never with their values
  std::vector<FlagReading::Given>
      given;         // own flags of a verb among them; a file of --deepspeed as flags of its settings
  std::string file;  // the YAML file, "" when none is named
  bool print_config = false;
  bool help = false;
};

// The destination of the rows of settings_table.
struct SettingsReading {
  CommandLine line;
  Settings defaults;                   // for help
  std::vector<std::string> deepspeed;  // files, each behind its flag as typed
  std::string reported;                // of no meaning: --report-to sets log.tensorboard
  bool switched = false;               // of no meaning: a switch sets its setting
};

// The settings, the words of other programs that set or ignore something, and --config, --deepspeed, --print-config. A
// word that is no flag is model.path where it names a folder, else the YAML file.
FlagTable settings_table(SettingsReading& reading);

// `arguments` are those after the verb, `own` the flags of a verb that takes settings too; nullptr: train's alone.
// `--deepspeed FILE` gives the settings of DeepSpeed's JSON (import/deepspeed.h), compared with all other flags.
CommandLine read_command_line(const std::vector<std::string>& arguments, const FlagTable* own = nullptr,
                              const Environment& environment = {});

// The variables of the table. An empty variable counts as absent.
Layer read_environment(const Environment& environment);

}  // namespace troika::config
