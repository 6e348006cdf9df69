#include "machine/calibration.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"

namespace troika::machine {
namespace {

constexpr double most_factor = 20;  // beyond it something else is wrong
constexpr config::Precision precisions[] = {config::Precision::fp32, config::Precision::bf16, config::Precision::fp16};

// A machine that is slower than it was is so in every precision, until runs tell of each.
double factor_in(config::Precision precision, const Calibration& calibration) {
  if (const auto own = calibration.compute.find(precision); own != calibration.compute.end())
    return own->second.seconds;
  return std::max_element(calibration.compute.begin(), calibration.compute.end(),
                          [](const auto& a, const auto& b) { return a.second.runs < b.second.runs; })
      ->second.seconds;
}

void slow_down(Rates& rates, const Calibration& calibration) {
  for (const config::Precision precision : precisions) {
    PrecisionRates& rate = rates.products(precision);
    for (double* per_second : {&rate.flops_per_second, &rate.bytes_per_second, &rate.attention_bytes_per_second})
      *per_second /= factor_in(precision, calibration);
  }
  rates.stream_bytes_per_second /= calibration.optimizer.seconds;
}

Calibration::Factor factor_of(const YAML::Node& node) {
  Calibration::Factor factor{node["seconds"].as<double>(), node["runs"].as<int>()};
  if (!std::isfinite(factor.seconds) || factor.seconds < 1 / most_factor || factor.seconds > most_factor ||
      factor.runs < 0)
    throw YAML::Exception(YAML::Mark(), fmt::format("seconds {} of {} runs", factor.seconds, factor.runs));
  return factor;
}

std::string line(const std::string& name, const Calibration::Factor& factor) {
  return fmt::format("{}: {{seconds: {:.4f}, runs: {}}}\n", name, factor.seconds, factor.runs);
}

}  // namespace

int Calibration::runs() const {
  int runs = 0;
  for (const auto& [precision, factor] : compute) runs += factor.runs;
  return runs;
}

void learn(Calibration::Factor& factor, double taken_over_predicted) {
  constexpr int most_runs = 8;
  if (!std::isfinite(taken_over_predicted) || taken_over_predicted <= 0) return;
  const double weight = 1.0 / std::min(++factor.runs, most_runs);
  factor.seconds = std::clamp(factor.seconds * std::pow(taken_over_predicted, weight), 1 / most_factor, most_factor);
}

Host calibrated(Host host, const Calibration& calibration) {
  if (calibration.runs() == 0) return host;
  slow_down(host.rates, calibration);
  slow_down(host.alone, calibration);
  host.calibrating_runs = calibration.runs();
  return host;
}

std::string calibration_file(const std::string& machine_file) {
  const auto slash = machine_file.rfind('/');
  if (machine_file.empty()) return "";
  return (slash == std::string::npos ? "" : machine_file.substr(0, slash + 1)) + "calibration.yaml";
}

Calibration read_calibration(const std::string& machine_file) {
  const std::string path = calibration_file(machine_file);
  Calibration calibration;
  if (path.empty() || !base::file_exists(path) || !base::file_exists(machine_file)) return calibration;
  try {
    const YAML::Node root = YAML::Load(base::read_file(path));
    if (root["machine"].as<std::string>() != base::hash_file(machine_file)) return calibration;
    for (const config::Precision precision : precisions) {
      if (const YAML::Node node = root["compute"][config::word_of(precision)])
        calibration.compute[precision] = factor_of(node);
    }
    if (root["optimizer"]) calibration.optimizer = factor_of(root["optimizer"]);
    return calibration;
  } catch (const YAML::Exception& error) {
    throw base::ConfigError(base::say("{} is not a calibration file ({}); delete it, and the next runs create a new one", path, error.what()));
  }
}

void write_calibration(const std::string& machine_file, const Calibration& calibration) {
  std::string text =
      "# What training runs here took beside what machine.yaml predicts: seconds taken / seconds predicted, by which "
      "plans\n"
      "# multiply. Written at the end of runs; with another machine.yaml they start over.\n";
  text += fmt::format("machine: \"{}\"\ncompute:\n", base::hash_file(machine_file));
  for (const auto& [precision, factor] : calibration.compute) text += "  " + line(config::word_of(precision), factor);
  text += line("optimizer", calibration.optimizer);
  base::write_file_atomic(calibration_file(machine_file), text);
}

}  // namespace troika::machine
