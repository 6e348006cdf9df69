#include "commands/doctor/doctor.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/host_name.h"
#include "base/json.h"
#include "base/terminal_text.h"
#include "commands/doctor/members.h"
#include "config/resolve.h"
#include "tokenizer/tokenizer.h"
#include "doctor/check.h"
#include "doctor/consultation.h"
#include "doctor/finding.h"
#include "host/cores.h"
#include "host/nvidia.h"
#include "host/process.h"
#include "launch/ssh_hosts.h"
#include "mesh/mesh.h"
#include "plan/plan.h"
#include "rendezvous/identity.h"
#include "shape/layout.h"

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

doctor::HostView view_of(const doctor::Want& want, const Environment& environment, doctor::PortState port) {
  doctor::HostView view = doctor::view_of_this_host(want, environment, port);
  view.open_gpus = open_gpus;
  return view;
}

doctor::MemberJob job_of(const doctor::Want& want, const Environment& environment, bool quick,
                         doctor::PortState port = doctor::PortState::not_asked) {
  doctor::MemberJob job;
  job.view = view_of(want, environment, port);
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
  doctor::MemberJob job = job_of(doctor::parse<doctor::Want>(base::parse_json(a.member, "what a doctor is to look for")), environment, a.quick);
  job.address = address_of_ssh(environment);
  StandardLines lines(STDIN_FILENO, STDOUT_FILENO);
  doctor::run_member(job, lines);
  return 0;
}

int look_at_this_host(const DoctorArguments& a, const Environment& environment, const doctor::Want& want,
                      doctor::PortState port, base::Language language) {
  const double began = base::monotonic_seconds();
  doctor::HostView view = view_of(want, environment, port);
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
                                        doctor::to_json(want).dump()};
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
  return print_findings(doctor::findings_of(consultation), processes.size(), began, a, language);
}

// One doctor of each host; it says why when it cannot take part, and ends well, so that no launcher ends the others for it.
void be_member_of_launch(const DoctorArguments& a, const Environment& environment, const Identity& me,
                         const doctor::Want& want, base::Language language) {
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
    fmt::print(stderr, "troika doctor: {}\n", base::say("host {}: {}", base::host_name(), base::text_of(error)).in(language));
  }
}

int look_at_launch(const DoctorArguments& a, const Environment& environment, const Identity& me,
                   base::Language language) {
  const double began = base::monotonic_seconds();
  const int hosts = hosts_of(me);
  const doctor::Want want = want_of(a.parsed.settings, {hosts, me.local_size}, me.node_rank == 0 ? me.store_port : 0);
  if (me.world_rank != 0) {
    be_member_of_launch(a, environment, me, want, language);
    return 0;
  }
  std::optional<rendezvous::StoreServer> server;
  if (me.hosts_store)
    server.emplace(me.store_port, rendezvous::reach_of(me), rendezvous::access_of(me),
                   rendezvous::StoreLimits::of(me.world_size));
  doctor::Consultation consultation;
  {
    rendezvous::StoreClient client(me, doctor_join_seconds);
    std::thread own([&] { be_member_of_launch(a, environment, me, want, language); });
    StoreMembers members(client, me, hosts);
    consultation = doctor::consult(members, deadlines_of(a), thoroughness_of(a), base::monotonic_seconds);
    own.join();
  }
  return print_findings(doctor::findings_of(consultation), static_cast<std::size_t>(hosts), began, a, language);
}

// Whether anything says what is trained, besides where it is saved and how ranks talk.
bool say_what_is_trained(const config::Settings& settings) {
  config::Settings others;
  others.train.out = settings.train.out;
  others.train.threads = settings.train.threads;
  others.checkpoint = settings.checkpoint;
  others.comm = settings.comm;
  others.log = settings.log;
  return config::to_yaml(others) != config::to_yaml(settings);
}

bool runs_on_processors(const config::Settings& settings) {
  const auto kind = config::word_or(settings.train.device, config::DeviceKind::numbered);
  if (kind == config::DeviceKind::automatic) return host::nvidia_devices().value_or(0) == 0;
  return kind == config::DeviceKind::cpu;
}

// The memory of the host whose ranks need most.
std::int64_t memory_on_a_host(const config::Resolved& resolved, std::int64_t vocab, const RunHosts& on) {
  plan::DataFacts data;
  data.vocab = vocab;
  data.samples = std::numeric_limits<std::int32_t>::max();  // not known; memory does not depend on it
  const plan::Plan plan = plan::make_plan(resolved, data);
  std::int64_t most = 0;
  for (int host = 0; host < on.hosts; ++host) {
    std::int64_t sum = 0;
    for (int rank = host * on.ranks_per_host; rank < (host + 1) * on.ranks_per_host; ++rank)
      sum += plan.memory[static_cast<std::size_t>(mesh::grid_rank_of(plan.shape, rank))].total();
    most = std::max(most, sum);
  }
  return most;
}

// fp32 parameters and the optimizer's state, the checkpoints that are kept, one that is being written, and the best one.
std::int64_t disk_on_a_host(const config::Settings& settings, const config::ModelSettings& model, int hosts) {
  constexpr double margin = 1.1;
  const auto bytes_per_parameter = static_cast<double>(shape::shape_of(settings.optimizer.name).saved_bytes());
  const bool evaluates = !settings.data.valid.empty() || settings.data.valid_share > 0;
  const std::int64_t checkpoints = settings.checkpoint.keep + 1 + (settings.checkpoint.keep_best && evaluates ? 1 : 0);
  const auto copies = static_cast<double>(std::max<std::int64_t>(1, settings.checkpoint.copies));
  return static_cast<std::int64_t>(bytes_per_parameter * margin * static_cast<double>(shape::parameter_count(model)) *
                                   copies * static_cast<double>(checkpoints) / hosts);
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

config::FlagTable doctor_flags(DoctorArguments& a) {
  config::FlagTable table("troika doctor");
  table.usage("[CONFIG] [settings of train] [--quick] [--json]");
  table.usage("--hosts A,B,C|FILE ...   every one of these hosts, by ssh");
  table
      .add("hosts", a.hosts,
           "Hosts to check over ssh: [user@]host[:port] separated by commas, or a file with one per line.")
      .shown("A,B,C|FILE")
      .unset("this host, or the launch's hosts");
  table.add("quick", a.quick, "Only quick checks: measure nothing.").alone();
  table.add("json", a.json, "Print one JSON array, one object per line: host, check, status, measured, wanted, advice.")
      .alone();
  table.add("wait", a.wait_seconds, "How long to wait for a host's first reply before reporting and skipping it.")
      .unit("seconds")
      .range(0.1, 600);
  table.add("nproc", a.nproc, "Ranks that a run will have on each host.").familiar({"nproc-per-node"}).range(1, 4096);
  table.add("master-port", a.master_port, "The port at which ranks will meet on the first host.")
      .range(1, 65535)
      .unset("29500 for several hosts, none for one");
  table.add("program", a.program, "The path of troika on the other hosts.").shown("FILE").unset("same as here");
  table.add("member", a.member, "Internal: used by a doctor to start one on another host.")
      .any_word()
      .shown("JSON")
      .unset("none");
  table.settings({"train.out", "train.threads", "comm.interface", "checkpoint.keep", "model.preset",
                  "batch.micro_batch_size", "parallel.zero"});
  table.paragraph(
      "Checks what makes a run fail or slow: clocks, ports, MTU, links, limits, memory, processors, disks, names, and\ndifferences between hosts. With CONFIG or settings it compares with what that run needs. It needs no root, changes\nnothing and finishes within a minute; an unresponsive host delays nothing.");
  table.paragraph("Under a launcher: troika launch --nnodes 3 ... -- doctor on every host, or srun, mpirun, torchrun.");
  table.paragraph(
      "Exit codes: 0 no problem, 2 something would stop the run, 75 a host did not answer. docs/guides/doctor.md");
  return table;
}

DoctorArguments parse_doctor(const std::vector<std::string>& words, const config::Environment& environment) {
  DoctorArguments a;
  a.parsed = config::parse_settings(words, environment, doctor_flags(a));
  return a;
}

doctor::Want want_of(const config::Settings& settings, const RunHosts& on, int port) {
  doctor::Want want;
  want.hosts = on.hosts > 1 ? doctor::Want::Hosts::several : doctor::Want::Hosts::one;
  want.folder = settings.train.out;
  want.interface = settings.comm.interface;
  want.port = port;
  want.ranks = on.ranks_per_host;
  want.threads = static_cast<int>(settings.train.threads);
  if (!say_what_is_trained(settings)) return want;
  const auto vocab = tokenizer::vocabulary_here(settings);
  if (!vocab) return want;
  config::ModelSettings model = settings.model;
  model.vocab = *vocab;
  want.disk_bytes = disk_on_a_host(settings, model, on.hosts);
  const bool open = settings.parallel.layout == config::LayoutChoice::automatic ||
                    settings.parallel.stage_balance == config::StageBalance::measured;
  if (!open && runs_on_processors(settings))
    want.memory_bytes = memory_on_a_host(config::resolve(settings, on.hosts * on.ranks_per_host), *vocab, on);
  return want;
}

}  // namespace troika::commands
