// The verb `chat`: a conversation with a model, line by line, or a file of conversations.
#pragma once

#include <string>
#include <vector>

namespace troika::commands {

int run_chat(const std::vector<std::string>& arguments);

}  // namespace troika::commands
