#include "serve/resumed_settings.h"

#include <filesystem>
#include <map>

#include "base/error.h"
#include "base/say.h"
#include "config/layers.h"
#include "serve/form.h"
#include "serve/form_paths.h"
#include "serve/paths_below.h"

namespace troika::serve {
namespace {

using Values = std::map<const config::Field*, std::string>;

Values values_of(const ConfigFile& config) {
  config::Layer layer = config::read_yaml(config.yaml, base::verbatim(config.name));
  Values values;
  for (const config::Assignment& assignment : layer.assignments) {
    config::Settings scratch;
    if (const auto wrong = config::set_text(*assignment.field, assignment.value, &scratch))
      layer.errors.push_back(base::say("{} {}", assignment.field->key(), *wrong));
    values[assignment.field] = config::get_text(*assignment.field, scratch);
  }
  if (!layer.errors.empty()) throw base::ConfigError(base::lines(layer.errors));
  return values;
}

std::string beginning_of_paths(const std::string& from, const std::string& root) {
  std::error_code error;
  const std::string real = from.empty() ? "" : std::filesystem::canonical(from, error).string();
  return !real.empty() && !error && lies_below(root, real) ? real : root;
}

}  // namespace

std::vector<std::string> flags_of_resumed(const ConfigFile& config, const std::string& from, const std::string& root) {
  const Values values = values_of(config);
  const std::string begin = beginning_of_paths(from, root);
  const auto names = values.find(&config::field_of("data.folder"));
  const bool names_data_sets = names != values.end() && !names->second.empty();
  Form form;
  std::vector<base::Text> errors;
  for (const config::Field& field : config::fields()) {
    const std::string key = field.key();
    const auto value = values.find(&field);
    if (value == values.end() || key == "train.out" || key == "train.resume") continue;
    try {
      const bool is_command = why_not_of_a_page(key).has_value();
      if (is_command && !value->second.empty()) throw base::ConfigError(base::say("names a command, and a page starts none"));
      if (!is_command)
        form.settings.emplace_back(key, whole_path({key, value->second, names_data_sets, begin}, root));
    } catch (const base::ConfigError& error) {
      errors.push_back(base::say("{} {}", key, base::text_of(error)));
    }
  }
  if (!errors.empty()) throw base::ConfigError(base::join(errors, "; ", "；"));
  return words_of_settings(form);
}

}  // namespace troika::serve
