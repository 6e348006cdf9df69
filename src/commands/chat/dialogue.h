// A conversation with a model, turn by turn.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/language.h"
#include "commands/chat/chat.h"
#include "data/chat_template.h"
#include "inference/generate.h"
#include "tokenizer/tokenizer.h"

namespace troika::commands {

// All must outlive what uses them.
struct Speaker {
  const inference::TextModel* model = nullptr;
  const tokenizer::Tokenizer* tokenizer = nullptr;
  const data::ChatTemplate* chat_template = nullptr;
  std::int64_t vocab = 0;  // ids that the model knows
  inference::TextOptions options;
};

// The input of the model before it answers `conversation`.
struct Prompt {
  std::vector<std::int32_t> ids;
  std::string opened;  // the beginning of the answer, where the template writes it: "<think>\n", or ""
};
// The messages, answers of the model apart, are text: no part of them becomes a control token.
// ConfigError when the model does not know one of the ids, or has no position left for another, with `what` as the
// conversation's name; DataError of the template.
Prompt prompt_of(const data::Conversation& conversation, const Speaker& speaker, base::Origin what);

struct Answer {
  enum class End { stop, length, interrupted };
  End end = End::stop;
  std::int64_t read = 0, kept = 0;  // tokens of the prompt, and those of them that were still known from before
  std::int64_t drawn = 0;
  double read_seconds = 0, drawn_seconds = 0;  // to the first token, and from there on
};

// Each turn renders all messages and computes what differs from what the model has read and written before. One thread.
class Dialogue {
 public:
  using OnBytes = std::function<void(const std::string&)>;
  Dialogue(const Speaker& speaker, std::string system) : speaker_(speaker), system_(std::move(system)) {}

  nlohmann::ordered_json messages() const;  // the system message first, if there is one

  // Adds the user's message and the model's answer, which grows through `on_bytes`; before each token `interrupted` is
  // asked, and what there is then remains the answer. Errors as of prompt_of; the dialogue is then as before.
  Answer answer(const std::string& user, const OnBytes& on_bytes, const std::function<bool()>& interrupted);

  void set_system(std::string system) { system_ = std::move(system); }
  void reset() { turns_ = nlohmann::ordered_json::array(); }
  bool undo();  // the last turn; false when there is none

 private:
  void begin(const Prompt& prompt);
  std::string draw(const Prompt& prompt, const OnBytes& on_bytes, const std::function<bool()>& interrupted,
                   Answer* answer);

  const Speaker speaker_;
  std::string system_;
  nlohmann::ordered_json turns_ = nlohmann::ordered_json::array();  // user and assistant in turn
  std::unique_ptr<inference::Text> text_;                           // none before the first turn
};

// A file of conversations, answered without anybody watching: JSONL in, JSONL out.
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
