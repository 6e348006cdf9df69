#include "records/incident.h"

#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "base/json_members.h"

namespace troika::records {
namespace {

// Every member with its name in records, for writing and for reading.
template <class Of, class Visit>
void for_each_member(Of& of, const Visit& visit) {
  base::each_member(visit, "rank", of.who.rank, "node", of.who.node, "host", of.who.host, "pid", of.who.pid, "peer",
                    of.peer.rank, "peer_host", of.peer.host, "peer_pid", of.peer.pid, "step", of.place.step,
                    "at_seconds", of.place.seconds, "usual_seconds", of.place.usual_seconds, "waits_for",
                    of.place.waits_for, "seconds", of.seconds, "limit_seconds", of.limit_seconds, "reference_seconds",
                    of.reference_seconds, "exit_code", of.exit_code, "signal", of.signal, "count", of.count, "waiting",
                    of.waiting, "others", of.others, "by_way_of_others", of.by_way_of_others, "alike", of.alike,
                    "stopped", of.stopped, "unheard", of.unheard, "address", of.address, "words", of.words.english,
                    "words_zh", of.words.chinese);
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
  base::take_members(object, "kind", kind_word, "cause", cause_word, "at", at_word);
  incident.kind = kind_of(kind_word);
  incident.cause = base::cause_of_word(cause_word);
  incident.place.at = doing_of(at_word);
  for_each_member(incident, [&](const char* name, auto& value) { base::take_member(object, name, &value); });
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
