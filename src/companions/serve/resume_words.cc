#include "serve/resume_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "config/config.h"
#include "host/subprocess.h"
#include "records/run_state.h"

namespace troika::serve {
namespace {

std::int64_t ranks_of_settings(const ConfigFile& settings) {
  const config::ParallelSettings p = config::settings_from_yaml(settings.yaml, settings.name).parallel;
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
  for (const std::string& word : words) all.push_back(host::shell_word(word));
  return base::join(all, " ");
}

}  // namespace

std::vector<std::string> words_of(const ResumeWords& resume, const std::vector<std::string>& settings) {
  std::vector<std::string> words = resume.launch;
  for (const auto* more : {&settings, &resume.place}) words.insert(words.end(), more->begin(), more->end());
  return words;
}

std::optional<ResumeWords> resume_words(const std::string& run_folder, const std::string& from) {
  std::optional<ConfigFile> settings = last_config(run_folder);
  if (!settings) return std::nullopt;
  ResumeWords resume;
  std::int64_t ranks = 0;
  if (const auto state = records::read_run_state(run_folder)) {
    ranks = static_cast<std::int64_t>(state->ranks.size());
    for (const records::RankPlace& rank : state->ranks)
      if (std::find(resume.hosts.begin(), resume.hosts.end(), rank.host) == resume.hosts.end())
        resume.hosts.push_back(rank.host);
    resume.works_in = folder_before(run_folder, state->folder);
  }
  if (ranks == 0) ranks = ranks_of_settings(*settings);
  const auto hosts = static_cast<std::int64_t>(std::max<std::size_t>(1, resume.hosts.size()));
  resume.launch = {"launch", "--nproc-per-node", std::to_string(ranks / hosts), "--", "train"};
  resume.settings = *std::move(settings);
  resume.file = run_folder + "/" + resume.settings.name;
  resume.place = {"--train.resume", from, "--train.out", run_folder};
  return resume;
}

std::string line_of(const ResumeWords& resume) {
  return "troika " + typed(words_of(resume, {"--config", resume.file}));
}

std::string lines_of_hosts(const ResumeWords& resume) {
  std::vector<std::string> lines;
  for (std::size_t node = 0; node < resume.hosts.size(); ++node) {
    const std::vector<std::string> meeting = {"--nnodes",      std::to_string(resume.hosts.size()),
                                              "--node-rank",   std::to_string(node),
                                              "--master-addr", resume.hosts.front()};
    std::vector<std::string> words = words_of(resume, {"--config", resume.file});
    words.insert(words.begin() + 1, meeting.begin(), meeting.end());
    lines.push_back(fmt::format("on {}: troika {}", resume.hosts[node], typed(words)));
  }
  return base::join(lines, "\n");
}

}  // namespace troika::serve
