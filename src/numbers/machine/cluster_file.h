// A cluster as a file that people write and `troika probe` makes: docs/formats/cluster.md.
#pragma once

#include <string>

#include "machine/cluster.h"

namespace troika::machine {

// ConfigError that names every line that is wrong, one each: an unknown key with the nearest, a number without its unit, a
// device that no profile has, no hosts. What a host leaves out comes from the profile that `device` names.
Cluster parse_cluster(const std::string& text, const std::string& origin);
Cluster read_cluster(const std::string& path);  // ConfigError also when there is no such file

// Parses back to an equal cluster, to four digits.
std::string to_yaml(const Cluster& cluster);

}  // namespace troika::machine
