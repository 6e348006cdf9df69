#include "doctor/host_report.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"

namespace troika::doctor {
namespace {

const std::string host_origin = "what a host says of itself";

std::map<std::string, std::string> texts_by_name(const nlohmann::json& json, const std::string& key) {
  std::map<std::string, std::string> texts;
  for (const auto& [name, text] : base::json_object(json, key, host_origin).items()) {
    if (!text.is_string()) throw base::DataError(base::say("{} holds no text at {}", host_origin, name));
    texts[name] = text;
  }
  return texts;
}

}  // namespace

nlohmann::json to_json(const HostReport& report) {
  nlohmann::json interfaces = nlohmann::json::array(), findings = nlohmann::json::array();
  for (const Interface& one : report.facts.interfaces) interfaces.push_back(to_json(one));
  for (const Finding& one : report.findings) findings.push_back(to_json(one));
  return {{"host", report.host},
          {"interfaces", interfaces},
          {"environment", report.facts.environment},
          {"versions", report.facts.versions},
          {"memory_bytes_per_second", report.facts.memory_bytes_per_second},
          {"interface", report.facts.interface},
          {"folder", report.facts.folder},
          {"findings", findings}};
}

HostReport parse_host_report(const nlohmann::json& json) {
  HostReport report;
  report.host = base::json_string(json, "host", host_origin);
  for (const nlohmann::json& one : base::json_array(json, "interfaces", host_origin))
    report.facts.interfaces.push_back(parse_interface(one));
  report.facts.environment = texts_by_name(json, "environment");
  report.facts.versions = texts_by_name(json, "versions");
  report.facts.memory_bytes_per_second = base::json_double(json, "memory_bytes_per_second", host_origin);
  report.facts.interface = base::json_string(json, "interface", host_origin);
  report.facts.folder = base::json_string(json, "folder", host_origin);
  for (const nlohmann::json& one : base::json_array(json, "findings", host_origin))
    report.findings.push_back(parse_finding(one));
  return report;
}

}  // namespace troika::doctor
