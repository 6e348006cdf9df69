// Paths that a page names: only what lies below one folder, by whatever links.
#pragma once

#include <string>

#include "serve/form.h"

namespace troika::serve {

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

// What names no file stays as it is. ConfigError, as the end of a sentence, for what is not there or not below `root`, and for a folder
// that is read and holds a link that leads out of it.
std::string whole_path(const FormValue& value, const std::string& root);

}  // namespace troika::serve
