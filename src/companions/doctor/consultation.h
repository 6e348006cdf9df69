// The doctors of several hosts: one member on each, and a consultation that gathers what they say and has every two of them measure
// the way between them.
//
// Nobody waits for a host that is sick: each question has a deadline of its own, who misses one is asked nothing more, and a pair meets
// as soon as its two hosts have time.
//
// Members say, a line each: {"here": where it answers}, {"report": a HostReport}; then to "meet" {"met": a PairReport}, to "write"
// {"written": 0 or 1, "folder"}, to "look" {"seen": seconds or -1}. They are asked {"ask": "meet" or "write" or "look" or "end", ...}.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "doctor/host_report.h"
#include "doctor/host_view.h"
#include "doctor/judge.h"
#include "doctor/measure.h"

namespace troika::doctor {

// A member's way to whoever gathers the reports. Threads: one.
class Lines {
 public:
  virtual ~Lines() = default;
  virtual void say(const std::string& line) = 0;  // a listener that is gone is noticed by hear()
  // The next line, waiting until then (base::monotonic_seconds()); nothing when it is late or will never come.
  virtual std::optional<std::string> hear(double until) = 0;
};

// All members, as whoever gathers the reports sees them: by number from 0. Threads: one.
class Members {
 public:
  virtual ~Members() = default;
  virtual std::size_t count() const = 0;
  virtual std::string name(std::size_t member) const = 0;             // as it was given; "": as the host calls itself
  virtual void say(std::size_t member, const std::string& line) = 0;  // never waits

  struct Heard {
    std::size_t member = 0;
    std::string line;
    std::optional<base::Text> end{};  // nothing will come any more, and why
  };
  // The messages that have come; waits at most so long for one.
  virtual std::vector<Heard> hear(double seconds) = 0;
};

struct MemberJob {
  HostView view;        // without measurements
  std::string program;  // the path of troika
  std::string address;  // by which others reach this host, as far as is known; "": its interfaces' own
  bool quick = false;   // nothing is measured
  Pace pace;
  double life_seconds = 75;  // then it ends, whoever still listens
};

// Says "here" (who it is and where it answers), then its report, then what each question asks for, until it is told to end or nobody
// listens.
void run_member(const MemberJob& job, Lines& lines);

// Seconds.
struct Deadlines {
  double here = 12;    // from the start until a member says where it is
  double report = 20;  // from then until its report is there
  double all = 50;     // from the start: no pair begins later than what it takes before that
  double pair = 2.5;   // that a pair measures; less where there are many
  double slack = 4;    // that an answer may be late by
};

struct Consultation {
  std::vector<HostReport> reports;  // of those that gave one, in the order of members
  std::vector<PairReport> pairs;
  std::optional<SharedFolder> shared;
  std::string shared_path;
  struct Silent {
    std::string host;
    base::Text why;
  };
  std::vector<Silent> silent;  // in the order of members
  std::size_t pairs_left = 0;  // not met as there was no time, though both hosts are well
};

// Whether pairs measure more than whether they reach each other.
enum class Thoroughness { quick, full };

// `now`: base::monotonic_seconds, or a made-up clock in tests.
Consultation consult(Members& members, const Deadlines& deadlines, Thoroughness thoroughness,
                     const std::function<double()>& now);

// Every two of `hosts` once, in rounds in which nobody comes twice.
std::vector<std::pair<std::size_t, std::size_t>> pairs_in_rounds(std::size_t hosts);

// All findings of a consultation, each host's own first.
std::vector<Finding> findings_of(const Consultation& consultation);

}  // namespace troika::doctor
