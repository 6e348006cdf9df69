// Ranks that are stuck, hosts that are gone, messages that do not pass.

#include <algorithm>

#include "base/say.h"
#include "diagnosis/rules.h"

namespace troika::diagnosis {
using records::Activity;
using records::Incident;
using records::IncidentKind;

namespace {

// After a notice steps were done: what it says was over, though nobody said so.
bool went_on(const Facts& f, const records::Event& notice) {
  return notice.step >= 0 && !f.rows.empty() && f.rows.back().step > notice.step + 1;
}

// Reports that nothing had ended when the records end. For a run that continues, those that have lasted long.
std::vector<Told> standing_told(const Facts& f) {
  constexpr double long_seconds = 30;
  std::vector<Told> standing;
  if (f.ending == Ending::finished) return standing;
  for (const records::Event& notice : f.standing) {
    const double age = f.state ? f.newest - notice.time : 0;
    if (went_on(f, notice) || (f.ending == Ending::running && age < long_seconds)) continue;
    if (notice.incident->kind != IncidentKind::host_slow) standing.push_back({notice.text, *notice.incident});
  }
  return standing;
}

using Fits = bool (*)(const Incident&);

const Told* first_that(const std::vector<Told>& told, Fits fits) {
  const auto found = std::find_if(told.begin(), told.end(), [&](const Told& one) { return fits(one.what); });
  return found == told.end() ? nullptr : &*found;
}

// For a run that failed the report gives the decision; the notices before it add to it.
const Told* said(const Facts& f, const std::vector<Told>& standing, Fits fits) {
  if (f.failed() && f.report && fits(f.report->what)) return &*f.report;
  const Told* told = f.failed() ? first_that(f.told, fits) : nullptr;
  return told != nullptr ? told : first_that(standing, fits);
}

bool is_behind(const Incident& i) { return i.kind == IncidentKind::rank_behind || i.kind == IncidentKind::rank_hung; }
bool no_message_passes(const Incident& i) { return is_behind(i) && i.peer.rank >= 0; }
bool is_stalled_save(const Incident& i) { return i.kind == IncidentKind::save_stalled; }
bool stands_at_a_save(const Incident& i) {
  return is_stalled_save(i) ||
         ((is_behind(i) || i.kind == IncidentKind::rank_silent) && records::is_saving(i.place.at.activity));
}

std::optional<Finding> slow_disk(const Facts& f) {
  const std::vector<Told> standing = standing_told(f);
  const Told* told = said(f, standing, stands_at_a_save);
  std::vector<Told> all;  // of saves that went on in the end, too
  for (const records::Event& notice : f.notices) all.push_back({notice.text, notice.incident.value_or(Incident{})});
  if (told == nullptr && !f.failed()) told = first_that(all, is_stalled_save);
  if (told == nullptr) return std::nullopt;
  const double minutes = settings_or_usual(f).checkpoint.every_minutes;
  return Finding{"slow_disk",
                 {quoted(*told)},
                 {other_disk(), set("checkpoint.async", "on", say("checkpoints are written while training continues")),
                  set("checkpoint.every_minutes", number(std::max(2 * minutes, 10.0)), say("the disk is written to less often"))}};
}

// For a run that has not begun, before its ranks report who is behind: whether all ranks have given samples, and recently.
bool stands_are_known(const Facts& f) {
  if (f.ending != Ending::running || f.has_begun || !f.state || f.stands.size() != f.state->ranks.size()) return false;
  const double late = std::max(10.0, 4 * f.state->sample_seconds);
  double newest = 0;
  for (const auto& [rank, at] : f.stands) newest = std::max(newest, at.elapsed_seconds);
  return f.silent_seconds < late && std::all_of(f.stands.begin(), f.stands.end(), [&](const auto& of_rank) {
           return of_rank.second.place.step < 1 && of_rank.second.elapsed_seconds > newest - late;
         });
}

bool waits(const Standing& at, double seconds) {
  const Activity activity = at.place.at.activity;
  return at.place.waits_for != records::waits_for_nobody && at.place.seconds >= seconds &&
         (activity == Activity::agreeing || activity == Activity::measuring_link);
}

// One works at its data while all others have waited for long; nothing otherwise.
std::optional<Evidence> prepares_alone(const Facts& f) {
  constexpr double long_seconds = 20, waited_seconds = 15;
  if (!stands_are_known(f) || f.stands.size() < 2) return std::nullopt;
  std::optional<Evidence> alone;
  for (const auto& [rank, at] : f.stands) {
    if (waits(at, waited_seconds)) continue;
    const bool prepares = at.place.at.activity == Activity::preparing_data && at.place.seconds >= long_seconds &&
                          at.place.waits_for == records::waits_for_nobody;
    if (!prepares || alone) return std::nullopt;
    alone = say("rank {} on {} has been preparing its data for {:.0f} s while all others wait", rank, at.host, at.place.seconds);
  }
  return alone;
}

// All wait, so what they wait for does not come through.
std::optional<Evidence> all_wait_for_messages(const Facts& f) {
  constexpr double waited_seconds = 12;
  if (!stands_are_known(f)) return std::nullopt;
  double least = f.stands.begin()->second.place.seconds;
  for (const auto& [rank, at] : f.stands) {
    if (!waits(at, waited_seconds)) return std::nullopt;
    least = std::min(least, at.place.seconds);
  }
  return say("before the first step, all {} ranks have waited for each other's messages for at least {:.0f} s", f.stands.size(), least);
}

std::optional<Finding> data_preparation(const Facts& f) {
  if (f.has_begun) return std::nullopt;
  const std::vector<Told> standing = standing_told(f);
  const Told* told = said(
      f, standing, [](const Incident& i) { return is_behind(i) && i.place.at.activity == Activity::preparing_data; });
  const std::optional<Evidence> evidence = told != nullptr ? quoted(*told) : prepares_alone(f);
  if (!evidence) return std::nullopt;
  return Finding{"data_preparation",
                 {*evidence},
                 {command("troika data prepare", say("data prepared once are ready when a run starts")),
                  set("data.workers", "0", say("all cores tokenize")),
                  {say("--data.cache in a folder that all hosts see"), say("one host tokenizes and the others read what it wrote")}}};
}

bool a_connection_broke(const Incident& i) {
  return i.kind == IncidentKind::rank_left || i.cause == base::Cause::connection_broke;
}
bool is_of_a_launcher(const Incident& i) {
  return i.kind == IncidentKind::launcher_left || i.kind == IncidentKind::launcher_unheard ||
         i.kind == IncidentKind::store_ended || i.kind == IncidentKind::store_silent;
}
bool large_messages_do_not_pass(const Incident& i) {
  const Activity activity = i.place.at.activity;
  return no_message_passes(i) ||
         (is_behind(i) && (activity == Activity::connecting || activity == Activity::measuring_link));
}

// All had joined, so small messages pass; what broke was the first exchange that is larger than a packet.
std::optional<Finding> mtu_black_hole(const Facts& f) {
  if (f.has_begun || !f.on_several_hosts()) return std::nullopt;
  const std::vector<Told> standing = standing_told(f);
  const Told* told = said(f, standing, large_messages_do_not_pass);
  const bool others = f.death && (f.death->signal != 0 || f.death->exit_code == 2 || f.death->exit_code == 3);
  if (told == nullptr && f.failed() && !others && first_that(f.told, is_of_a_launcher) == nullptr)
    told = first_that(f.told, a_connection_broke);
  const std::optional<Evidence> evidence = told != nullptr ? quoted(*told) : all_wait_for_messages(f);
  if (!evidence) return std::nullopt;
  return Finding{"mtu_black_hole",
                 {say("all ranks joined and exchanged small messages, but completed no step"), *evidence},
                 {command("ping -M do -s 1472 HOST", say("between the hosts, both ways: if it fails and -s 500 passes, the MTU is the cause")),
                  command("ip link set dev INTERFACE mtu 1400", say("the same MTU on all hosts and switches, as small as the smallest on the path")), run_doctor()}};
}

std::optional<Finding> link_lost(const Facts& f) {
  const std::vector<Told> standing = standing_told(f);
  const Told* told = said(f, standing, no_message_passes);
  if (told == nullptr) return std::nullopt;
  return Finding{"link_lost",
                 {quoted(*told)},
                 {{say("check the link between the two hosts"), say("host 0 hears from both, but nothing passes between them")},
                  run_doctor(),
                  launch(LaunchFlag::max_restarts, "3", say("the launcher restarts all ranks, from the newest checkpoint if there is one"))}};
}

std::string process_of(const Told& told) { return told.what.who.pid > 0 ? std::to_string(told.what.who.pid) : "PID"; }

// Steps that are done between two heartbeats are in metrics.jsonl alone.
void add_newer_step(const Facts& f, const Told& told, std::vector<Evidence>* evidence) {
  if (told.what.kind != IncidentKind::rank_silent || told.what.place.step < 0 || f.rows.empty()) return;
  if (f.rows.back().step > told.what.place.step)
    evidence->push_back(say("all ranks had completed step {}: the heartbeat is older", f.rows.back().step));
}

bool is_stopped(const Incident& i) { return i.kind == IncidentKind::rank_stopped || i.stopped; }

std::optional<Finding> rank_hangs(const Facts& f) {
  const std::vector<Told> standing = standing_told(f);
  const Told* told =
      said(f, standing, [](const Incident& i) { return is_stopped(i) || i.kind == IncidentKind::rank_hung; });
  if (told == nullptr && !f.failed()) told = said(f, standing, is_behind);
  if (told == nullptr) return std::nullopt;
  Finding found{"rank_hangs", {quoted(*told)}, {}};
  for (const Told& more : standing)
    if (more.text != told->text && found.evidence.size() < 3) found.evidence.push_back(quoted(more));
  const bool stopped = is_stopped(told->what) || first_that(standing, is_stopped) != nullptr;
  add_newer_step(f, *told, &found.evidence);
  const bool lives = f.ending == Ending::running;
  if (stopped && lives) found.advice.push_back(command("kill -CONT " + process_of(*told), say("on its host: resumes the stopped process")));
  if (stopped && !lives) found.advice.push_back({say("find out who stopped the process"), say("a shell (Ctrl-Z), a debugger, or a scheduler that suspends jobs; it has since ended")});
  if (lives) found.advice.push_back(command("kill -USR1 " + process_of(*told), say("the rank writes its current instruction to its log")));
  const double limit = settings_or_usual(f).comm.timeout_seconds;
  if (!stopped && told->what.kind == IncidentKind::rank_hung)
    found.advice.push_back(set("comm.timeout_seconds", number(4 * limit), say("only if the rank is slow, not hung: the limit is now {} s", number(limit))));
  found.advice.push_back(same_again(f));
  return found;
}

bool is_unheard(const Incident& i) {
  return i.kind == IncidentKind::rank_silent || i.kind == IncidentKind::rank_unheard ||
         i.kind == IncidentKind::launcher_unheard;
}

std::optional<Finding> host_lost(const Facts& f) {
  const std::vector<Told> standing = standing_told(f);
  const Told* told = said(f, standing, [](const Incident& i) {
    return is_unheard(i) || is_of_a_launcher(i) || i.kind == IncidentKind::rank_left ||
           i.cause == base::Cause::store_silent;
  });
  if (told == nullptr) return std::nullopt;
  const double limit = settings_or_usual(f).comm.heartbeat_seconds;
  Finding found{"host_lost", {quoted(*told)}, {}};
  add_newer_step(f, *told, &found.evidence);
  found.advice = {{say("check that host: power, network, swap"), say("it stopped responding")},
                  launch(LaunchFlag::max_restarts, "3", say("the launcher restarts all ranks, from the newest checkpoint if there is one"))};
  if (is_unheard(told->what))
    found.advice.push_back(
        set("comm.heartbeat_seconds", number(3 * limit), say("for hosts that stall for long: the limit is now {} s", number(limit))));
  else
    found.advice.push_back(same_again(f));
  return found;
}

}  // namespace

Rules rules_of_stalls() { return {slow_disk, data_preparation, mtu_black_hole, link_lost, rank_hangs, host_lost}; }

}  // namespace troika::diagnosis
