#include "probe/links.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <limits>

#include "base/clock.h"
#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "config/config.h"
#include "tensor/operations.h"
#include "tensor/tensor.h"

namespace troika::probe {
namespace {

constexpr std::uint32_t pair_tag = 2;

// Both send and receive; the next receive is posted before the send is waited for, so no round waits for a peer to post.
double seconds_of_rounds(comm::Channel& channel, int peer, std::int64_t bytes, int rounds) {
  const tensor::Tensor out = tensor::zeros({bytes}, tensor::Dtype::uint8), in = tensor::empty({bytes}, tensor::Dtype::uint8);
  comm::Transfer receiving = channel.recv(in, peer, pair_tag);
  const double begin = base::monotonic_seconds();
  for (int round = 0; round < rounds; ++round) {
    comm::Transfer sending = channel.send(out, peer, pair_tag);
    receiving.wait();
    if (round + 1 < rounds) receiving = channel.recv(in, peer, pair_tag);
    sending.wait();
  }
  return (base::monotonic_seconds() - begin) / rounds;
}

// The longer of the times that the two measured.
double of_both(comm::Channel& channel, int peer, double seconds) {
  const tensor::Tensor mine = tensor::full({1}, seconds, tensor::Dtype::fp64), theirs = tensor::empty({1}, tensor::Dtype::fp64);
  comm::Transfer receiving = channel.recv(theirs, peer, pair_tag), sending = channel.send(mine, peer, pair_tag);
  receiving.wait();
  sending.wait();
  return std::max(seconds, tensor::value_of(theirs));
}

// One message this way while nothing goes the other, and a word back.
double send_seconds(comm::Channel& channel, int peer, const tensor::Tensor& message, const tensor::Tensor& word) {
  const double begin = base::monotonic_seconds();
  comm::Transfer sending = channel.send(message, peer, pair_tag), receiving = channel.recv(word, peer, pair_tag);
  receiving.wait();
  sending.wait();
  return base::monotonic_seconds() - begin;
}

void answer(comm::Channel& channel, int peer, const tensor::Tensor& message, const tensor::Tensor& word) {
  channel.recv(message, peer, pair_tag).wait();
  channel.send(word, peer, pair_tag).wait();
}

// First the lower rank's message, then the other's; the best of each, and of these the longer.
double best_way(comm::Channel& channel, int peer, std::int64_t bytes, int tries) {
  const tensor::Tensor message = tensor::zeros({bytes}, tensor::Dtype::uint8), word = tensor::empty({1}, tensor::Dtype::uint8);
  double best = std::numeric_limits<double>::infinity();
  for (int turn = 0; turn < 2 * tries; ++turn) {
    const bool sends = (channel.rank() < peer) == (turn % 2 == 0);
    if (sends) best = std::min(best, send_seconds(channel, peer, message, word));
    if (!sends) answer(channel, peer, message, word);
  }
  return of_both(channel, peer, best);
}

}  // namespace

// The rate of a message that takes so long that the bursts on its way do not count. Both ways at once a link carries less, as far
// as answers wait behind messages: exchanges are reckoned with a share of it (planner::GroupLinks).
machine::Link measure_pair(comm::Channel& channel, int peer) {
  constexpr std::int64_t small = 8, least = 64 << 10, most = 16 << 20;
  constexpr double enough_seconds = 0.15;
  constexpr int rounds = 16, tries = 8;
  seconds_of_rounds(channel, peer, small, 4);  // the first messages find nothing warm
  machine::Link link;
  link.latency_seconds = of_both(channel, peer, seconds_of_rounds(channel, peer, small, rounds));
  for (int again = 1; again < tries; ++again)
    link.latency_seconds =
        std::min(link.latency_seconds, of_both(channel, peer, seconds_of_rounds(channel, peer, small, rounds)));
  std::int64_t bytes = least;
  double seconds = best_way(channel, peer, bytes, 2);
  while (seconds < enough_seconds && bytes < most) {
    bytes *= 4;
    seconds = best_way(channel, peer, bytes, 3);
  }
  link.bytes_per_second = static_cast<double>(bytes) / std::max(seconds - 2 * link.latency_seconds, 0.1 * seconds);
  return link;
}

std::vector<std::vector<Pair>> tournament(int players) {
  const int places = players + players % 2;  // who meets the one too many has no match
  std::vector<std::vector<Pair>> rounds;
  for (int round = 0; players > 1 && round + 1 < places; ++round) {
    const auto at = [&](int place) { return place == 0 ? 0 : 1 + (place - 1 + round) % (places - 1); };
    std::vector<Pair> pairs;
    for (int place = 0; place < places / 2; ++place) {
      const auto [low, high] = std::minmax({at(place), at(places - 1 - place)});
      if (high < players) pairs.emplace_back(low, high);
    }
    std::sort(pairs.begin(), pairs.end());
    rounds.push_back(std::move(pairs));
  }
  return rounds;
}

int run_inside_link(const std::map<std::string, std::string>& environment) {
  const rendezvous::Identity me = rendezvous::identify(environment);
  if (me.world_size != 2)
    throw base::ConfigError(base::say("measuring the link between two processes needs two ranks; probe starts them"));
  return in_ranks(me, "", environment, [&](train::Session& session) {
    const machine::Link link = measure_pair(*session.channels().world, 1 - me.world_rank);
    if (me.world_rank == 0)
      std::fputs(fmt::format("link {:.9g} {:.9g}\n", link.latency_seconds, link.bytes_per_second).c_str(), stdout);
  });
}

bool read_inside_link(const std::string& printed, machine::Link* link) {
  for (const std::string& line : base::split(printed, '\n')) {
    const auto words = base::split(line, ' ');
    if (words.size() == 3 && words[0] == "link" && base::parse_double(words[1], &link->latency_seconds) &&
        base::parse_double(words[2], &link->bytes_per_second))
      return true;
  }
  return false;
}

int in_ranks(const rendezvous::Identity& me, const std::string& interface,
             const std::map<std::string, std::string>& environment, const std::function<void(train::Session&)>& body) {
  config::CommSettings comm = config::parse_settings({}, environment).settings.comm;
  if (!interface.empty()) comm.interface = interface;
  train::Session session(me, comm);
  try {
    session.join();
    mesh::Shape shape;
    shape.dp = me.world_size;
    session.connect(shape, nullptr);
    body(session);
    session.finish();
    return 0;
  } catch (const base::PeerError& error) {
    const train::FailureCause cause = session.fail({error.exit_code(), base::text_of(error), error.cause()});
    if (cause.launcher_tells) return error.exit_code();
    throw base::PeerError(cause.failure.empty() ? base::text_of(error) : cause.failure);
  } catch (const base::Error& error) {
    if (session.fail({error.exit_code(), base::text_of(error), error.cause()}).launcher_tells) return error.exit_code();
    throw;
  }
}

}  // namespace troika::probe
