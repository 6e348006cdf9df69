// The checks of one host. Each looks at a HostView and nothing else, so that made-up hosts show what it finds.
#pragma once

#include <string_view>
#include <vector>

#include "doctor/finding.h"
#include "doctor/host_view.h"

namespace troika::doctor {

struct Check {
  std::string_view name;  // in every report; snake_case
  // Findings, whose host and check look_at() fills in; none where the host has no part in it.
  std::vector<Finding> (*look)(const HostView& view);
};

// In the order of the report.
const std::vector<Check>& checks();

// All checks of a host. What needs a measurement is not checked where view.measured is empty.
std::vector<Finding> look_at(const HostView& view);

// The findings that a launch looks for by itself: the alarms of a view without measurements. Well below a second.
std::vector<Finding> quick_findings(const HostView& view);

// For the checks' own use.
Finding found(Status status, base::Text measured, base::Text wanted, base::Text advice = {});
Finding well(base::Text measured, base::Text wanted);
Finding unchecked(base::Text why);

// network_and_name_checks.cc
std::vector<Finding> check_port(const HostView& view);
std::vector<Finding> check_port_range(const HostView& view);
std::vector<Finding> check_mtu(const HostView& view);
std::vector<Finding> check_nic_choice(const HostView& view);
std::vector<Finding> check_subnets(const HostView& view);
std::vector<Finding> check_speed(const HostView& view);
std::vector<Finding> check_infiniband(const HostView& view);
std::vector<Finding> check_clock(const HostView& view);
std::vector<Finding> check_names(const HostView& view);
std::vector<Finding> check_environment(const HostView& view);
// limit_checks.cc
std::vector<Finding> check_limits(const HostView& view);
std::vector<Finding> check_cgroup_memory(const HostView& view);
std::vector<Finding> check_cgroup_cpu(const HostView& view);
std::vector<Finding> check_threads(const HostView& view);
// memory_and_disk_checks.cc
std::vector<Finding> check_free_memory(const HostView& view);
std::vector<Finding> check_swap(const HostView& view);
std::vector<Finding> check_memory_policy(const HostView& view);
std::vector<Finding> check_memory_bandwidth(const HostView& view);
// processor_checks.cc
std::vector<Finding> check_governor(const HostView& view);
std::vector<Finding> check_throttling(const HostView& view);
std::vector<Finding> check_pi_voltage(const HostView& view);
std::vector<Finding> check_pi_throttled(const HostView& view);
std::vector<Finding> check_gpu_driver(const HostView& view);
std::vector<Finding> check_gpu_cards(const HostView& view);
std::vector<Finding> check_gpu_links(const HostView& view);
std::vector<Finding> check_gpu_libraries(const HostView& view);
std::vector<Finding> check_fsync(const HostView& view);
std::vector<Finding> check_file_system(const HostView& view);
std::vector<Finding> check_free_space(const HostView& view);

}  // namespace troika::doctor
