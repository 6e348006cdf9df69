#include "records/sample.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json_members.h"

namespace troika::records {
namespace {

using Json = nlohmann::json;

double rounded(double seconds) { return std::round(seconds * 1e6) / 1e6; }

template <class Value>
std::map<std::string, Value> numbers_of(const Json& object, const char* key) {
  std::map<std::string, Value> numbers;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_object()) return numbers;
  for (const auto& [name, value] : found->items())
    if (value.is_number()) numbers[name] = value.template get<Value>();
  return numbers;
}

nlohmann::ordered_json place_json(const Place& place) {
  nlohmann::ordered_json json;
  json["step"] = place.step;
  json["at"] = word_of(place.at);
  json["seconds"] = rounded(place.seconds);
  if (place.usual_seconds > 0) json["usual_seconds"] = rounded(place.usual_seconds);
  if (place.waits_for != waits_for_nobody) json["waits_for"] = place.waits_for;
  return json;
}

Place place_of(const Json& json) {
  Place place;
  std::string at;
  base::take_members(json, "step", place.step, "at", at, "seconds", place.seconds, "usual_seconds",
                     place.usual_seconds, "waits_for", place.waits_for);
  place.at = doing_of(at);
  return place;
}

nlohmann::ordered_json vitals_json(const host::Vitals& vitals) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const auto& [name, value] : vitals.numbers()) json[name] = value;
  if (!vitals.link_errors.empty()) json["link_errors"] = vitals.link_errors;
  return json;
}

host::Vitals vitals_of(const Json& json) {
  host::Vitals vitals;
  for (const auto& [name, value] : json.items())
    if (value.is_number()) vitals.set(name, value.get<double>());
  vitals.link_errors = numbers_of<std::int64_t>(json, "link_errors");
  return vitals;
}

}  // namespace

std::string to_json(const Sample& sample) {
  nlohmann::ordered_json line;
  line["time"] = std::round(sample.time * 1000) / 1000;
  line["rank"] = sample.rank;
  line["host"] = sample.host;
  line["attempt"] = sample.attempt;
  line["number"] = sample.number;
  line["place"] = place_json(sample.place);
  if (sample.pace_seconds > 0) line["pace_seconds"] = rounded(sample.pace_seconds);
  line["elapsed_seconds"] = rounded(sample.elapsed_seconds);
  const auto seconds = [](const std::map<std::string, double>& map) {
    nlohmann::ordered_json json = nlohmann::ordered_json::object();
    for (const auto& [name, value] : map) json[name] = rounded(value);
    return json;
  };
  line["phases"] = seconds(sample.phases);
  line["waits"] = seconds(sample.waits);
  line["traffic"] = nlohmann::ordered_json::array();
  for (const PeerTraffic& t : sample.traffic)
    line["traffic"].push_back({{"peer", t.peer},
                               {"sent_bytes", t.sent_bytes},
                               {"received_bytes", t.received_bytes},
                               {"waited_seconds", rounded(t.waited_seconds)}});
  line["memory"] = sample.memory;
  if (sample.peak_resident_bytes > 0) line["peak_resident_bytes"] = sample.peak_resident_bytes;
  if (const ThreadUse& use = sample.threads; use.threads > 0)
    line["threads"] = {{"threads", use.threads}, {"usable", use.usable}, {"online", use.online}, {"bound_to", use.bound_to}};
  if (sample.vitals) line["vitals"] = vitals_json(*sample.vitals);
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::optional<Sample> parse_sample(std::string_view line) {
  const Json object = Json::parse(line, nullptr, false);
  if (!object.is_object() || !object.contains("rank") || !object.contains("number")) return std::nullopt;
  Sample sample;
  sample.rank = -1;
  base::take_members(object, "time", sample.time, "rank", sample.rank, "host", sample.host, "attempt", sample.attempt,
                     "number", sample.number, "pace_seconds", sample.pace_seconds, "elapsed_seconds",
                     sample.elapsed_seconds, "peak_resident_bytes", sample.peak_resident_bytes);
  if (sample.rank < 0) return std::nullopt;
  if (const auto place = object.find("place"); place != object.end() && place->is_object())
    sample.place = place_of(*place);
  sample.phases = numbers_of<double>(object, "phases");
  sample.waits = numbers_of<double>(object, "waits");
  if (const auto traffic = object.find("traffic"); traffic != object.end() && traffic->is_array())
    for (const Json& of_peer : *traffic) {
      if (!of_peer.is_object()) continue;
      PeerTraffic& one = sample.traffic.emplace_back();
      base::take_members(of_peer, "peer", one.peer, "sent_bytes", one.sent_bytes, "received_bytes", one.received_bytes,
                         "waited_seconds", one.waited_seconds);
    }
  sample.memory = numbers_of<std::int64_t>(object, "memory");
  if (const auto use = object.find("threads"); use != object.end() && use->is_object()) {
    base::take_members(*use, "threads", sample.threads.threads, "usable", sample.threads.usable, "online",
                       sample.threads.online);
    if (const auto cores = use->find("bound_to"); cores != use->end() && cores->is_array())
      for (const Json& core : *cores)
        if (core.is_number_integer()) sample.threads.bound_to.push_back(core.get<int>());
  }
  if (const auto vitals = object.find("vitals"); vitals != object.end() && vitals->is_object())
    sample.vitals = vitals_of(*vitals);
  return sample;
}

}  // namespace troika::records
