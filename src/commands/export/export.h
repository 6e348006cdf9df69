// The verb `export`: writes a model as a folder that Hugging Face's tools load.
#pragma once

#include <string>
#include <vector>

#include "base/language.h"

namespace troika::commands {

int run_export(const std::vector<std::string>& arguments, base::Language language = base::Language::english);

}  // namespace troika::commands
