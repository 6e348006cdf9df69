#include "launch/hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/cause.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "launch/host_store.h"

namespace troika::launch {
using base::monotonic_seconds;
using rendezvous::FailureReport;
using rendezvous::LauncherPeer;
using rendezvous::StoreClient;

namespace {

constexpr double look_seconds = 0.1;
constexpr double told_after_seconds = 3;  // who is missing
constexpr const char* end_mark = "ended ";

std::string of_host(const std::string& what, int node) { return fmt::format("{}/{:06}", what, node); }

}  // namespace

Hosts::Hosts(HostTeam team, const rendezvous::Identity& identity, host::Signals& signals)
    : team_(std::move(team)),
      identity_(identity),
      signals_(signals),
      line_(identity_, signals, team_.heartbeat_seconds, team_.speaker) {
  if (!leads()) {
    find_again();
  } else {
    line_.open(monotonic_seconds() + team_.join_seconds, team_.join_seconds);
    line_.store().set(in_launch("flags"), team_.flags);
    set_course("0");
  }
}

// A launch of host 0 that is about to end is none to join; nor is an attempt that this launcher had left, so it comes as a new one.
void Hosts::find_again() {
  me_ = rendezvous::this_launcher();
  const double until = monotonic_seconds() + team_.join_seconds;
  attempt_ = -1;
  begun_ = registered_ = took_part_ = false;
  line_.leave_nothing_behind();
  for (;;) {
    identity_.launch.clear();
    line_.open(until, team_.join_seconds);
    identity_.launch = line_.store().launch();
    base::Text why;
    try {
      hear_host_0();
      const LaunchState now = launch_state();
      if (!now.end) return;
      why = ended_text(*now.end);
    } catch (const base::PeerError& error) {
      why = base::text_of(error);
    }
    if (monotonic_seconds() > until) throw base::PeerError(why);
    wait_or_stop(signals_, 2 * look_seconds);
  }
}

// The outcome of a launch that has ended before this host took part in it, and the holder of this launcher's number, must not be
// hidden by the silence that follows.
void Hosts::find_another_launch() {
  const base::Text in_the_way = std::exchange(in_the_way_, {}), ended = std::exchange(ended_without_me_, {});
  try {
    find_again();
  } catch (const base::PeerError& error) {
    if (!in_the_way.empty())
      throw base::ConfigError(
          base::say("{}: give each host a different one; then {}", in_the_way, base::text_of(error)),
          base::Cause::duplicate_rank);
    if (!ended.empty()) throw base::PeerError(base::say("{}; then {}", ended, base::text_of(error)), error.cause());
    throw;
  }
}

base::Text Hosts::ended_text(const FailureReport& end) const {
  return base::say("host 0 has ended: {} (exit code {})", end.said(), end.exit_code);
}

void Hosts::throw_ended(const LaunchState& state) {
  end_ = state.end;
  throw base::PeerError(ended_text(*end_), end_->incident.cause);
}

std::string Hosts::host_key() const { return in_attempt(of_host("host", team_.node_rank)); }

// Its first word: with which flags it was started, or why it was not. A host with other flags turns itself away, so that a slip of
// the fingers does not end those that are there.
void Hosts::hear_host_0() {
  std::string text;
  const int which = line_.ask(&StoreClient::first_within, std::vector{in_launch(not_started_key), in_launch("flags")},
                              StoreLine::call_seconds, &text);
  if (which < 0) throw base::PeerError(base::say("host 0 answers, but has not sent its flags yet"));
  if (which == 0) {
    line_.ask(&StoreClient::set, in_launch(of_host(heard_it_key, team_.node_rank)), "heard");
    throw_not_started(rendezvous::parse_failure_report(text));
  }
  if (text == team_.flags) return;
  line_.ask(&StoreClient::set, in_launch(of_host("rejected", team_.node_rank)), team_.flags);
  throw base::ConfigError(base::say("host 0 was started with {} but host {} with {}: use the same flags on every host",
                                    text, team_.node_rank, team_.flags),
                          base::Cause::flags_differ);
}

void Hosts::name_rejected() {
  const auto entries = line_.ask(&StoreClient::entries, in_launch("rejected/"), rejected_);
  rejected_ = entries.version;
  for (const auto& [node, flags] : entries.changed) {
    std::int64_t number = 0;
    base::parse_int(node, &number);
    team_.speaker.say(
        base::say("host {} was started with {} but host 0 with {}, and was rejected: use the same flags on every host",
                  number, flags, team_.flags));
  }
  const auto refused = line_.ask(&StoreClient::entries, in_launch(std::string(refused_host_key) + "/"), refused_hosts_);
  refused_hosts_ = refused.version;
  for (const auto& [node, why] : refused.changed) {
    std::int64_t number = 0;
    base::parse_int(node, &number);
    const base::Text said = rendezvous::parse_failure_report(why).said();
    team_.speaker.say(base::say("host {} did not start; waiting for it: {}", number,
                                base::Text{base::printable(said.english, 1024), base::printable(said.chinese, 1024)}));
  }
}

void Hosts::name_wrong_secrets() {
  for (const base::Text& who : wrong_secrets(&wrong_secrets_)) team_.speaker.say(who);
}

void Hosts::set_course(const std::string& text) { line_.ask(&StoreClient::set, in_launch("state"), text); }

Hosts::LaunchState Hosts::launch_state() {
  const std::string text = line_.ask(&StoreClient::get, in_launch("state"), StoreLine::call_seconds);
  LaunchState state;
  const std::size_t mark = std::string_view(end_mark).size();
  if (!base::parse_int(text, &state.attempt))
    state.end = rendezvous::parse_failure_report(text.substr(std::min(mark, text.size())));
  return state;
}

void Hosts::begin_attempt(std::int64_t attempt) {
  attempt_ = attempt;
  begun_ = registered_ = false;
  line_.leave_nothing_behind();
  identity_.generation = std::to_string(attempt);
}

bool Hosts::has_left(const std::string& holder) {
  std::string left;
  return line_.ask(&StoreClient::try_get, in_attempt(of_host("host-left", team_.node_rank)), &left) && left == holder;
}

// Nothing when the place is this launcher's, else who has it. One whose launcher has gone without a word is free until the attempt
// begins.
std::optional<LauncherPeer> Hosts::take_seat() {
  const std::string mine = to_text(me_);
  const auto claim = [&](const std::string& from) { return line_.ask(&StoreClient::compare_set, host_key(), from, mine); };
  std::string holder = claim("");
  if (holder != mine && has_left(holder)) holder = claim(holder);
  if (holder != mine) return rendezvous::parse_launcher(holder);
  registered_ = true;
  line_.leave_behind(in_attempt(of_host("host-left", team_.node_rank)), mine);
  return std::nullopt;
}

// Waits so long for host 0 to begin the attempt.
bool Hosts::has_begun(double seconds, bool* with_me) {
  std::string tokens;
  const bool begun = line_.ask(&StoreClient::get_within, in_attempt("begin"), seconds, &tokens);
  const auto all = base::split(tokens, '\n');
  *with_me = begun && std::find(all.begin(), all.end(), me_.token) != all.end();
  return begun;
}

rendezvous::Identity Hosts::meet() {
  if (leads()) lead();
  while (!leads() && !follow()) find_another_launch();
  begun_ = took_part_ = true;
  return identity_;
}

// None where each launcher that came has a number of its own.
std::vector<base::Text> Hosts::same_numbers() {
  const auto refused = line_.ask(&StoreClient::entries, in_attempt("refused/"), 0).changed;
  std::vector<base::Text> texts;
  for (const auto& [node, launchers] : refused)
    if (!launchers.empty())
      texts.push_back(base::say("{}: give each host a different one", records::parse_incident(launchers).words));
  return texts;
}

std::vector<base::Text> Hosts::wrong_secrets(std::uint64_t* since) {
  auto all = line_.ask([&](StoreClient& store) { return rendezvous::with_wrong_secret(store, since); });
  for (base::Text& who : all) who = base::say("{}: give every host the same --secret-file, or TROIKA_SECRET", who);
  return all;
}

// Host 0's list of hosts whose launchers are not there, and the tokens of the others.
std::vector<base::Text> Hosts::missing(std::vector<std::string>* tokens) {
  const auto all_of = [&](const std::string& what) {
    const std::string prefix = in_attempt(what + "/");
    const auto entries = line_.ask(&StoreClient::entries, prefix, 0).changed;
    return std::map<std::string, std::string>(entries.begin(), entries.end());
  };
  auto there = all_of("host");
  for (const auto& [node, launcher] : all_of("host-left"))
    if (there.count(node) > 0 && there.at(node) == launcher) there.erase(node);
  std::vector<base::Text> names;
  tokens->clear();
  for (int node = 0; node < team_.nnodes; ++node) {
    const auto found = there.find(fmt::format("{:06}", node));
    if (found == there.end())
      names.push_back(base::say("host {}", node));
    else
      tokens->push_back(rendezvous::parse_launcher(found->second).token);
  }
  return names;
}

void Hosts::stop_if_called_off() {
  std::string text;
  if (line_.ask(&StoreClient::try_get, in_launch("called-off"), &text))
    throw CalledOff{rendezvous::parse_failure_report(text)};
}

void Hosts::throw_missing(const std::vector<base::Text>& names) {
  std::uint64_t since = 0;
  std::vector<base::Text> why = wrong_secrets(&since);
  const std::vector<base::Text> twins = same_numbers();
  why.insert(why.end(), twins.begin(), twins.end());
  why.push_back(
      base::say("{} did not join within {:g} s: start {} there with its --node-rank and the same --master-addr and "
                "--master-port, and check that port {} of this host is open",
                base::join(names, ", ", "、"), team_.join_seconds, team_.speaker.command, identity_.store_port));
  throw base::PeerError(base::join(why, "; ", "；"),
                        twins.empty() ? base::Cause::host_missing : base::Cause::duplicate_rank);
}

void Hosts::lead() {
  begin_attempt(attempt_);
  take_seat();
  const double since = monotonic_seconds();
  bool told = false;
  std::vector<std::string> tokens;
  std::vector<base::Text> names;
  while (!(names = missing(&tokens)).empty()) {
    name_rejected();
    name_wrong_secrets();
    stop_if_called_off();
    const double passed = monotonic_seconds() - since;
    if (passed >= team_.join_seconds) throw_missing(names);
    if (!told && passed > told_after_seconds) {
      told = true;
      team_.speaker.say(base::say("waiting for {}, at most {:g} s", base::join(names, ", ", "、"), team_.join_seconds));
    }
    wait_or_stop(signals_, look_seconds);
  }
  name_rejected();
  name_wrong_secrets();
  stop_if_called_off();
  line_.ask(&StoreClient::set, in_attempt("begin"), base::join(tokens, "\n"));
}

// False when host 0 has ended the launch before this host took part in it.
bool Hosts::follow() {
  try {
    return wait_for_a_seat();
  } catch (const rendezvous::StoreGone&) {
    if (took_part_) throw;
    return false;
  }
}

bool Hosts::wait_for_a_seat() {
  constexpr double wait_seconds = 0.5;
  const double patience =
      team_.heartbeat_seconds + 10;  // by then a launcher that is gone was missed, and the attempt ended
  double refused_since = 0;          // 0: not yet
  for (;;) {
    const LaunchState now = launch_state();
    if (now.end && !took_part_) {
      ended_without_me_ = ended_text(*now.end);
      return false;
    }
    if (now.end) throw_ended(now);
    if (now.attempt != attempt_) {
      refused_since = 0;
      in_the_way_ = {};
      begin_attempt(now.attempt);
    }
    const auto holder = take_seat();
    if (!holder && refused_since > 0) take_back_refusal();
    bool with_me = false;
    if (has_begun(holder ? look_seconds : wait_seconds, &with_me) && with_me) return true;
    if (!holder) continue;
    const base::Text who =
        base::say("another launcher already has --node-rank {} ({})", team_.node_rank, holder->name());
    if (refused_since == 0) {
      refused_since = monotonic_seconds();
      tell_of_refusal(*holder);
      team_.speaker.say(base::say("{}: waiting for it to exit, at most {:g} s", who, patience));
    }
    const bool ended = has_left(to_text(*holder));
    in_the_way_ = ended ? base::Text{} : who;
    if (!ended && monotonic_seconds() - refused_since > patience)
      throw base::ConfigError(base::say("{}: give each host a different one", who), base::Cause::duplicate_rank);
    wait_or_stop(signals_, wait_seconds);
  }
}

std::string Hosts::refusal_key() const { return in_attempt(of_host("refused", team_.node_rank)); }

// For host 0, which will miss the number that this launcher was meant to have.
void Hosts::tell_of_refusal(const LauncherPeer& holder) {
  const records::Incident text = records::told(base::say("another launcher also has --node-rank {} ({}, besides {})",
                                                         team_.node_rank, me_.name(), holder.name()));
  line_.ask(&StoreClient::set, refusal_key(), to_json(text));
}

void Hosts::take_back_refusal() {
  in_the_way_ = {};
  line_.ask(&StoreClient::erase, refusal_key());
}

Hosts::Next Hosts::part(Next wanted, const Outcome& outcome) {
  if (!leads()) {
    if (outcome.store_is_lost) return Next::lost;
    if (outcome.stop_requested) line_.wait_at_most(StoreLine::call_seconds);  // the user waits
    return hear_next(outcome.stop_requested ? StoreLine::call_seconds : team_.decided_within_seconds);
  }
  if (wanted == Next::another) {
    set_course(std::to_string(++attempt_));
  } else {
    constexpr double after_success = 15, after_an_error = 5;  // for ranks that still end
    end_all(outcome.exit_code, outcome.failure ? records::said(*outcome.failure) : base::Text{}, outcome.exit_code == 0 ? after_success : after_an_error);
  }
  return wanted;
}

Hosts::Next Hosts::hear_next(double within_seconds) {
  const double until = monotonic_seconds() + within_seconds;
  try {
    line_.ask(&StoreClient::set, in_attempt(of_host("host-parted", team_.node_rank)), "parted");
    while (monotonic_seconds() < until) {
      const LaunchState now = launch_state();
      if (!now.end && now.attempt != attempt_) return Next::another;
      if (now.end) {
        end_ = now.end;
        line_.ask(&StoreClient::set, in_attempt(of_host("host-ended", team_.node_rank)), "ended");
        return Next::end;
      }
      wait_or_stop(signals_, look_seconds);
    }
    line_.ask(&StoreClient::set, in_attempt(of_host("host-ended", team_.node_rank)), "ended");
  } catch (const base::PeerError&) {  // gone, or silent
  }
  return Next::lost;
}

// The store goes with host 0, so it waits until the others have heard.
void Hosts::end_all(int exit_code, const base::Text& text, double patience_seconds) {
  set_course(end_mark + to_text(FailureReport{exit_code, text.empty() ? base::say("the run has ended") : text}));
  const auto count = [&](const std::string& what) {
    return line_.ask(&StoreClient::keys, in_attempt(what + "/")).size();
  };
  const double until = monotonic_seconds() + patience_seconds;
  while (monotonic_seconds() < until && count("host-ended") + count("host-left") + 1 < count("host"))
    wait_or_stop(signals_, look_seconds / 2);
}

void Hosts::leave(int exit_code, const base::Text& text) {
  constexpr double patience = 2;
  try {
    if (!line_.is_open()) return;
    const FailureReport report{exit_code, base::say("host {}: {}", team_.node_rank, text)};
    if (begun_) write_failure_report(line_.store(), identity_, report);
    if (leads()) return end_all(exit_code, text, patience);
    std::string holder;
    if (registered_ && !begun_ && line_.store().try_get(host_key(), &holder) && holder == to_text(me_))
      line_.store().erase(host_key());
  } catch (const Stopped&) {      // at once, then
  } catch (const base::Error&) {  // nobody is left to tell
  }
}

// Over the line itself: the signal that is the reason must not end it.
void Hosts::call_off(const FailureReport& report) {
  leave(report.exit_code, report.said());
  try {
    if (!line_.is_open()) return;
    const FailureReport named{report.exit_code, base::say("host {}: {}", team_.node_rank, report.said())};
    line_.store().set(in_launch("called-off"), to_text(named));
    if (registered_) line_.store().set(in_attempt(of_host("host-left", team_.node_rank)), to_text(me_));
  } catch (const base::Error&) {  // nobody is left to tell
  }
}

}  // namespace troika::launch
