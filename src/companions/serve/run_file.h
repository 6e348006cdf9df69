// A file of a run, opened by somebody who does not trust the folder it lies in.
#pragma once

#include "base/run_files.h"

namespace troika::serve {

using base::RunFile;
using base::text_of_run;

}  // namespace troika::serve
