// The doctor of one host among several: looks at its host, answers other doctors, measures the ways that it is told to.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "doctor/host_view.h"
#include "doctor/measure.h"

namespace troika::doctor {

// How doctors talk: lines of JSON, one way between two of them.

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
    bool ended = false;  // nothing will come any more; `line` says why, as far as that is known
  };
  // What has come; waits for something at most so long.
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
// listens. Its lines: consultation.h.
void run_member(const MemberJob& job, Lines& lines);

}  // namespace troika::doctor
