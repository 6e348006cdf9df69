#include "launch/starter.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/temporary_folder_test_support.h"

namespace troika::launch {
namespace {

// A socket as a service manager has one.
class Listener {
 public:
  explicit Listener(const std::string& path) : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    if (address.sun_path[0] == '@') address.sun_path[0] = '\0';
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
    EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&address), length), 0);
  }
  ~Listener() { ::close(socket_); }
  std::string heard() const {  // "": nothing
    char text[256];
    const ssize_t length = ::recv(socket_, text, sizeof text, MSG_DONTWAIT);
    return length < 0 ? "" : std::string(text, static_cast<std::size_t>(length));
  }

 private:
  const int socket_;
};

TEST(ServiceManager, HearsWhatItIsToldByPathAndByAbstractName) {
  const base::TemporaryFolder folder;
  for (const std::string& name : {folder.path() + "/notify", "@" + folder.path()}) {
    const Listener listener(name);
    ServiceManager(name).tell("READY=1\nSTATUS=step 1/2");
    EXPECT_EQ(listener.heard(), "READY=1\nSTATUS=step 1/2") << name;
  }
}

TEST(ServiceManager, ThatIsNotThereOrDoesNotReadStopsNobody) {
  EXPECT_FALSE(ServiceManager("").listens());
  EXPECT_FALSE(ServiceManager("relative").listens());
  EXPECT_FALSE(ServiceManager("/" + std::string(200, 'x')).listens());
  const base::TemporaryFolder folder;
  ServiceManager(folder.path() + "/none").tell("READY=1");
  const Listener deaf(folder.path() + "/deaf");
  const ServiceManager manager(folder.path() + "/deaf");
  for (int i = 0; i < 5000; ++i) manager.tell(std::string(200, 'x'));  // and does not hang
}

}  // namespace
}  // namespace troika::launch
