// The usual causes by their errno; in the English of glibc.
#pragma once

#include <cerrno>

#include "base/language.h"

namespace troika::base {

struct SystemCause {
  int code;
  Bilingual text;
};

inline constexpr SystemCause system_causes[] = {
    {EPERM, {"Operation not permitted", "不允许的操作"}},
    {ENOENT, {"No such file or directory", "没有这个文件或目录"}},
    {EINTR, {"Interrupted system call", "系统调用被中断"}},
    {EIO, {"Input/output error", "输入/输出错误"}},
    {ENXIO, {"No such device or address", "没有这个设备或地址"}},
    {E2BIG, {"Argument list too long", "参数列表过长"}},
    {ENOEXEC, {"Exec format error", "可执行文件格式错误"}},
    {EBADF, {"Bad file descriptor", "错误的文件描述符"}},
    {EAGAIN, {"Resource temporarily unavailable", "资源暂时不可用"}},
    {ENOMEM, {"Cannot allocate memory", "无法分配内存"}},
    {EACCES, {"Permission denied", "权限不足"}},
    {EBUSY, {"Device or resource busy", "设备或资源忙"}},
    {EEXIST, {"File exists", "文件已存在"}},
    {EXDEV, {"Invalid cross-device link", "不能跨设备链接"}},
    {ENODEV, {"No such device", "没有这个设备"}},
    {ENOTDIR, {"Not a directory", "不是目录"}},
    {EISDIR, {"Is a directory", "是一个目录"}},
    {EINVAL, {"Invalid argument", "参数无效"}},
    {ENFILE, {"Too many open files in system", "系统中打开的文件过多"}},
    {EMFILE, {"Too many open files", "打开的文件过多"}},
    {ETXTBSY, {"Text file busy", "程序文件正在使用"}},
    {EFBIG, {"File too large", "文件过大"}},
    {ENOSPC, {"No space left on device", "设备上没有剩余空间"}},
    {EROFS, {"Read-only file system", "文件系统是只读的"}},
    {EPIPE, {"Broken pipe", "管道已断开"}},
    {ENAMETOOLONG, {"File name too long", "文件名过长"}},
    {ENOLCK, {"No locks available", "没有可用的锁"}},
    {ENOTEMPTY, {"Directory not empty", "目录不是空的"}},
    {ELOOP, {"Too many levels of symbolic links", "符号链接的层数过多"}},
    {EADDRINUSE, {"Address already in use", "地址已被占用"}},
    {EADDRNOTAVAIL, {"Cannot assign requested address", "无法使用所要求的地址"}},
    {ECONNREFUSED, {"Connection refused", "连接被拒绝"}},
    {ECONNRESET, {"Connection reset by peer", "连接被对方重置"}},
    {ETIMEDOUT, {"Connection timed out", "连接超时"}},
    {ESTALE, {"Stale file handle", "文件句柄已失效"}},
    {EDQUOT, {"Disk quota exceeded", "超出磁盘配额"}},
    {EOPNOTSUPP, {"Operation not supported", "不支持的操作"}},
};

// EFBIG where a limit of this process is the reason.
inline constexpr Bilingual beyond_file_limit = {
    "a file may have at most {} here (ulimit -f): raise that limit, or remove it with `ulimit -f unlimited`",
    "此处文件最大为 {}（ulimit -f）：请调高该限制，或用 `ulimit -f unlimited` 取消"};

}  // namespace troika::base
