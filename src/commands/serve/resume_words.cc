#include "commands/serve/resume_words.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "commands/shell_word.h"
#include "config/config.h"
#include "records/run_state.h"

namespace troika::commands::serve {
namespace {

constexpr int most_attempts = 10'000;

bool is_settings_file(const std::string& path) {
  struct stat facts {};
  return ::lstat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode);
}

// Of config.yaml, config-2.yaml, ... the last one; "" where there is none.
std::string last_settings(const std::string& run_folder) {
  std::string last;
  std::string path = run_folder + "/config.yaml";
  for (int attempt = 2; attempt < most_attempts && is_settings_file(path); ++attempt) {
    last = path;
    path = fmt::format("{}/config-{}.yaml", run_folder, attempt);
  }
  return last;
}

std::int64_t ranks_of_settings(const std::string& path) {
  const config::ParallelSettings p = config::settings_from_yaml(base::read_file(path), path).parallel;
  return std::max<std::int64_t>(1, p.dp) * p.pp * p.tp * p.cp;
}

// "/home/me/runs/a" that called itself "runs/a" was started in "/home/me".
std::string folder_before(const std::string& path, const std::string& own_name) {
  std::string name = base::without_end_slashes(own_name);
  if (name.rfind("./", 0) == 0) name.erase(0, 2);
  if (name.empty() || name.front() == '/' || path.size() <= name.size() + 1) return "";
  const std::size_t begin = path.size() - name.size();
  const bool ends_so = path.compare(begin, name.size(), name) == 0 && path[begin - 1] == '/';
  return ends_so ? path.substr(0, std::max<std::size_t>(1, begin - 1)) : "";
}

std::string typed(const std::vector<std::string>& words) {
  std::vector<std::string> all;
  for (const std::string& word : words) all.push_back(shell_word(word));
  return base::join(all, " ");
}

}  // namespace

std::optional<ResumeWords> resume_words(const std::string& run_folder, const std::string& from) {
  const std::string settings = last_settings(run_folder);
  if (settings.empty()) return std::nullopt;
  ResumeWords resume;
  std::int64_t ranks = 0;
  if (const auto state = records::read_run_state(run_folder)) {
    ranks = static_cast<std::int64_t>(state->ranks.size());
    for (const records::RankPlace& rank : state->ranks)
      if (std::find(resume.hosts.begin(), resume.hosts.end(), rank.host) == resume.hosts.end())
        resume.hosts.push_back(rank.host);
    resume.works_in = folder_before(run_folder, state->folder);
  }
  if (ranks == 0) ranks = ranks_of_settings(settings);
  const auto hosts = static_cast<std::int64_t>(std::max<std::size_t>(1, resume.hosts.size()));
  resume.words = {"launch",
                  "--nproc-per-node",
                  std::to_string(ranks / hosts),
                  "--",
                  "train",
                  "--config",
                  settings,
                  "--train.resume",
                  from,
                  "--train.out",
                  run_folder};
  return resume;
}

std::string line_of(const ResumeWords& resume) { return "troika " + typed(resume.words); }

std::string lines_of_hosts(const ResumeWords& resume) {
  std::vector<std::string> lines;
  for (std::size_t node = 0; node < resume.hosts.size(); ++node) {
    const std::vector<std::string> meeting = {"--nnodes",      std::to_string(resume.hosts.size()),
                                              "--node-rank",   std::to_string(node),
                                              "--master-addr", resume.hosts.front()};
    std::vector<std::string> words = resume.words;
    words.insert(words.begin() + 1, meeting.begin(), meeting.end());
    lines.push_back(fmt::format("on {}: troika {}", resume.hosts[node], typed(words)));
  }
  return base::join(lines, "\n");
}

}  // namespace troika::commands::serve
