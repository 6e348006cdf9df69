#include "doctor/host_report.h"

#include <nlohmann/json.hpp>
#include <type_traits>

#include "base/error.h"
#include "base/json.h"
#include "base/json_members.h"

namespace troika::doctor {
namespace {

using Json = nlohmann::json;

const std::string report_origin = "a host's report";

// The members of each message with their names, for writing and for reading.
template <class Visit>
void for_members(Visit& visit, Address& a) {
  base::each_member(visit, "text", a.text, "prefix", a.prefix);
}
template <class Visit>
void for_members(Visit& visit, Interface& one) {
  base::each_member(visit, "name", one.name, "up", one.up, "wireless", one.wireless, "mtu", one.mtu, "duplex", one.duplex,
       "megabits", one.megabits, "addresses", one.addresses);
}
template <class Visit>
void for_members(Visit& visit, Finding& one) {
  base::each_member(visit, "host", one.host, "check", one.check, "status", one.status, "measured", one.measured, "wanted",
       one.wanted, "advice", one.advice);
}
template <class Visit>
void for_members(Visit& visit, Want& want) {
  base::each_member(visit, "hosts", want.hosts, "folder", want.folder, "interface", want.interface, "port", want.port, "ranks",
       want.ranks, "threads", want.threads, "memory_bytes", want.memory_bytes, "disk_bytes", want.disk_bytes);
}
template <class Visit>
void for_members(Visit& visit, HostReport& r) {
  base::each_member(visit, "host", r.host, "interfaces", r.facts.interfaces, "environment", r.facts.environment, "versions",
       r.facts.versions, "memory_bytes_per_second", r.facts.memory_bytes_per_second, "interface", r.facts.interface,
       "folder", r.facts.folder, "findings", r.findings);
}
template <class Visit>
void for_members(Visit& visit, PeerDoctor& peer) {
  base::each_member(visit, "host", peer.host, "own_name", peer.own_name, "addresses", peer.addresses, "tcp_port", peer.tcp_port,
       "udp_port", peer.udp_port, "named_port", peer.named_port);
}
template <class Visit>
void for_members(Visit& visit, Connecting& one) {
  base::each_member(visit, "address", one.address, "port", one.port, "code", one.code);
}
template <class Visit>
void for_members(Visit& visit, PairReport& r) {
  base::each_member(visit, "from", r.from, "to", r.to, "connecting", r.connecting, "named", r.named, "answered", r.answered,
       "interface", r.interface, "round_trip_seconds", r.round_trip_seconds, "late_round_trip_seconds",
       r.late_round_trip_seconds, "clock_seconds", r.clock_seconds, "clock_error_seconds", r.clock_error_seconds,
       "there_bytes_per_second", r.there_bytes_per_second, "back_bytes_per_second", r.back_bytes_per_second,
       "small_datagrams", r.small_datagrams, "full_datagrams", r.full_datagrams, "jumbo_datagrams", r.jumbo_datagrams,
       "full_bytes", r.full_bytes, "jumbo_bytes", r.jumbo_bytes, "stuck_bytes", r.stuck_bytes, "addresses_of_name",
       r.addresses_of_name);
}

template <class Value>
constexpr bool is_plain = std::is_arithmetic_v<Value> || std::is_same_v<Value, std::string>;

// Truth is 0 or 1, and -1 where it is not known.
struct MessageWriter {
  Json json = Json::object();

  template <class Value>
  void operator()(const char* name, Value& value) {
    json[name] = written(value);
  }
  void operator()(const char* name, std::optional<Connecting>& value) {
    if (value) json[name] = written(*value);
  }

  static Json written(bool value) { return value ? 1 : 0; }
  static Json written(std::optional<bool> value) { return value ? written(*value) : Json(-1); }
  static Json written(base::Text& value) { return {value.english, value.chinese}; }
  static Json written(Status value) { return word_of(value); }
  static Json written(Want::Hosts value) { return value == Want::Hosts::one ? 1 : 2; }
  static Json written(std::map<std::string, std::string>& value) { return value; }
  template <class Value>
  static Json written(std::vector<Value>& values) {
    Json all = Json::array();
    for (Value& value : values) all.push_back(written(value));
    return all;
  }
  template <class Value>
  static Json written(Value& value) {
    if constexpr (is_plain<Value>) {
      return value;
    } else {
      MessageWriter object;
      for_members(object, value);
      return std::move(object.json);
    }
  }
};

struct MessageReader {
  const Json& object;

  std::string text(const char* name) const { return base::json_string(object, name, report_origin); }
  std::int64_t integer(const char* name) const { return base::json_int(object, name, report_origin); }

  void operator()(const char* name, std::string& value) const { value = text(name); }
  void operator()(const char* name, double& value) const { value = base::json_double(object, name, report_origin); }
  void operator()(const char* name, int& value) const { value = static_cast<int>(integer(name)); }
  void operator()(const char* name, std::int64_t& value) const { value = integer(name); }
  void operator()(const char* name, bool& value) const { value = integer(name) != 0; }
  void operator()(const char* name, std::optional<bool>& value) const {
    if (const std::int64_t number = integer(name); number >= 0) value = number != 0;
  }
  void operator()(const char* name, Want::Hosts& value) const {
    value = integer(name) == 1 ? Want::Hosts::one : Want::Hosts::several;
  }
  void operator()(const char* name, Status& value) const {
    const std::string word = text(name);
    for (const Status known : {Status::ok, Status::note, Status::warn, Status::fail, Status::not_checked})
      if (word_of(known) == word) return void(value = known);
    throw base::DataError(base::say("a host's report has the unknown status '{}'", word));
  }
  void operator()(const char* name, base::Text& value) const {
    const Json& pair = base::json_array(object, name, report_origin);
    if (pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string())
      throw base::DataError(base::say("a host's report lacks a text in two languages at '{}'", name));
    value = {pair[0], pair[1]};
  }
  void operator()(const char* name, std::map<std::string, std::string>& values) const {
    for (const auto& [key, value] : base::json_object(object, name, report_origin).items())
      values[key] = element_of<std::string>(value, key);
  }
  template <class Value>
  void operator()(const char* name, std::vector<Value>& values) const {
    for (const Json& one : base::json_array(object, name, report_origin))
      values.push_back(element_of<Value>(one, name));
  }
  void operator()(const char* name, Connecting& value) const {
    value = parse<Connecting>(base::json_object(object, name, report_origin));
  }
  void operator()(const char* name, std::optional<Connecting>& value) const {
    if (object.contains(name)) (*this)(name, value.emplace());
  }

  template <class Value>
  static Value element_of(const Json& json, const std::string& name) {
    if constexpr (is_plain<Value>) {
      if (!json.is_string()) throw base::DataError(base::say("{} holds no text at {}", report_origin, name));
      return json;
    } else {
      return parse<Value>(json);
    }
  }
};

}  // namespace

template <class Message>
nlohmann::json to_json(const Message& message) {
  Message members = message;
  return MessageWriter::written(members);
}

template <class Message>
Message parse(const nlohmann::json& json) {
  Message message;
  MessageReader reader{json};
  for_members(reader, message);
  return message;
}

template nlohmann::json to_json(const Want&);
template nlohmann::json to_json(const HostReport&);
template nlohmann::json to_json(const PeerDoctor&);
template nlohmann::json to_json(const PairReport&);
template Want parse(const nlohmann::json&);
template HostReport parse(const nlohmann::json&);
template PeerDoctor parse(const nlohmann::json&);
template PairReport parse(const nlohmann::json&);

}  // namespace troika::doctor
