#include "serve/chat.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <mutex>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/text.h"
#include "host/worker.h"
#include "serve/catalog.h"
#include "serve/checkpoints.h"
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

constexpr double chat_deadline = 300;  // seconds
constexpr std::int64_t most_chat_tokens = 4096;

Json messages_in(const Json& body) {
  const auto messages = body.find("messages");
  if (messages == body.end() || !messages->is_array() || messages->empty()) throw Refused{400, base::say("messages must be a list of {{\"role\": \"user\", \"content\": \"...\"}}")};
  Json plain = Json::array();
  for (const Json& message : *messages) {
    const bool right = message.is_object() && message.contains("role") && message["role"].is_string() &&
                       message.contains("content") && message["content"].is_string();
    if (!right) throw Refused{400, base::say("messages must be a list of {{\"role\": \"user\", \"content\": \"...\"}}")};
    plain.push_back({{"role", message["role"]}, {"content", message["content"]}});
  }
  return plain;
}

std::int64_t integer_of_chat(const Json& body, const char* name, std::int64_t otherwise, std::int64_t most) {
  const auto value = body.find(name);
  if (value == body.end() || value->is_null()) return otherwise;
  if (!value->is_number_integer() || *value < 1 || *value > most)
    throw Refused{400, base::say("'{}' must be a whole number from 1 to {}", name, most)};
  return *value;
}

std::optional<double> temperature_in(const Json& body) {
  const auto value = body.find("temperature");
  if (value == body.end() || value->is_null()) return std::nullopt;
  if (!value->is_number() || *value < 0 || *value > 100) throw Refused{400, base::say("'temperature' must be a number from 0 to 100")};
  return value->get<double>();
}

// One answer at a time: each loads a model.
http::Response chat_answer(const RouteContext& context, std::mutex& answering, const Asked& asked) {
  const std::string name = asked.name("run"), folder = context.catalog.folder_of(name);
  const Json body = Json::parse(asked.body, nullptr, false);
  if (!body.is_object()) throw Refused{400, base::say("the body is not a JSON object")};
  const std::vector<std::int64_t> steps = complete_steps(folder);
  if (steps.empty()) throw Refused{409, base::say("'{}' has no complete checkpoint yet", name)};
  ChatTurn turn;
  const std::int64_t step = integer_of_chat(body, "step", steps.back(), steps.back());
  if (!std::binary_search(steps.begin(), steps.end(), step))
    throw Refused{409, base::say("'{}' has no complete checkpoint of step {}", name, step)};
  turn.language = asked.language;
  turn.model = step_folder(folder, step);
  turn.temperature = temperature_in(body);
  turn.messages = messages_in(body).dump();
  turn.most_tokens = integer_of_chat(body, "max_new_tokens", turn.most_tokens, most_chat_tokens);
  turn.seed = integer_of_chat(body, "seed", turn.seed, std::int64_t{1} << 53);
  const std::unique_lock<std::mutex> guard(answering, std::try_to_lock);
  if (!guard.owns_lock()) throw Refused{409, base::say("a model is already answering: wait for it")};
  const ChatAnswer answer = answer_of(turn, context.options, chat_deadline, asked.abandoned);
  const Json json{{"text", answer.text}, {"finish", answer.finish}, {"tokens", answer.tokens}, {"step", step}};
  return json_response(200, json_line(json));
}

}  // namespace

ChatAnswer answer_of(const ChatTurn& turn, const Options& options, double deadline_seconds,
                     const std::function<bool()>& abandoned) {
  const ScratchFolder folder;
  const std::string asked = folder.file("asked.jsonl"), told = folder.file("told.jsonl"), log = folder.file("log");
  base::write_file_atomic(asked, fmt::format("{{\"messages\": {}}}\n", turn.messages));
  ShortProgram chat;
  chat.words = {options.program, "chat", turn.model, "--input", asked, "--output", told};
  chat.words.insert(chat.words.end(), {"--seed", std::to_string(turn.seed)});
  chat.words.insert(chat.words.end(), {"--max-new-tokens", std::to_string(turn.most_tokens)});
  for (std::string& word : host::language_flag(turn.language)) chat.words.push_back(std::move(word));
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

std::vector<Route> chat_routes(const RouteContext& context) {
  const auto answering = std::make_shared<std::mutex>();
  return {{http::Method::post, "/api/runs/{run}/chat", Right::change,
           [context, answering](const Asked& asked) { return chat_answer(context, *answering, asked); }, ThreadPool::waits}};
}

}  // namespace troika::serve
