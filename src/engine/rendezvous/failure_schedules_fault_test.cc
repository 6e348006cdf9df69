// Heartbeats, the store and the judges under made-up time: seeded schedules of delays, pauses, cut links, deaths and stalls.
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/text.h"
#include "rendezvous/failure_judge.h"
#include "rendezvous/stall_judge.h"
#include "rendezvous/store_service.h"

namespace troika::rendezvous {
namespace {

// stands: its heart beats, its work is stuck; for a while: later it continues. cut_between: it and another rank reach the
// store and not each other.
enum class Fault { none, error, killed, host_lost, stopped, cut_off, stands, stands_a_while, cut_between, all };

const char* name_of(Fault fault) {
  constexpr const char* names[] = {"none",    "error",  "killed",         "host_lost",  "stopped",
                                   "cut_off", "stands", "stands_a_while", "cut_between"};
  return names[static_cast<int>(fault)];
}

// One schedule: ranks beat to a store over a network, a judge looks at it, and at most one thing goes wrong. Beside it there is
// what must do no harm: late messages, short stops, connections that are lost and opened again, and pauses of the store's host.
class Schedule {
 public:
  explicit Schedule(std::uint64_t seed) : random_(seed, "schedule") {
    ranks_.resize(2 + pick(7));
    constexpr double limits[] = {3, 5, 10, 20};
    limit_ = limits[pick(4)];
    fault_ = static_cast<Fault>(pick(static_cast<std::uint64_t>(Fault::all)));
    culprit_ = pick(ranks_.size());
    fault_at_ = between(2, 15);
    stand_limit_ = between(15, 40);
    stands_until_ = fault_ == Fault::stands_a_while ? fault_at_ + between(8, 0.9 * stand_limit_) : 1e9;
    plan_waiting();
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) start(rank);
    if (pick(3) == 0) plan_pause_of_host();
    at(fault_at_, [this] { go_wrong(); });
    at(0, [this] { judge(); });
  }

  // "" when all went as it must.
  std::string run() {
    const double end = fault_at_ + 3 * limit_ + 30 + pause_ + (fault_ >= Fault::stands ? stand_limit_ : 0);
    while (!events_.empty() && events_.top().time <= end && problem_.empty()) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.time;
      event.action();
    }
    if (problem_.empty()) check_end();
    return problem_;
  }

  std::string describe() const {
    return fmt::format("{} ranks, limit {} s, {} of rank {} at {:.2f} s", ranks_.size(), limit_, name_of(fault_),
                       culprit_, fault_at_);
  }

 private:
  struct Rank {
    std::int64_t beats = 0, connection = 1;
    double deaf_until = 0;    // stopped: neither sends nor hears
    double linked_after = 0;  // messages pass from then on
    double last_contact = 0;
    bool gone = false;  // its process has ended, or its host
    std::optional<double> heard;
    std::size_t waits_for = 0;  // once the culprit does nothing more
  };
  struct Event {
    double time = 0;
    std::uint64_t order = 0;
    std::function<void()> action;
    bool operator<(const Event& other) const { return std::pair(time, order) > std::pair(other.time, other.order); }
  };

  std::uint64_t pick(std::uint64_t count) { return random_.bits(drawn_++) % count; }
  double between(double low, double high) {
    return low + (high - low) * static_cast<double>(pick(1 << 20)) / (1 << 20);
  }
  double delay() { return pick(20) == 0 ? between(0, 0.2) : between(0.0001, 0.01); }
  void at(double time, std::function<void()> action) { events_.push({time, order_++, std::move(action)}); }
  void fail(const std::string& what) {
    if (problem_.empty()) problem_ = fmt::format("{:.2f} s: {}", now_, what);
  }
  static std::string key(const char* folder, std::size_t rank) { return fmt::format("{}/{:06}", folder, rank); }
  // A write that comes while the store's host sleeps is taken soon after it wakes.
  void write(const std::string& key, const std::string& value) {
    if (now_ < asleep_until_) return at(asleep_until_ + between(0, 0.3), [=] { write(key, value); });
    table_.apply(wire::Operation::set, key, value);
  }

  void start(std::size_t rank) {
    write(key("join", rank), to_text(Peer{"desk", "127.0.0.1", 100 + static_cast<int>(rank), 0, limit_}));
    at(between(0, 0.5), [this, rank] { beat(rank); });
    const std::uint64_t harmless = pick(4);
    if (harmless == 0) at(between(1, 20), [this, rank] { stop(rank, between(0, limit_ / 3)); });
    if (harmless == 1) at(between(1, 20), [this, rank] { lose_connection(rank); });
  }

  void stop(std::size_t rank, double seconds) {
    ranks_[rank].deaf_until = std::max(ranks_[rank].deaf_until, now_ + seconds);
  }

  void write_left(std::size_t rank, std::int64_t connection) {
    write(fmt::format("{}/{}", key("left", rank), connection), std::to_string(connection));
  }

  // A proxy ends it; the rank sees that at its next heartbeat and opens another one.
  void lose_connection(std::size_t rank) {
    Rank& r = ranks_[rank];
    if (r.gone || now_ < r.linked_after || now_ < r.deaf_until) return;
    write_left(rank, r.connection++);
  }

  // Finds the ranks that need something of the culprit, or of one that does.
  void plan_waiting() {
    std::vector<std::size_t> stuck{culprit_};
    for (std::size_t next = 1; next < ranks_.size(); ++next) {
      const std::size_t rank = (culprit_ + next) % ranks_.size();
      ranks_[rank].waits_for = stuck[pick(stuck.size())];
      stuck.push_back(rank);
    }
    ranks_[culprit_].waits_for = (culprit_ + 1) % ranks_.size();  // of a cut link: the other end
    ranks_[ranks_[culprit_].waits_for].waits_for = culprit_;
  }

  records::Place place_of(std::size_t rank) {
    const double usual = 0.5;
    const bool stuck = fault_ != Fault::none && now_ >= fault_at_ && now_ < stands_until_;
    if (!stuck) {  // works, or waits for somebody for a short while
      const int other = static_cast<int>(pick(ranks_.size()));
      const bool waits = pick(2) == 0 && other != static_cast<int>(rank);
      return {3, records::doing_of("fwd 0.1"), between(0, 3), usual, waits ? other : records::waits_for_nobody};
    }
    const bool waits = rank != culprit_ || fault_ == Fault::cut_between;
    return {3, records::doing_of("fwd 0.1"), now_ - fault_at_, usual,
            waits ? static_cast<int>(ranks_[rank].waits_for) : records::waits_for_nobody};
  }

  // As HeartbeatClient does: a message, its answer, and a pause.
  void beat(std::size_t rank) {
    Rank& r = ranks_[rank];
    if (r.gone || r.heard) return;
    if (now_ < r.deaf_until) return at(r.deaf_until + delay(), [this, rank] { beat(rank); });
    if (now_ < r.linked_after) {  // TCP sends again when the link is back, unless the client gives up first
      if (now_ - r.last_contact >= limit_) {
        r.heard = now_;
        return;
      }
      return at(std::min(r.linked_after, now_ + limit_) + delay(), [this, rank] { beat(rank); });
    }
    const Heartbeat heartbeat{++r.beats, limit_, r.connection, place_of(rank), stand_limit_};
    at(now_ + delay(), [this, rank, heartbeat] { arrive(rank, heartbeat); });
  }

  void arrive(std::size_t rank, const Heartbeat& heartbeat) {
    if (now_ < asleep_until_)
      return at(asleep_until_ + between(0, 0.3), [this, rank, heartbeat] { arrive(rank, heartbeat); });
    write(key("beat", rank), to_text(heartbeat));
    const bool failed = table_.find("report") != nullptr;
    at(now_ + delay(), [this, rank, failed] {
      Rank& r = ranks_[rank];
      r.last_contact = now_;
      if (failed && !r.gone) r.heard = now_;
      at(now_ + std::min(limit_ / 5, 1.0), [this, rank] { beat(rank); });
    });
  }

  void go_wrong() {
    Rank& r = ranks_[culprit_];
    if (fault_ == Fault::none) {
      if (pick(2) == 0) end_well();
    } else if (fault_ == Fault::error) {
      write(key("failed", culprit_), to_text(FailureReport{3, base::verbatim("a file is missing")}));
      r.gone = true;
      break_connections_of_others();
    } else if (fault_ == Fault::killed) {
      r.gone = true;
      at(now_ + delay(), [this, connection = r.connection] { write_left(culprit_, connection); });
      break_connections_of_others();
    } else if (fault_ == Fault::host_lost) {
      r.gone = true;
    } else if (fault_ == Fault::stopped) {
      stop(culprit_, 1e6);
    } else if (fault_ == Fault::cut_off) {
      r.linked_after = 1e6;
    }
  }

  // A rank that exchanges tensors with a process that ends sees its connections break.
  void break_connections_of_others() {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (rank == culprit_ || pick(2) == 0) continue;
      at(now_ + between(0, 0.3), [this, rank] {
        if (ranks_[rank].gone || ranks_[rank].heard || now_ < ranks_[rank].deaf_until) return;
        write(key("failed", rank), to_text(FailureReport{75, base::verbatim("connection closed by peer")}));
      });
    }
  }

  void end_well() {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      at(now_ + between(0, 0.5), [this, rank] {
        write(key("done", rank), "done");
        ranks_[rank].gone = true;
        if (pick(2) == 0) write_left(rank, ranks_[rank].connection);
      });
    }
  }

  // Shorter than the ranks' patience with a store that does not answer.
  void plan_pause_of_host() {
    pause_ = between(0.5, 0.8 * limit_);
    at(between(1, 20), [this] { asleep_until_ = now_ + pause_; });
  }

  void feed(const char* folder, const std::function<void(int rank, const std::string& text)>& changed) {
    std::string since;
    wire::put_u64(since, versions_[folder]);
    const std::string prefix = std::string(folder) + "/";
    const std::string body = table_.apply(wire::Operation::entries, prefix, since).body;
    std::string_view rest = body, key, value;
    wire::take_u64(rest, &versions_[folder]);
    while (wire::take_text(rest, &key) && wire::take_text(rest, &value)) {
      std::int64_t rank = 0;
      const std::string_view digits = key.substr(prefix.size());
      base::parse_int(digits.substr(0, digits.find('/')), &rank);
      changed(static_cast<int>(rank), std::string(value));
    }
  }

  // As FailureMonitor does.
  void judge() {
    if (now_ < asleep_until_) return at(asleep_until_ + between(0, 0.05), [this] { judge(); });
    feed("join", [&](int rank, const std::string& text) {
      judge_.joined(rank, parse_peer(text), now_);
      stalls_.joined(rank, parse_peer(text));
    });
    feed("beat", [&](int rank, const std::string& text) {
      judge_.heard(rank, parse_heartbeat(text), now_);
      stalls_.heard(rank, parse_heartbeat(text), now_);
    });
    feed("left", [&](int rank, const std::string& text) { judge_.left(rank, std::stoll(text), now_); });
    feed("done", [&](int rank, const std::string&) {
      judge_.done(rank);
      stalls_.ended(rank);
    });
    feed("failed", [&](int rank, const std::string& text) {
      judge_.failed(rank, parse_failure_report(text));
      stalls_.ended(rank);
    });
    const auto failed = judge_.judge(now_);
    const StallJudge::Findings found = stalls_.judge(now_);
    for (const records::Incident& notice : found.notices) check(notice);
    if (const auto report = failed ? failed : found.report) {
      write("report", to_text(*report));
      return check_report(*report);
    }
    at(now_ + period + between(0, 0.02), [this] { judge(); });
  }

  double bound() const {
    const double base = fault_ == Fault::error    ? 0.5
                        : fault_ == Fault::killed ? 4
                        : fault_ >= Fault::stands ? stand_limit_ + 1.5 + limit_ / 3
                                                  : limit_ + 1.5;
    return base + (pause_ > 0 ? pause_ + limit_ : 0);
  }

  // A rank reported as behind is behind; a rank reported as silent has been silent.
  void check(const records::Incident& notice) {
    const auto rank = static_cast<std::size_t>(notice.who.rank);
    const bool of_culprit = rank == culprit_ || (fault_ == Fault::cut_between && rank == ranks_[culprit_].waits_for);
    if (notice.kind == records::IncidentKind::rank_behind) {
      if (fault_ < Fault::stands || !of_culprit || now_ < fault_at_ + 5) return fail("not behind: " + english(notice));
      if (!behind_at_) behind_at_ = now_;
    } else if (notice.kind == records::IncidentKind::rank_unheard) {
      const Rank& r = ranks_[rank];
      const bool was_silent = r.gone || r.deaf_until > now_ - 2 || now_ < r.linked_after || asleep_until_ > now_ - 2;
      if (!was_silent) return fail("not silent: " + english(notice));
    } else if (notice.kind != records::IncidentKind::rank_continues) {
      return fail("unknown: " + english(notice));
    } else {
      continued_ = continued_ || of_culprit;
    }
  }

  // A stall is reported to all within 10 s, with the rank that is behind; delays of heartbeats come on top.
  void check_stall() {
    const double bound = 10 + limit_ / 3 + pause_;
    if (!behind_at_ && stands_until_ < fault_at_ + bound) return;
    if (!behind_at_) return fail("nobody was told who is behind");
    if (*behind_at_ - fault_at_ > bound) return fail("who is behind was said late");
    if (fault_ == Fault::stands_a_while && !continued_) return fail("nobody was told that it continues");
  }

  void check_report(const FailureReport& report) {
    if (fault_ == Fault::stands_a_while) return fail("a report of a rank that continued: " + report.text());
    if (fault_ == Fault::none || now_ < fault_at_) return fail("a report though nothing is wrong: " + report.text());
    const auto names = [&](std::size_t rank) {
      return report.text().rfind(fmt::format("rank {} (host desk", rank), 0) == 0;
    };
    const bool other_end = fault_ == Fault::cut_between && names(ranks_[culprit_].waits_for);
    if (!names(culprit_) && !other_end) return fail("not the culprit: " + report.text());
    if (report.exit_code != (fault_ == Fault::error ? 3 : 75)) return fail("another exit code");
    if (now_ - fault_at_ > bound()) return fail(fmt::format("late by {:.2f} s", now_ - fault_at_ - bound()));
    reported_at_ = now_;
  }

  void check_end() {
    if (fault_ == Fault::none) return;
    if (fault_ >= Fault::stands) check_stall();
    if (fault_ == Fault::stands_a_while) return;
    if (!reported_at_) return fail("nobody was told");
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const Rank& r = ranks_[rank];
      if (r.gone || r.deaf_until > now_) continue;
      if (!r.heard) return fail(fmt::format("rank {} never ended", rank));
      // One that is cut off ends by itself.
      const double by = r.linked_after > now_ ? fault_at_ + 2 * limit_ + 2 : *reported_at_ + 2 + limit_ / 3 + pause_;
      if (*r.heard > by) return fail(fmt::format("rank {} ended late", rank));
    }
  }

  static constexpr double period = 0.2;

  base::Philox random_;
  std::uint64_t drawn_ = 0;
  std::vector<Rank> ranks_;
  StoreTable table_{std::size_t{1} << 20};
  FailureJudge judge_{period};
  StallJudge stalls_{period};
  std::map<std::string, std::uint64_t> versions_;
  std::priority_queue<Event> events_;
  std::uint64_t order_ = 0;
  double now_ = 0, limit_ = 10, fault_at_ = 0;
  Fault fault_ = Fault::none;
  std::size_t culprit_ = 0;
  double pause_ = 0, asleep_until_ = 0;  // of the store's host
  double stand_limit_ = 0, stands_until_ = 0;
  std::optional<double> behind_at_, reported_at_;
  bool continued_ = false;
  std::string problem_;
};

void expect_schedules(std::uint64_t first, std::uint64_t count) {
  int wrong = 0;
  for (std::uint64_t seed = first; seed < first + count && wrong < 5; ++seed) {
    Schedule schedule(seed);
    const std::string problem = schedule.run();
    if (problem.empty()) continue;
    ++wrong;
    ADD_FAILURE() << "seed " << seed << ", " << schedule.describe() << ": " << problem;
  }
}

TEST(Schedules, HaveOneReportOfTheTrueCulpritInTimeAndNoneWhereNothingIsWrong) { expect_schedules(1, 2000); }

TEST(FullSchedules, HundredThousand) { expect_schedules(1'000'000, 100'000); }

}  // namespace
}  // namespace troika::rendezvous
