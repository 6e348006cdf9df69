// The settings of a run's last attempt, and the command lines that train with them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "records/run_state.h"

namespace troika::serve {

struct ConfigFile {
  std::string name;  // "config-2.yaml", of the second attempt in a folder
  std::string yaml;
};
std::optional<ConfigFile> last_config(const std::string& folder);

// The size of a run: how many ranks on how many hosts.
struct RunSize {
  int ranks = 1;
  std::vector<std::string> hosts;  // by their first rank
  double predicted_seconds = 0;    // of a step, by the run itself; 0: not predicted
  std::optional<records::SampleLengths> lengths = std::nullopt;  // of its data
};
// As state.json tells it; nothing where it does not.
std::optional<RunSize> size_of_run(const std::optional<records::RunState>& state);

// {"yaml", "command", "resume_command"}, each null where it is not known.
std::string config_json(const std::string& folder);

// The command that continues with a run.
struct ResumeWords {
  std::vector<std::string> launch;  // behind the program: {"launch", "--nproc-per-node", "2", "--", "train"}
  ConfigFile settings;              // of its last attempt
  std::string file;                 // that they are in
  std::vector<std::string> place;   // the checkpoint and the folder
  std::vector<std::string> hosts;   // that the run was on, by rank; of several, the words are those of none
  std::string works_in;             // the folder that relative paths of the settings begin in, as the run says; "": it does not
};

// With the settings of its last attempt and as many processes. `from`: "auto" or the path of a checkpoint. Nothing where the run has
// left no settings.
std::optional<ResumeWords> resume_words(const std::string& run_folder, const std::string& from);

// All words behind the program, with the settings as these words say them.
std::vector<std::string> words_of(const ResumeWords& resume, const std::vector<std::string>& settings);

// As typed on each host, a line each: "on pi0: troika launch --nnodes 2 --node-rank 0 ...".
base::Text lines_of_hosts(const ResumeWords& resume);
// As typed on the one host there is.
std::string line_of(const ResumeWords& resume);

// The settings of a run that the page continues. The folder may come from anybody, so they are read as a form is. The flags of
// train for them, without train.out and train.resume; paths whole, and below `root`. `from`: base of relative ones, as far as it is
// below `root`; else `root`. ConfigError with all that only a person may start: a command, a path that leads elsewhere.
std::vector<std::string> flags_of_resumed(const ConfigFile& config, const std::string& from, const std::string& root);

}  // namespace troika::serve
