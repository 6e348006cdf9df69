#include "commands/doctor/doctor.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/host_name.h"
#include "base/terminal_text.h"
#include "commands/doctor/arguments.h"
#include "commands/doctor/needs.h"
#include "commands/doctor/ssh_members.h"
#include "commands/doctor/standard_lines.h"
#include "commands/doctor/store_members.h"
#include "doctor/check.h"
#include "doctor/consultation.h"
#include "doctor/member.h"
#include "doctor/report_text.h"
#include "host/cores.h"
#include "host/process.h"
#include "launch/ssh_hosts.h"
#include "rendezvous/identity.h"

namespace troika::commands {
namespace {

using config::Environment;
using doctor::Finding;
using rendezvous::Identity;

constexpr int doctor_port = 29500;
constexpr double doctor_join_seconds = 12;  // that a rank tries to reach the store

int print_findings(const std::vector<Finding>& findings, std::size_t hosts, double began, const DoctorArguments& a,
                   base::Language language) {
  const std::string text = a.json ? doctor::json_report(findings, language)
                                  : doctor::text_report(findings, hosts, base::monotonic_seconds() - began, language);
  base::put(text, stdout);
  return doctor::exit_code_of(findings);
}

int print_findings(const doctor::Consultation& consultation, std::size_t hosts, double began, const DoctorArguments& a,
                   base::Language language) {
  return print_findings(doctor::findings_of(consultation), hosts, began, a, language);
}

doctor::Thoroughness thoroughness_of(const DoctorArguments& a) {
  return a.quick ? doctor::Thoroughness::quick : doctor::Thoroughness::full;
}

// Within a minute where a host has the default time to answer.
doctor::Deadlines deadlines_of(const DoctorArguments& a) {
  doctor::Deadlines deadlines;
  deadlines.here = a.wait_seconds;
  deadlines.report = a.wait_seconds + (a.quick ? 0 : 8);
  deadlines.all = std::max(deadlines.all, 2 * deadlines.here + 26);
  return deadlines;
}

doctor::MemberJob job_of(const doctor::Want& want, const Environment& environment, bool quick,
                         doctor::PortState port = doctor::PortState::not_asked) {
  doctor::MemberJob job;
  job.view = doctor::view_of_this_host(want, environment, port);
  job.program = host::own_program();
  job.quick = quick;
  return job;
}

// The address at which ssh reached this host; "": it was not ssh.
std::string address_of_ssh(const Environment& environment) {
  const auto connection = environment.find("SSH_CONNECTION");
  if (connection == environment.end()) return "";
  const std::vector<std::string> words = base::split(connection->second, ' ');
  return words.size() == 4 ? words[2] : "";
}

int be_member(const DoctorArguments& a, const Environment& environment) {
  doctor::MemberJob job = job_of(doctor::parse_want(a.member), environment, a.quick);
  job.address = address_of_ssh(environment);
  StandardLines lines(STDIN_FILENO, STDOUT_FILENO);
  doctor::run_member(job, lines);
  return 0;
}

int look_at_this_host(const DoctorArguments& a, const Environment& environment, const doctor::Want& want,
                      doctor::PortState port, base::Language language) {
  const double began = base::monotonic_seconds();
  doctor::HostView view = doctor::view_of_this_host(want, environment, port);
  if (!a.quick) view.measured = doctor::measure(view, {});
  if (a.quick) view.resolve = nullptr;
  return print_findings(doctor::look_at(view), 1, began, a, language);
}

// The first host is where the ranks will meet; of the others nobody needs that port.
std::vector<MemberProcess> processes_for(const std::vector<launch::SshHost>& hosts, const DoctorArguments& a) {
  std::vector<MemberProcess> processes;
  for (const launch::SshHost& host : hosts) {
    const int port = processes.empty() ? static_cast<int>(a.master_port.value_or(doctor_port)) : 0;
    const doctor::Want want =
        want_of(a.parsed.settings, {static_cast<int>(hosts.size()), static_cast<int>(a.nproc)}, port);
    const bool here = launch::is_this_host(host);
    const std::string own = host::own_program();
    std::vector<std::string> command = {here || a.program.empty() ? own : a.program, "doctor", "--member",
                                        doctor::to_json(want)};
    if (a.quick) command.emplace_back("--quick");
    processes.push_back({host.host, here ? command : launch::ssh_words(host, launch::shell_words(command))});
  }
  return processes;
}

int look_at_hosts(const DoctorArguments& a, const Environment& environment, base::Language language) {
  const double began = base::monotonic_seconds();
  const std::vector<MemberProcess> processes = processes_for(launch::hosts_of(a.hosts), a);
  doctor::Consultation consultation;
  {
    ProcessMembers members(processes, environment);
    consultation = doctor::consult(members, deadlines_of(a), thoroughness_of(a), base::monotonic_seconds);
  }
  return print_findings(consultation, processes.size(), began, a, language);
}

// One doctor of each host; it says why when it cannot take part, and ends well, so that no launcher ends the others for it.
void be_member_of_launch(const DoctorArguments& a, const Environment& environment, const Identity& me,
                         const doctor::Want& want) {
  try {
    const host::CoresOfLauncher all_cores;
    rendezvous::StoreClient client(me, doctor_join_seconds);
    const bool first = me.node_rank == 0;
    doctor::MemberJob job =
        job_of(want, environment, a.quick, first ? doctor::PortState::of_this_launch : doctor::PortState::not_asked);
    job.address = client.local_address();
    StoreLines lines(client, me, me.node_rank);
    doctor::run_member(job, lines);
  } catch (const base::PeerError& error) {
    std::fputs(fmt::format("troika doctor: host {}: {}\n", base::host_name(), error.what()).c_str(), stderr);
  }
}

int look_at_launch(const DoctorArguments& a, const Environment& environment, const Identity& me,
                   base::Language language) {
  const double began = base::monotonic_seconds();
  const int hosts = hosts_of(me);
  const doctor::Want want = want_of(a.parsed.settings, {hosts, me.local_size}, me.node_rank == 0 ? me.store_port : 0);
  if (me.world_rank != 0) {
    be_member_of_launch(a, environment, me, want);
    return 0;
  }
  std::optional<rendezvous::StoreServer> server;
  if (me.hosts_store)
    server.emplace(me.store_port, rendezvous::reach_of(me), rendezvous::access_of(me),
                   rendezvous::StoreLimits::of(me.world_size));
  doctor::Consultation consultation;
  {
    rendezvous::StoreClient client(me, doctor_join_seconds);
    std::thread own([&] { be_member_of_launch(a, environment, me, want); });
    StoreMembers members(client, me, hosts);
    consultation = doctor::consult(members, deadlines_of(a), thoroughness_of(a), base::monotonic_seconds);
    own.join();
  }
  return print_findings(consultation, static_cast<std::size_t>(hosts), began, a, language);
}

}  // namespace

int run_doctor(const Call& call) {
  const DoctorArguments a = parse_doctor(call.words, call.environment);
  if (!a.member.empty()) return be_member(a, call.environment);
  const base::Language language = call.language;
  if (!a.hosts.empty()) return look_at_hosts(a, call.environment, language);
  const Identity me = rendezvous::identify(call.environment);
  if (me.local_rank != 0) return 0;  // the first rank of the host looks at it
  if (hosts_of(me) > 1) return look_at_launch(a, call.environment, me, language);
  const bool launched = me.source != Identity::Source::alone;
  const int port = launched && me.hosts_store ? 0
                   : launched                 ? me.store_port
                                              : static_cast<int>(a.master_port.value_or(0));
  const doctor::Want want = want_of(a.parsed.settings, {1, launched ? me.local_size : static_cast<int>(a.nproc)}, port);
  const bool met = launched && port > 0;
  const host::CoresOfLauncher all_cores;
  return look_at_this_host(a, call.environment, want,
                           met ? doctor::PortState::of_this_launch : doctor::PortState::not_asked, language);
}

}  // namespace troika::commands
