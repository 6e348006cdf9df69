// What a server of the page was started with.
#pragma once

#include <string>
#include <vector>

#include "config/flag_table.h"
#include "planner/plan_arguments.h"

namespace troika::serve {

enum class Access { see_and_change, view_only };
enum class Proxy { none, in_front };

struct Options {
  std::string folder;   // with runs below it, or a run; absolute, without links
  std::string root;     // below which data and models of new runs lie; absolute, without links
  std::string program;  // that starts runs: troika
  Access access = Access::see_and_change;
  Proxy proxy = Proxy::none;
  std::string base_path;  // "/troika" where a proxy gives the page below that; ""
  std::vector<std::string>
      other_hosts;                  // names besides the loopback's that clients may ask for, with or without a port
  config::Environment environment;  // what started runs get
  planner::VocabularyOf vocabulary_of;
};

}  // namespace troika::serve
