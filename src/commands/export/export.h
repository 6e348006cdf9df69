// The verb `export`: writes a model as a folder that Hugging Face's tools load.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace troika::commands {

int run_export(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& environment);

}  // namespace troika::commands
