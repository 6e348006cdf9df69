// Cards and drivers that Troika's kernels run on, and accelerators by name: numbers from data sheets, and published measurements.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/language.h"

namespace troika::machine {

// What NVIDIA calls compute capability: 8.6 of an RTX 3090.
struct Capability {
  int major = 0, minor = 0;
};
inline constexpr Capability least_capability{8, 0};  // bf16 products and asynchronous copies begin there

std::string to_text(Capability capability);  // "8.6"

// Why a card of this capability runs none of the kernels; nothing where it does.
std::optional<base::Text> lack_of_card(Capability card);

// The oldest driver, by the number before the point, on which programs of this CUDA (12 of 12.8) run; nothing where that is not
// known.
std::optional<int> least_driver(int cuda);
// Why a program of this CUDA does not run on the driver; nothing where it does, or where that is not known.
std::optional<base::Text> lack_of_driver(int driver, int cuda);

struct Accelerator {
  std::string name;   // "a100-80"
  std::string title;  // "NVIDIA A100 SXM, 80 GB"
  Capability capability;
  double memory_gibibytes;  // that a program finds
  // 10^12 operations per second of dense products with fp32 sums: of fp32 and of halves by the data sheet, of halves by a large
  // product that was run (0: nobody's is known). GeForce cards sum in fp32 at half of the rate that sheets begin with.
  double fp32_sheet, half_sheet, half_measured;
  double memory_gigabytes;  // 10^9 bytes per second
  double inside_gigabytes;  // the same between two devices of a host, each way: NVLink, else PCIe
  double network_gigabits;  // of a host, 10^9 bits per second
  int devices_per_host;
};

// All of them run Troika's kernels. In the order in which they are listed.
const std::vector<Accelerator>& accelerators();
std::vector<std::string> accelerator_names();

// The one that people or a driver call so: "rtx4090", "NVIDIA GeForce RTX 4090", "A6000", "a100-80gb", "NVIDIA A100-SXM4-80GB".
// If the name has several sizes of memory, the smallest. Null: no card is known by that name.
const Accelerator* accelerator_called(const std::string& text);

// The capability of a card by a name that people or a driver use, too old cards included. Nothing: none is known by
// that name.
std::optional<Capability> capability_called(const std::string& text);

// Why none of the cards that a driver calls so runs the kernels; nothing where one may, of a name that is not known, too.
std::optional<base::Text> lack_of_cards(const std::vector<std::string>& models);

// The accelerator of that name, or a ConfigError that names `what`: with the names that are near, else all; of a card that is too old, that it is.
const Accelerator& find_accelerator(const std::string& text, base::Origin what);
[[noreturn]] void refuse_accelerator(const std::string& text, base::Origin what, const std::vector<std::string>& names);

}  // namespace troika::machine
