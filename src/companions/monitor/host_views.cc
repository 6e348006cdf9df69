#include "monitor/view_parts.h"

#include <algorithm>
#include <utility>

namespace troika::monitor {
namespace {

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
