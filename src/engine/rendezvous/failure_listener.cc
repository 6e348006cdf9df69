#include "rendezvous/failure_listener.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>

#include "base/clock.h"
#include "base/error.h"
#include "rendezvous/socket.h"
#include "rendezvous/launcher_peer.h"
#include "rendezvous/ticker.h"

namespace troika::rendezvous {

static constexpr double asks_every_seconds = 0.2;
static constexpr double first_connect_seconds = 0.15;  // doubled until the store answers: a far one takes longer

struct FailureListener::Impl {
  Identity identity;
  double patience_seconds = 10;
  std::int64_t beats = 0;
  double last_beat = 0;
  double last_contact = 0, connect_seconds = first_connect_seconds;

  mutable std::mutex mutex;  // guards what follows
  std::shared_ptr<StoreClient> client;
  bool leaves = false;
  std::optional<FailureReport> told;
  std::map<std::string, std::string> unwritten;  // by key
  std::optional<FailureReport> standing;
  bool store_is_lost = false;

  std::unique_ptr<Ticker> ticker;

  bool tick();
  std::shared_ptr<StoreClient> connected();
  FailureReport about_the_store(bool certain) const;
  bool beat_and_read(StoreClient& store, FailureReport* report);
  bool ask(StoreClient& store, const std::optional<FailureReport>& mine);
  void write_out(StoreClient& store);
  void conclude(const FailureReport& report);
};

void FailureListener::Impl::conclude(const FailureReport& report) {
  const std::lock_guard<std::mutex> lock(mutex);
  standing = report;
}

std::shared_ptr<StoreClient> FailureListener::Impl::connected() {
  std::shared_ptr<StoreClient> store;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    store = client;
  }
  if (store != nullptr) return store;
  store = std::make_shared<StoreClient>(identity, std::min(connect_seconds, patience_seconds));
  connect_seconds = first_connect_seconds;
  store->set_deadline(patience_seconds);
  const std::lock_guard<std::mutex> lock(mutex);
  if (leaves) store->close();
  return client = store;
}

// Says now and then that this launcher lives.
bool FailureListener::Impl::beat_and_read(StoreClient& store, FailureReport* report) {
  const double now = base::monotonic_seconds();
  if (now - last_beat < std::min(1.0, patience_seconds / 5)) return read_failure_report(store, identity, report);
  last_beat = now;
  std::string text;
  const bool stands = store.set_and_read(key_of(identity, launcher_beat_key(identity.node_rank)),
                                         std::to_string(++beats), {key_of(identity, failure_report_key)}, &text) == 0;
  if (stands) *report = parse_failure_report(text);
  return stands;
}

void FailureListener::Impl::write_out(StoreClient& store) {
  for (;;) {
    std::string key, value;
    {
      const std::lock_guard<std::mutex> lock(mutex);
      if (unwritten.empty()) return;
      std::tie(key, value) = *unwritten.begin();
    }
    store.set(key, value);
    const std::lock_guard<std::mutex> lock(mutex);
    if (const auto written = unwritten.find(key); written->second == value) unwritten.erase(written);
  }
}

// Returns true when a report has been made.
bool FailureListener::Impl::ask(StoreClient& store, const std::optional<FailureReport>& mine) {
  FailureReport report;
  if (!mine) {
    if (!beat_and_read(store, &report)) return false;
  } else {
    report = *mine;
    const records::Party who = report.incident.who;
    std::string text;
    if (store.try_get(key_of(identity, fmt::format("failed/{:06}", who.rank)), &text)) {
      const FailureReport own = parse_failure_report(text);
      report.incident = records::failed(who, own.said(), own.incident.cause);
    }
    report = write_failure_report(store, identity, report);
  }
  conclude(report);
  return true;
}

bool FailureListener::Impl::tick() {
  std::optional<FailureReport> mine;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    mine = told;
  }
  try {
    const std::shared_ptr<StoreClient> store = connected();
    write_out(*store);
    const bool stands = ask(*store, mine);
    last_contact = base::monotonic_seconds();
    return !stands;
  } catch (const base::Error& error) {
    bool lost = false;  // a connection, not only a try at one
    {
      const std::lock_guard<std::mutex> lock(mutex);
      lost = client != nullptr;
      client.reset();
      if (leaves) return false;
    }
    if (lost) return tick();
    const bool certain = is_gone(error);
    connect_seconds = std::min(2 * connect_seconds, patience_seconds);
    if (!certain && base::monotonic_seconds() - last_contact < patience_seconds) return true;
    {
      const std::lock_guard<std::mutex> lock(mutex);
      store_is_lost = true;
    }
    conclude(mine ? *mine : about_the_store(certain));
    return false;
  }
}

FailureReport FailureListener::Impl::about_the_store(bool certain) const {
  records::Incident incident;
  incident.kind = certain ? records::IncidentKind::store_ended : records::IncidentKind::store_silent;
  incident.address = endpoint_text(identity.master_address, identity.store_port);
  incident.limit_seconds = patience_seconds;
  return {base::exit_peer_lost, incident};
}

FailureListener::FailureListener(const Identity& identity, double patience_seconds) : impl_(std::make_unique<Impl>()) {
  impl_->identity = identity;
  impl_->patience_seconds = patience_seconds;
  impl_->last_contact = base::monotonic_seconds();
  impl_->ticker = std::make_unique<Ticker>(asks_every_seconds, [state = impl_.get()] { return state->tick(); });
}

FailureListener::~FailureListener() {
  {
    const std::lock_guard<std::mutex> lock(impl_->mutex);
    impl_->leaves = true;
    if (impl_->client != nullptr) impl_->client->close();
  }
  impl_->ticker->stop();
}

void FailureListener::tell(const FailureReport& report) {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  if (!impl_->told) impl_->told = report;
}

void FailureListener::write(const std::string& name, const std::string& value) {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  impl_->unwritten[key_of(impl_->identity, name)] = value;
}

std::optional<FailureReport> FailureListener::heard() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  return impl_->standing;
}

bool FailureListener::store_is_lost() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  return impl_->store_is_lost;
}

}  // namespace troika::rendezvous
