#include "doctor/host_report.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/say.h"

namespace nlohmann {

template <class Value>
struct adl_serializer<std::optional<Value>> {  // null where there is none
  static void to_json(json& json, const std::optional<Value>& value) { json = value ? nlohmann::json(*value) : nullptr; }
  static void from_json(const json& json, std::optional<Value>& value) {
    if (!json.is_null()) value = json.get<Value>();
  }
};

}  // namespace nlohmann

namespace troika::base {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Text, english, chinese)

}  // namespace troika::base

namespace troika::doctor {

static void to_json(nlohmann::json& json, Status status) { json = word_of(status); }
static void from_json(const nlohmann::json& json, Status& status) {
  const auto word = json.get<std::string>();
  for (const Status known : {Status::ok, Status::note, Status::warn, Status::fail, Status::not_checked})
    if (word_of(known) == word) return void(status = known);
  throw base::DataError(base::say("a host's report has the unknown status '{}'", word));
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Address, text, prefix)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Interface, name, up, wireless, mtu, duplex, megabits, addresses)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Finding, host, check, status, measured, wanted, advice)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Want, hosts, folder, interface, port, ranks, threads, memory_bytes, disk_bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(HostFacts, interfaces, environment, versions, memory_bytes_per_second, interface, folder)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(HostReport, host, facts, findings)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PeerDoctor, host, own_name, addresses, tcp_port, udp_port, named_port)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Connecting, address, port, code)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PairReport, from, to, connecting, named, answered, interface, round_trip_seconds,
                                   late_round_trip_seconds, clock_seconds, clock_error_seconds, there_bytes_per_second,
                                   back_bytes_per_second, small_datagrams, full_datagrams, jumbo_datagrams, full_bytes,
                                   jumbo_bytes, stuck_bytes, addresses_of_name)

template <class Message>
nlohmann::json to_json(const Message& message) {
  return nlohmann::json(message);
}

template <class Message>
Message parse(const nlohmann::json& json) {
  try {
    return json.get<Message>();
  } catch (const nlohmann::json::exception& error) {  // of another version
    throw base::DataError(base::say("a host's report cannot be read: {}", error.what()));
  }
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
