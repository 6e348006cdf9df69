#include "probe/ranks.h"

#include "base/error.h"
#include "config/config.h"

namespace troika::probe {

int in_ranks(const rendezvous::Identity& me, const std::string& interface,
             const std::map<std::string, std::string>& environment, const std::function<void(train::Session&)>& body) {
  config::CommSettings comm = config::parse_settings({}, environment).settings.comm;
  if (!interface.empty()) comm.interface = interface;
  train::Session session(me, comm);
  try {
    session.join();
    mesh::Shape shape;
    shape.dp = me.world_size;
    session.connect(shape, nullptr);
    body(session);
    session.finish();
    return 0;
  } catch (const base::PeerError& error) {
    const train::FailureCause cause = session.fail({error.exit_code(), base::text_of(error), error.cause()});
    if (cause.launcher_tells) return error.exit_code();
    throw base::PeerError(cause.failure.empty() ? base::text_of(error) : cause.failure);
  } catch (const base::Error& error) {
    if (session.fail({error.exit_code(), base::text_of(error), error.cause()}).launcher_tells) return error.exit_code();
    throw;
  }
}

}  // namespace troika::probe
