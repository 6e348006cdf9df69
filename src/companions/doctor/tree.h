// Small files of /proc and /sys, and names of hosts as the system resolves them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace troika::doctor {

// Without white space at its ends; "" when the file is absent, empty, or not readable for this user.
std::string word_in(const std::string& path);
std::optional<std::int64_t> number_in(const std::string& path);  // nothing where it holds none

// The number behind the name, in "Name:   123 kB" and "name 123" lines.
std::optional<std::int64_t> number_behind(const std::string& text, const std::string& name);

// Paths below a folder, by name: those that begin so.
std::vector<std::string> entries_named(const std::string& folder, const std::string& beginning);

// Numeric addresses; empty: the name has none.
using Resolver = std::function<std::vector<std::string>(const std::string& name)>;
std::vector<std::string> resolve_now(const std::string& name);  // waits as long as the name servers take
// Nothing when `resolver` has not answered by then; the thread that waits for it is left behind and ends by itself.
std::optional<std::vector<std::string>> resolve_within(const std::string& name, double seconds, const Resolver& resolver = resolve_now);

// The network interfaces of a host.
struct Address {
  std::string text;  // numeric
  int prefix = 0;    // bits of its subnet
};

struct Interface {
  std::string name;
  bool up = false;  // and running
  std::vector<Address> addresses;
  // As /sys/class/net tells:
  bool wireless = false;
  std::int64_t mtu = 0;        // 0: not known
  std::int64_t megabits = -1;  // per second; -1: virtual, or not known
  std::string duplex;          // "full", "half", or ""
};

// Not loopback, nor a bridge or end of one that container programs make (docker*, br-*, veth*, virbr*).
bool carries_runs(const Interface& one);

// With what `sys` (/sys, or another root) says of them.
std::vector<Interface> read_interfaces(const std::string& sys);
void read_details(const std::string& sys, Interface& one);

const Interface* find_interface(const std::vector<Interface>& among, const std::string& name);
// That has this address; nullptr: none.
const Interface* interface_with(const std::vector<Interface>& among, const std::string& address);

// "192.168.1.0/24"; "" for an address that is none of version 4.
std::string subnet_of(const Address& address);

}  // namespace troika::doctor
