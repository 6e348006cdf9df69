#include "config/adapter_folder.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"

namespace troika::config {

bool is_adapter_folder(const std::string& path) { return base::file_exists(path + "/" + adapter_config_name); }

std::string base_named_by(const std::string& path) {
  const std::string file = path + "/" + adapter_config_name;
  const nlohmann::json root = base::parse_json(base::read_file(file), file);
  if (!root.is_object()) throw base::DataError(fmt::format("{} is not a JSON object", file));
  const auto place = root.find("base_model_name_or_path");
  return place != root.end() && place->is_string() ? place->get<std::string>() : "";
}

base::ConfigError without_base(const std::string& path, const std::string& named) {
  if (named.empty())
    return base::ConfigError(fmt::format(
        "the adapter '{}' does not say which model it stands on; name that model's folder with --base PATH", path));
  return base::ConfigError(
      fmt::format("the adapter '{}' stands on the model '{}', which is no folder here; name that model's folder with "
                  "--base PATH",
                  path, named));
}

base::DataError too_many_adapters(const std::string& path) {
  return base::DataError(fmt::format("'{}' is an adapter on an adapter, more than {} times over; does one name itself?",
                                     path, most_adapters));
}

}  // namespace troika::config
