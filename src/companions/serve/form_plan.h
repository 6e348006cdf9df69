// What the planner says of a form: what /api/plan answers.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "base/language.h"
#include "serve/form.h"

namespace troika::serve {

// As `troika plan --json` has it, of this host with the form's processes, with errors, nearest, yaml and command. Takes seconds for
// large models.
std::string plan_json(const CheckedForm& checked, const Options& options, base::Language language);

// One is made at a time, as each may take all of a core for seconds, and one waits: the newest. Threads: any, several at once.
class PlanQueue {
 public:
  // Refused 503 where another one has come while this one waited.
  std::string make(const std::function<std::string()>& plan);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t newest_ = 0;
  bool busy_ = false;
};

}  // namespace troika::serve
