#include "doctor/host_report.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"

namespace troika::doctor {
namespace {

const std::string host_origin = "what a host says of itself";

std::map<std::string, std::string> texts_by_name(const nlohmann::json& json, const std::string& key) {
  std::map<std::string, std::string> texts;
  for (const auto& [name, text] : base::json_object(json, key, host_origin).items()) {
    if (!text.is_string()) throw base::DataError(base::say("{} holds no text at {}", host_origin, name));
    texts[name] = text;
  }
  return texts;
}

}  // namespace

nlohmann::json to_json(const HostReport& report) {
  nlohmann::json interfaces = nlohmann::json::array(), findings = nlohmann::json::array();
  for (const Interface& one : report.facts.interfaces) interfaces.push_back(to_json(one));
  for (const Finding& one : report.findings) findings.push_back(to_json(one));
  return {{"host", report.host},
          {"interfaces", interfaces},
          {"environment", report.facts.environment},
          {"versions", report.facts.versions},
          {"memory_bytes_per_second", report.facts.memory_bytes_per_second},
          {"interface", report.facts.interface},
          {"folder", report.facts.folder},
          {"findings", findings}};
}

HostReport parse_host_report(const nlohmann::json& json) {
  HostReport report;
  report.host = base::json_string(json, "host", host_origin);
  for (const nlohmann::json& one : base::json_array(json, "interfaces", host_origin))
    report.facts.interfaces.push_back(parse_interface(one));
  report.facts.environment = texts_by_name(json, "environment");
  report.facts.versions = texts_by_name(json, "versions");
  report.facts.memory_bytes_per_second = base::json_double(json, "memory_bytes_per_second", host_origin);
  report.facts.interface = base::json_string(json, "interface", host_origin);
  report.facts.folder = base::json_string(json, "folder", host_origin);
  for (const nlohmann::json& one : base::json_array(json, "findings", host_origin))
    report.findings.push_back(parse_finding(one));
  return report;
}

namespace {

const std::string pair_origin = "what a host measured of another";

std::vector<std::string> texts_in(const nlohmann::json& json, const std::string& key) {
  std::vector<std::string> texts;
  for (const nlohmann::json& text : base::json_array(json, key, pair_origin)) {
    if (!text.is_string()) throw base::DataError(base::say("{} holds no text at {}", pair_origin, key));
    texts.push_back(text);
  }
  return texts;
}

int small_int(const nlohmann::json& json, const std::string& key) {
  return static_cast<int>(base::json_int(json, key, pair_origin));
}

nlohmann::json json_of(const Connecting& one) {
  return {{"address", one.address}, {"port", one.port}, {"code", one.code}};
}

Connecting connecting_in(const nlohmann::json& json) {
  return {base::json_string(json, "address", pair_origin), small_int(json, "port"), small_int(json, "code")};
}

int number_of(const std::optional<bool>& answer) { return answer ? static_cast<int>(*answer) : -1; }

std::optional<bool> answer_in(const nlohmann::json& json, const std::string& key) {
  const int number = small_int(json, key);
  return number < 0 ? std::nullopt : std::optional<bool>(number != 0);
}

}  // namespace

nlohmann::json to_json(const PeerDoctor& peer) {
  return {{"host", peer.host},         {"own_name", peer.own_name}, {"addresses", peer.addresses},
          {"tcp_port", peer.tcp_port}, {"udp_port", peer.udp_port}, {"named_port", peer.named_port}};
}

PeerDoctor parse_peer_doctor(const nlohmann::json& json) {
  PeerDoctor peer;
  peer.host = base::json_string(json, "host", pair_origin);
  peer.own_name = base::json_string(json, "own_name", pair_origin);
  peer.addresses = texts_in(json, "addresses");
  peer.tcp_port = small_int(json, "tcp_port");
  peer.udp_port = small_int(json, "udp_port");
  peer.named_port = small_int(json, "named_port");
  return peer;
}

nlohmann::json to_json(const PairReport& r) {
  nlohmann::json json = {{"from", r.from},
                         {"to", r.to},
                         {"connecting", json_of(r.connecting)},
                         {"answered", r.answered ? 1 : 0},
                         {"interface", r.interface},
                         {"round_trip_seconds", r.round_trip_seconds},
                         {"late_round_trip_seconds", r.late_round_trip_seconds},
                         {"clock_seconds", r.clock_seconds},
                         {"clock_error_seconds", r.clock_error_seconds},
                         {"there_bytes_per_second", r.there_bytes_per_second},
                         {"back_bytes_per_second", r.back_bytes_per_second},
                         {"small_datagrams", number_of(r.small_datagrams)},
                         {"full_datagrams", number_of(r.full_datagrams)},
                         {"jumbo_datagrams", number_of(r.jumbo_datagrams)},
                         {"full_bytes", r.full_bytes},
                         {"jumbo_bytes", r.jumbo_bytes},
                         {"stuck_bytes", r.stuck_bytes},
                         {"addresses_of_name", r.addresses_of_name}};
  if (r.named) json["named"] = json_of(*r.named);
  return json;
}

PairReport parse_pair_report(const nlohmann::json& json) {
  const auto number = [&](const char* key) { return base::json_double(json, key, pair_origin); };
  PairReport r;
  r.from = base::json_string(json, "from", pair_origin);
  r.to = base::json_string(json, "to", pair_origin);
  r.connecting = connecting_in(base::json_object(json, "connecting", pair_origin));
  if (json.contains("named")) r.named = connecting_in(base::json_object(json, "named", pair_origin));
  r.answered = small_int(json, "answered") != 0;
  r.interface = base::json_string(json, "interface", pair_origin);
  r.round_trip_seconds = number("round_trip_seconds");
  r.late_round_trip_seconds = number("late_round_trip_seconds");
  r.clock_seconds = number("clock_seconds");
  r.clock_error_seconds = number("clock_error_seconds");
  r.there_bytes_per_second = number("there_bytes_per_second");
  r.back_bytes_per_second = number("back_bytes_per_second");
  r.small_datagrams = answer_in(json, "small_datagrams");
  r.full_datagrams = answer_in(json, "full_datagrams");
  r.jumbo_datagrams = answer_in(json, "jumbo_datagrams");
  r.full_bytes = base::json_int(json, "full_bytes", pair_origin);
  r.jumbo_bytes = base::json_int(json, "jumbo_bytes", pair_origin);
  r.stuck_bytes = base::json_int(json, "stuck_bytes", pair_origin);
  r.addresses_of_name = texts_in(json, "addresses_of_name");
  return r;
}

}  // namespace troika::doctor
