// A cluster as a file that people write and `troika probe` makes: docs/formats/cluster.md.
#pragma once

#include <string>

#include "machine/cluster.h"

namespace troika::machine {

// ConfigError that names every line that is wrong: an unknown key with the nearest, a number without its unit, no hosts.
Cluster parse_cluster(const std::string& text, const std::string& origin);
Cluster read_cluster(const std::string& path);  // ConfigError when there is no such file

// Parses back to an equal cluster.
std::string to_yaml(const Cluster& cluster);

}  // namespace troika::machine
