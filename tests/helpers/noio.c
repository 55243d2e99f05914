/*
 * noio COMMAND...: runs a command under a seccomp filter that refuses with EPERM what containers refuse by default:
 * io_uring, and the NUMA calls that want CAP_SYS_NICE there (mbind, move_pages, set_mempolicy). Exit 77 where no filter
 * can be set.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OUR_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUR_ARCH AUDIT_ARCH_AARCH64
#endif

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define REFUSE(nr) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    struct sock_filter rules[] = {
        LOAD(arch),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OUR_ARCH, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        LOAD(nr),
        REFUSE(SYS_io_uring_setup),
        REFUSE(SYS_io_uring_enter),
        REFUSE(SYS_io_uring_register),
        REFUSE(SYS_mbind),
        REFUSE(SYS_move_pages),
        REFUSE(SYS_set_mempolicy),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {.len = sizeof rules / sizeof rules[0], .filter = rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) {
        fprintf(stderr, "noio: no seccomp filter: %s\n", strerror(errno));
        return 77;
    }
    execvp(argv[1], argv + 1);
    fprintf(stderr, "noio: %s: %s\n", argv[1], strerror(errno));
    return 127;
}
