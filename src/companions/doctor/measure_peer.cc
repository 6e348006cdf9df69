#include "doctor/measure.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/clock.h"
#include "doctor/echo.h"
#include "doctor/tree.h"

namespace troika::doctor {
namespace {

constexpr double connect_seconds = 1.5, answer_seconds = 2.0;

class Measurement {
 public:
  Measurement(const PeerDoctor& peer, Depth depth, double seconds, const std::vector<Interface>& own)
      : peer_(peer), depth_(depth), until_(base::monotonic_seconds() + seconds), own_(own) {}

  PairReport run() {
    report_.to = peer_.host;
    connect();
    if (report_.connecting.code != 0) return report_;
    try_named_port();
    ask_times();
    if (!report_.answered) return report_;
    try_large_messages();
    try_datagrams();
    if (depth_ == Depth::all && report_.stuck_bytes == 0) measure_rates();
    ask_name();
    return report_;
  }

 private:
  double soon(double seconds) const { return std::min(base::monotonic_seconds() + seconds, until_ + 1); }

  // The first address that answers; what is said of the way is of the first of all where none does.
  void connect() {
    report_.connecting = {"", peer_.tcp_port, EADDRNOTAVAIL};
    for (const std::string& address : peer_.addresses) {
      const int code = line_.connect(address, peer_.tcp_port, soon(connect_seconds));
      if (code == 0 || report_.connecting.address.empty()) report_.connecting = {address, peer_.tcp_port, code};
      if (code == 0) break;
      if (base::monotonic_seconds() > until_) break;
    }
    if (report_.connecting.code != 0) return;
    const Interface* interface = interface_with(own_, line_.local_address());
    if (interface != nullptr) report_.interface = interface->name;
  }

  void try_named_port() {
    if (peer_.named_port == 0) return;
    EchoLine line;
    const std::string& address = report_.connecting.address;
    report_.named = {address, peer_.named_port, line.connect(address, peer_.named_port, soon(connect_seconds))};
  }

  // The other's clock against the middle of the shortest round trip.
  void ask_times() {
    std::vector<double> times;
    const std::size_t wanted = depth_ == Depth::all ? 200 : 20, warm = 10;
    const double until = std::min(until_, base::monotonic_seconds() + 0.6);
    for (std::size_t i = 0; i < warm + wanted; ++i) {
      std::array<unsigned char, echo::answer_bytes> bytes;
      const double wall = base::wall_seconds(), begin = base::monotonic_seconds();
      if (!line_.ask(echo::Ask::time, 0, soon(answer_seconds)) ||
          !line_.receive(reinterpret_cast<char*>(bytes.data()), bytes.size(), soon(answer_seconds)))
        return;
      const double took = base::monotonic_seconds() - begin;
      report_.answered = true;
      std::uint64_t nanoseconds = 0;
      for (const unsigned char byte : bytes) nanoseconds = (nanoseconds << 8) | byte;
      if (report_.clock_error_seconds < 0 || took / 2 < report_.clock_error_seconds) {
        report_.clock_error_seconds = took / 2;
        report_.clock_seconds = static_cast<double>(nanoseconds) * 1e-9 - (wall + took / 2);
      }
      if (i >= warm) times.push_back(took);
      if (times.size() >= 20 && base::monotonic_seconds() > until) break;
      if (base::monotonic_seconds() > until_) break;
    }
    if (times.empty()) return;
    std::sort(times.begin(), times.end());
    report_.round_trip_seconds = times[times.size() / 2];
    report_.late_round_trip_seconds = times[times.size() * 99 / 100];
  }

  // Seconds of a message there and a word back, or of one that comes back; nothing: it did not arrive.
  static std::optional<double> seconds_there(EchoLine& line, std::uint32_t bytes, double until) {
    const std::vector<char> message(bytes);
    std::array<char, echo::answer_bytes> answer;
    const double begin = base::monotonic_seconds();
    if (!line.ask(echo::Ask::take, bytes, until) || !line.send(message.data(), message.size(), until) ||
        !line.receive(answer.data(), answer.size(), until))
      return std::nullopt;
    return base::monotonic_seconds() - begin;
  }
  static std::optional<double> seconds_back(EchoLine& line, std::uint32_t bytes, double until) {
    std::vector<char> message(bytes);
    const double begin = base::monotonic_seconds();
    if (!line.ask(echo::Ask::give, bytes, until) || !line.receive(message.data(), message.size(), until))
      return std::nullopt;
    return base::monotonic_seconds() - begin;
  }

  // Three packets of full size. That they are stuck, and not the host, shows a word on a new connection.
  void try_large_messages() {
    constexpr std::uint32_t some_packets = 4096;
    const double patience = std::max(answer_seconds, 20 * report_.round_trip_seconds);
    const bool there = seconds_there(line_, some_packets, soon(patience)).has_value();
    const bool back = there && seconds_back(line_, some_packets, soon(patience)).has_value();
    if (there && back) return;
    EchoLine again;
    std::array<char, echo::answer_bytes> answer;
    if (again.connect(report_.connecting.address, peer_.tcp_port, base::monotonic_seconds() + connect_seconds) == 0 &&
        again.ask(echo::Ask::time, 0, base::monotonic_seconds() + answer_seconds) &&
        again.receive(answer.data(), answer.size(), base::monotonic_seconds() + answer_seconds))
      report_.stuck_bytes = some_packets;
    else
      report_.answered = false;
  }

  // Whether one of three of that size is answered; nothing where the own interface does not take it.
  std::optional<bool> try_datagram(int socket, std::int64_t bytes) const {
    std::vector<char> message(static_cast<std::size_t>(bytes));
    const std::uint32_t sign = htonl(echo::sign), number = htonl(static_cast<std::uint32_t>(bytes));
    std::memcpy(message.data(), &sign, sizeof sign);
    std::memcpy(message.data() + sizeof sign, &number, sizeof number);
    const double patience = std::max(0.15, 4 * report_.round_trip_seconds);
    for (int attempt = 0; attempt < 3; ++attempt) {
      if (::send(socket, message.data(), message.size(), 0) < 0) {
        if (errno == EMSGSIZE) return std::nullopt;
        continue;  // ECONNREFUSED of an earlier one
      }
      const double until = base::monotonic_seconds() + patience;
      for (double left = patience; left > 0; left = until - base::monotonic_seconds()) {
        pollfd polled{socket, POLLIN, 0};
        if (::poll(&polled, 1, static_cast<int>(1000 * left) + 1) <= 0) break;
        std::array<char, 64> answer;
        const ssize_t count = ::recv(socket, answer.data(), answer.size(), 0);
        if (count == echo::datagram_bytes && std::memcmp(answer.data(), message.data(), echo::datagram_bytes) == 0)
          return true;
        if (count < 0) break;
      }
    }
    return false;
  }

  // Not to be cut up, and of any size that the own interface takes, whatever the system believes of the way.
  void try_datagrams() {
    const auto to = numeric_address(report_.connecting.address, peer_.udp_port);
    if (!to) return;
    const bool six = to->bytes.ss_family == AF_INET6;
    const int socket = ::socket(to->bytes.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket < 0) return;
    const int probe = six ? IPV6_PMTUDISC_PROBE : IP_PMTUDISC_PROBE;
    ::setsockopt(socket, six ? IPPROTO_IPV6 : IPPROTO_IP, six ? IPV6_MTU_DISCOVER : IP_MTU_DISCOVER, &probe,
                 sizeof probe);
    if (::connect(socket, reinterpret_cast<const sockaddr*>(&to->bytes), to->length) == 0) {
      const Interface* interface = find_interface(own_, report_.interface);
      const std::int64_t mtu = interface == nullptr || interface->mtu == 0 ? 1500 : interface->mtu;
      const std::int64_t headers = six ? 48 : 28;
      report_.full_bytes = std::min<std::int64_t>(mtu, 1500) - headers;
      report_.jumbo_bytes = std::min<std::int64_t>(mtu, 9000) - headers;
      report_.small_datagrams = try_datagram(socket, 64);
      if (report_.small_datagrams.value_or(false)) report_.full_datagrams = try_datagram(socket, report_.full_bytes);
      if (report_.full_datagrams.value_or(false) && mtu > 1500)
        report_.jumbo_datagrams = try_datagram(socket, report_.jumbo_bytes);
    }
    ::close(socket);
  }

  // Sizes that grow while there is time; the best rate counts, as whatever else the hosts do makes it smaller.
  void measure_rates() {
    const auto rate = [&](std::optional<double> (*move)(EchoLine&, std::uint32_t, double), double until) {
      double best = -1;
      for (const std::uint32_t bytes : {std::uint32_t{64} << 10, std::uint32_t{1} << 20, std::uint32_t{16} << 20}) {
        double last = 0;
        for (int turn = 0; turn < 4; ++turn) {
          const auto seconds = move(line_, bytes, until + 2);
          if (!seconds) return best;
          last = std::max(*seconds - report_.round_trip_seconds, 0.2 * *seconds);
          best = std::max(best, bytes / last);
          if (base::monotonic_seconds() + last > until) return best;
        }
        if (base::monotonic_seconds() + 16 * last > until) return best;
      }
      return best;
    };
    const double begin = base::monotonic_seconds(), left = until_ - begin;
    report_.there_bytes_per_second = rate(seconds_there, begin + left / 2);
    report_.back_bytes_per_second = rate(seconds_back, until_);
  }

  void ask_name() {
    if (peer_.own_name.empty()) return;
    report_.addresses_of_name = resolve_within(peer_.own_name, 1.0).value_or(std::vector<std::string>{});
  }

  const PeerDoctor& peer_;
  const Depth depth_;
  const double until_;
  const std::vector<Interface>& own_;
  EchoLine line_;
  PairReport report_;
};

}  // namespace

PairReport measure_peer(const PeerDoctor& peer, Depth depth, double seconds, const std::vector<Interface>& own) {
  return Measurement(peer, depth, seconds, own).run();
}

}  // namespace troika::doctor
