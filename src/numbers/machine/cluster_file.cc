#include "machine/cluster.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <functional>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/text.h"
#include "base/units.h"
#include "machine/profiles.h"
#include "machine/rates.h"

namespace troika::machine {
namespace {

constexpr std::size_t most_bytes = 1 << 20;
constexpr int most_hosts = 100000;

class Reader {
 public:
  explicit Reader(const std::string& origin) : origin_(origin) {}

  Cluster read(const std::string& text) {
    Cluster cluster;
    try {
      if (text.size() > most_bytes)
        throw base::ConfigError(base::say("{} has {} bytes, but a cluster has at most {}", origin_, text.size(), most_bytes));
      const std::vector<YAML::Node> documents = YAML::LoadAll(text);
      for (std::size_t i = 1; i < documents.size(); ++i) {
        if (!documents[i].IsNull()) fail(documents[i], base::say("a second YAML document begins after '---', but a cluster is one document: remove that line, or keep one of them"));
      }
      read_root(documents.empty() ? YAML::Node() : documents.front(), cluster);
    } catch (const YAML::Exception& error) {
      errors_.push_back(base::say("{} is not valid YAML: {}", at(error.mark), error.msg));
    }
    if (!errors_.empty()) throw base::ConfigError(base::lines(errors_));
    return cluster;
  }

 private:
  using Keys = std::map<std::string, std::function<void(const YAML::Node&)>>;

  base::Text at(const YAML::Mark& mark) const {
    return mark.is_null() ? base::verbatim(origin_) : base::say("{} line {}", origin_, mark.line + 1);
  }
  void fail(const YAML::Node& node, const base::Text& what) {
    errors_.push_back(base::say("{}: {}", at(node.Mark()), what));
  }

  void read_map(const YAML::Node& node, base::Origin what, const Keys& keys) {
    if (!node.IsMap()) return fail(node, base::say("{} needs keys below it", what));
    std::vector<std::string> names;
    for (const auto& [name, take] : keys) names.push_back(name);
    for (const auto& entry : node) {
      const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
      const auto found = keys.find(key);
      if (found != keys.end()) {
        found->second(entry.second);
        continue;
      }
      const std::string near = base::nearest(key, names);
      fail(entry.first, base::say("unknown key '{0}' in {1}; {2}", key, what,
                                  near.empty() ? base::say("known keys are {}", base::join(names, ", "))
                                               : base::say("did you mean {}?", near)));
    }
  }

  std::string text_of(const YAML::Node& node, base::Origin what) {
    if (node.IsScalar()) return base::trim(node.Scalar());
    fail(node, base::say("{} must be a single value", what));
    return "";
  }

  void read_text(const YAML::Node& node, base::Origin what, std::string* value) { *value = text_of(node, what); }

  void read_count(const YAML::Node& node, base::Origin what, int least, int* value) {
    std::int64_t count = 0;
    if (base::parse_int(text_of(node, what), &count) && count >= least && count <= most_hosts)
      *value = static_cast<int>(count);
    else
      fail(node, base::say("{} is '{}', but must be a number from {} to {}", what, text_of(node, what), least, most_hosts));
  }

  void read_number(const YAML::Node& node, base::Origin what, double* value) {
    double number = 0;
    if (base::parse_double(text_of(node, what), &number) && number > 0 && number <= 1e6)
      *value = number;
    else
      fail(node, base::say("{} is '{}', but must be a number above 0", what, text_of(node, what)));
  }

  void read_unit(const YAML::Node& node, base::Origin what, bool (*parse)(std::string_view, double*),
                 const std::string& like, double* value) {
    const std::string text = text_of(node, what);
    if (!parse(text, value)) fail(node, base::say("{} is '{}', but must be a number with a unit, such as {}", what, text, like));
  }

  void read_bytes(const YAML::Node& node, base::Origin what, std::int64_t* value) {
    std::string text = text_of(node, what);
    text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
    std::int64_t bytes = 0;
    if (base::parse_bytes(text, &bytes) && bytes > 0)
      *value = bytes;
    else
      fail(node, base::say("{} is '{}', but must be a number with a unit, such as {}", what, text, "3.5 GiB"));
  }

  void read_precision(const YAML::Node& node, base::Origin what, PrecisionRates* rate) {
    read_map(node, what,
             {{"products",
               [&](const auto& n) {
                 read_unit(n, base::say("{}'s products", what), parse_flops, "480 GFLOP/s",
                           &rate->flops_per_second);
               }},
              {"bytes",
               [&](const auto& n) {
                 read_unit(n, base::say("{}'s bytes", what), parse_byte_rate, "20 GB/s",
                           &rate->bytes_per_second);
               }},
              {"attention", [&](const auto& n) { read_number(n, base::say("{}'s attention", what), &rate->attention_share); }},
              {"attention_bytes", [&](const auto& n) {
                 read_unit(n, base::say("{}'s attention_bytes", what), parse_byte_rate, "20 GB/s",
                           &rate->attention_bytes_per_second);
               }}});
  }

  void read_rates(const YAML::Node& node, base::Origin what, Rates* rates) {
    double attention = 0;  // of the precisions that have none of their own
    read_map(
        node, what,
        {{"fp32", [&](const auto& n) { read_precision(n, "fp32", &rates->fp32); }},
         {"bf16", [&](const auto& n) { read_precision(n, "bf16", &rates->bf16); }},
         {"fp16", [&](const auto& n) { read_precision(n, "fp16", &rates->fp16); }},
         {"attention", [&](const auto& n) { read_number(n, "attention", &attention); }},
         {"between",
          [&](const auto& n) {
            read_unit(n, "between", parse_byte_rate, "20 GB/s", &rates->between_bytes_per_second);
          }},
         {"stream",
          [&](const auto& n) { read_unit(n, "stream", parse_byte_rate, "20 GB/s", &rates->stream_bytes_per_second); }},
         {"call", [&](const auto& n) { read_unit(n, "call", parse_latency, "6 us", &rates->call_seconds); }}});
    for (PrecisionRates* rate : {&rates->fp32, &rates->bf16, &rates->fp16})
      if (attention > 0 && rate->attention_share == PrecisionRates().attention_share) rate->attention_share = attention;
  }

  void read_link(const YAML::Node& node, base::Origin what, Link* link) { read_map(node, what, link_keys(link)); }
  Keys link_keys(Link* link) {
    return {{"latency",
             [this, link](const auto& n) { read_unit(n, "latency", parse_latency, "0.2 ms", &link->latency_seconds); }},
            {"bandwidth", [this, link](const auto& n) {
               read_unit(n, "bandwidth", parse_byte_rate, "939 Mbit/s", &link->bytes_per_second);
             }}};
  }

  // Where no profile of that name exists, `device` is a name for people and the host states its rates.
  Profile profile_of(const YAML::Node& node) {
    const YAML::Node device = node["device"];
    if (!device || !device.IsScalar()) return {};
    const auto names = profile_names();
    const std::string name = base::trim(device.Scalar());
    if (std::find(names.begin(), names.end(), name) != names.end()) return find_profile(name);
    if (node["rates"] || node["alone"]) return {};
    try {
      return find_profile(name);
    } catch (const base::ConfigError& error) {
      fail(device, base::say("{}; or give the host's rates", base::text_of(error)));
    }
    return {};
  }

  void read_host(const YAML::Node& node, Cluster& cluster) {
    if (!node.IsMap()) return fail(node, base::say("a host needs keys below it, such as device and count"));
    Profile profile = profile_of(node);
    Host& host = profile.host;
    if (node["device"]) host.name.clear();
    if (cluster.network.bytes_per_second == 0) cluster.network = profile.network;
    double speed = 1;
    std::string source;
    read_map(node, base::say("a host"),
             {{"name", [&](const auto& n) { read_text(n, "name", &host.name); }},
              {"count", [&](const auto& n) { read_count(n, "count", 1, &host.count); }},
              {"device", [&](const auto& n) { read_text(n, "device", &host.device); }},
              {"source", [&](const auto& n) { read_text(n, "source", &source); }},
              {"calibrated", [&](const auto& n) { read_count(n, "calibrated", 0, &host.calibrating_runs); }},
              {"devices", [&](const auto& n) { read_count(n, "devices", 0, &host.devices); }},
              {"cores", [&](const auto& n) { read_count(n, "cores", 1, &host.cores); }},
              {"memory", [&](const auto& n) { read_bytes(n, "memory", &host.memory_bytes); }},
              {"program", [&](const auto& n) { read_bytes(n, "program", &host.program_bytes); }},
              {"disk",
               [&](const auto& n) { read_unit(n, "disk", parse_byte_rate, "200 MB/s", &host.disk_bytes_per_second); }},
              {"speed", [&](const auto& n) { read_number(n, "speed", &speed); }},
              {"inside", [&](const auto& n) { read_link(n, "inside", &host.inside); }},
              {"rates", [&](const auto& n) { read_rates(n, "rates", &host.rates); }},
              {"alone", [&](const auto& n) { read_rates(n, "alone", &host.alone); }}});
    if (!source.empty()) host.source = source_called(source, host.device);
    finish(node, host, speed);
    cluster.hosts.push_back(host);
  }

  // Derives numbers that were not stated and that no profile gave from those that are known.
  void finish(const YAML::Node& node, Host& host, double speed) {
    if (!node["rates"] && node["alone"] && host.cores > 0) host.rates = host.alone.times(1.0 / host.cores);
    if (!node["alone"] && node["rates"]) host.alone = host.rates.times(host.computes_on_cores() ? host.cores : 1);
    if (host.rates.fp32.flops_per_second == 0 && host.rates.bf16.flops_per_second == 0 &&
        host.rates.fp16.flops_per_second == 0)
      fail(node, base::say("a host needs a device with a profile, or rates with products"));
    if (host.memory_bytes == 0) fail(node, base::say("a host needs memory, such as 3.5 GiB, or a device with a profile"));
    if (host.name.empty()) host.name = host.device.empty() ? "host" : host.device;
    for (Rates* rates : {&host.rates, &host.alone}) {
      *rates = rates->times(speed);
      if (rates->between_bytes_per_second == 0) rates->between_bytes_per_second = rates->fp32.bytes_per_second;
      if (rates->stream_bytes_per_second == 0) rates->stream_bytes_per_second = rates->between_bytes_per_second;
      if (rates->bf16.flops_per_second == 0 && host.computes_on_cores()) rates->bf16 = rates->fp32;
      if (rates->fp16.flops_per_second == 0 && host.computes_on_cores()) rates->fp16 = rates->fp32;
    }
  }

  void read_pair(const YAML::Node& node, Cluster& cluster) {
    PairLink pair;
    Keys keys = link_keys(&pair.link);
    keys["from"] = [&](const auto& n) { read_text(n, "from", &pair.from); };
    keys["to"] = [&](const auto& n) { read_text(n, "to", &pair.to); };
    read_map(node, base::say("a pair"), keys);
    cluster.pairs.push_back(pair);
  }

  void read_network(const YAML::Node& node, Cluster& cluster) {
    Keys keys = link_keys(&cluster.network);
    keys["pairs"] = [&](const auto& n) {
      if (!n.IsSequence()) return fail(n, base::say("pairs must be a list of from, to, latency and bandwidth"));
      for (const auto& pair : n) read_pair(pair, cluster);
    };
    read_map(node, "network", keys);
  }

  void read_root(const YAML::Node& root, Cluster& cluster) {
    if (!root.IsMap()) return errors_.push_back(base::say("{} is not a cluster: it needs hosts:, a list", origin_));
    const YAML::Node hosts = root["hosts"];
    if (!hosts || !hosts.IsSequence() || hosts.size() == 0)
      errors_.push_back(base::say("{} lists no hosts: it needs hosts:, a list with a device or rates each", origin_));
    read_map(root, base::say("a cluster"),
             {{"name", [&](const auto& n) { read_text(n, "name", &cluster.name); }},
              {"hosts",
               [&](const auto& n) {
                 for (const auto& host : n) read_host(host, cluster);
               }},
              {"network", [](const auto&) {}}});
    if (root["network"]) read_network(root["network"], cluster);
    if (cluster.host_count() > 1 && cluster.network.bytes_per_second == 0)
      errors_.push_back(base::say("{} has several hosts but no network: with latency and bandwidth", origin_));
    if (cluster.host_count() > most_hosts)
      errors_.push_back(base::say("{} has more than {} hosts", origin_, most_hosts));
  }

  const std::string origin_;
  std::vector<base::Text> errors_;
};

std::string bytes_text(std::int64_t bytes) { return fmt::format("{:.0f} MiB", static_cast<double>(bytes) / (1 << 20)); }

std::string link_text(const Link& link) {
  return fmt::format("{{latency: {}, bandwidth: {}}}", format_latency(std::max(link.latency_seconds, 1e-9)),
                     format_bit_rate(link.bytes_per_second));
}

std::string rates_text(const Rates& rates) {
  std::string text;
  const auto products = [&](const char* name, const PrecisionRates& rate) {
    if (rate.flops_per_second > 0)
      text += fmt::format("      {}: {{products: {}, bytes: {}, attention: {:.4g}{}}}\n", name, format_flops(rate.flops_per_second),
                          format_byte_rate(rate.bytes_per_second), rate.attention_share,
                          rate.attention_bytes_per_second > 0 ? ", attention_bytes: " + format_byte_rate(rate.attention_bytes_per_second) : "");
  };
  products("fp32", rates.fp32);
  products("bf16", rates.bf16);
  products("fp16", rates.fp16);
  text +=
      fmt::format("      between: {}\n      stream: {}\n      call: {}\n", format_byte_rate(rates.between_bytes_per_second),
                  format_byte_rate(rates.stream_bytes_per_second), format_latency(std::max(rates.call_seconds, 1e-9)));
  return text;
}

// A text as a YAML scalar that reads as itself.
std::string quoted(const std::string& text) {
  YAML::Emitter out;
  out << YAML::DoubleQuoted << text;
  return out.c_str();
}

std::string host_text(const Host& host) {
  std::string text =
      fmt::format("  - name: {}\n    count: {}\n    device: {}\n", quoted(host.name), host.count, quoted(host.device));
  Host uncalibrated = host;
  uncalibrated.calibrating_runs = 0;
  if (const base::Text source = source_of(uncalibrated); !source.empty())
    text += fmt::format("    source: {}\n", quoted(source.english));
  if (host.calibrating_runs > 0) text += fmt::format("    calibrated: {}\n", host.calibrating_runs);
  text += fmt::format("    devices: {}\n    cores: {}\n    memory: {}\n", host.devices, host.cores,
                      bytes_text(host.memory_bytes));
  if (host.program_bytes > 0) text += fmt::format("    program: {}\n", bytes_text(host.program_bytes));
  if (host.disk_bytes_per_second > 0)
    text += fmt::format("    disk: {}\n", format_byte_rate(host.disk_bytes_per_second));
  if (host.inside.bytes_per_second > 0) text += fmt::format("    inside: {}\n", link_text(host.inside));
  return text + "    rates:\n" + rates_text(host.rates) + "    alone:\n" + rates_text(host.alone);
}

}  // namespace

Cluster parse_cluster(const std::string& text, const std::string& origin) { return Reader(origin).read(text); }

Cluster read_cluster(const std::string& path) {
  if (!base::file_exists(path)) throw base::ConfigError(base::say("there is no cluster file '{}'", path));
  return parse_cluster(base::read_file(path), path);
}

std::string to_yaml(const Cluster& cluster) {
  std::string text;
  if (!cluster.name.empty()) text += fmt::format("name: {}\n", quoted(cluster.name));
  text += "hosts:\n";
  for (const Host& host : cluster.hosts) text += host_text(host);
  if (cluster.network.bytes_per_second == 0) return text;
  text += fmt::format("network:\n  latency: {}\n  bandwidth: {}\n",
                      format_latency(std::max(cluster.network.latency_seconds, 1e-9)),
                      format_bit_rate(cluster.network.bytes_per_second));
  if (!cluster.pairs.empty()) text += "  pairs:\n";
  for (const PairLink& pair : cluster.pairs) {
    const std::string link = link_text(pair.link);
    text += fmt::format("    - {{from: {}, to: {}, {}\n", quoted(pair.from), quoted(pair.to), link.substr(1));
  }
  return text;
}

}  // namespace troika::machine
