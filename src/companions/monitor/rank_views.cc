#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "monitor/watch.h"
#include "records/health.h"

namespace troika::monitor {
namespace {

double share_of(const std::map<std::string, double>& seconds, const char* name) {
  const auto found = seconds.find(name);
  return found == seconds.end() ? 0 : found->second;
}

double sum_of(const std::map<std::string, double>& seconds) {
  return std::accumulate(seconds.begin(), seconds.end(), 0.0,
                         [](double sum, const auto& entry) { return sum + entry.second; });
}

Shares shares_of(const SampleWindow& window) {
  using records::Sample;
  const auto phase = [&](const char* name) {
    return std::max(0.0, window.difference([&](const Sample& s) { return share_of(s.phases, name); }));
  };
  const double wait = std::max(0.0, window.difference([](const Sample& s) { return sum_of(s.waits); }));
  const double all = wait + std::max(0.0, window.difference([](const Sample& s) { return sum_of(s.phases); }));
  Shares shares;
  if (all <= 0) return shares;
  shares.known = true;
  shares.forward = phase("forward") / all;
  shares.backward = phase("backward") / all;
  shares.optimizer = phase("optimizer") / all;
  shares.load = phase("load") / all;
  shares.save = phase("save") / all;
  shares.wait = wait / all;
  shares.other =
      std::max(0.0, 1 - shares.forward - shares.backward - shares.optimizer - shares.load - shares.save - shares.wait);
  return shares;
}

double bytes_per_second(const SampleWindow& window, std::int64_t records::PeerTraffic::*bytes) {
  if (window.seconds() <= 0) return not_known;
  const auto sum = [&](const records::Sample& sample) {
    std::int64_t all = 0;
    for (const records::PeerTraffic& traffic : sample.traffic) all += traffic.*bytes;
    return static_cast<double>(all);
  };
  return std::max(0.0, window.difference(sum)) / window.seconds();
}

Standing standing_of(const SampleWindow& window, const Observed& observed, Condition condition) {
  if (is_over(condition)) return Standing::ended;
  if (is_silent(window, observed)) return Standing::silent;
  return window.last->place.waits_for == records::waits_for_nobody ? Standing::works : Standing::waits;
}

void add_sample(const SampleWindow& window, const Observed& observed, Condition condition, RankView* rank) {
  rank->host = window.last->host;
  rank->standing = standing_of(window, observed, condition);
  if (rank->standing == Standing::silent) rank->silent_seconds = observed.now - window.heard;
  rank->place = window.last->place;
  rank->shares = shares_of(window);
  if (window.last->pace_seconds > 0) rank->pace_seconds = window.last->pace_seconds;
  rank->memory = window.last->memory;
  rank->sent_per_second = bytes_per_second(window, &records::PeerTraffic::sent_bytes);
  rank->received_per_second = bytes_per_second(window, &records::PeerTraffic::received_bytes);
}

// How much a counter has risen; 0 where one of the two is not known.
double rise(double before, double now) { return before < 0 || now < before ? 0 : now - before; }

double errors_since(const host::Vitals& before, const host::Vitals& now) {
  double errors = 0;
  for (const auto& [interface, count] : now.link_errors) {
    const auto known = before.link_errors.find(interface);
    if (known != before.link_errors.end())
      errors += rise(static_cast<double>(known->second), static_cast<double>(count));
  }
  return errors;
}

void add_vitals(const SampleWindow& window, HostView* host) {
  const host::Vitals& now = *window.last->vitals;
  host->vitals = now;
  if (window.first == nullptr || !window.first->vitals || window.seconds() <= 0) return;
  const host::Vitals& before = *window.first->vitals;
  host->window_seconds = window.seconds();
  host->throttles = rise(before.throttles, now.throttles);
  host->quota_throttled_share = rise(before.quota_throttled_seconds, now.quota_throttled_seconds) / window.seconds();
  host->swap_pages_per_second = rise(before.swap_in_pages, now.swap_in_pages) / window.seconds();
  host->memory_kills = rise(before.memory_kills, now.memory_kills);
  host->link_errors = errors_since(before, now);
}

using Pair = std::pair<int, int>;  // from, to

const records::PeerTraffic* traffic_with(const records::Sample* sample, int peer) {
  if (sample == nullptr) return nullptr;
  const auto found = std::find_if(sample->traffic.begin(), sample->traffic.end(),
                                  [&](const records::PeerTraffic& traffic) { return traffic.peer == peer; });
  return found == sample->traffic.end() ? nullptr : &*found;
}

}  // namespace

void follow_chains(std::vector<RankView>* ranks, double circle_seconds) {
  std::map<int, RankView*> by_rank;
  std::vector<int> moving;
  for (RankView& rank : *ranks) {
    by_rank[rank.rank] = &rank;
    if (rank.standing == Standing::works || rank.standing == Standing::silent) moving.push_back(rank.rank);
  }
  records::Waiting waiting;
  for (const RankView& rank : *ranks) {
    int& whom = waiting[rank.rank] =
        rank.standing == Standing::waits ? rank.place.waits_for : records::waits_for_nobody;
    if (whom == records::waits_for_others && moving.size() == 1) whom = moving.front();
  }
  const auto is_brief = [&](int other) { return by_rank.at(other)->place.seconds < circle_seconds; };
  for (RankView& rank : *ranks) {
    if (rank.standing != Standing::waits) continue;
    records::Chain chain = records::chain_from(rank.rank, waiting);
    rank.circle = !chain.circle.empty();
    if (!chain.known || (rank.circle && std::any_of(chain.ranks.begin(), chain.ranks.end(), is_brief))) {
      rank.circle = false;
      continue;
    }
    rank.chain = std::move(chain.ranks);
    if (rank.holder() >= 0) ++by_rank.at(rank.holder())->held;
  }
}

void compare_paces(std::vector<RankView>* ranks) {
  std::map<int, records::Pace> paces;
  for (const RankView& rank : *ranks)
    if (std::isfinite(rank.pace_seconds)) paces[rank.rank] = {rank.pace_seconds, 1, rank.pp};
  const std::map<int, records::Slowness> all = records::slowness_of(paces);
  for (RankView& rank : *ranks) {
    const auto found = all.find(rank.rank);
    if (found == all.end() || !found->second.alike) continue;
    rank.like_seconds = found->second.reference_seconds;
    rank.slowness = found->second.ratio;
    rank.slow = rank.slowness > found->second.limit();
  }
}

std::vector<RankView> rank_views(const Observed& observed, const std::map<int, SampleWindow>& windows,
                                 Condition condition) {
  std::map<int, RankView> by_rank;
  if (observed.run.state())
    for (const records::RankPlace& place : observed.run.state()->ranks) {
      RankView& rank = by_rank[place.rank];
      rank.host = place.host;
      rank.dp = place.dp, rank.pp = place.pp, rank.tp = place.tp, rank.cp = place.cp;
    }
  for (const auto& [rank, window] : windows) add_sample(window, observed, condition, &by_rank[rank]);
  std::vector<RankView> ranks;
  for (auto& [number, rank] : by_rank) {
    rank.rank = number;
    if (is_over(condition)) rank.standing = Standing::ended;
    ranks.push_back(std::move(rank));
  }
  constexpr double circle_seconds = 10;
  follow_chains(&ranks, std::max(circle_seconds, sample_interval(observed.run)));
  compare_paces(&ranks);
  return ranks;
}

std::vector<HostView> host_views(const std::vector<RankView>& ranks, const std::map<int, SampleWindow>& windows) {
  std::vector<HostView> hosts;
  std::map<std::string, std::size_t> at;
  for (const RankView& rank : ranks) {
    const auto [found, is_new] = at.try_emplace(rank.host, hosts.size());
    if (is_new) hosts.push_back({rank.host, {}, std::nullopt, 0, 0, 0, 0, 0, 0});
    HostView& host = hosts[found->second];
    host.ranks.push_back(rank.rank);
    const auto window = windows.find(rank.rank);
    if (!host.vitals && window != windows.end() && window->second.last->vitals) add_vitals(window->second, &host);
  }
  return hosts;
}

std::vector<LinkView> link_views(const std::map<int, SampleWindow>& windows) {
  std::map<Pair, LinkView> links;
  for (const auto& [rank, window] : windows) {
    const double seconds = window.seconds();
    if (seconds <= 0) continue;
    for (const records::PeerTraffic& now : window.last->traffic) {
      const records::PeerTraffic* found = traffic_with(window.first, now.peer);
      const records::PeerTraffic before = found == nullptr ? records::PeerTraffic{} : *found;
      const auto rate = [=](std::int64_t a, std::int64_t b) { return static_cast<double>(std::max<std::int64_t>(0, b - a)) / seconds; };
      links[{rank, now.peer}].bytes_per_second = rate(before.sent_bytes, now.sent_bytes);
      LinkView& received = links[{now.peer, rank}];
      if (windows.count(now.peer) == 0) received.bytes_per_second = rate(before.received_bytes, now.received_bytes);
      received.waited_share = std::clamp((now.waited_seconds - before.waited_seconds) / window.seconds(), 0.0, 1.0);
    }
  }
  std::vector<LinkView> sorted;
  for (auto& [pair, link] : links) {
    link.from = pair.first, link.to = pair.second;
    if (link.bytes_per_second > 0) sorted.push_back(link);
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const LinkView& a, const LinkView& b) { return a.bytes_per_second > b.bytes_per_second; });
  return sorted;
}

}  // namespace troika::monitor
