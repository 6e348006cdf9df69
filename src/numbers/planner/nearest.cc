#include "planner/nearest.h"

#include <functional>

#include "base/text.h"

namespace troika::planner {
namespace {

Fixed all_of(const Layout& l) {
  Fixed fixed;
  fixed.dp = l.dp;
  fixed.pp = l.pp;
  fixed.tp = l.tp;
  fixed.cp = l.cp;
  fixed.zero = l.zero;
  fixed.virtual_stages = l.virtual_stages;
  fixed.micro = l.micro;
  fixed.schedule = l.schedule;
  fixed.recompute = l.recompute;
  fixed.offload = l.offload;
  fixed.precision = l.precision;
  return fixed;
}

}  // namespace

std::optional<Estimate> nearest_that_fits(Question q, const Layout& asked) {
  q.global = asked.global;
  const std::function<void(Fixed&)> loosen[] = {
      [](Fixed& f) { f.micro.reset(); },
      [](Fixed& f) { f.recompute.reset(); },
      [](Fixed& f) { f.zero.reset(); },
      [](Fixed& f) { f.dp.reset(), f.pp.reset(), f.schedule.reset(), f.virtual_stages.reset(); },
  };
  for (const auto& one : loosen) {
    q.fixed = all_of(asked);
    one(q.fixed);
    if (auto found = fastest_that_fits(q)) return found;
  }
  q.fixed = all_of(asked);
  for (const auto& another : loosen) {
    another(q.fixed);
    if (auto found = fastest_that_fits(q)) return found;
  }
  return std::nullopt;
}

std::string flags_to(const Layout& other, const Layout& from) {
  const std::vector<std::string> to = flags_of(other), now = flags_of(from);
  std::vector<std::string> words;
  for (std::size_t i = 0; i + 1 < to.size(); i += 2) {
    if (to[i + 1] != now[i + 1]) words.push_back(to[i] + " " + to[i + 1]);
  }
  return base::join(words, " ");
}

}  // namespace troika::planner
