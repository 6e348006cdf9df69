#include "rendezvous/heartbeat.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "rendezvous/launcher_peer.h"
#include "rendezvous/socket.h"
#include "rendezvous/ticker.h"

namespace troika::rendezvous {

struct HeartbeatClient::Impl {
  Identity identity;
  Heartbeats heartbeats;
  std::unique_ptr<StoreClient> client;  // only the ticker's thread, and after it has stopped the caller of done/failed
  double last_contact = 0;
  std::int64_t count = 0, connection = 0, last_notice = 0;

  mutable std::mutex mutex;  // guards the report
  base::Text report;

  std::unique_ptr<Ticker> ticker;

  bool tick();
  bool listen();
  void connect(double seconds);
  bool send_heartbeat();
  void notice(const std::string& text);
  base::Text words_of_loss(bool gone) const;
  void conclude(const records::Incident& failure);
  void say_last(const std::string& name, const std::string& value);
};

void HeartbeatClient::Impl::connect(double seconds) {
  if (client != nullptr) return;
  client = std::make_unique<StoreClient>(identity, seconds);
  client->set_deadline(heartbeats.limit_seconds);
  // A key for each connection: ends of two may be noticed in any order.
  const std::string left = key_of(identity, fmt::format("left/{:06}/{}", identity.world_rank, ++connection));
  client->leave_behind(left, std::to_string(connection));
}

// Returns false when a failure report has been made.
bool HeartbeatClient::Impl::send_heartbeat() {
  Heartbeat heartbeat;
  heartbeat.count = ++count;
  heartbeat.limit_seconds = heartbeats.limit_seconds;
  heartbeat.stand_limit_seconds = heartbeats.stand_limit_seconds;
  if (heartbeats.place) heartbeat.place = heartbeats.place();
  if (heartbeats.pace) heartbeat.pace = heartbeats.pace();
  if (heartbeats.save) heartbeat.save = heartbeats.save();
  connect(heartbeats.limit_seconds / 5);
  heartbeat.connection = connection;
  std::string text;
  const int found =
      client->set_and_read(key_of(identity, fmt::format("beat/{:06}", identity.world_rank)), to_text(heartbeat),
                           {key_of(identity, failure_report_key), key_of(identity, notices_key)}, &text);
  last_contact = base::monotonic_seconds();
  if (found == 0) conclude(parse_failure_report(text).incident);
  if (found == 1) notice(text);
  return found != 0;
}

void HeartbeatClient::Impl::notice(const std::string& text) {
  for (const records::Incident& notice : new_notices(text, &last_notice))
    if (heartbeats.on_notice) heartbeats.on_notice(notice);
}

void HeartbeatClient::Impl::conclude(const records::Incident& failure) {
  {
    const std::lock_guard<std::mutex> lock(mutex);
    report = said(failure);
  }
  if (heartbeats.on_failure) heartbeats.on_failure(failure);
}

base::Text HeartbeatClient::Impl::words_of_loss(bool gone) const {
  const std::string where = endpoint_text(identity.master_address, identity.store_port);
  if (gone) return base::say("the store at {} has ended, along with the launcher or rank 0", where);
  const base::Text stopped = stopped_launcher(identity);
  if (stopped.empty())
    return base::say(
        "the store at {} has been unreachable for {:g} s: the launcher or rank 0's host ended, or the network is down", where,
        heartbeats.limit_seconds);
  return base::say("the store at {} has not answered for {:g} s, because {} (comm.heartbeat_seconds sets the limit)",
                   where, heartbeats.limit_seconds, stopped);
}

bool HeartbeatClient::Impl::tick() {
  try {
    return send_heartbeat();
  } catch (const base::Error& error) {
    client.reset();
    const bool gone = is_gone(error);
    if (!gone && base::monotonic_seconds() - last_contact < heartbeats.limit_seconds) return true;
    conclude(records::told(words_of_loss(gone), base::Cause::store_silent));
    return false;
  }
}

// After failed(): the failure report may name another rank as the cause, so it is still waited for.
bool HeartbeatClient::Impl::listen() {
  try {
    FailureReport found;
    if (!read_failure_report(*client, identity, &found)) return true;
    conclude(found.incident);
  } catch (const base::Error&) {  // nobody is left to tell
  }
  return false;
}

void HeartbeatClient::Impl::say_last(const std::string& name, const std::string& value) {
  ticker->stop();
  try {
    connect(heartbeats.limit_seconds / 5);
    client->set(key_of(identity, fmt::format("{}/{:06}", name, identity.world_rank)), value);
  } catch (const base::Error&) {  // nobody is left to tell
  }
}

HeartbeatClient::HeartbeatClient(const Identity& identity, Heartbeats heartbeats) : impl_(std::make_unique<Impl>()) {
  const double limit_seconds = heartbeats.limit_seconds;
  impl_->identity = identity;
  impl_->heartbeats = std::move(heartbeats);
  impl_->connect(limit_seconds);
  const bool goes_on = impl_->send_heartbeat();
  impl_->ticker = std::make_unique<Ticker>(std::min(limit_seconds / 5, 1.0),
                                           [state = impl_.get(), goes_on] { return goes_on && state->tick(); });
}

HeartbeatClient::~HeartbeatClient() { impl_->ticker->stop(); }

void HeartbeatClient::beat() { impl_->ticker->tick_now(); }

void HeartbeatClient::done() { impl_->say_last("done", "done"); }

void HeartbeatClient::failed(const FailureReport& report) {
  impl_->say_last("failed", to_text(report));
  if (impl_->client == nullptr || !failure_report().empty()) return;
  impl_->ticker = std::make_unique<Ticker>(0.05, [state = impl_.get()] { return state->listen(); });
}

base::Text HeartbeatClient::failure_report() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  return impl_->report;
}

namespace {

using nlohmann::json;

// The form in the store is a list of them; a folder may be named by anything.
template <class Beat, class Each>
void each_field(Beat& beat, const Each& each) {
  each(beat.count), each(beat.limit_seconds), each(beat.connection), each(beat.stand_limit_seconds);
  each(beat.place.step), each(beat.place.at), each(beat.place.seconds), each(beat.place.usual_seconds);
  each(beat.place.waits_for), each(beat.pace.seconds), each(beat.pace.work), each(beat.pace.like);
  each(beat.save.step), each(beat.save.folder), each(beat.save.seconds), each(beat.save.usual_seconds);
  each(beat.save.awaited);
}

json of_field(const records::Doing& doing) { return word_of(doing); }
template <class Value>
const Value& of_field(const Value& value) {
  return value;
}

// A value of another kind, as a number that is not finite, leaves the default.
void read_field(const json& from, bool* value) { *value = from == true; }
void read_field(const json& from, std::string* value) {
  if (from.is_string()) *value = from.get<std::string>();
}
void read_field(const json& from, records::Doing* value) {
  if (from.is_string()) *value = records::doing_of(from.get<std::string>());
}
template <class Number>
void read_field(const json& from, Number* value) {
  if (from.is_number()) *value = from.get<Number>();
}

}  // namespace

std::string to_text(const Heartbeat& heartbeat) {
  json fields = json::array();
  each_field(heartbeat, [&](const auto& value) { fields.push_back(of_field(value)); });
  return fields.dump(-1, ' ', false, json::error_handler_t::replace);
}

Heartbeat parse_heartbeat(const std::string& text) {
  Heartbeat heartbeat;
  const json fields = json::parse(text, nullptr, false);
  std::size_t at = 0;
  if (fields.is_array()) each_field(heartbeat, [&](auto& value) { if (at < fields.size()) read_field(fields[at++], &value); });
  return heartbeat;
}

}  // namespace troika::rendezvous
