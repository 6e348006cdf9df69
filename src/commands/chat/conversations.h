// A file of conversations, answered without anybody watching: JSONL in, JSONL out.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "commands/chat/chat.h"
#include "commands/chat/dialogue.h"

namespace troika::commands {

struct ConversationLine {
  nlohmann::ordered_json object;    // the whole line, "messages" a list whose last one is not the assistant's
  data::Conversation conversation;  // what a template is given of it
  int number = 0;                   // of the line in the file, from 1
};

// Lines that are not blank, contents and arguments of calls as data::conversation_of has them, behind a system
// message of `system` where that is not empty and they have none. DataError naming file and line.
std::vector<ConversationLine> read_conversations(const std::string& path, const std::string& system);

// Answers arguments.input into arguments.output; an answer ends with the file's line as inference::continue_all has it.
// Errors name the line.
void answer_conversations(const ChatArguments& arguments, const Speaker& speaker, base::Language language);

}  // namespace troika::commands
