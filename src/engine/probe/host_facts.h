// What of a host is not computing: its processor's name and its disk.
#pragma once

#include <string>

namespace troika::probe {

// Of /proc/cpuinfo: "AMD EPYC", "Raspberry Pi 4 Model B Rev 1.4"; "processor" where it has no such line.
std::string processor_name();
std::string processor_name_in(const std::string& cpuinfo);  // of the text of such a file

// Bytes per second of writing into a folder with nothing left unwritten: of 64 MiB, or of what two seconds take. DataError
// where it cannot be written; leaves nothing behind.
double disk_bytes_per_second(const std::string& folder);

// How many threads of other programs wanted a core in the last minute (/proc/loadavg); 0 where the system does not tell.
double load_average();

// The folder in which `path` would be: "." for a bare name. ConfigError where there is none.
std::string folder_of_file(const std::string& path);

}  // namespace troika::probe
