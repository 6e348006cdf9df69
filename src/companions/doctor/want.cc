#include <nlohmann/json.hpp>

#include "base/json.h"
#include "doctor/host_view.h"

namespace troika::doctor {

std::string to_json(const Want& want) {
  const nlohmann::json json = {{"hosts", want.hosts == Want::Hosts::one ? 1 : 2},
                               {"folder", want.folder},
                               {"interface", want.interface},
                               {"port", want.port},
                               {"ranks", want.ranks},
                               {"threads", want.threads},
                               {"memory_bytes", want.memory_bytes},
                               {"disk_bytes", want.disk_bytes}};
  return json.dump();
}

Want parse_want(const std::string& text) {
  const std::string origin = "what a doctor is to look for";
  const nlohmann::json json = base::parse_json(text, origin);
  Want want;
  want.hosts = base::json_int(json, "hosts", origin) == 1 ? Want::Hosts::one : Want::Hosts::several;
  want.folder = base::json_string(json, "folder", origin);
  want.interface = base::json_string(json, "interface", origin);
  want.port = static_cast<int>(base::json_int(json, "port", origin));
  want.ranks = static_cast<int>(base::json_int(json, "ranks", origin));
  want.threads = static_cast<int>(base::json_int(json, "threads", origin));
  want.memory_bytes = base::json_int(json, "memory_bytes", origin);
  want.disk_bytes = base::json_int(json, "disk_bytes", origin);
  return want;
}

}  // namespace troika::doctor
