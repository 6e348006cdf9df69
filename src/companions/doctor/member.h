// The doctor of one host among several: looks at its host, answers other doctors, measures the ways that it is told to.
#pragma once

#include <string>

#include "doctor/host_view.h"
#include "doctor/lines.h"
#include "doctor/measure.h"

namespace troika::doctor {

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
