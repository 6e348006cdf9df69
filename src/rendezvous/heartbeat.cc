#include "rendezvous/heartbeat.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "rendezvous/failure_judge.h"
#include "rendezvous/failure_report.h"
#include "rendezvous/ticker.h"

namespace troika::rendezvous {

struct HeartbeatClient::Impl {
  Identity identity;
  double heartbeat_seconds = 10;
  std::function<void(const std::string&)> on_failure;
  std::unique_ptr<StoreClient> client;  // only the ticker's thread, and after it has stopped the caller of done/failed
  double last_contact = 0;
  std::int64_t count = 0, connection = 0;

  mutable std::mutex mutex;
  std::int64_t step = -1;
  std::string instruction;
  std::string report;

  std::unique_ptr<Ticker> ticker;

  bool tick();
  bool listen();
  void connect(double seconds);
  bool send_heartbeat();
  void conclude(const std::string& text);
  void say_last(const std::string& name, const std::string& value);
};

void HeartbeatClient::Impl::connect(double seconds) {
  if (client != nullptr) return;
  client = std::make_unique<StoreClient>(identity, seconds);
  client->set_deadline(heartbeat_seconds);
  const std::string left = key_of(identity, fmt::format("left/{:06}", identity.world_rank));
  client->leave_behind(left, std::to_string(++connection));
}

// False when a failure report stands.
bool HeartbeatClient::Impl::send_heartbeat() {
  Heartbeat heartbeat;
  heartbeat.count = ++count;
  heartbeat.limit_seconds = heartbeat_seconds;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    heartbeat.step = step;
    heartbeat.instruction = instruction;
  }
  connect(heartbeat_seconds / 5);
  heartbeat.connection = connection;
  std::string report_text;
  const bool failed = client->set_and_read(key_of(identity, fmt::format("beat/{:06}", identity.world_rank)),
                                           to_text(heartbeat), key_of(identity, failure_report_key), &report_text);
  last_contact = base::monotonic_seconds();
  if (failed) conclude(parse_failure_report(report_text).text);
  return !failed;
}

void HeartbeatClient::Impl::conclude(const std::string& text) {
  {
    const std::lock_guard<std::mutex> lock(mutex);
    report = text;
  }
  if (on_failure) on_failure(text);
}

bool HeartbeatClient::Impl::tick() {
  try {
    return send_heartbeat();
  } catch (const base::Error& error) {
    client.reset();
    if (is_gone(error)) {
      conclude(fmt::format("the store at {}:{} has ended, and with it the launcher or rank 0", identity.master_address,
                           identity.store_port));
      return false;
    }
    if (base::monotonic_seconds() - last_contact < heartbeat_seconds) return true;
    conclude(fmt::format(
        "the store at {}:{} has been gone for {:g} s: the launcher or rank 0's host ended, or the network is down",
        identity.master_address, identity.store_port, heartbeat_seconds));
    return false;
  }
}

// After failed(): the failure report may name another rank as the cause, so it is still waited for.
bool HeartbeatClient::Impl::listen() {
  try {
    FailureReport found;
    if (!read_failure_report(*client, identity, &found)) return true;
    conclude(found.text);
  } catch (const base::Error&) {  // nobody is left to tell
  }
  return false;
}

void HeartbeatClient::Impl::say_last(const std::string& name, const std::string& value) {
  ticker->stop();
  try {
    connect(heartbeat_seconds / 5);
    client->set(key_of(identity, fmt::format("{}/{:06}", name, identity.world_rank)), value);
  } catch (const base::Error&) {  // nobody is left to tell
  }
}

HeartbeatClient::HeartbeatClient(const Identity& identity, double heartbeat_seconds,
                                 std::function<void(const std::string&)> on_failure)
    : impl_(std::make_unique<Impl>()) {
  impl_->identity = identity;
  impl_->heartbeat_seconds = heartbeat_seconds;
  impl_->on_failure = std::move(on_failure);
  impl_->connect(heartbeat_seconds);
  const bool goes_on = impl_->send_heartbeat();
  impl_->ticker = std::make_unique<Ticker>(std::min(heartbeat_seconds / 5, 1.0),
                                           [state = impl_.get(), goes_on] { return goes_on && state->tick(); });
}

HeartbeatClient::~HeartbeatClient() { impl_->ticker->stop(); }

void HeartbeatClient::at(std::int64_t step, const std::string& instruction) {
  bool arrived = false;
  {
    const std::lock_guard<std::mutex> lock(impl_->mutex);
    arrived = impl_->step < 1 && step > impl_->step;
    impl_->step = step;
    impl_->instruction = instruction;
  }
  if (arrived) impl_->ticker->tick_now();
}

void HeartbeatClient::done() { impl_->say_last("done", "done"); }

void HeartbeatClient::failed(int exit_code, const std::string& text) {
  impl_->say_last("failed", to_text({exit_code, text}));
  if (impl_->client == nullptr || !failure_report().empty()) return;
  impl_->ticker = std::make_unique<Ticker>(0.05, [state = impl_.get()] { return state->listen(); });
}

std::string HeartbeatClient::failure_report() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  return impl_->report;
}

}  // namespace troika::rendezvous
