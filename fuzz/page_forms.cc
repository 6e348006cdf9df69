// What a page sends to start a run: its form, and files of settings that become one.
#include <nlohmann/json.hpp>
#include <string>

#include "config/fields.h"
#include "fuzz/input.h"
#include "fuzz/outcome.h"
#include "serve/form.h"
#include "serve/routes.h"

namespace troika::fuzz {
namespace {
using namespace serve;

constexpr const char* root = "/usr/lib";  // that has files, folders and links

// What is no word of its setting lies below the root.
void require_below(const std::string& key, const std::string& value) {
  const bool is_path = !value.empty() && value.front() == '/';
  if (serve::path_kind_of(key) == serve::PathKind::input_list) return;
  if (serve::path_kind_of(key) != serve::PathKind::none && is_path) require(serve::lies_below(root, value), "paths lie below the root");
}

void require_form(const std::string& body) {
  serve::Options options;
  options.root = root;
  options.folder = "/tmp/runs";
  serve::CheckedForm checked;
  try {
    checked = serve::checked_form(body, options);
  } catch (const serve::Refused& refused) {
    require(refused.status == 400, "what is no form is the client's fault");
    return;
  }
  const serve::Form& form = checked.form;
  require(form.processes >= 1, "a run has a process");
  require(form.name.empty() || !serve::fault_of_run_name(form.name), "a name is no path");
  require(form.name.find('/') == std::string::npos, "a name is one part");
  for (const auto& [key, value] : form.settings) {
    require(config::field_of(key).key() == key && !serve::why_not_of_a_page(key), "a page sets what it may");
    for (const unsigned char c : value) require(c >= 0x20 && c != 0x7f, "values are text");
    require_below(key, value);
  }
  for (const base::Text& error : checked.errors) {
    require(!error.english.empty() && !error.chinese.empty(), "an error is told in both languages");
    (void)serve::error_response(400, error.chinese);
  }
}

void require_file(const std::string& text) {
  const nlohmann::json body = {{"yaml", text}};
  const std::string sent = body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const nlohmann::json answer = nlohmann::json::parse(serve::form_of_file(sent, base::Language::chinese));
  require(answer["settings"].is_object() && answer["errors"].is_array(), "an answer is whole");
  require(!answer["settings"].contains("train.out"), "a file says not where a run goes");
}

}  // namespace
}  // namespace troika::fuzz

// The first byte says which of the two the rest is.
TROIKA_FUZZ_TARGET(page_forms)(const std::uint8_t* data, std::size_t size) {
  using namespace troika;
  if (size == 0) return 0;
  const std::string text(fuzz::text_of(data + 1, size - 1));
  if (data[0] % 2 == 0)
    fuzz::require_form(text);
  else
    fuzz::require_file(text);
  return 0;
}
