// The verb `generate`: continues a text with a trained checkpoint.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace troika::commands {

int run_generate(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& environment);

}  // namespace troika::commands
