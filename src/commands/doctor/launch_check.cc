#include "commands/doctor/launch_check.h"

#include <cstdio>
#include <exception>

#include "base/language.h"
#include "doctor/check.h"
#include "doctor/report_text.h"

namespace troika::commands {
namespace {

// The launcher itself says that ranks share cores.
bool says_more_than_launcher(const doctor::Finding& finding, const doctor::Want& want) {
  return finding.check != "threads" || want.threads > 0;
}

void say_alarms(const doctor::Want& want, const std::map<std::string, std::string>& environment) {
  const base::Language language = base::language_of("auto", base::locale_in(environment));
  const auto view = doctor::view_of_this_host(want, environment, doctor::PortState::of_this_launch);
  std::string text;
  for (const doctor::Finding& finding : doctor::quick_findings(view))
    if (says_more_than_launcher(finding, want)) text += "doctor: " + doctor::one_line(finding, language) + "\n";
  std::fputs(text.c_str(), stderr);
}

}  // namespace

LaunchCheck::LaunchCheck(doctor::Want want, std::map<std::string, std::string> environment)
    : thread_([want = std::move(want), environment = std::move(environment)] {
        try {
          say_alarms(want, environment);
        } catch (const std::exception&) {  // the run itself will say what it lacks
        }
      }) {}

LaunchCheck::~LaunchCheck() { thread_.join(); }

std::unique_ptr<LaunchCheck> check_beside(const LaunchOptions& options,
                                          const std::map<std::string, std::string>& environment) {
  if (options.worker.empty() || options.worker.front() != "train" || !options.program.empty()) return nullptr;
  doctor::Want want;
  want.hosts = options.hosts.nnodes > 1 ? doctor::Want::Hosts::several : doctor::Want::Hosts::one;
  want.folder = options.run_folder;
  if (options.training) want.interface = options.training->settings.comm.interface;
  want.port = options.hosts.nnodes > 1 && options.hosts.leads() ? options.hosts.master_port : 0;
  want.ranks = options.nproc_per_node;
  want.threads = options.stated_threads;
  return std::make_unique<LaunchCheck>(std::move(want), environment);
}

}  // namespace troika::commands
