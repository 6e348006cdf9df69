// Ranks that do not find each other: ports, names, addresses, who came.

#include "base/say.h"
#include "diagnosis/rules.h"

namespace troika::diagnosis {
namespace {

std::optional<Finding> port_in_use(const Facts& f) {
  const Told* told = told_or_logged(f, {base::Cause::port_in_use});
  if (told == nullptr) return std::nullopt;
  return Finding{
      "port_in_use", {quoted(*told)}, {free_port(f), {say("stop the program that holds the port"), say("it may be left over from an earlier run; the message names it")}}};
}

std::optional<Finding> wrong_secret(const Facts& f) {
  const Told* told = first_with(f.told, {base::Cause::wrong_secret});
  if (told == nullptr) return std::nullopt;
  return Finding{
      "wrong_secret", {quoted(*told)}, {launch(LaunchFlag::secret_file, "FILE", say("the same file on every host")), free_port(f)}};
}

std::optional<Finding> duplicate_rank(const Facts& f) {
  const Told* told = first_with(f.told, {base::Cause::duplicate_rank});
  if (told == nullptr) return std::nullopt;
  return Finding{"duplicate_rank",
                 {quoted(*told)},
                 {{say("give each host its own --node-rank"), say("hosts are numbered from 0")},
                  free_port(f),
                  {say("run `troika launch` in each pod"), say("PyTorchJob's RANK is the number of the pod and not of a process")}}};
}

std::optional<Finding> ranks_differ(const Facts& f) {
  const Told* told =
      first_with(f.told, {base::Cause::flags_differ, base::Cause::builds_differ, base::Cause::data_differ});
  if (told == nullptr) return std::nullopt;
  Finding found{"ranks_differ", {quoted(*told)}, {}};
  if (told->what.cause == base::Cause::builds_differ)
    found.advice.push_back({say("install the same package on every host"), say("the program on this host was built for another processor, or is another version")});
  if (told->what.cause == base::Cause::data_differ)
    found.advice.push_back({say("give every host the same data"), say("their contents are compared before the first step")});
  found.advice.push_back({say("start every host with the same command, except for --node-rank"), say("the message names the first difference")});
  found.advice.push_back(run_doctor());
  return found;
}

std::optional<Finding> folder_in_use(const Facts& f) {
  const Told* told = first_with(f.told, {base::Cause::folder_in_use});
  if (told == nullptr) return std::nullopt;
  return Finding{"folder_in_use",
                 {quoted(*told)},
                 {set("train.out", f.folder + "-2", say("each run needs its own folder")),
                  {say("stop the other run, or let it finish"), say("two runs cannot write to one folder")}}};
}

std::optional<Finding> name_unknown(const Facts& f) {
  const Told* told = told_or_logged(f, {base::Cause::name_unknown});
  if (told == nullptr) return std::nullopt;
  const double patience = settings_or_usual(f).comm.join_seconds;
  return Finding{
      "name_unknown",
      {quoted(*told)},
      {master_address_as_number(), launch(LaunchFlag::join_timeout, number(patience * 5), say("in Kubernetes, DNS names appear after the pods")),
       command("sidecar.istio.io/inject: \"false\"", say("an Istio sidecar keeps pods from reaching each other"))}};
}

// 127.0.1.1 is what Debian's /etc/hosts gives a host for its own name; the others of a run cannot reach it.
std::optional<Finding> wrong_address(const Facts& f) {
  const Told* told = told_or_logged(f, {base::Cause::wrong_address});
  if (told == nullptr) return std::nullopt;
  return Finding{"wrong_address",
                 {quoted(*told)},
                 {master_address_as_number(),
                  {say("in /etc/hosts, give the host's name its address on the network"), say("Debian maps it to 127.0.1.1, which other hosts cannot reach")},
                  {say("--comm.interface with the interface that reaches the other hosts"), say("with several networks the wrong one may be taken; `ip route get ADDRESS` names the right one")}}};
}

std::optional<Finding> firewall(const Facts& f) {
  const Told* told = told_or_logged(f, {base::Cause::firewall, base::Cause::group_not_connected});
  if (told == nullptr) return std::nullopt;
  const bool of_a_group = told->what.cause == base::Cause::group_not_connected;
  Finding found{"firewall", {quoted(*told)}, {open_ports(f)}};
  if (of_a_group) found.advice.push_back({say("--comm.interface with the interface that reaches the other hosts"), say("with several networks the wrong one may be taken; `ip route get ADDRESS` names the right one")});
  found.advice.push_back(command("firewall-cmd --zone=trusted --add-source=NETWORK", say("firewalld then lets the hosts of that network through")));
  if (!of_a_group) found.advice.push_back(run_doctor());
  return found;
}

std::optional<Finding> ranks_missing(const Facts& f) {
  const Told* told =
      first_with(f.told, {base::Cause::rank_missing, base::Cause::host_missing, base::Cause::no_answer,
                          base::Cause::nothing_at_address});
  if (told == nullptr) return std::nullopt;
  const Advice start_them{say("start the missing ones with the same --master-addr and --master-port"), say("or check their own output: they may have failed before joining")},
      other_address{say("another --master-addr: an address of host 0 on a network that all hosts share"), say("`ip -br addr` on host 0 lists them; --comm.interface tells the ranks that network's interface")};
  Finding found{"ranks_missing", {quoted(*told)}, {}};
  if (told->what.cause == base::Cause::no_answer) {  // more time would end like this
    found.evidence.push_back(say("the address sent no response, not even a refusal: a firewall drops packets to the port, or no host has the address"));
    found.advice = {open_ports(f), other_address, run_doctor()};
    return found;
  }
  if (told->what.cause == base::Cause::nothing_at_address) {
    found.evidence.push_back(say("no host has that address, or that host is off"));
    found.advice = {start_them, other_address, run_doctor()};
    return found;
  }
  const double patience = settings_or_usual(f).comm.join_seconds;
  const Advice wait_longer = launch(LaunchFlag::join_timeout, number(patience * 2), say("the launch waits longer for hosts that start late"));
  found.advice = told->what.cause == base::Cause::host_missing ? AdviceList{start_them, open_ports(f), wait_longer}
                              : AdviceList{start_them, wait_longer, run_doctor()};
  return found;
}

}  // namespace

Rules rules_of_meeting() {
  return {wrong_secret, port_in_use,   duplicate_rank, ranks_differ, folder_in_use,
          name_unknown, wrong_address, firewall,       ranks_missing};
}

}  // namespace troika::diagnosis
