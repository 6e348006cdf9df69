// The verb `chat`: a conversation with a model, line by line, or a file of conversations.
#pragma once

#include "commands/verbs.h"

namespace troika::commands {

int run_chat(const Call& call);

}  // namespace troika::commands
