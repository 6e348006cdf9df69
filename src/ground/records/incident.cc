#include "records/incident.h"

#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>


namespace troika::records {
namespace {

// Every member with its name in records, for writing and for reading.
template <class Of, class Visit>
void for_each_member(Of& of, Visit visit) {
  visit("rank", of.who.rank);
  visit("node", of.who.node);
  visit("host", of.who.host);
  visit("pid", of.who.pid);
  visit("peer", of.peer.rank);
  visit("peer_host", of.peer.host);
  visit("peer_pid", of.peer.pid);
  visit("step", of.place.step);
  visit("at_seconds", of.place.seconds);
  visit("usual_seconds", of.place.usual_seconds);
  visit("waits_for", of.place.waits_for);
  visit("seconds", of.seconds);
  visit("limit_seconds", of.limit_seconds);
  visit("reference_seconds", of.reference_seconds);
  visit("exit_code", of.exit_code);
  visit("signal", of.signal);
  visit("count", of.count);
  visit("waiting", of.waiting);
  visit("others", of.others);
  visit("by_way_of_others", of.by_way_of_others);
  visit("alike", of.alike);
  visit("stopped", of.stopped);
  visit("unheard", of.unheard);
  visit("address", of.address);
  visit("words", of.words.english);
  visit("words_zh", of.words.chinese);
}

template <class Value>
void take_member(const nlohmann::json& object, const char* name, Value* value) {
  const auto found = object.find(name);
  if (found == object.end()) return;
  if constexpr (std::is_same_v<Value, std::string>) {
    if (found->is_string()) *value = found->get<std::string>();
  } else if constexpr (std::is_same_v<Value, bool>) {
    if (found->is_boolean()) *value = found->get<bool>();
  } else {
    if (found->is_number()) *value = found->get<Value>();
  }
}

}  // namespace

bool operator==(const Party& a, const Party& b) {
  return std::tie(a.rank, a.node, a.host, a.pid) == std::tie(b.rank, b.node, b.host, b.pid);
}

Incident told(base::Text words, base::Cause cause) {
  Incident incident;
  incident.words = std::move(words);
  incident.cause = cause;
  return incident;
}

Incident failed(const Party& who, base::Text words, base::Cause cause) {
  Incident incident = told(std::move(words), cause);
  incident.kind = IncidentKind::rank_failed;
  incident.who = who;
  return incident;
}

bool is_recovery(IncidentKind kind) {
  return kind == IncidentKind::rank_continues || kind == IncidentKind::host_recovered ||
         kind == IncidentKind::save_continues || kind == IncidentKind::launcher_heard;
}

bool is_over(const Incident& earlier, const Incident& later) {
  const bool of_host = earlier.kind == IncidentKind::host_slow;
  const bool of_launcher = earlier.kind == IncidentKind::launcher_unheard;
  switch (later.kind) {
    case IncidentKind::rank_continues:
    case IncidentKind::save_continues:
      return !of_host && !of_launcher && earlier.who.rank == later.who.rank;
    case IncidentKind::host_recovered:
      return of_host && earlier.who.host == later.who.host;
    case IncidentKind::launcher_heard:
      return of_launcher && earlier.who.node == later.who.node;
    default:
      return false;
  }
}

nlohmann::ordered_json to_json_object(const Incident& incident) {
  nlohmann::ordered_json json;
  json["kind"] = word_of(incident.kind);
  if (incident.cause != base::Cause::not_told) json["cause"] = base::word_of(incident.cause);
  if (const std::string at = word_of(incident.place.at); !at.empty()) json["at"] = at;
  const nlohmann::ordered_json usual = [] {
    nlohmann::ordered_json all;
    const Incident none;
    for_each_member(none, [&](const char* name, const auto& value) { all[name] = value; });
    return all;
  }();
  for_each_member(incident, [&](const char* name, const auto& value) {
    if (usual[name] != value) json[name] = value;
  });
  if (incident.words.chinese == incident.words.english) json.erase("words_zh");
  return json;
}

Incident incident_of(const nlohmann::json& object) {
  Incident incident;
  if (!object.is_object()) return incident;
  std::string kind_word, cause_word, at_word;
  take_member(object, "kind", &kind_word);
  take_member(object, "cause", &cause_word);
  take_member(object, "at", &at_word);
  incident.kind = kind_of(kind_word);
  incident.cause = base::cause_of_word(cause_word);
  incident.place.at = doing_of(at_word);
  for_each_member(incident, [&](const char* name, auto& value) { take_member(object, name, &value); });
  if (incident.words.chinese.empty()) incident.words.chinese = incident.words.english;
  return incident;
}

std::string to_json(const Incident& incident) {
  return to_json_object(incident).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Incident parse_incident(const std::string& text) {
  const nlohmann::json object = nlohmann::json::parse(text, nullptr, false);
  return object.is_object() ? incident_of(object) : told(base::verbatim(text));
}

}  // namespace troika::records
