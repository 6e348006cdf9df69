#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>

#include "base/text.h"
#include "base/units.h"
#include "doctor/check.h"
#include "doctor/tree.h"
#include "host/nvidia.h"
#include "records/health.h"

namespace troika::doctor {
namespace {

// The clock that the maker names for all cores at work, in hertz; above it they may go, as heat allows. 0: not known.
double nominal_hertz(const HostView& view) {
  const std::string cpu = view.sys + "/devices/system/cpu/cpu0/";
  if (const auto kilohertz = number_in(cpu + "cpufreq/base_frequency")) return 1e3 * static_cast<double>(*kilohertz);
  if (const auto megahertz = number_in(cpu + "acpi_cppc/nominal_freq")) return 1e6 * static_cast<double>(*megahertz);
  return 0;
}

// That governor keeps the least clock, unless the driver of newer processors decides by itself.
bool holds_clock_down(const HostView& view, const std::string& governor) {
  if (governor != "powersave") return false;
  const std::string driver = word_in(view.sys + "/devices/system/cpu/cpu0/cpufreq/scaling_driver");
  return driver.rfind("intel_pstate", 0) != 0 && driver.rfind("amd-pstate", 0) != 0 &&
         driver.rfind("amd_pstate", 0) != 0;
}

std::string governors(const HostView& view) {
  std::set<std::string> words;
  for (const std::string& cpu : entries_named(view.sys + "/devices/system/cpu", "cpu"))
    if (const std::string word = word_in(cpu + "/cpufreq/scaling_governor"); !word.empty()) words.insert(word);
  return base::join({words.begin(), words.end()}, ", ");
}

bool is_raspberry_pi(const HostView& view) {
  return word_in(view.proc + "/device-tree/model").find("Raspberry Pi") != std::string::npos;
}

// Bits of get_throttled, from /sys or what vcgencmd said ("throttled=0x50000").
std::optional<unsigned long> throttled_bits(const HostView& view) {
  std::string text = word_in(view.sys + "/devices/platform/soc/soc:firmware/get_throttled");
  if (text.empty()) {
    const auto equals = view.vcgencmd.find('=');
    text = equals == std::string::npos ? "" : base::trim(view.vcgencmd.substr(equals + 1));
  }
  if (text.rfind("0x", 0) == 0) text = text.substr(2);
  if (text.empty() || text.size() > 8) return std::nullopt;
  if (!std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isxdigit(c) != 0; }))
    return std::nullopt;
  return std::stoul(text, nullptr, 16);
}

constexpr int least_driver = 525;
constexpr std::int64_t little_gpu_memory = std::int64_t{2} << 30;

bool has_driver(const HostView& view) {
  return host::nvidia_driver(view.proc, view.dev) == host::NvidiaDriver::loaded;
}

std::optional<std::string> visible_devices(const HostView& view) {
  const auto found = view.environment.find("CUDA_VISIBLE_DEVICES");
  return found == view.environment.end() ? std::nullopt : std::optional<std::string>(found->second);
}

// Findings in place of a check whose subject a host lacks without a driver, or that nobody measured; none: look.
std::vector<Finding> nothing_to_look_at(const HostView& view, const base::Text& wanted) {
  if (!has_driver(view)) return {well(base::say("no NVIDIA driver"), wanted)};
  if (!view.measured || !view.measured->gpus) return {unchecked(base::say("not measured"))};
  return {};
}

Finding library_found(const std::string& name, const Gpus::Library& library, Status status, base::Phrase advice) {
  const base::Text wanted = base::say("CUDA 12.0, cuBLASLt 12.4 and NCCL 2.28 or later, on hosts with NVIDIA GPUs");
  if (library.trouble.empty()) return well(base::verbatim(fmt::format("{} {} ({})", name, library.version, library.file)), wanted);
  return found(status, base::say("{} cannot be used: {}", name, library.trouble), wanted, base::say(advice));
}

}  // namespace

std::vector<Finding> check_governor(const HostView& view) {
  const std::string names = governors(view);
  if (names.empty()) return {unchecked(base::say("{} is missing or not readable", "scaling_governor"))};
  const base::Text wanted = base::say("at least {:.0f} % of the clock while all cores work", 100 * records::least_clock_share);
  if (holds_clock_down(view, names)) return {found(Status::warn, base::verbatim(names), wanted, base::say("The cores run below their clock: set the governor to performance, or check cooling and power limits."))};
  if (!view.measured) return {well(base::verbatim(names), wanted)};
  const double clock = view.measured->loaded.clock_hertz, limit = view.measured->loaded.clock_limit_hertz;
  if (clock <= 0 || limit <= 0) return {unchecked(base::say("{} is missing or not readable", "scaling_cur_freq"))};
  const base::Text measured =
      base::say("{} % of the clock ({} GHz), governor {}", fmt::format("{:.0f}", 100 * clock / limit), fmt::format("{:.2f}", clock / 1e9), names);
  const double nominal = nominal_hertz(view);
  const bool as_named = nominal > 0 && clock >= 0.98 * nominal;
  if (clock >= records::least_clock_share * limit || as_named) return {well(measured, wanted)};
  return {found(Status::warn, measured, wanted, base::say("The cores run below their clock: set the governor to performance, or check cooling and power limits."))};
}

std::vector<Finding> check_throttling(const HostView& view) {
  const host::Vitals now = view.measured ? view.measured->after : host::read_vitals("", view.proc, view.sys);
  const base::Text wanted = base::say("not throttled, below {:.0f} degrees Celsius", records::hot_celsius);
  if (view.measured && view.measured->before.throttles >= 0 && now.throttles > view.measured->before.throttles)
    return {found(Status::warn,
                  base::say("throttled {} within seconds",
                       base::counted_text(static_cast<std::int64_t>(now.throttles - view.measured->before.throttles), "time")),
                  wanted, base::say("The host is too hot: check its cooling, or use fewer train.threads."))};
  const double heat = view.measured ? std::max(view.measured->loaded.temperature_celsius, now.temperature_celsius)
                                    : now.temperature_celsius;
  const base::Text celsius = base::say("{} degrees Celsius", fmt::format("{:.0f}", heat));
  if (heat >= records::hot_celsius) return {found(Status::warn, celsius, wanted, base::say("The host is too hot: check its cooling, or use fewer train.threads."))};
  if (heat > 0) return {well(celsius, wanted)};
  if (now.throttles < 0) return {unchecked(base::say("the host reports neither temperature nor throttling"))};
  return {well(base::say("not throttled"), wanted)};
}

std::vector<Finding> check_pi_voltage(const HostView& view) {
  for (const std::string& chip : entries_named(view.sys + "/class/hwmon", "hwmon")) {
    if (word_in(chip + "/name") != "rpi_volt") continue;
    const auto alarm = number_in(chip + "/in0_lcrit_alarm");
    if (!alarm) return {unchecked(base::say("{} is missing or not readable", "in0_lcrit_alarm"))};
    if (*alarm == 0) return {well(base::say("no alarm"), base::say("no under-voltage, if this is a Raspberry Pi"))};
    return {found(Status::warn, base::say("under-voltage (below 4.63 V)"), base::say("no under-voltage, if this is a Raspberry Pi"), base::say("The power supply is too weak: use the official one and a short cable."))};
  }
  if (is_raspberry_pi(view)) return {unchecked(base::say("{} is missing or not readable", "rpi_volt"))};
  return {well(base::say("not a Raspberry Pi"), base::say("no under-voltage, if this is a Raspberry Pi"))};
}

std::vector<Finding> check_pi_throttled(const HostView& view) {
  const auto bits = throttled_bits(view);
  const base::Text wanted = base::say("throttled=0x0, if this is a Raspberry Pi");
  if (!bits) {
    if (is_raspberry_pi(view)) return {unchecked(base::say("neither /sys nor vcgencmd reports it (group video)"))};
    return {well(base::say("not a Raspberry Pi"), wanted)};
  }
  constexpr unsigned long voltage_now = 1, capped_or_hot_now = 0xE, since_boot = 0xF0000;
  const base::Text measured = base::verbatim(fmt::format("throttled=0x{:x}", *bits));
  if ((*bits & voltage_now) != 0) return {found(Status::warn, measured, wanted, base::say("The power supply is too weak: use the official one and a short cable."))};
  if ((*bits & capped_or_hot_now) != 0) return {found(Status::warn, measured, wanted, base::say("The Pi is capped or throttled, usually by heat: give it a heat sink and a fan."))};
  if ((*bits & since_boot) != 0)
    return {found(Status::warn, measured, wanted,
                  (*bits & 0x10000) != 0 ? base::say("Under-voltage has occurred since boot: use the official power supply and a short cable.") : base::say("It has been throttled since boot: give it a heat sink and a fan."))};
  return {well(measured, wanted)};
}

std::vector<Finding> check_gpu_driver(const HostView& view) {
  const base::Text wanted = base::say("{} or later, on hosts with NVIDIA GPUs", least_driver);
  if (!has_driver(view)) return {well(base::say("no NVIDIA driver"), wanted)};
  const std::optional<int> version = host::nvidia_driver_version(view.proc);
  if (!version) return {well(base::say("a driver that does not report its version"), wanted)};
  const base::Text measured = base::say("driver {}", *version);
  if (*version >= least_driver) return {well(measured, wanted)};
  return {found(Status::warn, measured, wanted, base::say("Install NVIDIA driver {} or later: runs on a GPU need it.", least_driver))};
}

std::vector<Finding> check_gpu_cards(const HostView& view) {
  const base::Text wanted = base::say("compute capability 8.0 or later and {} free, on hosts with NVIDIA GPUs", base::format_bytes(little_gpu_memory));
  if (std::vector<Finding> none = nothing_to_look_at(view, wanted); !none.empty()) return none;
  const Gpus& gpus = *view.measured->gpus;
  if (gpus.cards.empty())
    return {found(Status::warn, base::say("no GPU can be used: {}", gpus.trouble), wanted, base::say("Until this is fixed, runs compute on the CPU."))};
  std::vector<Finding> findings;
  for (std::size_t i = 0; i < gpus.cards.size(); ++i) {
    const Gpus::Card& card = gpus.cards[i];
    if (!card.trouble.empty()) {
      findings.push_back(found(Status::warn, card.trouble, wanted, base::say("Leave cuda:{} out with CUDA_VISIBLE_DEVICES: no rank can use it.", i)));
      continue;
    }
    const base::Text measured = base::say("cuda:{}: {}, compute capability {}.{}, {} free", i, card.name, card.major, card.minor, base::format_bytes(card.free_bytes));
    findings.push_back(card.free_bytes >= little_gpu_memory
                           ? well(measured, wanted)
                           : found(Status::warn, measured, wanted, base::say("Other programs use the memory of cuda:{}: nvidia-smi lists them.", i)));
  }
  return findings;
}

// By what Linux shows: a card that has come loose, or sits in a narrow slot, is as slow to reach as it has few lanes.
std::vector<Finding> check_gpu_links(const HostView& view) {
  const base::Text wanted = base::say("all PCIe lanes of each NVIDIA GPU in use");
  if (!has_driver(view)) return {well(base::say("no NVIDIA driver"), wanted)};
  std::vector<Finding> findings;
  for (const host::NvidiaNeighbours& card : host::nvidia_neighbours(visible_devices(view), view.proc, view.sys)) {
    const std::string folder = view.sys + "/bus/pci/devices/" + card.address;
    const auto lanes = number_in(folder + "/current_link_width"), most = number_in(folder + "/max_link_width");
    const base::Text place = host::describe(card);
    if (!lanes || !most) {
      findings.push_back(well(place, wanted));
      continue;
    }
    const base::Text measured = base::say("{}, {} of {} PCIe lanes", place, *lanes, *most);
    findings.push_back(*lanes >= *most ? well(measured, wanted)
                                       : found(Status::warn, measured, wanted,
                                               base::say("GPU {} runs with {} of its {} PCIe lanes: check how the card is seated, and its slot.", card.address, *lanes, *most)));
  }
  if (findings.empty()) return {unchecked(base::say("{} is missing or not readable", "/proc/driver/nvidia/gpus"))};
  return findings;
}

// Without cuDNN attention is computed all the same, but slower. Without NCCL messages between GPUs go over TCP, which one GPU has no need of.
std::vector<Finding> check_gpu_libraries(const HostView& view) {
  if (std::vector<Finding> none = nothing_to_look_at(view, base::say("CUDA 12.0, cuBLASLt 12.4 and NCCL 2.28 or later, on hosts with NVIDIA GPUs")); !none.empty()) return none;
  const Gpus& gpus = *view.measured->gpus;
  const bool several = gpus.cards.size() > 1 || view.want.hosts == Want::Hosts::several;
  return {library_found("CUDA", gpus.driver, Status::warn, base::Phrase("Make the NVIDIA driver's libcuda.so.1 usable here: in a container, with --gpus all and the NVIDIA Container Toolkit.")),
          library_found("cuBLASLt", gpus.blas, Status::warn, base::Phrase("Install cuBLASLt 12.4 or later into the active Python environment: pip install nvidia-cublas.")),
          library_found("cuDNN", gpus.cudnn, Status::warn, base::Phrase("Install cuDNN 9.10.2 or later into the active Python environment: pip install nvidia-cudnn-cu13 (or nvidia-cudnn-cu12); without it, attention uses chunked matrix products.")),
          library_found("NCCL", gpus.nccl, several ? Status::warn : Status::note, base::Phrase("Install NCCL 2.28 or later into the active Python environment: pip install nvidia-nccl-cu13; without it messages between GPUs go over TCP."))};
}

}  // namespace troika::doctor
