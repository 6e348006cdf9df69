// The front door of module config: command line + environment + YAML -> Settings, and back to text.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/language.h"
#include "config/flag_table.h"
#include "config/settings/settings.h"

namespace troika::config {

// The settings with everything else that the command line asked for.
struct ParsedSettings {
  Settings settings;
  std::vector<base::Text> notes;          // spellings that are accepted and ignored, one sentence each; never their values
  std::vector<std::string> stated;  // keys that the command line itself states: "train.out"
  std::vector<FlagReading::Given> given;  // the command line in its words, a verb's own flags among them
  std::set<std::string> stated_anywhere;  // keys that a file, the environment, the command line or a preset states
  bool print_config = false;
  bool help = false;
  bool states(const std::string& key) const;
  bool any_place_states(const std::string& key) const { return stated_anywhere.count(key) > 0; }
};

// Defaults < preset < YAML < environment < command line. `arguments` are those after the verb; one without dashes is
// model.path where it names a folder, else the YAML file, of ours or of LLaMA-Factory (llama_factory.h), or the name of a
// train.preset (presets.h). `-` and `_` are equal in names; `--name value` and
// `--name=value` both work. Throws one ConfigError that lists all errors (unknown keys with the nearest name, malformed
// values). Follows model.path (layers.h has the rules); DataError when no supported model is there.
ParsedSettings parse_settings(const std::vector<std::string>& arguments, const Environment& environment);
// The same for a verb with flags beside the settings: `own` takes those and their variables, and its errors are among all others.
ParsedSettings parse_settings(const std::vector<std::string>& arguments, const Environment& environment,
                              const FlagTable& own);

// Where nobody states precision.compute, a GPU computes in bf16; where nobody states parallel.reproducible, a training on one adds
// gradients as `layout` has it. Notes tell so. It is a GPU by train.device, or where that is auto by the `gpus` that this process
// can use. Before resolve(), on every rank: ranks that decide unlike do not agree on settings.
void take_precision_of_device(ParsedSettings* parsed, int gpus);
void take_sums_of_device(ParsedSettings* parsed, int gpus);

// YAML that parses back to the same settings, sections in order, every field.
std::string to_yaml(const Settings& settings);
// Only the fields of these keys ("train.steps").
std::string to_yaml(const Settings& settings, const std::vector<std::string>& keys);

// The settings in YAML text (of to_yaml, say). Errors name `origin`. A model.path is not followed.
Settings settings_from_yaml(const std::string& text, base::Origin origin);

// Help of the settings, grouped by section, with defaults, units and familiar spellings.
std::string settings_help(base::Language language);

// The same table as Markdown, for docs/settings.md.
std::string settings_markdown();

// The fields that must agree between ranks, as they are compared: lines of "section:" and "  name: value".
std::string agreement_yaml(const Settings& settings);
// A hash of it (16 hex digits), and the name of the first field that differs
// between two printed settings ("" when none), for the message.
std::string agreement_hash(const Settings& settings);
std::string first_difference(const std::string& yaml_a, const std::string& yaml_b);

}  // namespace troika::config
