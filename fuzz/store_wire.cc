// What clients of a store send, members and strangers, in pieces of any length.
#include <array>
#include <optional>
#include <string>

#include "fuzz/input.h"
#include "fuzz/outcome.h"
#include "rendezvous/store_service.h"

namespace troika::fuzz {
namespace {
using rendezvous::StoreService;
namespace wire = rendezvous::wire;

constexpr std::size_t greeting_bytes = wire::server_greeting.size() + rendezvous::nonce_bytes;

// Three connections; the first two have joined, the third is a stranger.
class Clients {
 public:
  Clients() : service_({"a1", ""}, limits(), [] { return std::string(rendezvous::nonce_bytes, 's'); }) {
    for (std::size_t i = 0; i < all_.size(); ++i) reopen(i);
  }

  void receive(std::size_t i, std::string_view bytes) { service_.receive(all_[i], bytes); }

  // Takes what it is to read: whole frames, after the greeting.
  void read(std::size_t i) {
    std::string bytes(service_.unsent(all_[i]));
    service_.sent(all_[i], bytes.size());
    std::string_view rest = bytes;
    if (!greeted_[i] && !rest.empty()) {
      require(rest.substr(0, wire::server_greeting.size()) == wire::server_greeting, "a client is greeted");
      rest.remove_prefix(greeting_bytes);
      greeted_[i] = true;
    }
    while (!rest.empty()) {
      wire::Frame frame;
      std::size_t used = 0;
      require(wire::parse_frame(rest, wire::max_answer_bytes + 64, &frame, &used) == wire::Parse::complete,
              "answers are whole frames");
      rest.remove_prefix(used);
    }
  }

  void reopen(std::size_t i) {
    if (all_[i] != 0) service_.close(all_[i], i == 0 ? StoreService::Ended::otherwise : StoreService::Ended::by_client);
    const std::optional<StoreService::Client> client = service_.open(now_, "192.0.2.1");
    require(client.has_value(), "a client may come again");
    all_[i] = *client;
    greeted_[i] = false;
    if (i < 2) join(i);
  }

  void pass(double seconds) { service_.expire(now_ += seconds); }

  void require_bounds() {
    std::size_t unsent = 0;
    for (const StoreService::Client client : all_) unsent += service_.unsent(client).size();
    require(unsent <= limits().unsent_bytes, "answers stay within their limit");
    service_.take_touched();
  }

 private:
  static rendezvous::StoreLimits limits() {
    rendezvous::StoreLimits limits;
    limits.table_bytes = limits.unread_bytes = limits.unsent_bytes = 1 << 16;
    limits.clients = 3;
    return limits;
  }

  void join(std::size_t i) {
    std::string body(1, static_cast<char>(wire::Claim::any_launch));
    wire::put_text(body, "");
    wire::put_text(body, "");
    receive(i, std::string(wire::client_greeting) + std::string(rendezvous::nonce_bytes, 'c') +
                   wire::frame(1, static_cast<std::uint8_t>(wire::Operation::join), body));
  }

  StoreService service_;
  std::array<StoreService::Client, 3> all_{};
  std::array<bool, 3> greeted_{};
  double now_ = 0;
};

}  // namespace
}  // namespace troika::fuzz

// A byte says who and what, the next how many of the bytes that follow are sent.
TROIKA_FUZZ_TARGET(store_wire)(const std::uint8_t* data, std::size_t size) {
  using namespace troika;
  std::string_view input = fuzz::text_of(data, size);
  fuzz::Clients clients;
  while (input.size() >= 2) {
    const auto what = static_cast<std::uint8_t>(input[0]);
    const std::size_t client = what % 3, count = static_cast<std::uint8_t>(input[1]);
    input.remove_prefix(2);
    if (what >= 0xf0) {
      clients.reopen(client);
    } else if (what >= 0xe0) {
      clients.pass(static_cast<double>(count) / 16);
    } else if (what >= 0xc0) {
      clients.read(client);
    } else {
      clients.receive(client, input.substr(0, count));
      input.remove_prefix(std::min(count, input.size()));
    }
    clients.require_bounds();
  }
  return 0;
}
