// A form as a command line and as YAML, and as the settings that both come to.
#include <nlohmann/json.hpp>

#include <map>

#include "base/say.h"
#include "base/text.h"
#include "config/fields.h"
#include "config/resolve.h"
#include "config/layers.h"
#include "host/subprocess.h"
#include "planner/open_layout.h"
#include "serve/form.h"
#include "serve/routes.h"

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

using Json = nlohmann::ordered_json;

// A run that continues in its own folder is not made from a form.
bool stays_out(const std::string& key) { return key == "train.resume" || why_not_of_a_page(key); }

std::string_view type_of(const config::Target& target) {
  struct {
    std::string_view operator()(const config::WordTarget&) const { return "word"; }
    std::string_view operator()(const bool*) const { return "truth"; }
    std::string_view operator()(const std::int64_t*) const { return "integer"; }
    std::string_view operator()(const std::uint64_t*) const { return "integer"; }
    std::string_view operator()(const std::optional<std::int64_t>*) const { return "integer"; }
    std::string_view operator()(const double*) const { return "number"; }
    std::string_view operator()(const std::optional<double>*) const { return "number"; }
    std::string_view operator()(const std::string*) const { return "text"; }
    std::string_view operator()(const std::optional<std::string>*) const { return "text"; }
    std::string_view operator()(const std::vector<std::int64_t>*) const { return "list"; }
    std::string_view operator()(const std::vector<double>*) const { return "list"; }
    std::string_view operator()(const std::vector<std::string>*) const { return "list"; }
  } type;
  return std::visit(type, target);
}

std::string_view word_of(PathKind kind) {
  constexpr std::string_view words[] = {"", "input", "inputs", "output"};
  return words[static_cast<std::size_t>(kind)];
}

Json both(base::Phrase phrase) {
  return {{"en", phrase.in(base::Language::english)}, {"zh", phrase.in(base::Language::chinese)}};
}

Json json_of(const config::Field& field) {
  config::Settings defaults;
  std::vector<std::string_view> familiar = field.flags;
  familiar.insert(familiar.end(), field.familiar.begin(), field.familiar.end());
  const bool bounded = field.min != field.max;
  const PathKind path = path_kind_of(field.key());
  return {{"key", field.key()},
          {"flag", field.flag()},
          {"type", type_of(field.target(defaults))},
          {"default", config::get_text(field, defaults)},
          {"help", both(field.help)},
          {"unit", field.unit},
          {"words", field.words},
          {"min", bounded ? Json(field.min) : Json(nullptr)},
          {"max", bounded ? Json(field.max) : Json(nullptr)},
          {"offered", field.offered == nullptr ? std::vector<std::string>{} : field.offered()},
          {"unset", field.unset.empty() ? Json(nullptr) : both(field.unset)},
          {"familiar", familiar},
          {"path", path == PathKind::none ? Json(nullptr) : Json(word_of(path))}};
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

std::string form_of_file(const std::string& body, base::Language language) {
  const Json asked = Json::parse(body, nullptr, false);
  if (!asked.is_object() || !asked.contains("yaml") || !asked["yaml"].is_string())
    throw Refused{400, base::say("the body is not a JSON object with the text of the file as \"yaml\"")};
  config::Layer layer = config::read_yaml(asked["yaml"].get<std::string>(), base::say("the file"));
  std::map<const config::Field*, std::string> values;
  for (const config::Assignment& assignment : layer.assignments) {
    config::Settings scratch;
    const auto wrong = config::set_text(*assignment.field, assignment.value, &scratch);
    if (!wrong)
      values[assignment.field] = config::get_text(*assignment.field, scratch);
    else
      layer.errors.push_back(base::say("{} {}", assignment.field->key(), *wrong));
  }
  Json settings = Json::object();
  for (const config::Field& field : config::fields())
    if (const auto value = values.find(&field); value != values.end() && !stays_out(field.key()))
      settings[field.key()] = value->second;
  const Json answer = {{"settings", std::move(settings)},
                       {"errors", base::in(layer.errors, language)},
                       {"notes", base::in(layer.notes, language)}};
  return json_line(answer);
}

std::string settings_json() {
  Json sections = Json::array();
  for (const auto& [section, title] : config::section_titles()) {
    Json settings = Json::array();
    for (const config::Field& field : config::fields())
      if (field.section == section && !why_not_of_a_page(field.key())) settings.push_back(json_of(field));
    sections.push_back({{"name", section}, {"title", both(title)}, {"settings", std::move(settings)}});
  }
  return json_line(Json{{"sections", std::move(sections)}});
}

}  // namespace troika::serve
