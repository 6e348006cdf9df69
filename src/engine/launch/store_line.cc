#include "launch/store_line.h"

#include <fmt/format.h>

#include "base/cause.h"
#include "base/say.h"
#include "launch/say.h"
#include "rendezvous/address.h"
#include "rendezvous/connect_cause.h"

namespace troika::launch {
using base::monotonic_seconds;
using rendezvous::StoreClient;

namespace {

// "Connection refused" of the store client's sentence "... within 1.5 s (Connection refused): ..."; "": none.
std::string cause_in(const std::string& sentence) {
  const std::size_t end = sentence.find("): "), begin = sentence.rfind(" (", end);
  if (end == std::string::npos || begin == std::string::npos) return "";
  return sentence.substr(begin + 2, end - begin - 2);
}

}  // namespace

void wait_or_stop(host::Signals& signals, double seconds) {
  const double until = monotonic_seconds() + seconds;
  do {
    if (host::asks_to_stop(signals.wait(static_cast<int>(std::clamp(until - monotonic_seconds(), 0.0, 1.0) * 1000))))
      throw Stopped();
  } while (monotonic_seconds() < until);
}

void stop_if_asked(host::Signals& signals) {
  for (int signal = signals.wait(0); signal != 0; signal = signals.wait(0)) {
    if (host::asks_to_stop(signal)) throw Stopped();
  }
}

void StoreLine::open(double until, double join_seconds) {
  rendezvous::Access access = rendezvous::access_of(identity_);
  if (identity_.launch.empty()) access.launch.reset();
  rendezvous::ConnectCause cause;  // of the tries that had their time
  constexpr double said_after_seconds = 3;
  const std::string where = rendezvous::endpoint_text(identity_.master_address, identity_.store_port);
  const auto why = [&cause] { return cause.text().empty() ? "" : fmt::format(" ({})", cause.text()); };
  bool said = false;
  for (const double began = monotonic_seconds();;) {
    stop_if_asked(signals_);
    const double left = until - monotonic_seconds();
    try {
      store_ = std::make_unique<StoreClient>(identity_.master_address, identity_.store_port, std::clamp(left, 0.1, 1.5),
                                             access);
      store_->set_deadline(call_seconds);
      return;
    } catch (const base::PeerError& error) {
      if (cause.text().empty() || monotonic_seconds() < until) cause.hear(cause_in(error.what()), error.cause());
      if (left > 0 && !said && monotonic_seconds() - began > said_after_seconds) {
        said = true;
        says(command_, fmt::format("host 0 does not answer at {} yet{}: waiting at most {:g} s", where, why(), join_seconds));
      }
      if (left > 0) continue;
      throw base::PeerError(base::say(
          "host 0 did not answer at {} within {:g} s{}: start {} there with --node-rank 0, and see that the "
          "port is open",
          where, join_seconds, why(), command_), error.cause());
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
