#include "doctor/check.h"

#include <algorithm>

namespace troika::doctor {

const std::vector<Check>& checks() {
  static const std::vector<Check> rows = {
      {"clock", check_clock},
      {"ports", check_port},
      {"port_range", check_port_range},
      {"mtu", check_mtu},
      {"nic_choice", check_nic_choice},
      {"subnets", check_subnets},
      {"speed", check_speed},
      {"infiniband", check_infiniband},
      {"limits", check_limits},
      {"cgroup_memory", check_cgroup_memory},
      {"free_memory", check_free_memory},
      {"cgroup_cpu", check_cgroup_cpu},
      {"threads", check_threads},
      {"swap", check_swap},
      {"memory_policy", check_memory_policy},
      {"governor", check_governor},
      {"throttling", check_throttling},
      {"pi_voltage", check_pi_voltage},
      {"pi_throttled", check_pi_throttled},
      {"gpu_driver", check_gpu_driver},
      {"gpu_cards", check_gpu_cards},
      {"gpu_links", check_gpu_links},
      {"gpu_libraries", check_gpu_libraries},
      {"fsync", check_fsync},
      {"file_system", check_file_system},
      {"free_space", check_free_space},
      {"names", check_names},
      {"environment", check_environment},
      {"memory_bandwidth", check_memory_bandwidth},
  };
  return rows;
}

std::vector<Finding> look_at(const HostView& view) {
  std::vector<Finding> findings;
  for (const Check& check : checks())
    for (Finding& finding : check.look(view)) {
      finding.host = view.name;
      finding.check = check.name;
      findings.push_back(std::move(finding));
    }
  return findings;
}

std::vector<Finding> quick_findings(const HostView& view) {
  HostView quick = view;
  quick.measured.reset();
  quick.resolve = nullptr;
  std::vector<Finding> findings = look_at(quick);
  findings.erase(std::remove_if(findings.begin(), findings.end(), [](const Finding& one) { return !is_alarm(one); }),
                 findings.end());
  return findings;
}

Finding found(Status status, base::Text measured, base::Text wanted, base::Text advice) {
  return {"", "", status, std::move(measured), std::move(wanted), std::move(advice)};
}

Finding well(base::Text measured, base::Text wanted) { return found(Status::ok, std::move(measured), std::move(wanted)); }

Finding unchecked(base::Text why) { return found(Status::not_checked, std::move(why), {}); }

}  // namespace troika::doctor
