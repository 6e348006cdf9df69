// The command line of `troika plan`, the settings of train and these, and its page.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/language.h"
#include "config/config.h"
#include "planner/layout.h"
#include "planner/search.h"

namespace troika::planner {

struct PlanArguments {
  std::string cluster;  // a file; empty: by the flags below
  std::string gpu;      // the name of an accelerator
  std::optional<std::int64_t> gpus, gpus_per_node, nproc;
  std::string network;  // of a host, with its unit
  std::string tokens;   // of the whole run: "300B"
  std::int64_t top = 10;
  bool json = false;
  std::string write;  // a YAML file for the best layout
  config::ParsedSettings parsed;
  std::vector<std::string> training;  // of the words those that say what is trained, not on what or in which layout
};

config::FlagTable plan_flags(PlanArguments& a);
PlanArguments parse_plan(const std::vector<std::string>& words, const config::Environment& environment);

// "300B", "1.5T", "2e9", "800M": tokens. ConfigError otherwise.
double token_count(const std::string& text);

// How many tokens the model of settings knows, which the tokenizer of its data tells.
using VocabularyOf = std::function<std::int64_t(const config::Settings&)>;

// The question about the machines that the flags name: a cluster file, accelerators by name, or this host (with the rates of its
// machine file, where `troika probe` has written one).
Question question_of(const PlanArguments& a, const config::Environment& environment, const VocabularyOf& vocabulary_of);

// The page of `troika plan`, and its JSON. `run_tokens`: of the whole run; 0: not stated. `start`: the command that trains in the best layout.
std::string plan_text(const Question& question, const Answer& answer, double run_tokens, const std::string& start,
                      base::Language language);
std::string estimate_json(const Question& question, const Estimate& estimate, base::Language language);  // one of the layouts below
std::string plan_json(const Question& question, const Answer& answer, base::Language language);  // also where nothing fits

// The command that trains in a layout of the plan, ready to paste: with the file that --write wrote, else in the words of the
// command line followed by the layout. Several ranks are started by `troika launch`; the user replaces K, HOST0 and PATH in it.
std::string start_command(const PlanArguments& a, const Question& question, const Layout& layout);

}  // namespace troika::planner
