// The steps between a form and the start of a run: the plan (/api/plan) and samples of its data.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "base/language.h"
#include "serve/form.h"
#include "serve/routes.h"

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

// Some samples of what a run of the form would train on, as `troika data inspect` prints them, with ⟦ and ⟧ around what carries loss; at
// most 64 KiB. Prepares the data in a temporary folder, unless the form names
// a place, for no longer than `deadline_seconds`, and than somebody waits. DataError with what the program says of settings or
// data that are wrong.
std::string data_sample(const Form& form, const Options& options, const Asked& asked, double deadline_seconds);

}  // namespace troika::serve
