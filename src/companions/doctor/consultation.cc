#include "doctor/consultation.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "base/units.h"
#include "doctor/measure.h"

namespace troika::doctor {
namespace {

const std::string answer_origin = "what a host's doctor said";

struct MemberState {
  enum class Stage { awaited, measuring, free, asked, silent };
  Stage stage = Stage::awaited;
  double until = 0;  // of what it is waited for
  double patience = 0;
  PeerDoctor peer;
  std::optional<HostReport> report;
  std::string asked_of;  // the host that it is to meet
  base::Text why;              // it is silent
};

class Gathering {
 public:
  using Stage = MemberState::Stage;

  Gathering(Members& members, const Deadlines& deadlines, Thoroughness thoroughness, const std::function<double()>& now)
      : members_(members),
        deadlines_(deadlines),
        thoroughness_(thoroughness),
        now_(now),
        began_(now()),
        states_(members.count()),
        pending_(pairs_in_rounds(members.count())) {
    name_hosts();
    for (MemberState& state : states_) await(state, Stage::awaited, deadlines_.here);
    const double most = static_cast<double>(std::max<std::size_t>(1, states_.size() - 1));
    const double left = deadlines_.all - deadlines_.here - deadlines_.slack;
    pair_seconds_ = std::clamp(left / most, 0.5, deadlines_.pair);
    for (std::size_t member = 1; member < states_.size(); ++member) to_look_.push_back(member);
  }

  Consultation run() {
    while (!done()) {
      for (const Members::Heard& heard : members_.hear(std::clamp(next_deadline() - now_(), 0.0, 0.5))) take(heard);
      give_up_on_late();
      begin_what_is_due();
    }
    for (std::size_t member = 0; member < states_.size(); ++member)
      if (states_[member].stage != Stage::silent) members_.say(member, nlohmann::json({{"ask", "end"}}).dump());
    return conclude();
  }

 private:
  void name_hosts() {
    std::set<std::string> taken;
    for (std::size_t member = 0; member < states_.size(); ++member) {
      std::string name = members_.name(member);
      if (name.empty()) name = fmt::format("host {}", member);
      if (!taken.insert(name).second) taken.insert(name += fmt::format(" ({})", member));
      states_[member].peer.host = name;
    }
  }

  void await(MemberState& state, Stage stage, double seconds) {
    state.stage = stage;
    state.patience = seconds;
    state.until = now_() + seconds;
  }

  static bool waits(const MemberState& state) { return state.stage != Stage::free && state.stage != Stage::silent; }
  bool may_still_meet(std::size_t a, std::size_t b) const {
    return states_[a].stage != Stage::silent && states_[b].stage != Stage::silent;
  }
  bool time_is_over() const { return now_() - began_ > deadlines_.all - pair_seconds_ - 1; }

  bool done() const {
    if (std::any_of(states_.begin(), states_.end(), waits)) return false;
    if (time_is_over()) return true;
    const bool met = std::none_of(pending_.begin(), pending_.end(),
                                  [&](const auto& pair) { return may_still_meet(pair.first, pair.second); });
    return met && !looks_are_due() && second_looks_begun_ && second_looks_.empty();
  }

  double next_deadline() const {
    double next = now_() + 0.5;
    for (const MemberState& state : states_)
      if (waits(state)) next = std::min(next, state.until);
    return next;
  }

  void fall_silent(MemberState& state, base::Text why) {
    state.stage = Stage::silent;
    state.why = std::move(why);
  }

  void give_up_on_late() {
    for (MemberState& state : states_) {
      if (!waits(state) || now_() < state.until) continue;
      const std::string seconds = base::format_duration(state.patience);
      fall_silent(state, base::say(state.stage == Stage::awaited ? base::Phrase("no reply within {}") : base::Phrase("stopped responding: no reply within {}"), seconds));
    }
  }

  void take(const Members::Heard& heard) {
    MemberState& state = states_[heard.member];
    if (state.stage == Stage::silent) return;
    if (heard.end) return fall_silent(state, base::say("its doctor ended: {}", *heard.end));
    try {
      take_line(state, base::parse_json(heard.line, answer_origin));
    } catch (const base::DataError& error) {  // another version, or no doctor at all
      fall_silent(state, base::say("its doctor ended: {}", base::text_of(error)));
    }
  }

  void take_line(MemberState& state, const nlohmann::json& line) {
    if (line.contains("here")) return take_here(state, parse<PeerDoctor>(line["here"]));
    if (line.contains("report")) return take_report(state, parse<HostReport>(line["report"]));
    if (line.contains("met")) take_meeting(state, parse<PairReport>(line["met"]));
    if (line.contains("written")) {
      shared_.emplace();
      shared_->writer = state.peer.host;
      shared_->written = base::json_int(line, "written", answer_origin) != 0;
      shared_path_ = base::json_string(line, "folder", answer_origin);
    }
    if (line.contains("seen") && shared_)
      shared_->readers.push_back({state.peer.host, base::json_double(line, "seen", answer_origin)});
    if (state.stage == Stage::asked) state.stage = Stage::free;
  }

  void take_here(MemberState& state, PeerDoctor peer) {
    peer.host = state.peer.host;
    state.peer = std::move(peer);
    await(state, Stage::measuring, deadlines_.report);
  }

  void take_report(MemberState& state, HostReport report) {
    state.report = std::move(report);
    state.stage = Stage::free;
  }

  void take_meeting(const MemberState& state, PairReport pair) {
    pair.from = state.peer.host;
    pair.to = state.asked_of;
    if (second_looks_begun_)
      take_better(pair, pairs_[looked_at_]);
    else
      pairs_.push_back(std::move(pair));
  }

  void ask(std::size_t member, const nlohmann::json& question, double seconds) {
    members_.say(member, question.dump());
    await(states_[member], Stage::asked, seconds + deadlines_.slack);
  }

  bool is_free(std::size_t member) const { return states_[member].stage == Stage::free; }

  void begin_what_is_due() {
    begin_looks();
    if (time_is_over()) return;
    for (auto pair = pending_.begin(); pair != pending_.end();) {
      if (!is_free(pair->first) || !is_free(pair->second)) {
        ++pair;
        continue;
      }
      meet(pair->first, pair->second, thoroughness_ == Thoroughness::full ? Depth::all : Depth::reach);
      meet(pair->second, pair->first, Depth::reach);
      pair = pending_.erase(pair);
    }
    begin_second_look();
  }

  // When all have met and nobody is at work, one after the other.
  void begin_second_look() {
    const bool anybody_left = std::any_of(pending_.begin(), pending_.end(),
                                          [&](const auto& pair) { return may_still_meet(pair.first, pair.second); });
    if (anybody_left || std::any_of(states_.begin(), states_.end(), waits)) return;
    if (!second_looks_begun_) {
      second_looks_begun_ = true;
      const std::vector<std::size_t> slow = worth_a_second_look(pairs_);
      second_looks_.assign(slow.begin(), slow.end());
    }
    while (!second_looks_.empty()) {
      looked_at_ = second_looks_.front();
      second_looks_.pop_front();
      const auto from = member_named(pairs_[looked_at_].from), to = member_named(pairs_[looked_at_].to);
      if (from && to && is_free(*from) && is_free(*to)) return meet(*from, *to, Depth::all);
    }
  }

  std::optional<std::size_t> member_named(const std::string& host) const {
    for (std::size_t member = 0; member < states_.size(); ++member)
      if (states_[member].peer.host == host) return member;
    return std::nullopt;
  }

  void meet(std::size_t member, std::size_t other, Depth depth) {
    states_[member].asked_of = states_[other].peer.host;
    const nlohmann::json question = {{"ask", "meet"},
                                     {"peer", to_json(states_[other].peer)},
                                     {"rates", depth == Depth::all ? 1 : 0},
                                     {"seconds", pair_seconds_}};
    ask(member, question, pair_seconds_ + 4);  // a way that is cut makes it wait for connections
  }

  bool looks_are_due() const {
    if (states_.size() < 2 || states_[0].stage == Stage::silent) return false;
    if (!asked_to_write_) return true;
    return shared_ && shared_->written && std::any_of(to_look_.begin(), to_look_.end(), [&](std::size_t member) {
             return states_[member].stage != Stage::silent;
           });
  }

  void begin_looks() {
    if (!looks_are_due()) return;
    const std::string name = fmt::format(".troika-doctor-{:.0f}", began_ * 1e6);
    if (!asked_to_write_ && is_free(0)) {
      asked_to_write_ = true;
      ask(0, {{"ask", "write"}, {"name", name}}, 2);
    }
    if (!shared_ || !shared_->written) return;
    for (auto member = to_look_.begin(); member != to_look_.end();) {
      if (!is_free(*member)) {
        ++member;
        continue;
      }
      ask(*member, {{"ask", "look"}, {"name", name}}, 6);
      member = to_look_.erase(member);
    }
  }

  // Where no names were given, hosts are called as they call themselves, with their number where several do so alike.
  std::map<std::string, std::string> own_names() const {
    std::map<std::string, int> times;
    for (const MemberState& state : states_) ++times[state.peer.own_name];
    std::map<std::string, std::string> names;
    for (std::size_t member = 0; member < states_.size(); ++member) {
      const PeerDoctor& peer = states_[member].peer;
      const bool unnamed = members_.name(member).empty() && !peer.own_name.empty();
      const std::string own = times[peer.own_name] > 1 ? fmt::format("{} ({})", peer.own_name, member) : peer.own_name;
      names[peer.host] = unnamed ? own : peer.host;
    }
    return names;
  }

  void rename_hosts() {
    const std::map<std::string, std::string> names = own_names();
    for (PairReport& pair : pairs_) {
      pair.from = names.at(pair.from);
      pair.to = names.at(pair.to);
    }
    if (shared_) {
      shared_->writer = names.at(shared_->writer);
      for (SharedFolder::Reader& reader : shared_->readers) reader.host = names.at(reader.host);
    }
    for (MemberState& state : states_) {
      state.peer.host = names.at(state.peer.host);
      if (!state.report) continue;
      state.report->host = state.peer.host;
      for (Finding& finding : state.report->findings) finding.host = state.peer.host;
    }
  }

  Consultation conclude() {
    rename_hosts();
    Consultation all;
    for (MemberState& state : states_) {
      if (state.report) all.reports.push_back(std::move(*state.report));
      if (state.stage == Stage::silent) all.silent.push_back({state.peer.host, state.why});
    }
    all.pairs = std::move(pairs_);
    if (shared_)
      std::sort(shared_->readers.begin(), shared_->readers.end(),
                [](const auto& a, const auto& b) { return a.host < b.host; });
    all.shared = std::move(shared_);
    all.shared_path = shared_path_;
    for (const auto& [a, b] : pending_)
      if (may_still_meet(a, b)) ++all.pairs_left;
    return all;
  }

  Members& members_;
  const Deadlines deadlines_;
  const Thoroughness thoroughness_;
  const std::function<double()> now_;
  const double began_;
  double pair_seconds_ = 0;
  std::vector<MemberState> states_;
  std::vector<std::pair<std::size_t, std::size_t>> pending_;
  std::vector<PairReport> pairs_;
  bool second_looks_begun_ = false;
  std::deque<std::size_t> second_looks_;  // numbers of pairs_
  std::size_t looked_at_ = 0;             // the last of them
  bool asked_to_write_ = false;
  std::optional<SharedFolder> shared_;
  std::string shared_path_;
  std::vector<std::size_t> to_look_;
};

}  // namespace

// In round r those meet whose numbers add up to r; who would meet itself meets the last one instead.
std::vector<std::pair<std::size_t, std::size_t>> pairs_in_rounds(std::size_t hosts) {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  const std::size_t places = hosts + hosts % 2, turning = places > 0 ? places - 1 : 0;
  for (std::size_t round = 0; hosts > 1 && round < turning; ++round)
    for (std::size_t a = 0; a < turning; ++a) {
      const std::size_t partner = (round + turning - a) % turning, b = partner == a ? places - 1 : partner;
      if (a < b && b < hosts) pairs.emplace_back(a, b);
    }
  return pairs;
}

Consultation consult(Members& members, const Deadlines& deadlines, Thoroughness thoroughness,
                     const std::function<double()>& now) {
  return Gathering(members, deadlines, thoroughness, now).run();
}

std::vector<Finding> findings_of(const Consultation& all) {
  std::vector<Finding> findings;
  for (const HostReport& report : all.reports)
    findings.insert(findings.end(), report.findings.begin(), report.findings.end());
  const auto append = [&](std::vector<Finding> more) { findings.insert(findings.end(), more.begin(), more.end()); };
  std::set<std::string> silent;
  for (const Consultation::Silent& one : all.silent) silent.insert(one.host);
  append(judge_hosts(all.reports));
  if (all.shared) append(judge_shared_folder(*all.shared, all.shared_path));
  append(judge_pairs(all.reports, all.pairs, silent));
  if (all.pairs_left > 0)
    findings.push_back({"", "all_pairs", Status::not_checked, base::say("no time was left for {} pairs of hosts", all.pairs_left), {}, {}});
  for (const Consultation::Silent& one : all.silent)
    findings.push_back(
        {one.host, "answer", Status::fail, one.why, base::say("an answer"), base::say("Check that the host is up, reachable by ssh or its launcher, and has this Troika; the other hosts continued without it.")});
  return findings;
}

}  // namespace troika::doctor
