// The form of a new run: what a page sends, checked with the table of settings, and as what else can be copied.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/language.h"
#include "config/config.h"
#include "serve/options.h"

namespace troika::serve {

struct Form {
  std::string name;  // of the run; "" where there is none yet
  int processes = 1;
  std::vector<std::pair<std::string, std::string>> settings;  // key, value; in the order of the table, paths whole
};

struct CheckedForm {
  Form form;                       // without what is wrong
  std::vector<base::Text> errors;  // a sentence each
};

// `json` is the body. Every value is checked by itself; paths lie below options.root. Refused 400 where it is no form at all.
CheckedForm checked_form(const std::string& json, const Options& options);

// Why a run cannot be called that; nothing where it can.
std::optional<base::Text> fault_of_run_name(const std::string& name);

// What a value names, unless it is one of the words that the setting has besides: a file or folder that is read, several of them, or a
// folder that is written to.
enum class PathKind { none, input, input_list, output };
PathKind path_kind_of(std::string_view key);
// Settings that no page sets, with the reason as the end of a sentence; nullptr for others.
std::optional<base::Phrase> why_not_of_a_page(std::string_view key);

std::vector<std::string> words_of_settings(const Form& form);  // {"--train.steps", "100", ...}, as train takes them
// The same run in `folder`, as a file of settings and as what is typed: "troika launch --nproc-per-node 2 -- train ...".
std::string yaml_of(const Form& form, const std::string& folder);
std::string command_of(const Form& form, const std::string& folder);

// The environment of a run that a page starts or plans: options.environment without the variables that would say what the form says,
// or make the run part of another launch.
config::Environment environment_of_runs(const config::Environment& environment);

// The settings as a run of `form.processes` would have them. ConfigError, DataError with all that is wrong, a line each.
config::ParsedSettings settled(const Form& form, const config::Environment& environment);

}  // namespace troika::serve
