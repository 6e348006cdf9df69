#include "launch/store_line.h"

#include "base/say.h"
#include "rendezvous/socket.h"

namespace troika::launch {
using base::monotonic_seconds;
using rendezvous::StoreClient;

void StoreLine::open(double until, double join_seconds) {
  rendezvous::Access access = rendezvous::access_of(identity_);
  if (identity_.launch.empty()) access.launch.reset();
  rendezvous::ConnectCause cause;  // of the tries that had their time
  constexpr double said_after_seconds = 3;
  const std::string where = rendezvous::endpoint_text(identity_.master_address, identity_.store_port);
  bool said = false;
  for (const double began = monotonic_seconds();;) {
    stop_if_asked(signals_);
    const double left = until - monotonic_seconds();
    try {
      store_ = std::make_unique<StoreClient>(identity_.master_address, identity_.store_port, std::clamp(left, 0.1, 1.5),
                                             access);
      store_->set_deadline(call_seconds);
      return;
    } catch (const rendezvous::NoAnswer& error) {
      if (cause.text().empty() || monotonic_seconds() < until) cause.hear(error.reason(), error.cause());
      if (left > 0 && !said && monotonic_seconds() - began > said_after_seconds) {
        said = true;
        speaker_.say(base::say("host 0 does not answer at {} yet ({}): waiting at most {:g} s", where, cause.text(),
                               join_seconds));
      }
      if (left > 0) continue;
      throw base::PeerError(base::say("host 0 did not answer at {} within {:g} s ({}): start {} there with --node-rank 0, and check that the port is open",
                                      where, join_seconds, cause.text(), speaker_.command),
                            error.cause());
    }
  }
}

void StoreLine::reopen(double seconds) {
  try {
    store_ = std::make_unique<StoreClient>(identity_, seconds);
  } catch (const base::ConfigError& error) {  // another launch has begun there
    throw rendezvous::StoreGone(base::text_of(error));
  }
  store_->set_deadline(call_seconds);
  if (!left_) return;
  store_->leave_behind(left_->key, left_->word);
  store_->erase(left_->key);
}

void StoreLine::leave_behind(const std::string& key, const std::string& word) {
  left_ = Left{key, word};
  ask([&](StoreClient& store) { return store.leave_behind(key, word); });
}

}  // namespace troika::launch
