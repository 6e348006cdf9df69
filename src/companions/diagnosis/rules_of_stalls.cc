// Ranks that stand still, hosts that are gone, messages that do not pass.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "diagnosis/rules.h"
#include "diagnosis/texts.h"

namespace troika::diagnosis {
namespace {

// After a notice steps were done: what it says was over, though nobody said so.
bool went_on(const Facts& f, const records::Event& notice) {
  return notice.step >= 0 && !f.rows.empty() && f.rows.back().step > notice.step + 1;
}

// What stood when the records end. Of a run that runs on, what has stood for long.
std::vector<std::string> standing_texts(const Facts& f) {
  constexpr double long_seconds = 30;
  std::vector<std::string> standing;
  if (f.ending == Ending::finished) return standing;
  for (const records::Event& notice : f.standing) {
    const double age = f.state ? f.newest - notice.time : 0;
    if (went_on(f, notice) || (f.ending == Ending::running && age < long_seconds)) continue;
    if (!holds(notice.text, {" times slower than its like"})) standing.push_back(notice.text);
  }
  return standing;
}

// Of a run that failed the report says what was decided; the notices before it add to it.
const std::string* said(const Facts& f, const std::vector<std::string>& standing,
                        std::initializer_list<std::string_view> words) {
  if (f.failed() && holds(f.report, words)) return &f.report;
  const std::string* told = f.failed() ? first_with(f.told, words) : nullptr;
  return told != nullptr ? told : first_with(standing, words);
}

std::optional<Finding> slow_disk(const Facts& f) {
  const std::vector<std::string> standing = standing_texts(f);
  const std::string* text =
      said(f, standing, {"saving a checkpoint", "finishing the last checkpoint", "has written nothing for"});
  const bool stands = text != nullptr && holds(*text, {"is behind:", "has written nothing for", "has been silent"});
  if (!stands) {
    std::vector<std::string> all;  // of saves that did not stand for ever, too
    for (const records::Event& notice : f.notices) all.push_back(notice.text);
    text = f.failed() ? nullptr : first_with(all, {"has written nothing for"});
    if (text == nullptr) return std::nullopt;
  }
  const double minutes = settings_or_usual(f).checkpoint.every_minutes;
  return Finding{"slow_disk",
                 {quoted(*text, "checkpoint")},
                 {other_disk(), set("checkpoint.async", "on", say(texts.save_beside)),
                  set("checkpoint.every_minutes", number(std::max(2 * minutes, 10.0)), say(texts.save_less_often))}};
}

// Of a run that has not begun, before its ranks say who is behind: the newest samples, which all ranks must have given, and of late.
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
  return at.place.waits_for != rendezvous::waits_for_nobody && at.place.seconds >= seconds &&
         holds(at.place.instruction, {"agreeing on settings", "measuring the link"});
}

// One works at its data while all others have waited for long; nothing otherwise.
std::optional<Text> prepares_alone(const Facts& f) {
  constexpr double long_seconds = 20, waited_seconds = 15;
  if (!stands_are_known(f) || f.stands.size() < 2) return std::nullopt;
  std::optional<Text> alone;
  for (const auto& [rank, at] : f.stands) {
    if (waits(at, waited_seconds)) continue;
    const bool prepares = at.place.instruction == "preparing the data" && at.place.seconds >= long_seconds &&
                          at.place.waits_for == rendezvous::waits_for_nobody;
    if (!prepares || alone) return std::nullopt;
    alone = say(texts.prepares_alone, rank, at.host, at.place.seconds);
  }
  return alone;
}

// All wait, so what they wait for does not come through.
std::optional<Text> all_wait_for_messages(const Facts& f) {
  constexpr double waited_seconds = 12;
  if (!stands_are_known(f)) return std::nullopt;
  double least = f.stands.begin()->second.place.seconds;
  for (const auto& [rank, at] : f.stands) {
    if (!waits(at, waited_seconds)) return std::nullopt;
    least = std::min(least, at.place.seconds);
  }
  return say(texts.all_wait_before_a_step, f.stands.size(), least);
}

std::optional<Finding> data_preparation(const Facts& f) {
  if (f.has_begun) return std::nullopt;
  const std::vector<std::string> standing = standing_texts(f);
  const std::string* text = said(f, standing, {"preparing the data"});
  std::optional<Text> evidence;
  if (text != nullptr && holds(*text, {"is behind:"}))
    evidence = quoted(*text);
  else
    evidence = prepares_alone(f);
  if (!evidence) return std::nullopt;
  return Finding{"data_preparation",
                 {*evidence},
                 {command("troika data prepare", say(texts.why_prepare)),
                  set("data.workers", "0", say(texts.all_cores_tokenize)),
                  {say(texts.shared_cache), say(texts.why_shared_cache)}}};
}

bool a_connection_broke(const std::string& text) {
  return holds(text, {" is gone", "connections broke", "timed out", "reset by peer", "Connection closed by peer",
                      "did not answer within", "nobody wrote"});
}

// All had joined, so small messages pass; what broke was the first exchange that is larger than a packet.
std::optional<Finding> mtu_black_hole(const Facts& f) {
  if (f.has_begun || !f.on_several_hosts()) return std::nullopt;
  const std::vector<std::string> standing = standing_texts(f);
  const std::string* text =
      said(f, standing, {"no message passes", "is behind: connecting for", "is behind: measuring the link for"});
  if (text == nullptr && f.failed() && first_with(f.told, {"launcher of host"}) == nullptr) {
    const bool others = f.death && (f.death->signal != 0 || f.death->exit_code == 2 || f.death->exit_code == 3);
    const auto found = std::find_if(f.told.begin(), f.told.end(), a_connection_broke);
    if (!others && found != f.told.end()) text = &*found;
  }
  const std::optional<Text> evidence = text != nullptr ? quoted(*text) : all_wait_for_messages(f);
  if (!evidence) return std::nullopt;
  return Finding{"mtu_black_hole",
                 {say(texts.joined_but_no_step), *evidence},
                 {command("ping -M do -s 1472 HOST", say(texts.why_ping)),
                  command("ip link set dev INTERFACE mtu 1400", say(texts.why_mtu)), run_doctor()}};
}

std::optional<Finding> link_lost(const Facts& f) {
  const std::vector<std::string> standing = standing_texts(f);
  const std::string* text = said(f, standing, {"no message passes"});
  if (text == nullptr) return std::nullopt;
  return Finding{"link_lost",
                 {quoted(*text)},
                 {{say(texts.see_the_link), say(texts.why_see_the_link)},
                  run_doctor(),
                  launch(LaunchFlag::max_restarts, "3", say(texts.restart_by_itself))}};
}

// Of "rank 2 (host pi3, pid 123) ...".
std::string process_in(const std::string& text) {
  const std::string mark = ", pid ";
  const std::size_t at = text.find(mark);
  if (at == std::string::npos) return "PID";
  const std::size_t begin = at + mark.size();
  return text.substr(begin, text.find_first_not_of("0123456789", begin) - begin);
}

// Steps that are done between two heartbeats are in metrics.jsonl alone.
void add_newer_step(const Facts& f, const std::string& text, std::vector<Text>* evidence) {
  const std::string mark = "its last heartbeat came from step ";
  const std::size_t at = text.find(mark);
  if (at == std::string::npos || f.rows.empty()) return;
  if (f.rows.back().step > std::atoll(text.c_str() + at + mark.size()))
    evidence->push_back(say(texts.heartbeat_is_older, f.rows.back().step));
}

std::optional<Finding> rank_hangs(const Facts& f) {
  const std::vector<std::string> standing = standing_texts(f);
  const std::string* text =
      said(f, standing, {"a signal has stopped the process", "comm.timeout_seconds (", "is stopped by signal"});
  if (text == nullptr && !f.failed()) text = said(f, standing, {"is behind:"});
  if (text == nullptr) return std::nullopt;
  Finding found{"rank_hangs", {quoted(*text)}, {}};
  for (const std::string& more : standing)
    if (more != *text && found.evidence.size() < 3) found.evidence.push_back(quoted(more));
  const bool stopped = holds(*text, {"stopped"}) || first_with(standing, {"is stopped by signal"}) != nullptr;
  add_newer_step(f, *text, &found.evidence);
  const bool lives = f.ending == Ending::running;
  if (stopped && lives) found.advice.push_back(command("kill -CONT " + process_in(*text), say(texts.why_continue)));
  if (stopped && !lives) found.advice.push_back({say(texts.see_who_stopped), say(texts.why_see_who_stopped)});
  if (lives) found.advice.push_back(command("kill -USR1 " + process_in(*text), say(texts.why_ask)));
  const double limit = settings_or_usual(f).comm.timeout_seconds;
  if (!stopped && holds(*text, {"comm.timeout_seconds ("}))
    found.advice.push_back(set("comm.timeout_seconds", number(4 * limit), say(texts.only_if_slow, number(limit))));
  found.advice.push_back(same_again(f));
  return found;
}

std::optional<Finding> host_lost(const Facts& f) {
  const std::vector<std::string> standing = standing_texts(f);
  const std::string* text =
      said(f, standing,
           {"the launcher of host", "has been silent for", "ended without an error message or its host is gone",
            "does not answer any more", "has not answered for", "has not been heard for"});
  if (text == nullptr) return std::nullopt;
  const double limit = settings_or_usual(f).comm.heartbeat_seconds;
  Finding found{"host_lost", {quoted(*text)}, {}};
  add_newer_step(f, *text, &found.evidence);
  found.advice = {{say(texts.see_the_host), say(texts.why_see_the_host)},
                  launch(LaunchFlag::max_restarts, "3", say(texts.restart_by_itself))};
  if (holds(*text, {"silent", "heard"}))
    found.advice.push_back(
        set("comm.heartbeat_seconds", number(3 * limit), say(texts.hosts_that_pause, number(limit))));
  else
    found.advice.push_back(same_again(f));
  return found;
}

}  // namespace

Rules rules_of_stalls() { return {slow_disk, data_preparation, mtu_black_hole, link_lost, rank_hangs, host_lost}; }

}  // namespace troika::diagnosis
