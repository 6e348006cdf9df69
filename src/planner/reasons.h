// A plan's reasons in sentences.
#pragma once

#include <string>
#include <vector>

#include "planner/search.h"

namespace troika::planner {

// Of one layout: how its memory and its time come about, and what stands out.
std::vector<std::string> reasons_of(const Question& question, const Estimate& estimate);

// Does the model fit one device? Does one layer? Is it deep enough to be cut into stages? One sentence each.
std::vector<std::string> three_questions(const Question& question);

// What would make the best layout faster, each tried by prediction: a link or a batch twice as large, memory, more or fewer
// machines. Only what changes something by more than a twentieth, the most first.
std::vector<std::string> what_would_help(const Question& question, const Estimate& best);

// What to do when nothing fits: what is needed, and what would be the nearest that does.
std::string nothing_fits(const Question& question, const Answer& answer);

// "64 hosts with 8 x h100, 78.2 GiB each" and what kind of numbers these are.
std::string describe(const Question& question);
std::string sources_of(const machine::Cluster& cluster);

}  // namespace troika::planner
