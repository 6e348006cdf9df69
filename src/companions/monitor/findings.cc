#include "monitor/watch.h"

#include <algorithm>
#include <tuple>

#include "records/health.h"

namespace troika::monitor {
namespace {

constexpr double notice_seconds = 300;
constexpr double quota_share = 0.05;
constexpr std::int64_t recent_steps = 100, many_skipped = 10;

Finding of_rank(Trouble trouble, const RankView& rank, double value, double reference = 0) {
  return {trouble, rank.rank, rank.host, value, reference, ""};
}

Finding of_host(Trouble trouble, const HostView& host, double value, double reference = 0) {
  return {trouble, -1, host.host, value, reference, ""};
}

// Whether both have the same subject.
bool same_subject(const records::Incident& a, const records::Incident& b) {
  const auto subject = [](const records::Incident& i) {
    const bool of_host = i.kind == records::IncidentKind::host_slow || i.kind == records::IncidentKind::host_recovered;
    return std::tuple(of_host ? i.who.host : "", of_host ? -1 : i.who.rank, i.who.node, i.words.english);
  };
  return subject(a) == subject(b);
}

// The last notice of the watch about each subject, where it has not been taken back.
std::vector<Finding> notices_that_hold(const Observed& observed) {
  std::vector<Finding> held;
  const int attempt = observed.run.state() ? observed.run.state()->attempt : -1;
  for (const records::Event& event : observed.run.events()) {
    if (event.kind == records::EventKind::launch || event.kind == records::EventKind::start) held.clear();
    const bool counts = event.kind == records::EventKind::notice && event.incident;
    if (!counts || (attempt >= 0 && event.attempt != attempt)) continue;
    const auto same = [&](const Finding& f) { return same_subject(*f.notice, *event.incident); };
    held.erase(std::remove_if(held.begin(), held.end(), same), held.end());
    if (records::is_recovery(event.incident->kind) || observed.now - event.time > notice_seconds) continue;
    const int rank = event.rank >= 0 ? event.rank : event.incident->who.rank;
    held.push_back({Trouble::watch, rank, "", 0, 0, event.text, event.incident});
  }
  return held;
}

bool tells_slow(const Finding& notice) { return notice.notice->kind == records::IncidentKind::host_slow; }

void add_notices(const Observed& observed, View* view, std::vector<Finding>* findings) {
  for (Finding& notice : notices_that_hold(observed)) {
    const auto rank =
        std::find_if(view->ranks.begin(), view->ranks.end(), [&](const RankView& r) { return r.rank == notice.rank; });
    if (rank != view->ranks.end() && tells_slow(notice)) {
      if (rank->slow) continue;  // is told by its pace
      rank->slow = true;
    }
    findings->push_back(std::move(notice));
  }
}

// When nobody works: the first of the chains of waiting that come back to themselves.
void add_circle(const View& view, std::vector<Finding>* findings) {
  const auto circle =
      std::find_if(view.ranks.begin(), view.ranks.end(), [](const RankView& rank) { return rank.circle; });
  const bool nobody_works = std::none_of(view.ranks.begin(), view.ranks.end(),
                                         [](const RankView& rank) { return rank.standing == Standing::works; });
  if (circle == view.ranks.end() || !nobody_works) return;
  Finding finding = of_rank(Trouble::circle, *circle, circle->place.seconds);
  for (const RankView& rank : view.ranks) {
    if (std::find(circle->chain.begin(), circle->chain.end(), rank.rank) == circle->chain.end()) continue;
    finding.value = std::min(finding.value, rank.place.seconds);
    if (rank.host != circle->host) finding.host.clear();
  }
  for (const int rank : circle->chain) finding.text += (finding.text.empty() ? "" : ", ") + std::to_string(rank);
  findings->push_back(std::move(finding));
}

void add_ranks(const View& view, std::vector<Finding>* findings) {
  std::vector<Finding> slow;
  for (const RankView& rank : view.ranks) {
    if (rank.standing == Standing::silent && view.silent_seconds <= 0)
      findings->push_back(of_rank(Trouble::silent_rank, rank, rank.silent_seconds));
    if (rank.slow) slow.push_back(of_rank(Trouble::slow_rank, rank, rank.pace_seconds, rank.like_seconds));
  }
  std::stable_sort(slow.begin(), slow.end(),
                   [](const Finding& a, const Finding& b) { return a.value * b.reference > b.value * a.reference; });
  findings->insert(findings->end(), slow.begin(), slow.end());
}

// The bytes of the ranks of the host that a checkpoint contains.
double saved_bytes(const HostView& host, const std::vector<RankView>& ranks) {
  double bytes = 0;
  for (const RankView& rank : ranks)
    if (std::find(host.ranks.begin(), host.ranks.end(), rank.rank) != host.ranks.end())
      for (const char* what : {"parameters", "state"})
        if (const auto held = rank.memory.find(what); held != rank.memory.end())
          bytes += static_cast<double>(held->second);
  return bytes;
}

void add_host(const HostView& host, const View& view, std::vector<Finding>* findings) {
  if (!host.vitals) return;
  const host::Vitals& now = *host.vitals;
  const auto add = [&](bool applies, Trouble trouble, double value, double reference = 0) {
    if (applies) findings->push_back(of_host(trouble, host, value, reference));
  };
  add(host.memory_kills > 0, Trouble::memory_killed, host.memory_kills);
  add(records::is_short_of_memory(now.available_bytes, now.memory_bytes), Trouble::memory_low, now.available_bytes,
      now.memory_bytes);
  add(host.swaps(), Trouble::swapping, host.swap_pages_per_second);
  const double needed = records::wanted_disk_bytes(1.1 * saved_bytes(host, view.ranks));
  add(now.disk_free_bytes >= 0 && now.disk_free_bytes < needed, Trouble::disk_low, now.disk_free_bytes, needed);
  add(now.under_voltage > 0, Trouble::under_voltage, now.under_voltage);
  add(host.throttles > 0, Trouble::throttled, host.throttles);
  add(now.temperature_celsius >= records::hot_celsius, Trouble::hot, now.temperature_celsius);
  add(host.quota_throttled_share > quota_share, Trouble::quota, host.quota_throttled_share);
  add(host.link_errors > 0, Trouble::link_errors, host.link_errors);
}

void add_skipped(const Observed& observed, std::vector<Finding>* findings) {
  const auto& steps = observed.run.steps();
  if (steps.empty()) return;
  const std::int64_t since = steps.back().step - recent_steps;
  const auto told =
      std::count_if(observed.run.events().begin(), observed.run.events().end(), [&](const records::Event& event) {
        return event.kind == records::EventKind::skipped_step && event.step > since;
      });
  if (told > many_skipped)
    findings->push_back(
        {Trouble::skipped_steps, -1, "", static_cast<double>(told), static_cast<double>(recent_steps), ""});
}

}  // namespace

std::vector<Finding> findings_of(const Observed& observed, View* view) {
  std::vector<Finding> findings;
  if (is_over(view->condition) || view->condition == Condition::no_record) return findings;
  if (view->silent_seconds > 0) findings.push_back({Trouble::run_silent, -1, "", view->silent_seconds, 0, ""});
  std::vector<Finding> notices;
  add_ranks(*view, &findings);
  add_notices(observed, view, &notices);
  findings.insert(findings.end(), notices.begin(), notices.end());
  add_circle(*view, &findings);
  for (const HostView& host : view->hosts) add_host(host, *view, &findings);
  add_skipped(observed, &findings);
  return findings;
}

}  // namespace troika::monitor
