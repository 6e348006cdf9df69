#include "commands/entry_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <sstream>

#include "base/file.h"
#include "base/host_name.h"
#include "base/say.h"
#include "comm/collectives.h"
#include "host/cores.h"
#include "machine/cluster.h"
#include "planner/machines.h"
#include "probe/links.h"
#include "probe/measure_host.h"
#include "probe/team.h"

namespace troika::commands {
namespace {

// The folder of --out, where it is here: that of rank 0 must be, others have one of their own or none.
std::string disk_folder(const std::string& out) {
  const auto slash = out.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : out.substr(0, slash + 1);
  return base::directory_exists(folder) ? folder : ".";
}

void note_of_probe(const base::Text& text, base::Language language) {
  std::fputs((text.in(language) + "\n").c_str(), stderr);
}

probe::MeasuredHost measure_all_of_host(const ProbeArguments& a, const Call& call) {
  if (const double load = probe::load_average(); load > 0.5)
    note_of_probe(
        base::say("note: {} is running other work (load {:.1f}): measured without it, all cores together and its links would be faster",
                  base::host_name(), load),
        call.language);
  probe::MeasuredHost measured = probe::measure_host(a.seconds, disk_folder(a.out), call.environment);
  measured.host.inside = probe::measure_inside(call.environment);
  return measured;
}

void tell(const ProbeArguments& a, const machine::Cluster& cluster, const probe::MeasuredHost& here,
          base::Language language) {
  if (!a.csv.empty()) base::write_file_atomic(a.csv, to_csv(here));
  if (a.out.empty()) {
    std::fputs(machine::to_yaml(cluster).c_str(), stdout);
    return;
  }
  base::write_file_atomic(a.out, machine::to_yaml(cluster));
  std::fputs((probe::to_table(cluster, language) + base::say("predictions of single kernels on one core").in(language) +
              "\n" + probe::describe_fit(here, language) + base::say("written to {}", a.out).in(language) + "\n")
                 .c_str(),
             stdout);
}

// Where plans, sweeps and runs on this host find it; nowhere without a home.
void keep_own(const machine::Host& host, const Call& call) {
  const std::string path = planner::machine_file(call.environment);
  if (path.empty()) return;
  base::make_directories(path.substr(0, path.rfind('/')));
  base::write_file_atomic(path, machine::to_yaml({"", {host}, {}, {}}));
  note_of_probe(base::say("note: from now on {} plans with {}", base::host_name(), path), call.language);
}

// The number of each host by the rank that measures it, in the order of ranks.
std::vector<int> measuring_ranks(comm::Channel& world, const rendezvous::Identity& me) {
  const std::vector<std::string> said = comm::all_gather_text(world, me.local_rank == 0 ? "host" : "");
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < said.size(); ++rank)
    if (!said[rank].empty()) ranks.push_back(static_cast<int>(rank));
  return ranks;
}

// Each text is one host's, the others are empty.
std::vector<machine::Host> gather_hosts(comm::Channel& world, const std::optional<probe::MeasuredHost>& mine) {
  const std::string text = mine ? machine::to_yaml({"", {mine->host}, {}, {}}) : "";
  std::vector<machine::Host> hosts;
  for (const std::string& one : comm::all_gather_text(world, text))
    if (!one.empty()) hosts.push_back(machine::parse_cluster(one, "a rank's host").hosts.front());
  return hosts;
}

std::vector<probe::MeasuredPair> measure_network(comm::Channel& world, const std::vector<int>& ranks) {
  const auto mine = std::find(ranks.begin(), ranks.end(), world.rank());
  const int host = mine == ranks.end() ? -1 : static_cast<int>(mine - ranks.begin());
  std::string text;
  for (const auto& round : probe::tournament(static_cast<int>(ranks.size()))) {
    comm::barrier(world);
    for (const auto& [a, b] : round) {
      if (host != a && host != b) continue;
      const machine::Link link = probe::measure_pair(world, ranks[static_cast<std::size_t>(host == a ? b : a)]);
      if (host == a) text += fmt::format("{} {} {:.9g} {:.9g}\n", a, b, link.latency_seconds, link.bytes_per_second);
    }
  }
  std::vector<probe::MeasuredPair> pairs;
  for (const std::string& one : comm::all_gather_text(world, text)) {
    std::istringstream words(one);
    for (probe::MeasuredPair pair;
         words >> pair.from >> pair.to >> pair.link.latency_seconds >> pair.link.bytes_per_second;)
      pairs.push_back(pair);
  }
  return pairs;
}

void measure_cluster(train::Session& session, const rendezvous::Identity& me, const ProbeArguments& a,
                     const Call& call) {
  comm::Channel& world = *session.channels().world;
  std::optional<probe::MeasuredHost> mine;
  const std::vector<int> ranks = measuring_ranks(world, me);
  if (me.local_rank == 0) {
    const host::CoresOfLauncher all_cores;
    mine = measure_all_of_host(a, call);
    keep_own(mine->host, call);
  }
  const std::vector<machine::Host> hosts = gather_hosts(world, mine);
  const std::vector<probe::MeasuredPair> pairs = measure_network(world, ranks);
  if (me.world_rank == 0) tell(a, probe::assemble(hosts, pairs), *mine, call.language);
}

}  // namespace

config::FlagTable probe_flags(ProbeArguments& a) {
  config::FlagTable table("troika probe");
  table.usage("[--out FILE] [--csv FILE] [--seconds S] [--interface NAME]");
  table.add("out", a.out, "The machine file to write; a readable table is printed then.")
      .shown("FILE")
      .unset("the machine file is printed");
  table.add("csv", a.csv, "Also write the timings of host 0, kernel by kernel, with what the rates predict.")
      .shown("FILE")
      .unset("none");
  table.add("seconds", a.seconds, "How long to measure the kernels of a host.").unit("seconds").range(0, 600);
  table.add("interface", a.interface, "Network interface to measure.").unset("the interface that reaches the master");
  table.paragraph(
      "Each host stores its measurements in ~/.config/troika/machine.yaml, where plans, sweeps and runs find them.");
  table.paragraph("A cluster: troika launch --nnodes 3 ... -- probe --out pis.yaml, on every host.");
  table.paragraph("The host should be otherwise idle. docs/guides/measuring.md explains what is measured.");
  return table;
}

ProbeArguments parse_probe_arguments(const std::vector<std::string>& words) {
  ProbeArguments a;
  const config::FlagTable table = probe_flags(a);
  config::read_flags({&table}, words).finish();
  return a;
}

int run_probe(const Call& call) {
  probe::Membership membership;
  if (probe::read_membership(call.words, &membership)) return probe::run_member(membership, stdin, stdout);
  if (call.words == Words{probe::inside_link_word}) return probe::run_inside_link(call.environment);
  const ProbeArguments a = parse_probe_arguments(call.words);
  const rendezvous::Identity me = rendezvous::identify(call.environment);
  if (me.world_rank == 0)
    for (const std::string& path : {a.out, a.csv}) probe::folder_of_file(path.empty() ? "." : path);
  if (me.world_size > 1)
    return probe::in_ranks(me, a.interface, call.environment,
                           [&](train::Session& session) { measure_cluster(session, me, a, call); });
  const probe::MeasuredHost here = measure_all_of_host(a, call);
  keep_own(here.host, call);
  tell(a, probe::assemble({here.host}, {}), here, call.language);
  return 0;
}

}  // namespace troika::commands
