#include "serve/form.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "config/fields.h"

namespace troika::serve {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t longest_run_name = 100;
constexpr int most_processes = 1024;

bool has_controls(const std::string& text) {
  return std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

const config::Field* field_of_key(const std::string& key) {
  const auto& all = config::fields();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const config::Field& field) { return field.key() == key; });
  return found == all.end() ? nullptr : &*found;
}

base::Text unknown_key(const std::string& key) {
  std::vector<std::string> names;
  for (const config::Field& field : config::fields()) names.push_back(field.key());
  const config::Field* other = config::find_field(key);
  const std::string near = other != nullptr ? other->key() : base::nearest(key, names);
  return base::say("unknown setting '{}'{}", base::printable(key, 100),
                   near.empty() ? base::Text{} : base::say("; did you mean {}?", near));
}

base::Text of_setting(const std::string& key, const base::Text& what) {
  return base::say("{} {}", key, what);
}

class FormReader {
 public:
  FormReader(const Options& options, CheckedForm* checked) : options_(options), checked_(*checked) {}

  void read(const Json& body) {
    for (const auto& [key, value] : body.items()) {
      if (key == "name") {
        read_name(value);
      } else if (key == "processes") {
        read_processes(value);
      } else if (key == "settings") {
        read_settings(value);
      } else {
        refuse(base::say("a form has no field '{}': it has name, processes and settings", base::printable(key, 100)));
      }
    }
  }

 private:
  void refuse(base::Text error) { checked_.errors.push_back(std::move(error)); }

  void read_name(const Json& value) {
    if (value.is_null()) return;
    if (!value.is_string()) return refuse(base::say("the name of the run is not a string"));
    const std::string name = value.get<std::string>();
    if (name.empty()) return;
    if (const auto fault = fault_of_run_name(name)) return refuse(*fault);
    checked_.form.name = name;
  }

  void read_processes(const Json& value) {
    const bool right = value.is_number_integer() && value >= 1 && value <= most_processes;
    if (!right) return refuse(base::say("the number of processes must be a whole number from 1 to {}", most_processes));
    checked_.form.processes = value.get<int>();
  }

  void read_settings(const Json& settings) {
    if (!settings.is_object()) return refuse(base::say("the settings must be an object of keys and strings"));
    std::map<std::string, std::string> values;
    for (const auto& [key, value] : settings.items()) {
      if (field_of_key(key) == nullptr) {
        refuse(unknown_key(key));
      } else if (const std::optional<base::Phrase> reason = why_not_of_a_page(key)) {
        refuse(of_setting(key, base::say(*reason)));
      } else if (!value.is_string()) {
        refuse(base::say("{} is not a string", key));
      } else {
        values[key] = value.get<std::string>();
      }
    }
    const bool names_data_sets = values.count("data.folder") > 0 && !values["data.folder"].empty();
    for (const config::Field& field : config::fields())
      if (const auto given = values.find(field.key()); given != values.end())
        read_setting(field, given->second, names_data_sets);
  }

  void read_setting(const config::Field& field, const std::string& text, bool names_data_sets) {
    const std::string key = field.key();
    if (has_controls(text)) return refuse(base::say("{} holds a control character", key));
    config::Settings scratch;
    if (const auto wrong = config::set_text(field, text, &scratch)) return refuse(of_setting(key, *wrong));
    try {
      const std::string as_read = path_kind_of(key) == PathKind::none ? text : config::get_text(field, scratch);
      checked_.form.settings.emplace_back(key, whole_path({key, as_read, names_data_sets}, options_.root));
    } catch (const base::ConfigError& error) {
      refuse(of_setting(key, base::text_of(error)));
    }
  }

  const Options& options_;
  CheckedForm& checked_;
};

}  // namespace

std::optional<base::Text> fault_of_run_name(const std::string& name) {
  const bool plain = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  });
  if (name.empty()) return base::say("the run needs a name");
  if (!plain) return base::say("the name of a run may contain only letters from a to z, digits, '.', '_' and '-'");
  if (name.front() == '.' || name.front() == '-') return base::say("the name of a run must begin with a letter, a digit or '_'");
  if (name.size() > longest_run_name) return base::say("the name of a run may have at most {} characters", longest_run_name);
  return std::nullopt;
}

CheckedForm checked_form(const std::string& json, const Options& options) {
  const Json body = Json::parse(json, nullptr, false);
  if (!body.is_object()) throw Refused{400, base::say("the body is not a JSON object with name, processes and settings")};
  CheckedForm checked;
  FormReader(options, &checked).read(body);
  return checked;
}

}  // namespace troika::serve
