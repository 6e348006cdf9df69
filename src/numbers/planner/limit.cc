#include "planner/limit.h"

#include <fmt/format.h>

#include "base/say.h"
#include "base/units.h"
#include "planner/what_if_texts.h"
#include "schedule/trace/summary.h"

namespace troika::planner {
namespace {

double seconds_of(const Replay& replay) { return schedule::summarize(simulate(replay)).step_seconds; }

void double_link(schedule::Link* link) {
  link->latency_seconds /= 2;
  link->bytes_per_second *= 2;
}

double with_faster_links(Replay replay) {
  double_link(&replay.links.between);
  double_link(&replay.links.inside);
  replay.inside_factor /= 2;
  return seconds_of(replay);
}

double with_faster_hosts(Replay replay) {
  for (double& factor : replay.host_factors) factor *= 2;
  return seconds_of(replay);
}

double with_faster_host(Replay replay, std::size_t host) {
  replay.host_factors[host] *= 2;
  return seconds_of(replay);
}

base::Text name_of(std::size_t host, const std::vector<std::string>& hosts) {
  return host < hosts.size() ? base::say(what_if_texts.host, host, hosts[host])
                             : base::say(what_if_texts.new_host, host);
}

}  // namespace

base::Text limit_of(const Replay& replay, const std::vector<std::string>& hosts) {
  constexpr double most_of = 0.7;
  const double now = seconds_of(replay), links = with_faster_links(replay), processors = with_faster_hosts(replay);
  const auto limited_by = [&](const base::Bilingual& what) {
    return base::say(what_if_texts.twice_as_fast, base::say(what), base::format_duration(links),
                     base::format_duration(processors));
  };
  if (now - links > now - processors) return limited_by(what_if_texts.links);
  std::size_t slowest = 0;
  double best = now;
  for (std::size_t host = 0; replay.host_factors.size() > 1 && host < replay.host_factors.size(); ++host) {
    const double seconds = with_faster_host(replay, host);
    if (seconds >= best) continue;
    best = seconds;
    slowest = host;
  }
  if (now - best <= most_of * (now - processors)) return limited_by(what_if_texts.computing);
  return base::say(what_if_texts.slowest, name_of(slowest, hosts), base::format_duration(best),
                   base::format_duration(links));
}

}  // namespace troika::planner
