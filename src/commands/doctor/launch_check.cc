#include "commands/doctor/doctor.h"

#include <chrono>
#include <cstdio>
#include <exception>

#include "base/language.h"
#include "doctor/check.h"
#include "doctor/finding.h"
#include "host/thread_limit.h"
#include "rendezvous/socket.h"

namespace troika::commands {
namespace {

// The question of a launch's own check, and the findings that are no news: the launcher itself reports that ranks of one thread
// share cores; the name of a host does not matter where host 0 is known by its address, because ranks meet by addresses then.
struct Question {
  doctor::Want want;
  bool names_matter = false;

  bool is_news(const doctor::Finding& finding) const {
    return (finding.check != "threads" || want.threads > 1) && (finding.check != "names" || names_matter);
  }
};

void say_alarms(const Question& question, const std::map<std::string, std::string>& environment, base::Language language) {
  const auto view = doctor::view_of_this_host(question.want, environment, doctor::PortState::of_this_launch);
  std::string text;
  for (const doctor::Finding& finding : doctor::quick_findings(view))
    if (question.is_news(finding)) text += "doctor: " + doctor::one_line(finding, language) + "\n";
  std::fputs(text.c_str(), stderr);
}

}  // namespace

LaunchCheck::LaunchCheck(doctor::Want want, Names names, std::map<std::string, std::string> environment,
                         base::Language language) {
  const auto promise = std::make_shared<std::promise<void>>();
  done_ = promise->get_future();
  host::start_thread([promise, question = Question{std::move(want), names == Names::matter},
               environment = std::move(environment), language] {
    try {
      say_alarms(question, environment, language);
    } catch (const std::exception&) {  // the run itself will say what it lacks
    }
    promise->set_value();
  }).detach();
}

LaunchCheck::~LaunchCheck() { done_.wait_for(std::chrono::seconds(2)); }

std::unique_ptr<LaunchCheck> check_beside(const LaunchOptions& options,
                                          const std::map<std::string, std::string>& environment,
                                          base::Language language) {
  if (options.worker.empty() || options.worker.front() != "train" || !options.program.empty()) return nullptr;
  doctor::Want want;
  const std::string& master = options.hosts.master_address;
  const bool elsewhere = options.hosts.nnodes > 1 && !rendezvous::is_loopback(master);
  want.hosts = elsewhere ? doctor::Want::Hosts::several : doctor::Want::Hosts::one;
  want.folder = options.run_folder;
  if (options.training) want.interface = options.training->settings.comm.interface;
  want.port = options.hosts.nnodes > 1 && options.hosts.leads() ? options.hosts.master_port : 0;
  want.ranks = options.nproc_per_node;
  want.threads = options.stated_threads;
  const auto names =
      rendezvous::is_numeric_address(master) ? LaunchCheck::Names::are_not_used : LaunchCheck::Names::matter;
  return std::make_unique<LaunchCheck>(std::move(want), names, environment, language);
}

}  // namespace troika::commands
