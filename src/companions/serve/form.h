// The form of a new run: what a page sends, checked with the table of settings, and as what else can be copied.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/language.h"
#include "config/config.h"
#include "serve/routes.h"

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

// The kind of path that a value names, unless it is one of the words that the setting has besides: a file or folder that is read,
// several of them, or a folder that is written to.
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

// A form out of a file of settings: what POST /api/form answers.
// `body`: {"yaml": TEXT}, of Troika or LLaMA-Factory. Refused 400 where it is no such object.
std::string form_of_file(const std::string& body, base::Language language);

// The table of settings for a form: what /api/settings answers.
// Without those that a page does not set.
std::string settings_json();

// An option of a form, to train or to train on: model folders and files of data below one folder.
struct Choice {
  std::string path;  // from the folder on
  std::string text;  // a few words about it
  std::int64_t bytes = 0;
  std::optional<bool> has_chat_template = std::nullopt;  // of a model that brings its tokenizer
  std::optional<std::int64_t> lines = std::nullopt;      // of a small file with a record on each
};

struct Choices {
  std::vector<Choice> models, data;  // by path, at most `most` of each
  static constexpr std::size_t most = 500;
};

// Four levels deep, without folders behind links, hidden ones, those of builds and packages, and runs, of which what they have exported
// counts as well.
Choices choices_below(const std::string& root, base::Language language);

std::string to_json(const Choices& choices);

// Lines that are not blank, of `name` in `folder`; takes the file's size off the `budget` of bytes. Nothing where the budget is smaller,
// or there is no such file.
std::optional<std::int64_t> lines_of(const std::string& folder, const std::string& name, std::int64_t* budget);

// A link is none of the two.
enum class FileKind { none, file, folder, other };
FileKind kind_of(const std::string& path);

// Paths that a page names: only what lies below one folder, by whatever links.

// The path without links, where all of it lies below `root` (Options::root): absolute, or from `root` on. What need not be there yet
// (`Missing::allowed`) lies in the last folder that is. ConfigError, as the end of a sentence: "is not below /data".
enum class Missing { refused, allowed };
std::string path_below(const std::string& root, const std::string& path, Missing missing);

// ConfigError, as the end of a sentence, where `path` (without links) is a folder that holds a link which leads out of `root`,
// at any depth.
void check_links_below(const std::string& root, const std::string& path);

// Whether an absolute path without links is `root` or below it.
bool lies_below(const std::string& root, const std::string& real_path);

// Values of settings that name files: as whole paths below the root of the page.
struct FormValue {
  std::string key;
  std::string text;              // as the table has read it
  bool names_data_sets = false;  // data.folder is given, so that data.train may hold names of dataset_info.json
  std::string from = {};         // where paths without / in front begin; "": in the root
};

// A value that names no file stays as it is. ConfigError, as the end of a sentence, for a path that is missing or not below `root`,
// and for a folder that is read and holds a link that leads out of it.
std::string whole_path(const FormValue& value, const std::string& root);

}  // namespace troika::serve
