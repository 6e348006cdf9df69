// How a conversation becomes the text that a model reads: the Jinja template of its tokenizer.
#pragma once

#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/choices.h"
#include "data/conversations.h"
#include "data/findings.h"

namespace troika::jinja {
class Template;
}

namespace troika::data {

using config::LossOn;  // the tokens that carry loss

// A stretch of rendered text. Each span is tokenized by itself, so that an answer's tokens are those that the model
// would produce after the prompt.
struct TextSpan {
  std::string text;
  bool has_loss = false;
};

// Threads: const use is safe.
class ChatTemplate {
 public:
  struct Options {
    std::string bos, eos;      // what templates print as bos_token and eos_token; empty: undefined there
    bool thinking = true;      // enable_thinking
    std::string tools_source;  // the template of conversations with tools; empty: the same one
    // The messages the template has a form for. plain: those of user and assistant, and of system as the first.
    enum class Roles { any, plain } roles = Roles::any;
  };
  // `source`: the template. DataError naming `origin`, the line and what is wrong or not supported.
  ChatTemplate(const std::string& source, const std::string& origin, Options options);

  // Whether the text ends where the model is to answer.
  enum class End { conversation, answer_begins };
  // DataError with the template's line and what went wrong there, or the sentence of its raise_exception.
  // strftime_now tells the date of today.
  std::string render(const Conversation& conversation, End end) const;

  // The conversation as training samples, each a text in spans. For an assistant's message k > 0 the prompt is the
  // rendering of the messages before it, up to where an answer begins, and the answer is what the rendering of the
  // messages up to k has after the prompt: what the model would have seen, and has to produce. White space at the
  // end of an answer, after its end mark, carries no loss.
  // An answer is in the sample of a later one where that shows its prompt and the answer as they are, else in a
  // sample of its own: Qwen3 leaves out the thinking of earlier turns, which the model had produced, and shows it
  // that way only to the turns after. What is after the last answer is left out. No sample: no answer.
  // Where the rendering of a turn does not begin with its prompt (a template that ends the prompt by "<think>" and
  // shows no thinking in the turn), the answer begins where the two part, or at the message's own content, if that
  // comes first: as much of the prompt as the model sees at inference, and no letter of the answer without loss. Where the two part
  // before what was asked ends (a template that shows the system message with the last question alone), it begins after what the
  // prompt has behind the question.
  // Without thinking, reasoning_content, thinking, reasoning, each <think>...</think> and what is before a </think> alone are
  // left out of assistant messages.
  // No loss: masked answers, those that say nothing, and those of which the template leaves nothing but what an empty one has.
  // LossOn::all: one sample, all of it with loss; none of a masked conversation.
  // strftime_now tells the 1st of January 2025 in samples: two runs are equal.
  // `findings`, if given, gets what became of answers, and which parts of the conversation the text does not depend on.
  std::vector<std::vector<TextSpan>> samples(const Conversation& conversation, LossOn loss_on,
                                             Findings* findings = nullptr) const;

  const std::string& end_mark() const { return options_.eos; }
  std::string fingerprint() const { return fingerprint_; }  // 16 hex digits over all that decides the text

 private:
  struct Answer;
  // The context that a template is given.
  nlohmann::ordered_json context_of(nlohmann::ordered_json messages, const nlohmann::ordered_json& tools) const;
  std::string render_context(nlohmann::ordered_json* context, End end, const std::tm& now) const;
  void refuse_other_roles(const nlohmann::ordered_json& messages) const;
  // Removes the last message of `context` and returns its answer.
  Answer take_answer(nlohmann::ordered_json* context) const;
  // Where in `text`, the rendering of `context`, the content of that message ends; 0: nowhere.
  std::size_t end_of_question(const std::string& text, nlohmann::ordered_json context, std::size_t question,
                              End end) const;
  std::size_t begin_beside(const std::string& prompt, const std::string& text, const std::string& other,
                           nlohmann::ordered_json message, const nlohmann::ordered_json& before) const;
  // Whether `answer` is what an empty message behind those of `context` gives.
  bool is_emptied(const Answer& answer, const nlohmann::ordered_json& message,
                  const nlohmann::ordered_json& context) const;
  void find_left_out_of_answer(const Answer& answer, const nlohmann::ordered_json& message,
                               const nlohmann::ordered_json& context, Findings* findings) const;
  void find_left_out(const std::string& text, const nlohmann::ordered_json& context, Findings* findings) const;

  std::shared_ptr<const jinja::Template> template_, with_tools_;
  Options options_;
  std::string fingerprint_;
};

// Opens a chat template: a tokenizer's, a file, or a built-in one.
struct BuiltInTemplate {
  std::string_view name, source;
  std::string_view end_mark;  // empty: that of the tokenizer
};

extern const BuiltInTemplate chatml_template;  // <|im_start|>ROLE\nCONTENT<|im_end|>\n
extern const BuiltInTemplate alpaca_template;  // ### Instruction:\nCONTENT\n\n### Response:\nCONTENT

const BuiltInTemplate* find_built_in_template(std::string_view name);  // null: there is none of that name

// The folder of what data.tokenizer names: a folder or the file in it; "" for bytes.
std::string folder_of_tokenizer(const std::string& tokenizer);

bool names_template_file(std::string_view chat_template);  // data.chat_template is neither auto nor built in

// `choice`: data.chat_template; `tokenizer`: data.tokenizer. auto reads chat_template.jinja, or chat_template of
// tokenizer_config.json, beside tokenizer.json, with its bos_token and eos_token. ConfigError when there is none: it
// names chatml and alpaca, which are built in, and data.chat_template.
// `end_text`: what eos_token is where tokenizer_config.json names none.
ChatTemplate open_chat_template(const std::string& choice, const std::string& tokenizer, bool thinking,
                                const std::string& end_text = "");

}  // namespace troika::data
