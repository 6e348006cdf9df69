#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>

#include "base/text.h"
#include "doctor/check.h"
#include "doctor/tree.h"

namespace troika::doctor {
namespace {

constexpr double enough_clock = 0.8;  // of the limit, while all cores work
constexpr double hot_celsius = 80;

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

}  // namespace

std::vector<Finding> check_governor(const HostView& view) {
  const std::string names = governors(view);
  if (names.empty()) return {unchecked(tell(Text::no_file, "scaling_governor"))};
  const Told wanted = tell(Text::clock_share_wanted, 100 * enough_clock);
  if (holds_clock_down(view, names)) return {found(Status::warn, plain(names), wanted, tell(Text::governor_advice))};
  if (!view.measured) return {well(plain(names), wanted)};
  const double clock = view.measured->loaded.clock_hertz, limit = view.measured->loaded.clock_limit_hertz;
  if (clock <= 0 || limit <= 0) return {unchecked(tell(Text::no_file, "scaling_cur_freq"))};
  const Told measured =
      tell(Text::clock_share, fmt::format("{:.0f}", 100 * clock / limit), fmt::format("{:.2f}", clock / 1e9), names);
  const double nominal = nominal_hertz(view);
  const bool as_named = nominal > 0 && clock >= 0.98 * nominal;
  if (clock >= enough_clock * limit || as_named) return {well(measured, wanted)};
  return {found(Status::warn, measured, wanted, tell(Text::governor_advice))};
}

std::vector<Finding> check_throttling(const HostView& view) {
  const host::Vitals now = view.measured ? view.measured->after : host::read_vitals_in(view.proc, view.sys, "");
  const Told wanted = tell(Text::throttling_wanted, hot_celsius);
  if (view.measured && view.measured->before.throttles >= 0 && now.throttles > view.measured->before.throttles)
    return {found(Status::warn,
                  tell(Text::throttled,
                       counted(static_cast<std::int64_t>(now.throttles - view.measured->before.throttles), "time")),
                  wanted, tell(Text::throttling_advice))};
  const double heat = view.measured ? std::max(view.measured->loaded.temperature_celsius, now.temperature_celsius)
                                    : now.temperature_celsius;
  const Told celsius = tell(Text::temperature, fmt::format("{:.0f}", heat));
  if (heat >= hot_celsius) return {found(Status::warn, celsius, wanted, tell(Text::throttling_advice))};
  if (heat > 0) return {well(celsius, wanted)};
  if (now.throttles < 0) return {unchecked(tell(Text::no_heat))};
  return {well(tell(Text::not_throttled), wanted)};
}

std::vector<Finding> check_pi_voltage(const HostView& view) {
  for (const std::string& chip : entries_named(view.sys + "/class/hwmon", "hwmon")) {
    if (word_in(chip + "/name") != "rpi_volt") continue;
    const auto alarm = number_in(chip + "/in0_lcrit_alarm");
    if (!alarm) return {unchecked(tell(Text::no_file, "in0_lcrit_alarm"))};
    if (*alarm == 0) return {well(tell(Text::voltage_well), tell(Text::voltage_wanted))};
    return {found(Status::warn, tell(Text::voltage_low), tell(Text::voltage_wanted), tell(Text::voltage_advice))};
  }
  if (is_raspberry_pi(view)) return {unchecked(tell(Text::no_file, "rpi_volt"))};
  return {well(tell(Text::no_raspberry), tell(Text::voltage_wanted))};
}

std::vector<Finding> check_pi_throttled(const HostView& view) {
  const auto bits = throttled_bits(view);
  const Told wanted = tell(Text::pi_wanted);
  if (!bits) {
    if (is_raspberry_pi(view)) return {unchecked(tell(Text::no_vcgencmd))};
    return {well(tell(Text::no_raspberry), wanted)};
  }
  constexpr unsigned long voltage_now = 1, capped_or_hot_now = 0xE, since_boot = 0xF0000;
  const Told measured = plain(fmt::format("throttled=0x{:x}", *bits));
  if ((*bits & voltage_now) != 0) return {found(Status::warn, measured, wanted, tell(Text::voltage_advice))};
  if ((*bits & capped_or_hot_now) != 0) return {found(Status::warn, measured, wanted, tell(Text::pi_hot_advice))};
  if ((*bits & since_boot) != 0)
    return {found(Status::warn, measured, wanted,
                  (*bits & 0x10000) != 0 ? tell(Text::pi_voltage_before_advice) : tell(Text::pi_hot_before_advice))};
  return {well(measured, wanted)};
}

}  // namespace troika::doctor
