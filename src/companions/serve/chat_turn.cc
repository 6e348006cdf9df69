#include "serve/chat_turn.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/text.h"
#include "host/worker.h"
#include "serve/form.h"
#include "serve/programs.h"

namespace troika::serve {
namespace {

using Json = nlohmann::ordered_json;

constexpr int lines_of_chat = 6;
constexpr std::size_t most_chat_words = 2048;

ChatAnswer read_answer(const std::string& path) {
  const Json line = Json::parse(base::read_file(path), nullptr, false);
  const bool whole =
      line.is_object() && line.contains("messages") && line["messages"].is_array() && !line["messages"].empty();
  if (!whole) throw base::DataError(base::say("the model gave no answer"));
  const Json& last = line["messages"].back();
  ChatAnswer answer;
  answer.text = last.value("content", "");
  answer.finish = line.value("finish", "");
  if (line.contains("tokens") && line["tokens"].is_number_integer()) answer.tokens = line["tokens"];
  return answer;
}

}  // namespace

ChatAnswer answer_of(const ChatTurn& turn, const Options& options, double deadline_seconds,
                     const std::function<bool()>& abandoned) {
  const ScratchFolder folder;
  const std::string asked = folder.file("asked.jsonl"), told = folder.file("told.jsonl"), log = folder.file("log");
  base::write_file_atomic(asked, fmt::format("{{\"messages\": {}}}\n", turn.messages));
  ShortProgram chat;
  chat.words = {options.program,
                "chat",
                turn.model,
                "--input",
                asked,
                "--output",
                told,
                "--seed",
                std::to_string(turn.seed),
                "--max-new-tokens",
                std::to_string(turn.most_tokens)};
  if (turn.temperature) chat.words.insert(chat.words.end(), {"--temperature", fmt::format("{}", *turn.temperature)});
  chat.environment = environment_of_runs(options.environment);
  chat.log = log;
  chat.deadline_seconds = deadline_seconds;
  chat.abandoned = abandoned;
  const ShortEnd end = run_short(chat);
  if (end == ShortEnd::too_late) throw base::DataError(base::say("no answer within {:.0f} s", deadline_seconds));
  if (end == ShortEnd::abandoned) throw base::DataError(base::say("the model gave no answer"));
  if (end == ShortEnd::badly)
    throw base::DataError(
        base::say("the model gave no answer; the program printed:\n{}", base::printable(host::last_lines(log, 0, lines_of_chat), most_chat_words)));
  return read_answer(told);
}

}  // namespace troika::serve
