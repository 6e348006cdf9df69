#include "serve/settings_json.h"

#include <nlohmann/json.hpp>

#include "config/fields.h"
#include "serve/form.h"
#include "serve/routes.h"

namespace troika::serve {
namespace {

using Json = nlohmann::ordered_json;

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
  switch (kind) {
    case PathKind::input:
      return "input";
    case PathKind::input_list:
      return "inputs";
    case PathKind::output:
      return "output";
    case PathKind::none:
      break;
  }
  return "";
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
