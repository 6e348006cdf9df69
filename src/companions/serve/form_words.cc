// A form as a command line and as YAML, and as the settings that both come to.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"
#include "config/fields.h"
#include "config/resolve.h"
#include "host/subprocess.h"
#include "planner/open_layout.h"
#include "serve/form.h"

namespace troika::serve {
namespace {

// "--train.steps", "100"; one word where the value could be taken for a flag.
void add_flag(const std::string& flag, const std::string& value, std::vector<std::string>* words) {
  if (value.empty() || value.front() == '-') {
    words->push_back(flag + "=" + value);
  } else {
    words->insert(words->end(), {flag, value});
  }
}

void erase_all(const std::vector<std::string_view>& names, config::Environment* environment) {
  for (const std::string_view name : names) environment->erase(std::string(name));
}

}  // namespace

std::vector<std::string> words_of_settings(const Form& form) {
  std::vector<std::string> words;
  for (const auto& [key, value] : form.settings) add_flag(config::field_of(key).flag(), value, &words);
  return words;
}

std::string yaml_of(const Form& form, const std::string& folder) {
  config::Settings settings;
  std::vector<std::string> keys;
  if (!form.name.empty()) {
    settings.train.out = folder + "/" + form.name;
    keys.emplace_back("train.out");
  }
  for (const auto& [key, value] : form.settings) {
    config::set_text(config::field_of(key), value, &settings);
    keys.push_back(key);
  }
  return config::to_yaml(settings, keys);
}

std::string command_of(const Form& form, const std::string& folder) {
  std::vector<std::string> words = {"troika", "launch", "--nproc-per-node", std::to_string(form.processes),
                                    "--",     "train"};
  for (const std::string& word : words_of_settings(form)) words.push_back(host::shell_word(word));
  if (!form.name.empty()) words.insert(words.end(), {"--train.out", host::shell_word(folder + "/" + form.name)});
  return base::join(words, " ");
}

config::Environment environment_of_runs(const config::Environment& environment) {
  config::Environment left = environment;
  for (const config::Field& field : config::fields())
    if (field.agreement != config::Agreement::none) erase_all(field.variables, &left);
  left.erase("CONFIG_FILE");
  return left;
}

config::ParsedSettings settled(const Form& form, const config::Environment& environment) {
  config::ParsedSettings parsed = config::parse_settings(words_of_settings(form), environment);
  if (parsed.settings.parallel.layout == config::LayoutChoice::automatic)
    planner::resolve_open(parsed.settings, planner::kept_by_choice(parsed.stated, parsed.settings), form.processes);
  else
    config::resolve(parsed.settings, form.processes);
  return parsed;
}

}  // namespace troika::serve
