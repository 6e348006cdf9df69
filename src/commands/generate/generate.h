// The verb `generate`: continues a text with a trained checkpoint.
#pragma once

#include <string>
#include <vector>

namespace troika::commands {

int run_generate(const std::vector<std::string>& arguments);

}  // namespace troika::commands
