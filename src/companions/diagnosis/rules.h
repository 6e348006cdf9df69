// The rules: each looks at the facts and finds a cause or nothing. They are tried in the order of these lists
// (docs/formats/causes.md), and the first that finds one gives the headline.
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "base/cause.h"
#include "diagnosis/advice.h"
#include "diagnosis/diagnosis.h"
#include "diagnosis/facts.h"

namespace troika::diagnosis {

struct Finding {
  std::string_view cause;
  std::vector<Evidence> evidence;
  AdviceList advice;
};

using Rule = std::optional<Finding> (*)(const Facts&);
using Rules = std::vector<Rule>;

// Rules for a run that failed.
Rules rules_of_memory();  // with signals: what the first rank to die has died of
Rules rules_of_signals();
Rules rules_of_meeting();  // ports, names, addresses, who came
Rules rules_of_files();    // disks, data, limits
Rules rules_of_numbers();  // not finite, overflow, changed bits
Rules rules_of_stalls();   // silence, hanging, lost hosts: of a run that runs or was stopped, too
Rules rules_of_the_rest();

// Rules for a run that did not fail.
Rules rules_of_learning();
Rules rules_of_hosts();  // swapping, heat
Rules rules_of_stragglers();
Rules rules_of_threads();
Rules rules_of_speed();

using Causes = std::initializer_list<base::Cause>;

// The first that tells of one of the causes; nullptr: none. Of what was told, and else of the log of the first to die.
const Told* first_with(const std::vector<Told>& told, Causes causes);
const Told* told_or_logged(const Facts& facts, Causes causes);

// A report as evidence: its first line, cut where it is long. In Chinese where its sentence is ours.
Evidence quoted(const Told& told);
// Where and how the first to die was last seen; nothing where no rank is known.
void add_place(const Facts& facts, std::vector<Evidence>* evidence);

// The first rule that holds, in the order of docs/formats/causes.md; "none" where none does.
Diagnosis judge(const Facts& facts);

// The shape of a run's metrics: windows over its rows, and what several rules say of them.

// Medians of the loss over windows of equal length, in order, rows whose loss is no number left out. The length is a tenth of the
// rows, 5 at least and 50 at most.
struct LossWindow {
  std::int64_t last_step = 0;
  double loss = 0;
};
std::vector<LossWindow> loss_windows(const Facts& facts);

// Most rows have no token that carries loss.
std::optional<Finding> no_tokens_in_rows(const Facts& facts);

// Evidence of how the gradient norm rose before the end, and the checkpoint from before it.
void add_rise(const Facts& facts, Finding* found);

}  // namespace troika::diagnosis
