// The command that goes on with a run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "serve/run_config.h"

namespace troika::serve {

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
std::string lines_of_hosts(const ResumeWords& resume);
// As typed on the one host there is.
std::string line_of(const ResumeWords& resume);

}  // namespace troika::serve
