// Ranks that do not find each other: ports, names, addresses, who came.
#include <fmt/format.h>

#include "diagnosis/rules.h"
#include "diagnosis/texts.h"

namespace troika::diagnosis {
namespace {

std::optional<Finding> port_in_use(const Facts& f) {
  const Told* told = told_or_logged(f, {base::Cause::port_in_use});
  if (told == nullptr) return std::nullopt;
  return Finding{
      "port_in_use", {quoted(*told)}, {free_port(f), {say(texts.end_the_holder), say(texts.why_end_the_holder)}}};
}

std::optional<Finding> wrong_secret(const Facts& f) {
  const Told* told = first_with(f.told, {base::Cause::wrong_secret});
  if (told == nullptr) return std::nullopt;
  return Finding{
      "wrong_secret", {quoted(*told)}, {launch(LaunchFlag::secret_file, "FILE", say(texts.why_secret)), free_port(f)}};
}

std::optional<Finding> duplicate_rank(const Facts& f) {
  const Told* told = first_with(f.told, {base::Cause::duplicate_rank});
  if (told == nullptr) return std::nullopt;
  return Finding{"duplicate_rank",
                 {quoted(*told)},
                 {{say(texts.own_node_rank), say(texts.why_own_node_rank)},
                  free_port(f),
                  {say(texts.launch_in_pod), say(texts.why_launch_in_pod)}}};
}

std::optional<Finding> ranks_differ(const Facts& f) {
  const Told* told =
      first_with(f.told, {base::Cause::flags_differ, base::Cause::builds_differ, base::Cause::data_differ});
  if (told == nullptr) return std::nullopt;
  Finding found{"ranks_differ", {quoted(*told)}, {}};
  if (told->what.cause == base::Cause::builds_differ)
    found.advice.push_back({say(texts.same_package), say(texts.why_same_package)});
  if (told->what.cause == base::Cause::data_differ)
    found.advice.push_back({say(texts.same_data), say(texts.why_same_data)});
  found.advice.push_back({say(texts.same_flags), say(texts.why_same_flags)});
  found.advice.push_back(run_doctor());
  return found;
}

std::optional<Finding> folder_in_use(const Facts& f) {
  const Told* told = first_with(f.told, {base::Cause::folder_in_use});
  if (told == nullptr) return std::nullopt;
  return Finding{"folder_in_use",
                 {quoted(*told)},
                 {set("train.out", f.folder + "-2", say(texts.own_folder)),
                  {say(texts.end_the_other_run), say(texts.why_end_the_other_run)}}};
}

std::optional<Finding> name_unknown(const Facts& f) {
  const Told* told = told_or_logged(f, {base::Cause::name_unknown});
  if (told == nullptr) return std::nullopt;
  const double patience = settings_or_usual(f).comm.join_seconds;
  return Finding{
      "name_unknown",
      {quoted(*told)},
      {master_address_as_number(), launch(LaunchFlag::join_timeout, number(patience * 5), say(texts.names_come_late)),
       command("sidecar.istio.io/inject: \"false\"", say(texts.why_no_sidecar))}};
}

// 127.0.1.1 is what Debian's /etc/hosts gives a host for its own name; the others of a run cannot reach it.
std::optional<Finding> wrong_address(const Facts& f) {
  const Told* told = told_or_logged(f, {base::Cause::wrong_address});
  if (told == nullptr) return std::nullopt;
  return Finding{"wrong_address",
                 {quoted(*told)},
                 {master_address_as_number(),
                  {say(texts.fix_hosts_file), say(texts.why_fix_hosts_file)},
                  {say(texts.name_interface), say(texts.why_name_interface)}}};
}

std::optional<Finding> firewall(const Facts& f) {
  const Told* told = told_or_logged(f, {base::Cause::firewall, base::Cause::group_not_connected});
  if (told == nullptr) return std::nullopt;
  const bool of_a_group = told->what.cause == base::Cause::group_not_connected;
  Finding found{"firewall", {quoted(*told)}, {open_ports(f)}};
  if (of_a_group) found.advice.push_back({say(texts.name_interface), say(texts.why_name_interface)});
  found.advice.push_back(command("firewall-cmd --zone=trusted --add-source=NETWORK", say(texts.why_trusted_zone)));
  if (!of_a_group) found.advice.push_back(run_doctor());
  return found;
}

std::optional<Finding> ranks_missing(const Facts& f) {
  const Told* told =
      first_with(f.told, {base::Cause::rank_missing, base::Cause::host_missing, base::Cause::no_answer,
                          base::Cause::nothing_at_address});
  if (told == nullptr) return std::nullopt;
  const Advice start_them{say(texts.start_the_missing), say(texts.why_start_the_missing)},
      other_address{say(texts.other_master_address), say(texts.why_other_master_address)};
  Finding found{"ranks_missing", {quoted(*told)}, {}};
  if (told->what.cause == base::Cause::no_answer) {  // more time would end like this
    found.evidence.push_back(say(texts.no_answer_at_all));
    found.advice = {open_ports(f), other_address, run_doctor()};
    return found;
  }
  if (told->what.cause == base::Cause::nothing_at_address) {
    found.evidence.push_back(say(texts.no_host_there));
    found.advice = {start_them, other_address, run_doctor()};
    return found;
  }
  const double patience = settings_or_usual(f).comm.join_seconds;
  const Advice wait_longer = launch(LaunchFlag::join_timeout, number(patience * 2), say(texts.hosts_come_late));
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
