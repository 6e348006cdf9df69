// Values of settings that name files: as whole paths below the root of the page.
#pragma once

#include <string>

#include "serve/form.h"

namespace troika::serve {

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
