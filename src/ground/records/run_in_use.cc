#include "records/run_in_use.h"

#include "records/folder_lock.h"

namespace troika::records {

bool in_use(const std::string& folder) { return lock_holder(run_lock_path(folder)).has_value(); }

}  // namespace troika::records
