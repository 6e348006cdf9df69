#include <sys/utsname.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "doctor/host_report.h"
#include "doctor/tree.h"
#include "host/memory.h"

namespace troika::doctor {
namespace {

bool starts(const std::string& text, std::string_view beginning) {
  return text.compare(0, beginning.size(), beginning) == 0;
}

// Of the program's file.
std::string build_of(const std::string& program) {
  try {
    return base::file_exists(program) ? base::hash_file(program).substr(0, 8) : "";
  } catch (const base::DataError&) {  // not readable for this user
    return "";
  }
}

// The line of /proc/cpuinfo behind one of these names.
std::string line_of_processor(const std::string& cpuinfo, const std::vector<std::string>& names) {
  std::istringstream lines(cpuinfo);
  for (std::string line; std::getline(lines, line);) {
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string name = base::trim(line.substr(0, colon));
    if (std::find(names.begin(), names.end(), name) != names.end()) return base::trim(line.substr(colon + 1));
  }
  return "";
}

// The widest of what kernels choose by.
std::string instructions_of(const std::string& flags) {
  std::istringstream words(flags);
  const std::set<std::string> all{std::istream_iterator<std::string>(words), std::istream_iterator<std::string>()};
  std::vector<std::string> some;
  for (const char* one : {"avx2", "avx512f", "avx512_bf16", "amx_bf16", "asimd", "sve", "bf16"})
    if (all.count(one) != 0) some.emplace_back(one);
  return base::join(some, " ");
}

}  // namespace

std::map<std::string, std::string> watched_variables(const std::map<std::string, std::string>& environment) {
  static const std::set<std::string> names = {"GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME",     "OMP_NUM_THREADS",
                                              "MKL_NUM_THREADS",    "OPENBLAS_NUM_THREADS", "CUDA_VISIBLE_DEVICES"};
  static const std::set<std::string> proxies = {"http_proxy", "https_proxy", "all_proxy",
                                                "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"};
  const bool launched = environment.count("TROIKA_STORE") != 0;  // then the launcher has chosen the threads
  std::map<std::string, std::string> watched;
  for (const auto& [name, value] : environment) {
    if (value.empty() || (launched && name == "OMP_NUM_THREADS")) continue;
    if (starts(name, "NCCL_") || names.count(name) != 0) watched[name] = value;
    if (proxies.count(name) != 0) watched[name] = "***";
  }
  return watched;
}

HostFacts facts_of(const HostView& view, const std::string& program) {
  HostFacts facts;
  for (const Interface& one : view.interfaces)
    if (one.up && carries_runs(one)) facts.interfaces.push_back(one);
  facts.environment = watched_variables(view.environment);
  utsname system{};
  ::uname(&system);
  const std::string cpuinfo = host::content_or_empty(view.proc + "/cpuinfo");
  facts.versions = {{"build", build_of(program)},
                    {"kernel", system.release},
                    {"processor", line_of_processor(cpuinfo, {"model name", "Model"})},
                    {"instructions", instructions_of(line_of_processor(cpuinfo, {"flags", "Features"}))}};
  if (view.measured) facts.memory_bytes_per_second = view.measured->memory_bytes_per_second;
  facts.interface = view.want.interface;
  facts.folder = view.disk ? view.disk->folder : view.want.folder;
  return facts;
}

}  // namespace troika::doctor
