// The verb `export`: writes a model as a folder that Hugging Face's tools load.
#pragma once

#include <string>
#include <vector>

namespace troika::commands {

int run_export(const std::vector<std::string>& arguments);

}  // namespace troika::commands
