#include "planner/start_command.h"

#include <fmt/format.h>

#include "base/text.h"
#include "host/subprocess.h"

namespace troika::planner {

static std::string launch_prefix(const Question& q) {
  if (q.world == 1) return "";
  const machine::Placement placement(q.cluster, q.world, q.ranks_per_host);
  const std::string hosts =
      placement.hosts() == 1 ? "" : fmt::format("--nnodes {} --node-rank K --master-addr HOST0 ", placement.hosts());
  return fmt::format("launch {}--nproc-per-node {} -- ", hosts, placement.ranks_on(0));
}

std::string start_command(const PlanArguments& a, const Question& question, const Layout& layout) {
  std::vector<std::string> words;
  if (!a.write.empty()) {
    words.push_back(a.write);
  } else {
    words = a.training;
    const std::vector<std::string> flags = flags_of(layout);
    words.insert(words.end(), flags.begin(), flags.end());
  }
  for (std::string& word : words) word = host::shell_word(word);
  if (question.settings.data.train.empty()) words.emplace_back("--data.train PATH");
  return fmt::format("troika {}train {}", launch_prefix(question), base::join(words, " "));
}

}  // namespace troika::planner
