#include "records/event.h"

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "records/old_sentences.h"

namespace troika::records {
namespace {

constexpr std::array<std::pair<EventKind, std::string_view>, 17> kinds = {
    {{EventKind::launch, "launch"},
     {EventKind::start, "start"},
     {EventKind::resume, "resume"},
     {EventKind::save, "save"},
     {EventKind::save_failed, "save_failed"},
     {EventKind::evaluation, "evaluation"},
     {EventKind::skipped_step, "skipped_step"},
     {EventKind::repeated_step, "repeated_step"},
     {EventKind::rolled_back, "rolled_back"},
     {EventKind::notice, "notice"},
     {EventKind::rank_failed, "rank_failed"},
     {EventKind::rank_ended, "rank_ended"},
     {EventKind::failure, "failure"},
     {EventKind::restart, "restart"},
     {EventKind::stop_requested, "stop_requested"},
     {EventKind::stop, "stop"},
     {EventKind::finish, "finish"}}};

void take_number(Event& event, const std::string& key, double value) {
  if (key == "time")
    event.time = value;
  else if (key == "attempt")
    event.attempt = static_cast<int>(value);
  else if (key == "rank")
    event.rank = static_cast<int>(value);
  else if (key == "step")
    event.step = static_cast<std::int64_t>(value);
  else
    event.numbers[key] = value;
}

void take_word(Event& event, const std::string& key, const std::string& value) {
  static const std::map<std::string_view, std::string Event::*> members = {{"host", &Event::host},
                                                                           {"text", &Event::text}};
  const auto member = members.find(key);
  (member == members.end() ? event.words[key] : event.*member->second) = value;
}

// Reads events of versions that wrote the sentence alone.
void take_old_text(Event& event) {
  switch (event.kind) {
    case EventKind::notice:
    case EventKind::failure:
    case EventKind::rank_ended:
      event.incident = incident_in(event.text);
      break;
    case EventKind::rank_failed:
      event.incident = failed({event.rank, -1, event.host, 0}, base::verbatim(event.text), cause_in(event.text));
      break;
    case EventKind::save_failed:
      event.incident = told(base::verbatim(event.text), cause_in(event.text));
      break;
    case EventKind::stop_requested:
      if (const int signal = signal_in(event.text); signal > 0) event.numbers.emplace("signal", signal);
      break;
    default:
      break;
  }
}

}  // namespace

std::string_view word_of(EventKind kind) {
  for (const auto& [known, word] : kinds)
    if (known == kind) return word;
  return "";
}

std::optional<EventKind> event_kind_of(std::string_view word) {
  for (const auto& [kind, known] : kinds)
    if (known == word) return kind;
  return std::nullopt;
}

double Event::number(const std::string& name, double otherwise) const {
  const auto found = numbers.find(name);
  return found == numbers.end() ? otherwise : found->second;
}

std::string Event::word(const std::string& name) const {
  const auto found = words.find(name);
  return found == words.end() ? "" : found->second;
}

std::string to_json(const Event& event) {
  nlohmann::ordered_json line;
  line["time"] = std::round(event.time * 1000) / 1000;
  line["event"] = word_of(event.kind);
  line["host"] = event.host;
  line["attempt"] = event.attempt;
  if (event.rank >= 0) line["rank"] = event.rank;
  if (event.step >= 0) line["step"] = event.step;
  line["text"] = event.text;
  if (event.incident) line["incident"] = to_json_object(*event.incident);
  for (const auto& [name, value] : event.numbers) line[name] = value;  // one that is not finite becomes null
  for (const auto& [name, value] : event.words) line[name] = value;
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::optional<Event> parse_event(std::string_view line) {
  nlohmann::json object = nlohmann::json::parse(line, nullptr, false);
  if (!object.is_object() || !object.contains("event") || !object["event"].is_string()) return std::nullopt;
  const auto kind = event_kind_of(object["event"].get<std::string>());
  if (!kind) return std::nullopt;
  object.erase("event");
  Event event;
  event.kind = *kind;
  for (const auto& [key, value] : object.items()) {
    if (value.is_number()) take_number(event, key, value.get<double>());
    if (value.is_string()) take_word(event, key, value.get<std::string>());
  }
  if (const auto incident = object.find("incident"); incident != object.end() && incident->is_object())
    event.incident = incident_of(*incident);
  else
    take_old_text(event);
  return event;
}

}  // namespace troika::records
